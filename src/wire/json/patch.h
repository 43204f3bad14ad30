/*
 * patch: RFC 7386 merge patch and RFC 6902 JSON patch, on a mutable document in place.
 *
 * Values of the patch are copied into the document. On failure the document is left half-patched: patch a copy that is
 * thrown away then (the write pipeline does). Errors name the operation: "operation 3 (test /spec/replicas): ...".
 * Limits: LIMIT_JSON_PATCH_OPS, LIMIT_JSON_PATCH_COPY_BYTES, and a result nested at most LIMIT_JSON_DEPTH deep.
 * Strategic merge patch is in wire/json/strategic.h.
 */
#ifndef BERTH_WIRE_PATCH_H
#define BERTH_WIRE_PATCH_H

#include "wire/json/json.h"

/* ERR_NOMEM, ERR_TOO_LARGE. A patch that is not an object replaces the document, as the RFC says. */
int patch_merge(yyjson_mut_doc *d, yyjson_val *patch, struct err *err);

/* ERR_SYNTAX: not a list of operations; ERR_INVALID: an operation or test failed; ERR_TOO_LARGE, ERR_NOMEM. */
int patch_json(yyjson_mut_doc *d, yyjson_val *ops, struct err *err);

#endif
