/*
 * scale_replay: runs recorded cases of autoscalers and says which are answered differently here, and how.
 *
 *     scale_replay [-q] [--only NAME] FILE...
 *
 * A file holds one case a line; its kind is told by its base name (KINDS below). It closes with "N passed, N failed";
 * the exit status is 1 when one failed or none ran, 2 when a file cannot be read or its kind is not known. -q: only the
 * names of those that failed.
 */
#include "lines.h"
#include "scale_case.h"

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

struct scale_run {
    bool quiet;
    struct str only;
    const struct scale_kind *kind; /* of the file */
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

static bool run_one(void *ctx, yyjson_val *c, struct arena *a) {
    struct scale_run *t = ctx;
    struct str name = json_str_at(c, "name");
    struct buf difference;
    if (!str_empty(t->only) && !str_eq(name, t->only)) {
        return true;
    }
    buf_init(&difference, SCALE_DIFFERENCE_BYTES);
    bool ok = t->kind->replay(c, a, &difference);
    if (!ok) {
        printf("%.*s differs\n", STR_ARG(name));
        if (!t->quiet && difference.n > 0) {
            fwrite(difference.p, 1, difference.n, stdout);
        }
    }
    t->passed += ok;
    t->failed += !ok;
    buf_release(&difference);
    return true;
}

/* False when the file cannot be read to its end. */
static bool run_file(struct scale_run *t, const char *path) {
    t->kind = kind_of(path);
    if (t->kind == NULL) {
        fprintf(stderr, "scale_replay: %s: no kind of cases has this name\n", path);
    }
    return t->kind != NULL && lines_each("scale_replay", path, run_one, t);
}

static int usage(void) {
    fputs("usage: scale_replay [-q] [--only NAME] FILE...\n", stderr);
    return 2;
}

int main(int argc, char **argv) {
    struct scale_run t = {0};
    int i = 1;
    bool ok = true;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-q") == 0) {
            t.quiet = true;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            t.only = str_of(argv[++i]);
        } else {
            return usage();
        }
    }
    if (i == argc) {
        return usage();
    }
    for (; i < argc; i++) {
        ok = run_file(&t, argv[i]) && ok;
    }
    printf("%zu passed, %zu failed\n", t.passed, t.failed);
    return !ok ? 2 : t.failed > 0 || t.passed == 0;
}
