/*
 * queue_replay: runs recorded scheduling scenarios and says which the engine decides differently, and how.
 *
 *     queue_replay [-v] [--only NAME] [--stop-at-first] FILE...
 *
 * A file holds one scenario a line (scenario.h). It closes with "N passed, N failed"; the exit status is 1 when one
 * failed or none ran, 2 when a file cannot be read.
 */
#include "lines.h"
#include "scenario.h"

struct options {
    bool verbose, stop_at_first;
    struct str only;
};

struct replay {
    struct options options;
    size_t passed, failed;
};

static void print(const struct buf *b) {
    if (b->n > 0) { /* an empty one has no bytes to point at */
        fwrite(b->p, 1, b->n, stdout);
    }
}

/* False: no further one. */
static bool run_one(void *ctx, yyjson_val *scenario, struct arena *a) {
    struct replay *t = ctx;
    const struct options *o = &t->options;
    struct str name = json_str_at(scenario, "name");
    struct buf difference, story;
    if (!str_empty(o->only) && !str_eq(name, o->only)) {
        return true;
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
    return !(o->stop_at_first && t->failed > 0);
}

static int usage(void) {
    fputs("usage: queue_replay [-v] [--only NAME] [--stop-at-first] FILE...\n", stderr);
    return 2;
}

int main(int argc, char **argv) {
    struct replay t = {0};
    struct options *o = &t.options;
    int i = 1;
    bool ok = true;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-v") == 0) {
            o->verbose = true;
        } else if (strcmp(argv[i], "--stop-at-first") == 0) {
            o->stop_at_first = true;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            o->only = str_of(argv[++i]);
        } else {
            return usage();
        }
    }
    if (i == argc) {
        return usage();
    }
    for (; i < argc && ok && !(o->stop_at_first && t.failed > 0); i++) {
        ok = lines_each("queue_replay", argv[i], run_one, &t);
    }
    printf("%zu passed, %zu failed\n", t.passed, t.failed);
    return !ok ? 2 : t.failed > 0 || t.passed == 0;
}
