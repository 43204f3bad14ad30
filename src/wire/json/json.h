/*
 * json: JSON text to values and back, over yyjson.
 *
 * yyjson's own types are used by every room (include this header, not <yyjson.h>): yyjson_val is an immutable tree,
 * yyjson_mut_val one that patches and defaulting change. Documents allocate from the arena that is passed and die with
 * it; never call yyjson_doc_free on them. Input is strict RFC 8259 with our limits: LIMIT_JSON_DEPTH, valid UTF-8, no
 * trailing garbage, no NaN. Numbers: integers that fit int64/uint64 stay integers, others become doubles.
 *
 * Mind that yyjson_obj_foreach must not be given NULL: it would step from it.
 *
 * Paths here are simple dotted member names ("spec.template.metadata.labels"): names that contain dots (label keys)
 * are looked up with json_get.
 */
#ifndef BERTH_WIRE_JSON_H
#define BERTH_WIRE_JSON_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* ERR_SYNTAX with the byte offset, ERR_TOO_LARGE (depth), ERR_NOMEM. */
int json_parse(struct arena *a, struct str text, yyjson_doc **ret, struct err *err);
/* The same where the text may be written over, and has room for JSON_PADDING more bytes behind it; text and document
 * share memory, so the text must live as long. In the error case its bytes are anything. */
enum { JSON_PADDING = 4 };
int json_parse_here(struct arena *a, char *text, size_t n, yyjson_doc **ret, struct err *err);
/* An empty mutable document in the arena (NULL when out of memory), and a mutable copy of a value as its root. */
yyjson_mut_doc *json_mut_new(struct arena *a);
struct arena *json_arena(yyjson_mut_doc *d); /* that the document was made in */
yyjson_mut_doc *json_mut_copy(struct arena *a, yyjson_val *v);
/* Parses straight to a mutable document. */
int json_parse_mut(struct arena *a, struct str text, yyjson_mut_doc **ret, struct err *err);
/* Is it nested so that its text could not be parsed? Values that were put together may be. */
bool json_mut_too_deep(yyjson_mut_val *v);

/* Compact text, appended; check buf_ok(). */
void json_write(struct buf *b, yyjson_val *v);
void json_write_mut(struct buf *b, yyjson_mut_val *v);

/* Calls found(ctx, path) for each member name that stands twice in one object, path like "spec.containers[0].name";
 * 0 or ERR_NOMEM. json_dedup keeps the last of each, as Kubernetes does. */
int json_duplicates(yyjson_val *v, struct arena *a, void (*found)(void *ctx, struct str path),
                    void *ctx);
void json_dedup(yyjson_mut_val *v);

/* Reading. All accept NULL (absent) and the wrong type, and then give NULL, the empty view, the default. */
yyjson_val *json_get(yyjson_val *obj, struct str key);
yyjson_val *json_path(yyjson_val *v, const char *dotted);
struct str json_str(yyjson_val *v);
struct str json_str_at(yyjson_val *v, const char *dotted);
int64_t json_i64_at(yyjson_val *v, const char *dotted, int64_t otherwise);
bool json_bool_at(yyjson_val *v, const char *dotted, bool otherwise);

yyjson_mut_val *json_mget(yyjson_mut_val *obj, struct str key);
yyjson_mut_val *json_mpath(yyjson_mut_val *v, const char *dotted);
struct str json_mstr(yyjson_mut_val *v);
struct str json_mstr_at(yyjson_mut_val *v, const char *dotted);
/* The first of a list whose member, or which itself (NULL), is this text; NULL: there is none. */
yyjson_mut_val *json_mfind(yyjson_mut_val *list, const char *member, struct str text);

/* Changing. Keys and strings are copied into the document. 0 or ERR_NOMEM; a wrong parent type is replaced by an
 * object. json_mset takes the value over; NULL removes the member. json_mensure returns the object at a dotted path,
 * made where missing (NULL when out of memory). */
int json_mset(yyjson_mut_doc *d, yyjson_mut_val *obj, struct str key, yyjson_mut_val *v);
int json_mset_str(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, struct str v);
int json_mset_i64(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, int64_t v);
int json_mset_bool(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, bool v);
void json_mdel(yyjson_mut_val *obj, struct str key);
yyjson_mut_val *json_mensure(yyjson_mut_doc *d, yyjson_mut_val *root, const char *dotted);

/* Deep equality; member order and number representation (1 and 1.0) do not count, element order does. */
bool json_equal(yyjson_val *a, yyjson_val *b);
bool json_mequal(yyjson_mut_val *a, yyjson_mut_val *b);

#endif
