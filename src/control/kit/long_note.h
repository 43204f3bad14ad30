/*
 * long_note: a list in JSON that a controller keeps with an object, as long as it may get.
 *
 *     berth.dev/placement: [{"podSet":"main","index":0,"node":"n1",...},...]         while there is room
 *     berth.dev/placement: {"revisions":["a-2cf24dba5fb0a30e","a-6b86b273ff34fce1"]} beyond that
 *
 * All annotations of an object together have 256 KiB (LIMIT_ANNOTATION_BYTES), so a longer list is divided among
 * ControllerRevisions, which Kubernetes has for what a controller remembers of an object: each has some of the items in
 * its data, in order. A revision is never changed: its name says which object and which items it is of, and another
 * list has others. The caller writes in this order:
 *
 *     long_note_make      what the annotation is to say, and which revisions are missing
 *     long_note_create    these, in one round; then make again
 *     the annotation      in another; when that has succeeded
 *     long_note_drop      the revisions that it named before, in the same round
 *
 * Revisions that are not dropped, after a crash in between, go with the object, which owns them. Those that it does not
 * own are not read.
 */
#ifndef BERTH_CONTROL_LONG_NOTE_H
#define BERTH_CONTROL_LONG_NOTE_H

#include "api/meta.h"
#include "control/kit/round.h"
#include "wire/json/json.h"

struct long_note {
    const char *annotation, *label,
        *member;             /* label: on revisions, "true"; member: of their data */
    const struct kind *kind; /* ControllerRevision; NULL: it is not served */
    const struct mirror *mirror;
};

struct long_text {
    struct str text;    /* of the annotation: the list itself, or in the arena */
    size_t bytes, room; /* what the annotation would take, and what there is room for */
    struct long_part
        *missing; /* revisions that it names and that are not there yet; in the arena */
    size_t n_missing;
};

/* The bytes that the other annotations leave to this one. */
size_t long_note_room(const struct long_note *n, const struct meta *m);
/* list: a JSON array; it outlives ret. ERR_NOMEM; ERR_TOO_LARGE, with bytes and room: there is no room for the names
 * even. */
int long_note_make(const struct long_note *n, const struct object *o, const struct meta *m,
                   struct str list, struct arena *a, struct long_text *ret);
/* The missing ones. */
void long_note_create(const struct long_note *n, const struct object *o, const struct long_text *t,
                      struct arena *a, struct round *r);
/* Whether the text of an annotation names revisions. */
bool long_note_divided(struct str text, struct arena *a);
/* The list, in as many pieces as there are; their memory is the arena's. ERR_NOMEM, ERR_INVALID: the text is no JSON.
 * *err is set, and 0 returned, when a revision is gone: the others are read. */
int long_note_read(const struct long_note *n, struct str ns, struct str uid, struct str text,
                   struct arena *a, yyjson_val ***ret, size_t *ret_n, struct err *err);
/* Removes the revisions that the annotation named when its text was `was`, and that o's names no longer. */
void long_note_drop(const struct long_note *n, const struct object *o, struct str was,
                    struct arena *a, struct round *r);

#endif
