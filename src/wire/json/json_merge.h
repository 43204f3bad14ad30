/*
 * json_merge: the RFC 7386 merge patch that leads from a document to what was made of a copy of it (wire/json/patch.h
 * applies them).
 */
#ifndef BERTH_WIRE_JSON_MERGE_H
#define BERTH_WIRE_JSON_MERGE_H

#include "wire/json/json.h"

/* Deep equality; the order of members does not count. Either may be NULL. */
bool json_same(yyjson_val *a, yyjson_mut_val *b);
/* Appends the members of the patch, behind others when *some, which becomes true with the first; the member `but`
 * (NULL: none) is left out. Both are objects, or NULL for an empty one. True: there were any. */
bool json_merge_members(yyjson_val *from, yyjson_mut_val *to, const char *but, bool *some,
                        struct buf *out);

#endif
