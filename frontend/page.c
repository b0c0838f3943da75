#include "page.h"

// In JSON a '<' stands only in strings, where it may be escaped: so none ends the element around it.
static void append_json(Text *out, const char *json) {
  for (;;) {
    const size_t len = strcspn(json, "<");
    text_append(out, json, len);
    if (json[len] == '\0') return;
    text_printf(out, "\\u003c");
    json += len + 1;
  }
}

static bool ends_with(const char *name, const char *end) {
  const size_t len = strlen(name), n = strlen(end);
  return len >= n && str_eq(name + len - n, end);
}

// All files whose names end so, in their order.
static void append_files(Text *out, const char *end) {
  for (int i = 0; i < page_files_len; i++)
    if (ends_with(page_files[i].name, end)) text_append(out, page_files[i].text, page_files[i].len);
}

const char *page_text(Arena *arena, const char *json) {
  Text out = {.arena = arena};
  text_printf(&out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>parcc</title>\n<style>\n");
  append_files(&out, ".css");
  text_printf(&out, "</style>\n</head>\n<body>\n");
  append_files(&out, ".html");
  text_printf(&out, "<script type=\"application/json\" id=\"data\">\n");
  append_json(&out, json);
  text_printf(&out, "</script>\n<script>\n\"use strict\";\n");
  append_files(&out, ".js");
  text_printf(&out, "</script>\n</body>\n</html>\n");
  return text_str(&out);
}
