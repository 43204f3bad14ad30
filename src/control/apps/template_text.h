/*
 * template_text: a pod template in one form, by which templates are compared and named.
 *
 * What a client leaves out, writes as null, as an empty text, list or object is the same; so is a number of 0 or false
 * where upstream has no way to tell them from nothing (FIELD_F_OPT). `kubectl rollout undo` sends a template back as it
 * reads it, without what was empty: it must be found again. Members come in the order of the tables, keys of maps
 * sorted, amounts in their shortest form. The label pod-template-hash is left out: each ReplicaSet's template has its
 * own.
 */
#ifndef BERTH_CONTROL_TEMPLATE_TEXT_H
#define BERTH_CONTROL_TEMPLATE_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "wire/json/json.h"

#define POD_TEMPLATE_HASH "pod-template-hash"

enum { TEMPLATE_HASH_MAX = 16 };

/* Appends the text. Failure sticks to the buf. */
void template_text(yyjson_val *template, struct arena *a, struct buf *out);
/* A name for a text, for labels and names of objects; `collisions`: how many such names were taken already. */
struct str template_hash(struct str text, int32_t collisions, char ret[static TEMPLATE_HASH_MAX]);

#endif
