// JSON, written member by member on one line, as other programs read it.
#ifndef PARCC_IR_JSON_H
#define PARCC_IR_JSON_H

#include "base.h"

typedef struct Json {
  Text text;
  bool follows; // something stands before at this level: a comma is due
} Json;

Json json_new(Arena *arena);
// The members of an object have keys, the elements of an array and what stands at the top have NULL.
void json_open_object(Json *json, const char *key);
void json_close_object(Json *json);
void json_open_array(Json *json, const char *key);
void json_close_array(Json *json);
void json_string(Json *json, const char *key, const char *value); // any bytes; NULL: null
void json_count(Json *json, const char *key, double value);       // a whole number
void json_real(Json *json, const char *key, double value);        // six digits; null where it is not finite
void json_fixed(Json *json, const char *key, double value);       // a finite one, three digits behind the point
void json_bool(Json *json, const char *key, bool value);
const char *json_end(Json *json); // the text, with the end of its line

#endif
