/*
 * parts: the members of an object, or the elements of a list, each with its step: what every walk of this room goes
 * over. Internal to it.
 */
#ifndef BERTH_API_PARTS_H
#define BERTH_API_PARTS_H

#include "api/managed/form.h"
#include "api/managed/step.h"

/* One walk: its memory, which is also its allowance of steps, and the first thing that was wrong. */
struct walk_room {
    struct arena *arena;
    struct buf scratch; /* texts of steps */
    int code; /* 0, ERR_INVALID (with `wrong`), ERR_NOMEM, ERR_TOO_LARGE: the allowance is spent */
    struct str wrong; /* "element 3: ..." */
};

struct part {
    struct field_step step;
    yyjson_mut_val *key; /* of a member of an object */
    yyjson_mut_val *v;
    struct form form;
    uint32_t hash; /* of the step's text */
    bool named;    /* the schema has the member by its name */
    bool twice;    /* another part has the same step */
    bool again;    /* ... and stands before this one: `first` */
    struct part *first;
    struct part *other; /* of the same step among the parts of another value, set by parts_pair */
};

struct part_list {
    struct part *v;
    size_t n;
    bool on_heap; /* many are: an arena would keep them all until its end */
};

void room_init(struct walk_room *r, struct arena *a);
/* Ends the walk: 0, or its code with a text. */
int room_end(struct walk_room *r, struct err *err);
/* False when the walk is to end: r->code says why. Charges n steps. */
bool room_goes_on(struct walk_room *r, size_t n);

/* The parts of v by the rule of its form; a leaf, null or NULL has none. An element that has no step is an error.
 * Release them in any case. */
void parts_of(struct walk_room *r, const struct form *f, yyjson_mut_val *v, struct part_list *ret);
void parts_release(struct part_list *p);
/* Those of one step, of two values, know one another; where a step stands twice, the first. */
void parts_pair(struct walk_room *r, struct part_list *a, struct part_list *b);

#endif
