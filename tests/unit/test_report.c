// What reports are printed with: JSON, tables, the characters that can be shown.
#include <math.h>

#include "../../ir/json.h"
#include "../../ir/table.h"
#include "../../ir/utf8.h"
#include "check.h"

static void json_is_separated(void) {
  Arena *arena = arena_new();
  Json json = json_new(arena);
  json_open_object(&json, NULL);
  json_open_object(&json, "empty");
  json_close_object(&json);
  json_open_array(&json, "list");
  json_count(&json, NULL, 1e15);
  json_real(&json, NULL, 0.125);
  json_open_array(&json, NULL);
  json_close_array(&json);
  json_bool(&json, NULL, false);
  json_close_array(&json);
  json_real(&json, "nothing", INFINITY);
  json_string(&json, "none", NULL);
  json_close_object(&json);
  CHECK_STR(json_end(&json), "{\"empty\": {}, \"list\": [1000000000000000, 0.125, [], false], \"nothing\": null, \"none\": null}\n");
  arena_free(arena);
}

static void json_takes_any_bytes(void) {
  Arena *arena = arena_new();
  Json json = json_new(arena);
  json_string(&json, NULL, "a\"b\\c\n\x01\xc3\xa9\xff\xed\xa0\x80");
  CHECK_STR(json_end(&json), "\"a\\\"b\\\\c\\u000a\\u0001\xc3\xa9????\"\n");
  arena_free(arena);
}

static void characters_are_told_from_bytes(void) {
  CHECK(utf8_shown("a", 1) == 1);
  CHECK(utf8_shown("\x7f", 1) == 0);
  CHECK(utf8_shown("\xc3\xa9", 2) == 2);
  CHECK(utf8_shown("\xc3\xa9", 1) == 0);         // cut
  CHECK(utf8_shown("\xc2\x85", 2) == 0);         // a control character
  CHECK(utf8_shown("\xe0\x80\xaf", 3) == 0);     // a slash with more bytes than it needs
  CHECK(utf8_shown("\xed\xa0\x80", 3) == 0);     // half of a pair of UTF-16
  CHECK(utf8_shown("\xf0\x9f\x98\x80", 4) == 4);
  CHECK(utf8_shown("\xf4\x90\x80\x80", 4) == 0); // behind the last one
}

static void columns_are_aligned(void) {
  Arena *arena = arena_new();
  Table table = {.arena = arena, .widest = {0, 0, 3}};
  Text text = {.arena = arena};
  table_add_column(&table, "name", false);
  table_add_column(&table, "n", true);
  table_add_column(&table, "rest", false);
  table_add_column(&table, "", false);
  vec_push(arena, &table.rows, (TableRow){{"a", "12", "x", "y"}});
  vec_push(arena, &table.rows, (TableRow){{"longer", "3"}});
  table_print(&table, &text);
  CHECK_STR(text_str(&text), "name     n  rest\na       12  x  y\nlonger   3\n");
  arena_free(arena);
}

CHECKS(TEST(json_is_separated), TEST(json_takes_any_bytes), TEST(characters_are_told_from_bytes), TEST(columns_are_aligned))
