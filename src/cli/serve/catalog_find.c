/* catalog_find: see catalog_find.h. */
#include "cli/serve/catalog_find.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/limits.h"

extern const unsigned char shipped_catalog[]; /* by scripts/embed-text */
extern const size_t shipped_catalog_size;

static int read_file(struct arena *a, const char *file, struct str *ret, struct err *err) {
    struct buf b;
    char room[65536];
    size_t n;
    FILE *f = fopen(file, "rbe");
    if (f == NULL) {
        return err_sys(err, errno, "%s", file);
    }
    buf_init(&b, LIMIT_CATALOG_BYTES + 1);
    while ((n = fread(room, 1, sizeof room, f)) > 0) {
        buf_str(&b, str_from(room, n));
    }
    int r = ferror(f) ? err_sys(err, EIO, "%s", file) : 0;
    r = r == 0 && buf_ok(&b) != 0
            ? err_set(err, ERR_TOO_LARGE, "%s: expected a catalog of at most %d MiB", file,
                      LIMIT_CATALOG_BYTES >> 20)
            : r;
    *ret = r == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    (void)fclose(f);
    return r;
}

int catalog_find_read(struct arena *a, const char *file, struct catalog *ret, struct err *err) {
    struct str text = str_from((const char *)shipped_catalog, shipped_catalog_size);
    int r = file ? read_file(a, file, &text, err) : 0;
    if (r == 0 && (r = catalog_read(a, text, ret, err)) != 0 && file != NULL) {
        return err_wrap(err, "%s", file);
    }
    return r;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool alike(struct str x, struct str y) {
    bool same = x.n == y.n;
    for (size_t i = 0; same && i < x.n; i++) {
        same = lower(x.p[i]) == lower(y.p[i]);
    }
    return same;
}

const struct catalog_model *catalog_find(const struct catalog *c, struct str name) {
    const struct catalog_model *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct str whole = c->models[i].name;
        ptrdiff_t slash = str_find_last(whole, '/');
        if (alike(whole, name)) {
            return &c->models[i];
        }
        if (alike(str_skip(whole, (size_t)(slash + 1)), name)) {
            found = &c->models[i];
            n++;
        }
    }
    return n == 1 ? found : NULL;
}
