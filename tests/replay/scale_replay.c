/*
 * scale_replay: runs recorded cases of autoscalers and says which are answered differently here, and how.
 *
 *     scale_replay [-q] [--only NAME] FILE...
 *
 * A file holds one case a line; its kind is told by its base name (KINDS below). It closes with "N passed, N failed";
 * the exit status is 1 when one failed or none ran, 2 when a file cannot be read or its kind is not known. -q: only the
 * names of those that failed.
 */
#include "scale_case.h"

#include <errno.h>
#include <stdlib.h>

enum { CASE_BYTES = 1 << 30 };

static const struct scale_kind {
    const char *file;
    scale_replay *replay;
} KINDS[] = {
    {"hpa.jsonl", scale_hpa},
    {"keda_decision.jsonl", scale_decision},
    {"keda_cron.jsonl", scale_cron},
    {"keda_formula.jsonl", scale_formula},
    {"keda_loop.jsonl", scale_loop},
    {"keda_trigger.jsonl", scale_trigger},
    {"keda_hpa.jsonl", scale_keda_hpa},
    {"keda_admission.jsonl", scale_admission},
    {"ca_scaleup.jsonl", scale_pack},
    {"keda_prometheus.jsonl", scale_prometheus},
    {"keda_metricsapi.jsonl", scale_metricsapi},
};

struct scale_options {
    bool quiet;
    struct str only;
};

struct scale_tally {
    size_t passed, failed;
};

bool scale_differs(struct buf *difference, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_c(difference, "  ");
    buf_vf(difference, fmt, ap);
    buf_c(difference, "\n");
    va_end(ap);
    return false;
}

static const struct scale_kind *kind_of(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        if (strcmp(base, KINDS[i].file) == 0) {
            return &KINDS[i];
        }
    }
    return NULL;
}

static void run_one(const struct scale_options *o, const struct scale_kind *k, yyjson_val *c,
                    struct arena *a, struct scale_tally *t) {
    struct str name = json_str_at(c, "name");
    struct buf difference;
    if (!str_empty(o->only) && !str_eq(name, o->only)) {
        return;
    }
    buf_init(&difference, SCALE_DIFFERENCE_BYTES);
    bool ok = k->replay(c, a, &difference);
    if (!ok) {
        printf("%.*s differs\n", STR_ARG(name));
        if (!o->quiet && difference.n > 0) {
            fwrite(difference.p, 1, difference.n, stdout);
        }
    }
    t->passed += ok;
    t->failed += !ok;
    buf_release(&difference);
}

/* False when the file cannot be read to its end. */
static bool run_file(const struct scale_options *o, const char *path, struct scale_tally *t) {
    const struct scale_kind *k = kind_of(path);
    struct arena a;
    struct err err = {0};
    char *line = NULL;
    size_t cap = 0, number = 0;
    ssize_t n;
    bool ok = true;
    FILE *f = k != NULL ? fopen(path, "re") : NULL;
    if (f == NULL) {
        fprintf(stderr, "scale_replay: %s: %s\n", path,
                k == NULL ? "no kind of cases has this name" : strerror(errno));
        return false;
    }
    arena_init(&a, CASE_BYTES);
    while (ok && (n = getline(&line, &cap, f)) > 0) {
        yyjson_doc *doc;
        struct str text = str_trim(str_from(line, (size_t)n));
        number++;
        arena_reset(&a);
        ok = str_empty(text) || json_parse(&a, text, &doc, &err) == 0;
        if (ok && !str_empty(text)) {
            run_one(o, k, yyjson_doc_get_root(doc), &a, t);
        }
    }
    if (!ok) {
        fprintf(stderr, "scale_replay: %s:%zu: %s\n", path, number, err.text);
    }
    ok = ok && ferror(f) == 0;
    free(line);
    fclose(f);
    arena_release(&a);
    return ok;
}

static int usage(void) {
    fputs("usage: scale_replay [-q] [--only NAME] FILE...\n", stderr);
    return 2;
}

int main(int argc, char **argv) {
    struct scale_options o = {0};
    struct scale_tally t = {0};
    int i = 1;
    bool ok = true;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-q") == 0) {
            o.quiet = true;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            o.only = str_of(argv[++i]);
        } else {
            return usage();
        }
    }
    if (i == argc) {
        return usage();
    }
    for (; i < argc; i++) {
        ok = run_file(&o, argv[i], &t) && ok;
    }
    printf("%zu passed, %zu failed\n", t.passed, t.failed);
    return !ok ? 2 : t.failed > 0 || t.passed == 0;
}
