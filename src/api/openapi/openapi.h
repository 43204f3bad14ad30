/*
 * openapi: what is served, as OpenAPI: version 3 one document a group-version, version 2 one document of everything,
 * as JSON or as the protobuf form that kubectl and Helm read (gnostic's openapi.v2.Document).
 *
 * Built-in kinds and those of CustomResourceDefinitions go the same way: openapi/place.h gives one place of a table or
 * of a structural schema, and one writer puts either down. A document is written in pieces, so that 10,000 large
 * definitions hold up nobody and take the memory of one:
 *
 *     struct openapi o;
 *     openapi_begin(&o, OPENAPI_V3, group, version);
 *     while (openapi_next(&o, &buf)) { ...send what is in buf and empty it... }
 *     code = openapi_end(&o);
 *
 * The kinds may not change in between (kinds_generation): the pieces would not fit each other.
 *
 * kubectl needs of it: a PATCH operation of each kind with the parameter fieldValidation and the types of patches
 * (create, apply), the schemas with their merge keys (three-way patches), and the texts (explain).
 */
#ifndef BERTH_API_OPENAPI_H
#define BERTH_API_OPENAPI_H

#include "api/schema/kind.h"
#include "base/map.h"

enum openapi_form { OPENAPI_V3, OPENAPI_V2, OPENAPI_V2_PROTOBUF };

struct openapi {
    enum openapi_form form;
    struct str group, version; /* of version 3: views of the caller's */
    int phase;                 /* what comes next */
    size_t kind, kind_version; /* the next one */
    size_t at;                 /* the next of `seen` */
    struct map seen, listed;   /* tables by component name: those reached, those with a list */
    struct buf piece;          /* of protobuf: the JSON it is made of */
    bool some;                 /* of the part that is written: not its first entry */
    int code;
};

/* Version 2 has no group and version. */
void openapi_begin(struct openapi *o, enum openapi_form form, struct str group, struct str version);
/* Appends the next piece: a schema, the paths of a kind. False at the end, or after a failure. */
bool openapi_next(struct openapi *o, struct buf *out);
/* 0, or why the document is not whole: ERR_NOT_FOUND (nothing is served in the group-version), ERR_NOMEM. */
int openapi_end(struct openapi *o);
/* All pieces of a document at once: the same codes. */
int openapi_write(enum openapi_form form, struct str group, struct str version, struct buf *out,
                  struct err *err);

/* A number that is another when the built-in tables are: for entity tags. Made once, which takes some milliseconds. */
uint64_t openapi_tables_sum(void);
/* The same of how one version of a kind is described, its tables apart. */
uint64_t openapi_kind_sum(const struct kind *k, const struct kind_version *kv);

#endif
