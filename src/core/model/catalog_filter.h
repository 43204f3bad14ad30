/*
 * catalog_filter (core): a filter of models in a catalog, in the model registry's filterQuery language.
 *
 *     license = 'apache-2.0' AND (tasks IN ('text-generation', 'chat') OR name LIKE 'granite%') AND NOT size > 24
 *
 * A name is a field or a custom property, with or without a suffix such as ".string_value"; a name with bytes other
 * than letters, digits, '_', '-' and '.' is written in backquotes. Operators: = != <> < <= > >= LIKE ILIKE IN, NOT
 * before LIKE, ILIKE and IN; AND OR NOT and parentheses. A list (tasks, language) satisfies a comparison if one of its
 * strings does, and != if none is equal. A property that a model does not have satisfies only !=, NOT IN and NOT LIKE.
 * Numbers compare with numbers and with strings that are numbers.
 *
 * A query is compiled once into the arena: at most LIMIT_FILTER_NODES nodes, at most LIMIT_FILTER_DEPTH deep.
 */
#ifndef BERTH_CORE_MODEL_CATALOG_FILTER_H
#define BERTH_CORE_MODEL_CATALOG_FILTER_H

#include "core/model/catalog.h"

struct catalog_filter_node;

struct catalog_filter {
    const struct catalog_filter_node *root; /* NULL: everything passes */
};

/* An empty query lets everything pass. ERR_SYNTAX: what was expected, and where; ERR_TOO_LARGE; ERR_NOMEM. Views into
 * the query. */
int catalog_filter_compile(struct arena *a, struct str query, struct catalog_filter *ret,
                           struct err *err);
bool catalog_filter_passes(const struct catalog_filter *f, const struct catalog_model *m);

#endif
