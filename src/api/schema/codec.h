/*
 * codec: what can be done with any API object by its kind's tables, without I/O.
 *
 * The write edge runs, in this order: json or protobuf -> codec_convert (to storage) -> codec_prune ->
 * codec_default -> (admission) -> codec_validate -> canonical bytes. Everything is in the arena of the request.
 */
#ifndef BERTH_API_CODEC_H
#define BERTH_API_CODEC_H

#include "api/schema/kind.h"

/* Fills the C view `out` (of s->size bytes, cleared first) from JSON. Unknown members are skipped; a member of the
 * wrong JSON type is ERR_SYNTAX naming the path. Views point into v's document and the arena. */
int codec_decode(const struct schema *s, yyjson_val *v, struct arena *a, void *out,
                 struct err *err);

/* Removes members that the schema does not know; calls unknown(ctx, path) for each when not NULL. */
int codec_prune(const struct schema *s, yyjson_mut_doc *d, yyjson_mut_val *obj,
                void (*unknown)(void *ctx, struct str path), void *ctx);
/* The same of a body as a decoder into upstream's types reads it. What would not decode (wrong types, numbers out of
 * range, texts that are no quantity, time or base64) adds causes of CAUSE_TYPE; only the first need be told. null as an
 * element of a list or as a value of a map is that type's zero. Empty values that those types do not write are
 * dropped. */
int codec_prune_body(const struct schema *s, yyjson_mut_doc *d, yyjson_mut_val *obj,
                     void (*unknown)(void *ctx, struct str path), void *ctx, struct causes *types);
/* What is wrong with the names in a body by a kind's tables, in the order of the text: members that are not known, and
 * such as stand twice. ERR_NOMEM. */
struct codec_names {
    void (*unknown)(void *ctx, struct str path);
    void (*repeated)(void *ctx, struct str path);
    void *ctx;
};
int codec_names(const struct schema *s, yyjson_val *body, const struct codec_names *names);
int codec_prune_status(const struct schema *s, yyjson_mut_doc *d, yyjson_mut_val *obj,
                       void (*unknown)(void *ctx, struct str path), void *ctx); /* there alone */

/* Table defaults (idempotent), then the kind's own. */
int codec_default(const struct kind *k, yyjson_mut_doc *d, struct err *err);

/* All violated rules: types, presence, ranges, formats, immutability, metadata, then the kind's own.
 * ERR_NOMEM or 0; the object is valid iff causes->n == 0. */
int codec_validate(const struct kind *k, yyjson_mut_val *obj, yyjson_val *old,
                   struct causes *causes);

/* The same for an object of which only the status is new: the rest was defaulted and valid when it was written, and is
 * not looked at but by the kind's own rules, which know it by causes.status_alone. */
int codec_validate_status(const struct kind *k, yyjson_mut_val *obj, yyjson_val *old,
                          struct causes *causes);

/* The same by the rules of the version that a request names: custom kinds have them in each version. */
int codec_default_in(const struct kind *k, const struct kind_version *kv, yyjson_mut_doc *d,
                     struct err *err);
int codec_validate_in(const struct kind *k, const struct kind_version *kv, yyjson_mut_val *obj,
                      yyjson_val *old, struct causes *causes);
int codec_default_status_in(const struct kind *k, const struct kind_version *kv, yyjson_mut_doc *d,
                            struct err *err);
int codec_validate_status_in(const struct kind *k, const struct kind_version *kv,
                             yyjson_mut_val *obj, yyjson_val *old, struct causes *causes);

/* Between versions of one kind, in place; also rewrites apiVersion. */
int codec_to_storage(const struct kind *k, const struct kind_version *from, yyjson_mut_doc *d,
                     struct err *err);
int codec_from_storage(const struct kind *k, const struct kind_version *to, yyjson_mut_doc *d,
                       struct err *err);

/* The columns of a version (kv may be NULL: the kind's), and a row's cells for them, a JSON array. */
const struct column *codec_columns(const struct kind *k, const struct kind_version *kv,
                                   size_t *ret_n);
void codec_cells(const struct kind *k, const struct kind_version *kv, yyjson_val *obj, int64_t now,
                 struct buf *out);
/* kubectl's age: "5m30s", "3d4h". */
void codec_age(int64_t then_ns, int64_t now_ns, struct buf *out);

#endif
