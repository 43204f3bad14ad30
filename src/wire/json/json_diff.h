/*
 * json_diff: the RFC 6902 patch that makes one document of another.
 *
 * Small rather than smallest: members are compared one by one; a list keeps what it begins with, and its end where it
 * only grew or shrank; what lies between is changed in place, then cut or filled up. Equal documents give [].
 */
#ifndef BERTH_WIRE_JSON_DIFF_H
#define BERTH_WIRE_JSON_DIFF_H

#include "wire/json/json.h"

/* Appends the patch, a JSON array. Returns the number of operations; check buf_ok(). Neither tree may have a member
 * that stands twice. */
size_t json_diff(yyjson_val *from, yyjson_val *to, struct buf *out);

#endif
