/*
 * queue_replay: runs recorded scheduling scenarios and says which the engine decides differently, and how.
 *
 *     queue_replay [-v] [--only NAME] [--stop-at-first] FILE...
 *
 * A file holds one scenario a line (scenario.h). It closes with "N passed, N failed"; the exit status is 1 when one
 * failed or none ran, 2 when a file cannot be read.
 */
#include <errno.h>
#include <stdlib.h>

#include "scenario.h"

enum { SCENARIO_BYTES = 1 << 30 };

struct options {
    bool verbose, stop_at_first;
    struct str only;
};

struct tally {
    size_t passed, failed;
};

static void print(const struct buf *b) {
    if (b->n > 0) { /* an empty one has no bytes to point at */
        fwrite(b->p, 1, b->n, stdout);
    }
}

static void run_one(const struct options *o, yyjson_val *scenario, struct arena *a,
                    struct tally *t) {
    struct str name = json_str_at(scenario, "name");
    struct buf difference, story;
    if (!str_empty(o->only) && !str_eq(name, o->only)) {
        return;
    }
    buf_init(&difference, DIFFERENCE_BYTES);
    buf_init(&story, 0);
    bool ok = scenario_replay(scenario, a, &difference, o->verbose ? &story : NULL);
    if (!ok || o->verbose) {
        printf("%.*s: %s\n", STR_ARG(name), ok ? "ok" : "differs");
        print(&story);
        print(&difference);
    }
    t->passed += ok;
    t->failed += !ok;
    buf_release(&difference);
    buf_release(&story);
}

/* False when the file cannot be read to its end. */
static bool run_file(const struct options *o, const char *path, struct tally *t) {
    struct arena a;
    struct err err = {0};
    char *line = NULL;
    size_t cap = 0, number = 0;
    ssize_t n;
    bool ok = true;
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        fprintf(stderr, "queue_replay: %s: %s\n", path, strerror(errno));
        return false;
    }
    arena_init(&a, SCENARIO_BYTES);
    while (ok && (n = getline(&line, &cap, f)) > 0 && !(o->stop_at_first && t->failed > 0)) {
        yyjson_doc *doc;
        struct str text = str_trim(str_from(line, (size_t)n));
        number++;
        arena_reset(&a);
        ok = str_empty(text) || json_parse(&a, text, &doc, &err) == 0;
        if (ok && !str_empty(text)) {
            run_one(o, yyjson_doc_get_root(doc), &a, t);
        }
    }
    if (!ok) {
        fprintf(stderr, "queue_replay: %s:%zu: %s\n", path, number, err.text);
    }
    ok = ok && ferror(f) == 0;
    free(line);
    fclose(f);
    arena_release(&a);
    return ok;
}

static int usage(void) {
    fputs("usage: queue_replay [-v] [--only NAME] [--stop-at-first] FILE...\n", stderr);
    return 2;
}

int main(int argc, char **argv) {
    struct options o = {0};
    struct tally t = {0};
    int i = 1;
    bool ok = true;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-v") == 0) {
            o.verbose = true;
        } else if (strcmp(argv[i], "--stop-at-first") == 0) {
            o.stop_at_first = true;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            o.only = str_of(argv[++i]);
        } else {
            return usage();
        }
    }
    if (i == argc) {
        return usage();
    }
    for (; i < argc && ok && !(o.stop_at_first && t.failed > 0); i++) {
        ok = run_file(&o, argv[i], &t);
    }
    printf("%zu passed, %zu failed\n", t.passed, t.failed);
    return !ok ? 2 : t.failed > 0 || t.passed == 0;
}
