/*
 * catalog_answer: CatalogModels as they are written, from the text of the catalog's ConfigMap. Pure: it may run on any
 * thread.
 */
#ifndef BERTH_CONTROL_CATALOG_ANSWER_H
#define BERTH_CONTROL_CATALOG_ANSWER_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "core/model/fit_places.h"

struct catalog_question {
    struct str map;    /* the ConfigMap, JSON; empty: there is none */
    struct str name;   /* of one CatalogModel; empty: a list */
    struct str filter; /* filterQuery */
    int64_t context, sequences;
    const struct fit_places *places;
    const atomic_bool *stop; /* nobody waits any more: looked at before each model; may be NULL */
};

/* Appends the object or the list. ERR_NOT_FOUND. ERR_BAD_REQUEST: the filter. ERR_UNAVAILABLE: the catalog is
 * wrong, and the text names the key and the field; or the question was withdrawn. ERR_NOMEM. */
int catalog_answer(const struct catalog_question *q, struct arena *a, struct buf *out,
                   struct err *err);

#endif
