/* gpus: see gpus.h. This file: life, polling, and what is published. Reading, carving, journal:
 * gpus_*.c. */
#include "base/mem.h"
#include "node/gpu/gpus_private.h"

enum { POLL_MS = 2000, PROBE_FIRST_MS = 10000, PROBE_MAX_MS = 300000 };

struct card *gpus_card(struct gpus *g, struct str uuid) {
    for (size_t i = 0; i < g->n; i++) {
        if (!str_empty(uuid) && str_is(uuid, g->card[i].uuid)) {
            return &g->card[i];
        }
    }
    return NULL;
}

static int precedence(enum slice_state s) {
    return s == SLICE_NONE ? 0 : s == SLICE_ASTRAY ? 1 : s == SLICE_UNMAKING ? 2 : 3;
}

struct slice *card_slice(struct card *c, int32_t profile, int32_t start) {
    struct slice *best = NULL;

    for (size_t i = 0; i < INVENTORY_INSTANCES_MAX; i++) {
        struct slice *s = &c->slice[i];
        if (s->state != SLICE_NONE && s->profile == profile && s->start == start &&
            (best == NULL || precedence(s->state) > precedence(best->state))) {
            best = s;
        }
    }
    return best;
}

struct slice *card_free_slot(struct card *c) {
    for (size_t i = 0; i < INVENTORY_INSTANCES_MAX; i++) {
        if (c->slice[i].state == SLICE_NONE) {
            return &c->slice[i];
        }
    }
    return NULL;
}

bool card_in_use(const struct card *c) {
    bool used = c->pod[0] != 0;

    for (size_t i = 0; i < INVENTORY_INSTANCES_MAX; i++) {
        used |= c->slice[i].state == SLICE_MAKING || c->slice[i].state == SLICE_LIVE;
    }
    return used;
}

bool card_healthy(const struct card *c) {
    return !c->lost && !c->xid;
}

static void on_tell(void *ctx) {
    struct gpus *g = ctx;

    g->o.changed(g->o.ctx);
}

void gpus_tell(struct gpus *g) {
    g->clock->timer_start(g->tell, 20 * NS_PER_MS);
}

static void on_retry(void *ctx) {
    gpus_sweep(ctx);
}

/* ---- looking at the hardware ---- */

static void look_later(struct gpus *g) {
    g->clock->timer_start(g->poll, g->rescan ? 0 : POLL_MS * NS_PER_MS);
}

/* Cards that were taken out go once no pod has anything on them; not while a transaction points to one. */
static void drop_gone(struct gpus *g) {
    for (size_t i = g->n; i-- > 0 && !g->busy;) {
        if (g->card[i].gone && !card_in_use(&g->card[i])) {
            memmove(&g->card[i], &g->card[i + 1], (g->n - i - 1) * sizeof(g->card[0]));
            g->n--;
            gpus_journal_write(g);
            gpus_tell(g);
        }
    }
}

static void take_scan(struct gpus *g, yyjson_val *answer) {
    g->scanned = true;
    g->probe_ms = 0;
    g->simulated = nvml_client_simulated(g->o.nvml);
    gpus_read_scan(g, answer);
    gpus_journal_place(g);
    gpus_hold_again(g);
    gpus_sweep(g);
    drop_gone(g);
}

/* No answer. Without a driver there are no GPUs; a driver that hangs may have them still. */
static void take_silence(struct gpus *g, const struct err *err) {
    if (!nvml_client_opened(g->o.nvml)) {
        gpus_read_absence(g, err->text);
    }
    g->probe_ms = g->probe_ms ? g->probe_ms * 2 : PROBE_FIRST_MS;
    g->probe_ms = g->probe_ms < PROBE_MAX_MS ? g->probe_ms : PROBE_MAX_MS;
    g->probe_mono = clock_mono(g->clock) + g->probe_ms * NS_PER_MS;
}

static void on_polled(void *ctx, int code, yyjson_val *answer, const struct err *err) {
    struct gpus *g = ctx;

    if (code == 0) {
        gpus_read_poll(g, answer);
        gpus_sweep(g); /* what was astray may have been found */
        drop_gone(g);
    } else {
        log_warn(g->o.log, "GPUs: %s", err->text);
        take_silence(g, err);
    }
    look_later(g);
}

static void on_scanned_again(void *ctx, int code, yyjson_val *answer, const struct err *err) {
    struct gpus *g = ctx;
    size_t before = g->n;

    if (code == 0) {
        take_scan(g, answer);
        log_info(g->o.log, "GPUs: %zu now, %zu before", g->n, before);
    } else {
        take_silence(g, err);
    }
    look_later(g);
}

