/*
 * gpus_carve: transactions that make a pod's devices, and the removal of what is no longer used.
 *
 * One transaction runs at a time; each of its steps is one request to the helper, which answers in
 * order. So a destroy that was asked for earlier is over before a create that is asked for now, and
 * a place may be carved again at once.
 */
#include "base/mem.h"
#include "node/gpu/gpus_private.h"

static void step(struct acquire *a);

static bool may_change_mode(const struct gpus *g, const struct card *c) {
    /* Before Hopper a change of mode needs a reset of the GPU, which is an operator's business. */
    return (g->simulated || g->o.manage_mig) && c->mig_capable && c->compute_major >= 9;
}

static void ignore_answer(void *ctx, int code, yyjson_val *answer, const struct err *err) {
}

static void hold(struct gpus *g, const char *uuid, int n) {
    if (g->simulated) {
        nvml_ask(g->o.nvml, ignore_answer, NULL, "hold %s %d", uuid, n);
    }
}

/* A node that was killed may have told the journal of a pod's end and not the simulated driver, or the other way
 * round. What the journal says, once it is read, is told again. */
void gpus_hold_again(struct gpus *g) {
    for (size_t i = 0; i < g->n; i++) {
        const struct card *c = &g->card[i];
        hold(g, c->uuid, c->pod[0] != 0);
        for (size_t j = 0; j < INVENTORY_INSTANCES_MAX; j++) {
            const struct slice *s = &c->slice[j];
            if (s->state == SLICE_LIVE && s->ours) {
                hold(g, s->uuid, s->pod[0] != 0);
            }
        }
    }
}

/* ---- removal ---- */

static struct slice *find_unmaking(struct card *c, int32_t profile, int32_t start) {
    for (size_t i = 0; c && i < INVENTORY_INSTANCES_MAX; i++) {
        struct slice *s = &c->slice[i];
        if (s->state == SLICE_UNMAKING && s->profile == profile && s->start == start) {
            return s;
        }
    }
    return NULL;
}

static void drop_unmaking(struct unmaking *u) {
    struct unmaking **p = &u->g->unmaking;

    while (*p != u) {
        p = &(*p)->next;
    }
    *p = u->next;
    mem_free(u);
}

static void on_unmade(void *ctx, int code, yyjson_val *answer, const struct err *err) {
    struct unmaking *u = ctx;
    struct gpus *g = u->g;
    struct slice *s = find_unmaking(gpus_card(g, str_of(u->uuid)), u->profile, u->start);

    if (s && (code == 0 || code == ERR_NOT_FOUND)) {
        *s = (struct slice){0};
    } else if (s) {
        /* In use by a process that has not gone yet, or a sick GPU: it stays ours and is asked for
         * again. */
        s->state = SLICE_LIVE;
        g->clock->timer_start(g->retry, NS_PER_SEC);
    }
    gpus_journal_write(g);
    gpus_tell(g);
    drop_unmaking(u);
}

void gpus_unmake(struct gpus *g, struct card *c, struct slice *s) {
    struct unmaking *u = mem_zalloc(sizeof(*u));

    s->pod[0] = 0;
    s->state = SLICE_UNMAKING;
    gpus_journal_write(g);
    hold(g, s->uuid, 0);
    if (u) {
        *u = (struct unmaking){
            .next = g->unmaking, .g = g, .profile = s->profile, .start = s->start};
        memcpy(u->uuid, c->uuid, sizeof(u->uuid));
        g->unmaking = u;
    }
    if (u == NULL ||
        nvml_ask(g->o.nvml, on_unmade, u, "destroy %s %d %d", c->uuid, s->profile, s->start)) {
        if (u) {
            drop_unmaking(u);
        }
        s->state = SLICE_LIVE;
        g->clock->timer_start(g->retry, NS_PER_SEC);
    }
}

void gpus_sweep(struct gpus *g) {
    for (size_t i = 0; i < g->n; i++) {
        for (size_t j = 0; j < INVENTORY_INSTANCES_MAX; j++) {
            struct slice *s = &g->card[i].slice[j];
            if (s->state == SLICE_LIVE && s->ours && !s->pod[0]) {
                gpus_unmake(g, &g->card[i], s);
            }
        }
    }
}

void gpus_release(struct gpus *g, struct str pod_uid) {
    for (size_t i = 0; i < g->n; i++) {
        struct card *c = &g->card[i];
        if (c->pod[0] && str_is(pod_uid, c->pod)) {
            c->pod[0] = 0;
            hold(g, c->uuid, 0);
            gpus_journal_write(g);
            gpus_tell(g);
        }
        for (size_t j = 0; j < INVENTORY_INSTANCES_MAX; j++) {
            struct slice *s = &c->slice[j];
            if (s->state == SLICE_LIVE && s->ours && s->pod[0] && str_is(pod_uid, s->pod)) {
                gpus_unmake(g, c, s);
                gpus_tell(g);
            }
        }
    }
}

