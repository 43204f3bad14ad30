/* lines: see lines.h. */
#include "lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_BYTES = 1 << 30 };

bool lines_each(const char *program, const char *path,
                bool (*one)(void *ctx, yyjson_val *value, struct arena *a), void *ctx) {
    struct arena a;
    struct err err = {0};
    char *line = NULL;
    size_t cap = 0, number = 0;
    ssize_t n;
    bool ok = true, more = true;
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        fprintf(stderr, "%s: %s: %s\n", program, path, strerror(errno));
        return false;
    }
    arena_init(&a, LINE_BYTES);
    while (ok && more && (n = getline(&line, &cap, f)) > 0) {
        yyjson_doc *doc;
        struct str text = str_trim(str_from(line, (size_t)n));
        number++;
        arena_reset(&a);
        ok = str_empty(text) || json_parse(&a, text, &doc, &err) == 0;
        if (ok && !str_empty(text)) {
            more = one(ctx, yyjson_doc_get_root(doc), &a);
        }
    }
    if (!ok) {
        fprintf(stderr, "%s: %s:%zu: %s\n", program, path, number, err.text);
    }
    ok = ok && ferror(f) == 0;
    free(line);
    fclose(f);
    arena_release(&a);
    return ok;
}
