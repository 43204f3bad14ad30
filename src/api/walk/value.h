/*
 * value: what a member of a C view holds, by its row of the field table: how large it is, whether it is there, and
 * whether two are the same. field.h says how each type and shape looks.
 */
#ifndef BERTH_API_VALUE_H
#define BERTH_API_VALUE_H

#include "api/tables/field.h"
#include "base/arena.h"
#include "wire/json/json.h"

/* A decoded list or map: the same first two members whatever the element. */
struct value_span {
    char *v;
    size_t n;
};
/* The element of a map is a key and then its value. */
static inline const char *value_of_item(const char *item) {
    return item + sizeof(struct str);
}

/* Bytes from one element of a list or map to the next. */
size_t value_stride(const struct field *f);
/* Whether a decoded object is a view of its schema, and not the JSON itself. */
bool value_is_view(const struct field *f);

/* The member of the view that the row describes is unset: NULL, empty, zero, or (of a struct opt_*) not set. */
bool value_absent(const struct field *f, const char *member);
/* Two members of one row. Amounts compare by amount, maps whatever their order, JSON as json_equal does. */
bool value_same(const struct field *f, const char *a, const char *b);
/* Two single values of the row's type: elements of lists, values of maps. */
bool value_one_same(const struct field *f, const char *a, const char *b);
/* Two views of one schema. */
bool value_views_same(const struct schema *s, const void *a, const void *b);

/* A view with all that `want` says laid over it, in the arena; both are of one schema, and it shares what is in them.
 * Objects and maps are merged, atomic objects (FIELD_F_ATOMIC) and lists replaced; what `want` has unset stays as it
 * was, and an empty text is not added to a map. NULL: no memory. */
void *value_lay(const struct schema *s, const void *was, const void *want, struct arena *a);

/* The value under a key of a map, or NULL. *at is where to look first, and becomes the place behind the one found: maps
 * in one order are walked together in one pass. */
const char *value_in_map(const struct field *f, struct value_span map, struct str key, size_t *at);

#endif
