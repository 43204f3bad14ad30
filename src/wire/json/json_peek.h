/*
 * json_peek: reads one text of a JSON object without allocating, for what must be known of an answer when there is no
 * memory to parse it.
 */
#ifndef BERTH_WIRE_JSON_PEEK_H
#define BERTH_WIRE_JSON_PEEK_H

#include "base/str.h"

/* The text of member `inner` of member `outer` of the object that `json` holds ("metadata", "name"), a view into json.
 * Empty: it is not there, is no text, or is written with an escape. What is no JSON gives some text or none. */
struct str json_peek(struct str json, struct str outer, struct str inner);

#endif