/* ---- making ---- */

static void next_transaction(struct gpus *g) {
    if (!g->busy && g->queue) {
        g->busy = true;
        step(g->queue);
    }
}

static void finish(struct acquire *a, int code) {
    struct gpus *g = a->g;
    struct str *uuids = code == 0 && a->n ? ARENA_ARRAY(&a->arena, struct str, a->n) : NULL;

    for (size_t i = 0; uuids && i < a->n; i++) {
        struct card *c = gpus_card(g, a->v[i].gpu);
        struct slice *s =
            c && a->v[i].profile_id >= 0 ? card_slice(c, a->v[i].profile_id, a->v[i].start) : NULL;
        uuids[i] = s ? str_of(s->uuid) : c ? str_of(c->uuid) : STR("");
        hold(g, uuids[i].p, 1);
    }
    if (code == 0 && a->n && uuids == NULL) {
        code = err_set(&a->err, ERR_NOMEM, "no memory");
    }
    if (code) {
        gpus_release(g, str_of(a->pod));
    }
    g->queue = a->next;
    if (g->queue == NULL) {
        g->queue_last = &g->queue;
    }
    g->busy = false;
    gpus_tell(g);
    a->done(a->ctx, code, uuids, uuids ? a->n : 0, &a->err);
    arena_release(&a->arena);
    mem_free(a);
    next_transaction(g);
}

static void fail(struct acquire *a, int code, const char *what, const struct card *c) {
    err_set(&a->err, code, "GPU %.*s: %s", STR_ARG(c ? str_of(c->uuid) : a->v[a->at].gpu), what);
    finish(a, code);
}

static void on_rescan(void *ctx, int code, yyjson_val *answer, const struct err *err) {
    if (code == 0) {
        gpus_read_scan(ctx, answer);
        gpus_journal_place(ctx);
        gpus_sweep(ctx);
    }
}

static void on_mode(void *ctx, int code, yyjson_val *answer, const struct err *err) {
    struct acquire *a = ctx;

    if (code) {
        fail(a, code, err->text, a->card);
        return;
    }
    a->card->mig = a->v[a->at].profile_id >= 0;
    step(a);
}

/* True when the GPU is in the wanted mode; otherwise the mode was asked for, or the transaction has
 * failed. */
static bool in_mode(struct acquire *a, struct card *c, bool mig) {
    if (c->mig == mig) {
        return true;
    }
    a->card = c;
    if (card_in_use(c)) {
        fail(a, ERR_CONFLICT, mig ? "is in use as a whole" : "has slices in use", c);
    } else if (a->mode_asked || !may_change_mode(a->g, c)) {
        fail(a, ERR_UNSUPPORTED,
             mig ? "MIG mode is off and may not be changed (--manage-mig)"
                 : "MIG mode is on and may not be changed (--manage-mig)",
             c);
    } else {
        a->mode_asked = true;
        if (nvml_ask(a->g->o.nvml, on_mode, a, "mode %s %d", c->uuid, mig)) {
            fail(a, ERR_UNAVAILABLE, "too many requests", c);
        }
    }
    return false;
}

/* Entries of the same place that are astray are one, or none once the place is known. */
static void forget_astray(struct card *c, const struct slice *but) {
    for (size_t i = 0; i < INVENTORY_INSTANCES_MAX; i++) {
        struct slice *s = &c->slice[i];
        if (s != but && s->state == SLICE_ASTRAY && s->profile == but->profile &&
            s->start == but->start) {
            *s = (struct slice){0};
        }
    }
}

/* A create has failed. Where the driver refused it, nothing is left. Where it could not undo its first step, what it
 * left is removed later. Where it did not answer, nobody knows. */
static void not_made(struct gpus *g, struct card *c, struct slice *s, int code,
                     yyjson_val *answer) {
    s->pod[0] = 0;
    if (answer && json_get(answer, STR("left"))) {
        s->start = (int32_t)json_i64_at(answer, "left", s->start);
        s->state = SLICE_LIVE;
        g->clock->timer_start(g->retry, NS_PER_SEC);
    } else if (answer == NULL && (code == ERR_TIMEOUT || code == ERR_GONE)) {
        s->state = SLICE_ASTRAY;
        s->astray_mono = clock_mono(g->clock);
        forget_astray(c, s);
    } else {
        *s = (struct slice){0};
    }
    gpus_journal_write(g);
}

