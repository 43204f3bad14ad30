/*
 * assets: the dashboard's files inside the binary. The table is written at build time (scripts/embed-web).
 *
 * Each file is there as it is, and compressed with gzip where that is smaller; the compressed bytes follow the plain
 * ones. A name with a hash in it never changes its content.
 */
#ifndef BERTH_SITE_ASSETS_H
#define BERTH_SITE_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct asset {
    const char *path; /* "index.html", "assets/main-3FK2A7QX.js" */
    const char *type;
    const char *hash; /* of the plain bytes; 24 hexadecimal digits */
    const char *plain;
    size_t plain_n, gzip_n; /* gzip_n 0: there is no compressed copy */
    bool hashed;            /* the name says the content: may be kept for ever */
};

struct assets {
    const struct asset *v; /* by path, ascending */
    size_t n;
    bool real; /* false: one page that says that this binary has no dashboard */
};

extern const struct assets assets_built;

#endif
