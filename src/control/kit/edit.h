/*
 * edit: what a controller changes of one object, written as a merge patch from the view that it decoded to the view
 * that it wants.
 *
 *     struct job_status status = *job.status;           a copy, which shares what does not change
 *     struct job want = job;
 *     status.active = 3;
 *     want.status = &status;
 *     code = edit_write(o, EDIT_VERSION, &job, &want, &body);
 *
 * Only what differs is written (api/schema/codec_encode.h says how, and what lists mean). What a write is conditional
 * on is said here and nowhere else: EDIT_VERSION, the version that was looked at, so that another's write in between is
 * a conflict and is met by deciding again; EDIT_UID, that it is still the same object and not a namesake.
 *
 * All return 0, ERR_NOT_FOUND when nothing differs (there is nothing to write), ERR_NOMEM or ERR_TOO_LARGE.
 */
#ifndef BERTH_CONTROL_EDIT_H
#define BERTH_CONTROL_EDIT_H

#include "api/tables/view_meta.h"
#include "base/arena.h"
#include "base/buf.h"
#include "control/kit/round.h"
#include "mirror/object.h"

enum { EDIT_VERSION = 1, EDIT_UID = 2 };

/* was, want: views of the object's kind, which has one. Members that they say nothing of are the same in both. */
int edit_write(const struct object *o, unsigned on, const void *was, const void *want,
               struct buf *out);
/* By another schema of the kind. */
int edit_write_as(const struct schema *s, const struct object *o, unsigned on, const void *was,
                  const void *want, struct buf *out);
/* Of any kind, as JSON: from the object to what was made of a copy; and from its spec, when that is all of the copy. */
int edit_write_tree(const struct object *o, unsigned on, yyjson_val *was, yyjson_mut_val *want,
                    struct buf *out);
int edit_write_spec(const struct object *o, unsigned on, yyjson_val *was, yyjson_mut_val *want,
                    struct buf *out);
/* The metadata alone, of any kind. */
int edit_write_meta(const struct object *o, unsigned on, const struct meta *was,
                    const struct meta *want, struct buf *out);

/* The same, sent as a patch in a round; nothing is sent where nothing differs. What cannot be written fails the round
 * and is returned. subresource: "" or "status", ... */
int edit_send(struct round *r, const struct object *o, const char *subresource, unsigned on,
              const void *was, const void *want);
int edit_send_meta(struct round *r, const struct object *o, unsigned on, const struct meta *was,
                   const struct meta *want);

/* Creates the object that the view says, in a round. What cannot be written fails the round and is returned. */
int edit_create(struct round *r, const struct kind *k, struct str ns, const void *view);

/* The metadata of any object, decoded into the arena; of an object's JSON. */
int edit_read_meta(const struct object *o, struct arena *a, struct meta **ret);
int edit_meta_of(yyjson_val *tree, struct arena *a, struct meta **ret);
/* Takes one finalizer off, conditional on version and uid; ERR_NOT_FOUND when it is not there. */
int edit_drop_finalizer(const struct object *o, const char *finalizer, struct arena *a,
                        struct buf *out);

#endif
