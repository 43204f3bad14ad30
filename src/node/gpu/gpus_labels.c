/*
 * gpus_labels: what GPU Feature Discovery would say of this node, so that selectors written for it
 * work.
 *
 * The labels describe the first card; a node with different models says so by its inventory alone,
 * as GFD does by warning. Under the mixed strategy each profile has labels of its own, counted as
 * GFD counts: instances that live.
 */
#include "node/gpu/gpus_private.h"

static void label(struct buf *b, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Label values: letters, digits, '-', '_', '.'; blanks become '-'. */
static void label(struct buf *b, const char *name, const char *fmt, ...) {
    char value[64];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(value, sizeof(value), fmt, ap);
    va_end(ap);
    for (char *p = value; *p; p++) {
        bool ok = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                  (*p >= '0' && *p <= '9') || *p == '-' || *p == '_' || *p == '.';
        *p = ok ? *p : '-';
    }
    buf_f(b, "%s\"nvidia.com/%s\":\"%s\"", b->n && b->p[b->n - 1] != '{' ? "," : "", name, value);
}

/* In a merge patch: the label goes. */
static void no_label(struct buf *b, const char *name) {
    buf_f(b, "%s\"nvidia.com/%s\":null", b->n && b->p[b->n - 1] != '{' ? "," : "", name);
}

static const char *family(const struct card *c) {
    switch (c->compute_major) {
    case 7:
        return c->compute_minor < 5 ? "volta" : "turing";
    case 8:
        return c->compute_minor == 9 ? "ada-lovelace" : "ampere";
    case 9:
        return "hopper";
    case 10:
    case 12:
        return "blackwell";
    default:
        return "undefined";
    }
}

static void versions(const struct gpus *g, struct buf *b) {
    struct str rest = str_of(g->driver), part[3] = {{0}};

    for (int i = 0; i < 3 && str_next(&rest, '.', &part[i]); i++) {
    }
    label(b, "cuda.driver-version.full", "%s", g->driver);
    label(b, "cuda.driver-version.major", "%.*s", STR_ARG(part[0]));
    label(b, "cuda.driver-version.minor", "%.*s", STR_ARG(part[1]));
    label(b, "cuda.driver-version.revision", "%.*s", STR_ARG(part[2]));
    label(b, "cuda.driver.major", "%.*s", STR_ARG(part[0]));
    label(b, "cuda.driver.minor", "%.*s", STR_ARG(part[1]));
    label(b, "cuda.driver.rev", "%.*s", STR_ARG(part[2]));
    label(b, "cuda.runtime-version.full", "%d.%d", g->cuda_major, g->cuda_minor);
    label(b, "cuda.runtime-version.major", "%d", g->cuda_major);
    label(b, "cuda.runtime-version.minor", "%d", g->cuda_minor);
    label(b, "cuda.runtime.major", "%d", g->cuda_major);
    label(b, "cuda.runtime.minor", "%d", g->cuda_minor);
}

static int count_live(const struct gpus *g, const char *profile) {
    int n = 0;

    for (size_t i = 0; i < g->n; i++) {
        const struct card *c = &g->card[i];
        for (size_t j = 0; j < INVENTORY_INSTANCES_MAX; j++) {
            for (size_t k = 0; k < c->n_profiles; k++) {
                n += c->slice[j].state == SLICE_LIVE && c->slice[j].profile == c->profiles[k].id &&
                     !strcmp(c->names[k], profile);
            }
        }
    }
    return n;
}

static void profile_labels(const struct gpus *g, const struct card *c, struct buf *b) {
    for (size_t i = 0; i < c->n_profiles; i++) {
        const struct gpu_profile *p = &c->profiles[i];
        const struct profile_engines *e = &c->engines[i];
        const char *base = c->resources[i] + strlen("nvidia.com/");
        int live = count_live(g, c->names[i]);
        char name[128];
        const struct {
            const char *suffix;
            int32_t value;
        } rows[] = {
            {"count", live},
            {"memory", p->memory_mib},
            {"multiprocessors", e->sm},
            {"slices.gi", p->compute_slices},
            {"slices.ci", p->compute_slices},
            {"engines.copy", e->copy},
            {"engines.decoder", e->decoder},
            {"engines.encoder", e->encoder},
            {"engines.jpeg", e->jpeg},
            {"engines.ofa", e->ofa},
            {"replicas", 1},
        };
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
            snprintf(name, sizeof(name), "%s.%s", base, rows[k].suffix);
            if (live == 0) {
                no_label(b, name);
            } else {
                label(b, name, "%d", rows[k].value);
            }
        }
        if (live == 0) {
            snprintf(name, sizeof(name), "%s.product", base);
            no_label(b, name);
            snprintf(name, sizeof(name), "%s.sharing-strategy", base);
            no_label(b, name);
            continue;
        }
        snprintf(name, sizeof(name), "%s.product", base);
        label(b, name, "%s-%s", c->model, base);
        snprintf(name, sizeof(name), "%s.sharing-strategy", base);
        label(b, name, "none");
    }
}

void gpus_labels(const struct gpus *g, struct buf *b) {
    if (g->n == 0) {
        return;
    }
    const struct card *c = &g->card[0];
    versions(g, b);
    label(b, "gpu.present", "true");
    label(b, "gpu.product", "%s", c->model);
    label(b, "gpu.count", "%zu", g->n);
    label(b, "gpu.memory", "%d", c->memory_mib);
    label(b, "gpu.replicas", "1");
    label(b, "gpu.family", "%s", family(c));
    label(b, "gpu.compute.major", "%d", c->compute_major);
    label(b, "gpu.compute.minor", "%d", c->compute_minor);
    label(b, "gpu.mode", "compute");
    label(b, "gpu.sharing-strategy", "none");
    label(b, "mig.capable", "%s", c->mig_capable ? "true" : "false");
    label(b, "mps.capable", "false");
    label(b, "vgpu.present", "false");
    if (c->mig_capable) {
        label(b, "mig.strategy", "mixed");
        profile_labels(g, c, b);
    }
}
