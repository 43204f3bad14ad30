/*
 * json_at: one value of a JSON text by a path, as tidwall/gjson finds it, which KEDA's metrics-api uses. The text is
 * read no further than the value, and is not checked: a text that is cut off, or is none, may have a value still.
 *
 *     a.b.0      members and elements        a\.b       a dot in a name        a*, a?    any letters, any letter
 *     a.#        the number of elements      a.#(n=="x").v, a.#(v>3)     the first element for which that holds
 *     a|@this    the value itself            ..0        the first of values, one a line
 *
 * a.#.b, a list of what all elements have, is a list: no number. Other modifiers and queries are refused.
 */
#ifndef BERTH_CORE_JSON_AT_H
#define BERTH_CORE_JSON_AT_H

#include "base/arena.h"

enum json_at_type {
    JSON_AT_NONE,
    JSON_AT_NUMBER,
    JSON_AT_TEXT,
    JSON_AT_TRUE,
    JSON_AT_FALSE,
    JSON_AT_NULL,
    JSON_AT_JSON
};
struct json_at {
    enum json_at_type type;
    struct str raw;  /* as it stands in the text */
    struct str text; /* of a text: without quotes and escapes */
    double number;
};

enum { JSON_AT_DEPTH = 64 };
/* In the arena, or views of the text. */
struct json_at json_at(struct arena *a, struct str json, struct str path);

#endif