static void on_poll(void *ctx) {
    struct gpus *g = ctx;
    uint64_t signs = gpus_signs(g->o.root, g->o.library);
    bool renew = signs != g->signs || g->rescan;
    bool probe = !g->scanned && clock_mono(g->clock) >= g->probe_mono;

    g->signs = signs;
    if (renew) {
        nvml_client_renew(g->o.nvml);
    }
    if (renew || probe ? nvml_ask(g->o.nvml, on_scanned_again, g, "scan")
                       : !g->scanned || nvml_ask(g->o.nvml, on_polled, g, "poll")) {
        look_later(g);
    }
}

static void on_scanned(void *ctx, int code, yyjson_val *answer, const struct err *err) {
    struct gpus *g = ctx;

    if (code == 0) {
        take_scan(g, answer);
        gpus_read_out(g);
    } else {
        take_silence(g, err);
    }
    look_later(g);
    g->started(g->start_ctx, code ? err : NULL);
}

void gpus_start(struct gpus *g, bool (*alive)(void *ctx, struct str pod_uid),
                void (*done)(void *ctx, const struct err *err), void *ctx) {
    struct err err;

    g->alive = alive;
    g->started = done;
    g->start_ctx = ctx;
    g->signs = gpus_signs(g->o.root, g->o.library);
    gpus_journal_read(g);
    if (nvml_ask(g->o.nvml, on_scanned, g, "scan")) {
        err_set(&err, ERR_NOMEM, "no memory");
        done(ctx, &err);
    }
}

struct gpus *gpus_new(const struct gpus_options *o, struct err *err) {
    struct gpus *g = mem_zalloc(sizeof(*g));

