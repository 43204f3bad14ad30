/*
 * place: one node in the description of a kind, from a field table (api/tables/field.h) or from the structural
 * schema of a CustomResourceDefinition.
 *
 * Code that walks descriptions (OpenAPI, and so `kubectl explain`) walks places and need not know which source it has.
 */
#ifndef BERTH_API_PLACE_H
#define BERTH_API_PLACE_H

#include "api/tables/field.h"
#include "wire/json/json.h"

struct place {
    const struct schema *table; /* an object of this table; else */
    const struct field *field;  /* a member by its row; else a schema as it was written: */
    yyjson_val *written;
    bool item; /* of `field`: an element of the list or map */
    bool root; /* of `written`: the object itself, which has metadata and is told what it is */
};

/* What a place says of itself. Texts are empty, values NULL, where it says nothing. */
struct place_facts {
    struct str doc, type, format;
    struct str component; /* it is what this component describes */
    bool nullable, preserves, embeds, int_or_string;
    const char *def_text; /* its default, as JSON; or */
    yyjson_val *def;
    const char *const *texts; /* the texts that it may be; or */
    yyjson_val *values;
};

struct place place_of_table(const struct schema *s);
struct place place_of_written(yyjson_val *v, bool root);
void place_facts(const struct place *p, struct place_facts *ret);

/* The members of an object that are named, one after the other. */
struct place_members {
    const struct place *of;
    size_t at;
    yyjson_obj_iter it;
};
struct place_members place_members(const struct place *p);
bool place_next(struct place_members *m, struct str *ret_name, struct place *ret);
bool place_has_members(const struct place *p);
/* Those that must be there, in the order of the description. *at starts at 0. */
bool place_next_required(const struct place *p, size_t *at, struct str *ret_name);
/* What the elements of a list, the values of a map are like; false: not said. */
bool place_items(const struct place *p, struct place *ret);
bool place_others(const struct place *p, struct place *ret);
/* A comma, unless a brace or bracket has just been opened. */
static inline void place_comma(struct buf *b) {
    if (b->n > 0 && b->p[b->n - 1] != '{' && b->p[b->n - 1] != '[') {
        buf_ch(b, ',');
    }
}
/* A comma if need be, and "name": */
static inline void place_name(struct buf *b, struct str name) {
    place_comma(b);
    buf_json(b, name);
    buf_ch(b, ':');
}
/* The rest: bounds and extensions. Version 2 of OpenAPI knows no alternatives (allOf, anyOf, oneOf, not). */
void place_write_rest(const struct place *p, bool v2, struct buf *b);

/* The scalars that have components of their own. */
#define PLACE_QUANTITY "io.k8s.apimachinery.pkg.api.resource.Quantity"
#define PLACE_INT_OR_STRING "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
#define PLACE_META "io.k8s.apimachinery.pkg.apis.meta.v1."

#endif
