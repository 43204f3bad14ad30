/*
 * catalog_find: the catalog that the verbs of models read: the one that ships (deploy/serving/catalog.yaml), or a file
 * in the same format (core/model/catalog.h).
 */
#ifndef BERTH_CLI_CATALOG_FIND_H
#define BERTH_CLI_CATALOG_FIND_H

#include "core/model/catalog.h"

/* file: NULL for the one that ships. ERR_NOT_FOUND, ERR_SYNTAX, ERR_INVALID, with the name of the file. */
int catalog_find_read(struct arena *a, const char *file, struct catalog *ret, struct err *err);
/* The model of this name, in upper or lower case, with or without what stands before the '/'. NULL: none, or several
 * are. */
const struct catalog_model *catalog_find(const struct catalog *c, struct str name);

#endif
