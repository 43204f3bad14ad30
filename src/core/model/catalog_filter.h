/*
 * catalog_filter (core): which models of a catalog are shown: a filterQuery as the model registry has it.
 *
 *     license = 'apache-2.0' AND (tasks IN ('text-generation', 'chat') OR name LIKE 'granite%') AND NOT min_vram_gb >
 *       24
 *
 * A name is a field or a custom property, with or without ".string_value" and the like; one with other bytes than
 * letters, digits, '_', '-', '.' stands in backquotes. Operators: = != <> < <= > >= LIKE ILIKE IN, NOT before LIKE,
 * ILIKE and IN; AND OR NOT and parentheses. A list (tasks, language) fulfils a comparison when one of its texts does,
 * and != when none is equal. What a model does not have fulfils no comparison but !=, NOT IN and NOT LIKE. Numbers
 * compare with numbers, and with texts that are numbers.
 *
 * Compiled once into the arena, at most LIMIT_FILTER_NODES of it, nested at most LIMIT_FILTER_DEPTH deep.
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
