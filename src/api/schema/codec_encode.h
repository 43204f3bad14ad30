/*
 * codec_encode: C views to JSON, by their kind's tables: the inverse of codec_decode, and merge patches from one
 * view to another. Every body that controllers write comes from here.
 *
 * A view is written member by member in the table's order. What is unset is left out: NULL, the empty text, list or
 * map, zero of a number without FIELD_F_OPT, a time of 0; FIELD_F_REQUIRED and FIELD_F_KEEP_EMPTY members but times and
 * objects are written all the same. Times are written in whole seconds (FIELD_MICROTIME: with microseconds).
 * A text of digits in a FIELD_INT_OR_STRING is written as an integer.
 *
 * What a view has no member for is not known here. A patch never touches it in objects and maps; but lists are replaced
 * whole, so change only lists of whose elements the view has every member.
 */
#ifndef BERTH_API_CODEC_ENCODE_H
#define BERTH_API_CODEC_ENCODE_H

#include "api/schema/kind.h"
#include "base/buf.h"

/* `{...}` of the view, appended. Failure sticks to the buf: ERR_NOMEM, ERR_TOO_LARGE. */
void codec_encode(const struct schema *s, const void *view, struct buf *out);
/* The same of a whole object of the kind's storage version, apiVersion and kind first: the body of a create. */
void codec_encode_object(const struct kind *k, const void *view, struct buf *out);
/* The same of a view by another schema of the kind. */
void codec_encode_object_as(const struct kind *k, const struct schema *s, const void *view,
                            struct buf *out);

/* `[...]` of n views, one behind the other. */
void codec_encode_list(const struct schema *s, const void *views, size_t n, struct buf *out);
/* A list of computed objects, item by item: its head, each of them, its end. */
void codec_list_begin(const char *kind, struct str group, struct str version, struct buf *out);
void codec_list_begin_at(const char *kind, struct str group, struct str version, uint64_t rv,
                         size_t remaining, struct buf *out); /* each 0: not said */
void codec_list_item(const struct schema *s, const void *view, struct buf *out);
void codec_list_object(const struct kind *k, const void *view, struct buf *out);
void codec_list_end(struct buf *out);

/* On what a write is conditional. */
struct codec_lock {
    uint64_t rv;    /* resourceVersion; 0: any */
    struct str uid; /* empty: any */
};
/* The smallest JSON merge patch (RFC 7386) that leads from `was` to `want`, two views of s, appended to `out`. False,
 * and nothing appended, when they are the same. Both may share what did not change: a pointer that is the same is not
 * followed. was may be NULL: nothing is there. With a lock (NULL: none) s is a whole object's schema with metadata, the
 * patch is conditional, and metadata that `want` lacks are as they were. */
bool codec_patch(const struct schema *s, const void *was, const void *want,
                 const struct codec_lock *lock, struct buf *out);
/* The same of JSON, with a lock: from `was` to what was made of a copy of it; `spec`: that alone is compared. */
bool codec_patch_tree(yyjson_val *was, yyjson_mut_val *want, bool spec,
                      const struct codec_lock *lock, struct buf *out);
/* Whether a merge patch from here is conditional on a resourceVersion. */
bool codec_patch_is_locked(struct str patch);

#endif