static void on_made(void *ctx, int code, yyjson_val *answer, const struct err *err) {
    struct acquire *a = ctx;
    struct gpus *g = a->g;
    struct slice *s = a->making;

    if (code) {
        not_made(g, a->card, s, code, answer);
        if (code == ERR_CONFLICT) { /* our picture of the GPU was wrong */
            nvml_ask(g->o.nvml, on_rescan, g, "scan");
        }
        fail(a, code, err->text, a->card);
        return;
    }
    str_copy(json_str_at(answer, "uuid"), s->uuid, sizeof(s->uuid));
    s->instance = (int32_t)json_i64_at(answer, "gi", -1);
    s->state = SLICE_LIVE;
    forget_astray(a->card, s);
    gpus_journal_write(g);
    a->at++;
    step(a);
}

/* What is being removed is gone before the create is asked for; what is astray may not exist. */
static struct slice *free_place(struct card *c, const struct pod_device *d) {
    for (size_t i = 0; i < INVENTORY_INSTANCES_MAX; i++) {
        struct slice *s = &c->slice[i];
        bool holds = s->state == SLICE_MAKING || s->state == SLICE_LIVE;
        if (holds && d->start < s->start + s->size && s->start < d->start + d->size) {
            return NULL;
        }
    }
    return card_free_slot(c);
}

static void make_slice(struct acquire *a, struct card *c, const struct pod_device *d) {
    struct slice *s = card_slice(c, d->profile_id, d->start);

    if (s && s->state == SLICE_LIVE && s->ours && str_eq(str_of(s->pod), str_of(a->pod))) {
        a->at++;
        step(a);
        return;
    }
    s = free_place(c, d);
    if (s == NULL) {
        fail(a, ERR_CONFLICT, "the place of the slice is taken", c);
        return;
    }
    *s = (struct slice){.state = SLICE_MAKING,
                        .ours = true,
                        .profile = d->profile_id,
                        .start = d->start,
                        .size = d->size,
                        .utilization = -1,
                        .instance = -1};
    memcpy(s->pod, a->pod, sizeof(s->pod));
    a->making = s;
    a->card = c;
    gpus_journal_write(a->g);
    if (nvml_ask(a->g->o.nvml, on_made, a, "create %s %d %d %d", c->uuid, d->profile_id, d->start,
                 d->size)) {
        *s = (struct slice){0};
        fail(a, ERR_UNAVAILABLE, "too many requests", c);
    }
}

static void step(struct acquire *a) {
    if (a->at == a->n) {
        finish(a, 0);
        return;
    }
    const struct pod_device *d = &a->v[a->at];
    struct card *c = gpus_card(a->g, d->gpu);

    if (c == NULL || !card_healthy(c)) {
        fail(a, c ? ERR_GONE : ERR_NOT_FOUND, c ? c->trouble : "is not on this machine", c);
        return;
    }
    if (c->pod[0] && !str_is(str_of(c->pod), a->pod)) {
        fail(a, ERR_CONFLICT, "is in use as a whole", c);
        return;
    }
    bool mig = d->profile_id >= 0;
    if (!mig && c->mig_capable && !c->mig && card_in_use(c) && !c->pod[0]) {
        fail(a, ERR_CONFLICT, "is in use", c);
        return;
    }
    if (!in_mode(a, c, mig)) {
        return;
    }
    a->mode_asked = false;
    if (mig) {
        make_slice(a, c, d);
        return;
    }
    memcpy(c->pod, a->pod, sizeof(c->pod));
    gpus_journal_write(a->g);
    a->at++;
    step(a);
}

static void on_first_step(void *ctx) {
    next_transaction(ctx);
}

void gpus_acquire(struct gpus *g, struct str pod_uid, const struct pod_devices *d, gpus_done *done,
                  void *ctx) {
    struct acquire *a = mem_zalloc(sizeof(*a));

    if (a == NULL) {
        struct err err;
        done(ctx, err_set(&err, ERR_NOMEM, "no memory"), NULL, 0, &err);
        return;
    }
    arena_init(&a->arena, 1 << 20);
    *a = (struct acquire){.g = g, .n = d->n, .done = done, .ctx = ctx, .arena = a->arena};
    str_copy(pod_uid, a->pod, sizeof(a->pod));
    a->v = d->n ? ARENA_ARRAY(&a->arena, struct pod_device, d->n) : NULL;
    for (size_t i = 0; a->v && i < d->n; i++) {
        a->v[i] = d->v[i];
        a->v[i].gpu = arena_str(&a->arena, d->v[i].gpu);
        a->v[i].container = a->v[i].profile = STR("");
    }
    a->n = a->v && arena_ok(&a->arena) == 0 ? d->n : 0;
    *g->queue_last = a;
    g->queue_last = &a->next;
    loop_defer(g->o.loop, on_first_step, g);
}