    if (g == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    g->o = *o;
    g->o.root = o->root ? o->root : "";
    g->o.forget_ms = o->forget_ms ? o->forget_ms : GPUS_FORGET_MS;
    g->queue_last = &g->queue;
    g->clock = loop_clock(o->loop);
    g->poll = g->clock->timer_new(g->clock, on_poll, g);
    g->retry = g->clock->timer_new(g->clock, on_retry, g);
    g->tell = g->clock->timer_new(g->clock, on_tell, g);
    if (g->poll == NULL || g->retry == NULL || g->tell == NULL) {
        gpus_free(g);
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    if (gpus_out_read(g, err)) {
        gpus_free(g);
        return NULL;
    }
    return g;
}

void gpus_free(struct gpus *g) {
    if (g == NULL) {
        return;
    }
    while (g->queue) {
        struct acquire *a = g->queue;
        g->queue = a->next;
        arena_release(&a->arena);
        mem_free(a);
    }
    while (g->unmaking) {
        struct unmaking *u = g->unmaking;
        g->unmaking = u->next;
        mem_free(u);
    }
    g->clock->timer_free(g->poll);
    g->clock->timer_free(g->retry);
    g->clock->timer_free(g->tell);
    awaited_vec_release(&g->awaited);
    mem_free(g);
}

/* ---- what is published ---- */

static bool managed(const struct gpus *g, const struct card *c) {
    return (g->simulated || g->o.manage_mig) && c->mig_capable && c->compute_major >= 9;
}

/* Mean of the instances that say something, by size; the card's own number without MIG. */
static int32_t utilization(const struct card *c) {
    int32_t sum = 0;
    bool said = false;

    if (!c->mig) {
        return c->utilization;
    }
    for (size_t i = 0; i < INVENTORY_INSTANCES_MAX; i++) {
        const struct slice *s = &c->slice[i];
        if (s->state == SLICE_LIVE && s->utilization >= 0) {
            sum += s->utilization * s->size;
            said = true;
        }
    }
    return said && c->slices ? sum / c->slices : -1;
}

static int copy_instances(const struct card *c, struct arena *a, struct gpu_card *out) {
    out->instances = ARENA_ARRAY(a, struct gpu_instance, INVENTORY_INSTANCES_MAX);
    for (size_t i = 0; out->instances && i < INVENTORY_INSTANCES_MAX; i++) {
        const struct slice *s = &c->slice[i];
        if (s->state != SLICE_NONE && s->state != SLICE_ASTRAY) {
            out->instances[out->n_instances++] = (struct gpu_instance){
                .profile_id = s->profile,
                .start = s->start,
                .size = s->size,
                .uuid = arena_str(a, str_of(s->uuid)),
                .pod_uid = arena_str(a, str_of(s->pod)),
                .utilization_pct = s->state == SLICE_LIVE ? s->utilization : -1};
        }
    }
    return arena_ok(a);
}

bool gpus_where(const struct gpus *g, struct str uuid, struct gpu_where *ret) {
    for (size_t i = 0; i < g->n; i++) {
        const struct card *c = &g->card[i];
        if (str_is(uuid, c->uuid)) {
            *ret = (struct gpu_where){c->minor, -1};
            return true;
        }
        for (size_t k = 0; k < INVENTORY_INSTANCES_MAX; k++) {
            const struct slice *s = &c->slice[k];
            if (s->state == SLICE_LIVE && str_is(uuid, s->uuid)) {
                *ret = (struct gpu_where){s->instance < 0 ? -1 : c->minor,
                                          s->instance < 0 ? 0 : s->instance};
                return true;
            }
        }
    }
    return false;
}

size_t gpus_troubles(const struct gpus *g, struct buf *out) {
    size_t n = 0;

    for (size_t i = 0; i < g->n; i++) {
        const struct card *c = &g->card[i];
        if (!card_healthy(c)) {
            buf_f(out, "%sGPU %d (%s): %s", n++ ? "; " : "", c->index, c->uuid, c->trouble);
        }
    }
    return n;
}

bool gpus_simulated(const struct gpus *g) {
    return g->simulated;
}

int gpus_inventory(const struct gpus *g, struct arena *a, struct inventory *ret) {
    struct gpu_card *v = g->n ? ARENA_ARRAY(a, struct gpu_card, g->n) : NULL;

    for (size_t i = 0; v && i < g->n; i++) {
        const struct card *c = &g->card[i];
        v[i] = (struct gpu_card){.uuid = arena_str(a, str_of(c->uuid)),
                                 .model = arena_str(a, str_of(c->model)),
                                 .board = arena_str(a, str_of(c->board)),
                                 .index = c->index,
                                 .memory_mib = c->memory_mib < 0 ? 0 : c->memory_mib,
                                 .slices = c->mig_capable ? c->slices : 0,
                                 .mig_enabled = c->mig,
                                 .mig_managed = managed(g, c),
                                 .healthy = card_healthy(c),
                                 .trouble = arena_str(a, str_of(c->trouble)),
                                 .pod_uid = arena_str(a, str_of(c->pod)),
                                 .n_profiles = c->n_profiles,
                                 .utilization_pct = utilization(c),
                                 .temperature_c = c->temperature,
                                 .power_mw = c->power_mw,
                                 .memory_used_mib = c->memory_used_mib};
        v[i].profiles = c->n_profiles ? ARENA_ARRAY(a, struct gpu_profile, c->n_profiles) : NULL;
        for (size_t j = 0; v[i].profiles && j < c->n_profiles; j++) {
            v[i].profiles[j] = c->profiles[j];
        }
        copy_instances(c, a, &v[i]);
    }
    if (arena_ok(a)) {
        return ERR_NOMEM;
    }
    *ret = (struct inventory){.gpus = v, .n = g->n, .simulated = g->simulated};
    return 0;
}

/* Cards that can be had as a whole, and slices by profile name, each as if nothing else were there.
 */
void gpus_capacity(const struct gpus *g, struct buf *out) {
    int whole = 0;
    bool first = true;

    for (size_t i = 0; i < g->n; i++) {
        const struct card *c = &g->card[i];
        whole += card_healthy(c) && (!c->mig || managed(g, c));
    }
    if (g->n) {
        buf_f(out, "\"nvidia.com/gpu\":\"%d\"", whole);
        first = false;
    }
    for (size_t i = 0; i < g->n; i++) {
        for (size_t j = 0; j < g->card[i].n_profiles; j++) {
            const char *name = g->card[i].resources[j];
            int count = 0;
            bool before = false;
            for (size_t k = 0; k < g->n; k++) {
                const struct card *c = &g->card[k];
                for (size_t l = 0; l < c->n_profiles; l++) {
                    bool same = !strcmp(c->resources[l], name);
                    before |= same && (k < i || (k == i && l < j));
                    bool can = card_healthy(c) && (c->mig || managed(g, c));
                    count += same && can ? c->profiles[l].max_instances : 0;
                }
            }
            if (!before) {
                buf_f(out, "%s\"%s\":\"%d\"", first ? "" : ",", name, count);
                first = false;
            }
        }
    }
}
