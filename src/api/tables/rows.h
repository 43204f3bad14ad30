/*
 * rows: shorthand for tables without C views: one word for each of the few rows that most kinds are made of.
 *
 * A kind that is only stored and checked needs no view; when a controller comes to read a member, its row becomes an
 * M() of table.h. `flags_` is REQUIRED or 0.
 */
#ifndef BERTH_API_ROWS_H
#define BERTH_API_ROWS_H

#include "api/tables/table.h"
#include "api/tables/view_meta.h"

/* A table and its schema in one: schema_<name> is of the linkage given (static, or nothing). */
#define TABLE(linkage_, name_, component_, doc_, ...)                                 \
    static const struct field name_##_rows[] = {__VA_ARGS__};                         \
    linkage_ const struct schema schema_##name_ = SCHEMA(component_, name_##_rows, 0, doc_)
/* Rows without a C member, in a word each: optional and required texts, one of few texts, an object, a list. */
#define TEXT(json_, doc_) F(STRING, ONE, json_, 0, .doc = doc_)
#define MUST(json_, doc_)                                                             \
    F(STRING, ONE, json_, 0, .flags = REQUIRED | FIELD_F_KEEP_EMPTY, .doc = doc_)
#define ENUM(json_, flags_, values_, doc_)                                            \
    F(STRING, ONE, json_, 0, .flags = flags_, .values = values_, .doc = doc_)
#define ONE_OF(json_, name_, flags_, doc_)                                            \
    F(OBJECT, ONE, json_, 0, .of = &schema_##name_, .flags = flags_, .doc = doc_)
#define SOME(json_, name_, flags_, doc_)                                              \
    F(OBJECT, LIST, json_, 0, .of = &schema_##name_, .flags = flags_,                 \
      .min = ((flags_) & REQUIRED) != 0, .max = INT32_MAX, .doc = doc_)
#define REQUIRED FIELD_F_REQUIRED
/* What every object begins with. */
#define ROWS_OF_OBJECT                                                                \
    TEXT("apiVersion", "Version of the API in which the object is written."),         \
        TEXT("kind", "Kind of the object."),                                          \
        ONE_OF("metadata", meta, 0, "Standard object metadata.")

#endif
