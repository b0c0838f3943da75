#include "json.h"

#include <math.h>

#include "utf8.h"

Json json_new(Arena *arena) { return (Json){.text = {.arena = arena}}; }

static void print_text(Json *json, const char *value) {
  size_t left = strlen(value);
  text_printf(&json->text, "\"");
  while (left > 0) {
    const size_t n = utf8_shown(value, left), taken = n > 0 ? n : 1;
    if (value[0] == '"' || value[0] == '\\') text_printf(&json->text, "\\%c", value[0]);
    else if (n > 0) text_printf(&json->text, "%.*s", (int)n, value);
    else text_printf(&json->text, (unsigned char)value[0] < 0x80 ? "\\u%04x" : "?", value[0]);
    value += taken;
    left -= taken;
  }
  text_printf(&json->text, "\"");
}

static void begin(Json *json, const char *key) {
  if (json->follows) text_printf(&json->text, ", ");
  json->follows = true;
  if (key == NULL) return;
  print_text(json, key);
  text_printf(&json->text, ": ");
}

static void open(Json *json, const char *key, char bracket) {
  begin(json, key);
  text_printf(&json->text, "%c", bracket);
  json->follows = false;
}

static void close(Json *json, char bracket) {
  text_printf(&json->text, "%c", bracket);
  json->follows = true;
}

void json_open_object(Json *json, const char *key) { open(json, key, '{'); }
void json_close_object(Json *json) { close(json, '}'); }
void json_open_array(Json *json, const char *key) { open(json, key, '['); }
void json_close_array(Json *json) { close(json, ']'); }

void json_string(Json *json, const char *key, const char *value) {
  begin(json, key);
  if (value != NULL) print_text(json, value);
  else text_printf(&json->text, "null");
}

void json_count(Json *json, const char *key, double value) {
  begin(json, key);
  text_printf(&json->text, "%.0f", value);
}

void json_real(Json *json, const char *key, double value) {
  begin(json, key);
  if (isfinite(value)) text_printf(&json->text, "%.6g", value);
  else text_printf(&json->text, "null");
}

void json_fixed(Json *json, const char *key, double value) {
  begin(json, key);
  text_printf(&json->text, "%.3f", value);
}

void json_bool(Json *json, const char *key, bool value) {
  begin(json, key);
  text_printf(&json->text, value ? "true" : "false");
}

const char *json_end(Json *json) {
  text_printf(&json->text, "\n");
  return text_str(&json->text);
}
