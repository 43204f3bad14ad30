/*
 * table: rows of cells in columns as wide as their widest cell, measured in characters, not bytes.
 *
 * Control characters in cells become '?', so that no object can write to the terminal. With a width the last column is
 * cut to fit.
 */
#ifndef BERTH_CLI_TABLE_H
#define BERTH_CLI_TABLE_H

#include "base/arena.h"
#include "base/buf.h"

enum { TABLE_COLUMNS_MAX = 16 };

enum table_style { STYLE_PLAIN, STYLE_GOOD, STYLE_WAIT, STYLE_BAD, STYLE_DIM };

struct table {
    struct arena *arena; /* cells are copied here */
    const char *const *headers;
    size_t n_columns;
    struct str *cells;        /* row after row */
    enum table_style *styles; /* of each row's cells */
    size_t n_rows, cap;
};

void table_init(struct table *t, struct arena *a, const char *const *headers, size_t n_columns);
/* A new row of empty cells. */
void table_row(struct table *t);
void table_set(struct table *t, size_t column, enum table_style style, struct str text);
/* width 0: no limit. */
void table_write(const struct table *t, bool colour, int width, struct buf *out);

#endif
