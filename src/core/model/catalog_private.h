/* catalog_private: JSON and YAML of catalogs while they are read: fields with their paths. Private to the folder. */
#ifndef BERTH_CORE_MODEL_CATALOG_PRIVATE_H
#define BERTH_CORE_MODEL_CATALOG_PRIVATE_H

#include "core/model/catalog.h"
#include "wire/json/json.h"

struct catalog_in {
    struct arena *arena;
    struct err *err;
    int code;
    const char *list; /* "models", and the index in it: for errors */
    size_t index;
};

/* YAML or JSON of at most LIMIT_CATALOG_BYTES. */
int catalog_parse(struct arena *a, struct str text, yyjson_mut_doc **ret, struct err *err);
int catalog_fault(struct catalog_in *c, const char *field, const char *what);
struct str catalog_in_text(struct catalog_in *c, yyjson_mut_val *obj, const char *field);
struct catalog_texts catalog_in_texts(struct catalog_in *c, yyjson_mut_val *obj, const char *field);
/* The list of objects, at most `most`; NULL when absent. */
yyjson_mut_val *catalog_in_list(struct catalog_in *c, yyjson_mut_val *obj, const char *field,
                                size_t most);

#endif
