/*
 * step: one step of a path into an object, as managed fields name it.
 *
 *     f:spec                           STEP_FIELD   a member of an object or map
 *     k:{"name":"web"}                 STEP_KEY     the element of a list that is a map, by its keys
 *     v:"finalizer.example.com/x"      STEP_VALUE   the member of a set
 *     i:3                              STEP_INDEX   the element at a place; read and kept, never made
 *
 * The text of a key and of a value is canonical JSON (members sorted, whole numbers without a point), so that two steps
 * are the same when their texts are. Texts live in an arena or in the document that they were read from.
 */
#ifndef BERTH_API_STEP_H
#define BERTH_API_STEP_H

#include "wire/json/json.h"

enum step_type { STEP_FIELD, STEP_KEY, STEP_VALUE, STEP_INDEX };

struct field_step {
    enum step_type type;
    struct str text; /* without "f:" and so on */
};

/* A part of a key: the name and the value of a member. */
struct step_key {
    struct str name;
    yyjson_mut_val *v;
};

/* By type, then text; numbers in keys and values by amount. */
int step_cmp(const struct field_step *a, const struct field_step *b);

/* From parts, which are sorted in place, or from a scalar. `scratch` is for the text and is reset. ERR_NOMEM. */
int step_of_keys(struct arena *a, struct buf *scratch, struct step_key *v, size_t n,
                 struct field_step *ret);
int step_of_value(struct arena *a, struct buf *scratch, yyjson_mut_val *v, struct field_step *ret);

/* From the name of a member of FieldsV1. ERR_NOT_FOUND: of a type that we do not know, to be left out; ERR_INVALID:
 * no step; ERR_NOMEM. */
int step_parse(struct arena *a, struct buf *scratch, struct str name, struct field_step *ret);
/* That name: "f:spec". Empty when out of memory. */
struct str step_name(struct arena *a, const struct field_step *s);
/* As paths are told to people: `.spec`, `[name="web"]`, `[="x"]`, `[3]`. A text of more than 256 bytes is cut, and ends
 * in "...": for messages alone. */
void step_write(const struct field_step *s, struct arena *a, struct buf *out);

#endif
