/*
 * cel_sort: the static types of CEL expressions.
 *
 * An expression is compiled against the names that it may use and their types. An error in it (an undeclared name,
 * a field that the type does not have, operands that match no overload) is reported with cel-go's text and
 * position. A value without a schema has the type `dyn`, which is compatible with every type. Pure; bounded by the
 * expression's size.
 *
 *     text --cel_compile--> tree with the type of each node --cel_cost--> the most that evaluating it can take
 */
#ifndef BERTH_API_CEL_SORT_H
#define BERTH_API_CEL_SORT_H

#include "api/cel/cel.h"
#include "api/tables/field.h"

/* Letters as in signatures (cel_tree.h); 'o': an object with a shape; 'e': an error was told already. */
struct cel_sort {
    char letter;
    const struct cel_sort *a, *b; /* of a list, an optional: a; of a map: a, b */
    const struct cel_shape *shape;
    uint64_t most; /* the largest size of a text, list or map; CEL_SIZE_UNKNOWN */
    /* That size is by a limit that the schema itself states (maxItems, maxLength, ...) */
    bool limited;
    int32_t least; /* the smallest size, of a constant or an enum; else 0 */
};
#define CEL_SIZE_UNKNOWN UINT64_MAX

/* The members of an object. `member` gives one by the name that it has in documents. */
struct cel_shape {
    struct str name; /* "object", "Deployment.spec" */
    const void *of;
    /* false: there is none. The type is in a. */
    bool (*member)(const struct cel_shape *s, struct str name, struct arena *a,
                   const struct cel_sort **ret);
};

extern const struct cel_sort cel_dyn, cel_bool_sort, cel_int_sort, cel_string_sort;
const struct cel_sort *cel_sort_of(char letter); /* one without parts */
const struct cel_sort *cel_sort_list(struct arena *a, const struct cel_sort *of);
const struct cel_sort *cel_sort_map(struct arena *a, const struct cel_sort *value);
const struct cel_sort *cel_sort_optional(struct arena *a, const struct cel_sort *of);
/* As cel-go writes it: "list(string)". */
void cel_sort_write(const struct cel_sort *s, struct buf *b);

/* Of a structural schema as JSON, of the compiled one, and of a built-in kind's table. `root`: apiVersion, kind and
 * metadata are there without being said. */
const struct cel_sort *cel_sort_of_json(struct arena *a, yyjson_val *schema, struct str name,
                                        bool root);
const struct cel_sort *cel_sort_of_schema(struct arena *a, const struct schema *s, struct str name);
/* `request`, `namespaceObject` of policies. */
const struct cel_sort *cel_sort_of_request(struct arena *a);
const struct cel_sort *cel_sort_of_namespace(struct arena *a);
/* The elements of a JSON patch; what Object.NAME{...} makes. */
const struct cel_sort *cel_sort_of_patch(struct arena *a);
const struct cel_sort *cel_sort_of_made(struct arena *a, struct str name);

/* A name that an expression may use. */
struct cel_decl {
    struct str name;
    const struct cel_sort *sort;
};
struct cel_scope {
    const struct cel_decl *v;
    size_t n;
    const struct cel_decl *variables; /* behind `variables.`; NULL: there is no such name */
    size_t n_variables;
    bool makes; /* Object{...} and JSONPatch{...} may be written */
};

/* 0, the tree and its type. ERR_SYNTAX: *ret_text says all that is wrong, in cel-go's form
 * ("ERROR: <input>:1:5: undeclared reference to 'x' (in container '')\n | ..."). ERR_NOMEM. */
int cel_compile(struct arena *a, struct str text, const struct cel_scope *scope,
                const struct cel_expr **ret, const struct cel_sort **ret_sort,
                struct str *ret_text);

/* The most that evaluating a compiled expression can cost, in cel-go's units; saturated. */
uint64_t cel_cost(const struct cel_expr *e);
/* The least bytes that a value of a schema takes in a request. */
uint64_t cel_least_bytes(yyjson_val *schema, struct arena *a);

#endif
