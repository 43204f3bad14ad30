/*
 * sim_runs: what is admitted runs for a while.
 *
 *     what            next      at                   what is done
 *     Workload        READY     start-up             PodsReady
 *     Workload        FINISH    run time             Finished
 *     Workload evicted STOP     at once              its quota is given back, as whoever runs it would
 *     Job unsuspended START     at once              status: active
 *     Job             READY     start-up             status: ready
 *     Job             FINISH    run time             status: Complete
 *     Job suspended   STOP      at once              status: nothing active
 *
 * Feeds only note what is to come; a timer does it, since a feed must not write.
 */
#include <assert.h>

#include "api/schema/codec.h"
#include "base/mem.h"
#include "control/kit/views.h"
#include "control/load/workload_status.h"
#include "core/job/job_decide.h"
#include "sim/sim_private.h"
#include "wire/text/time.h"

enum { BODY_MAX = 2 << 20 };

static void arm(struct sim *s) {
    const struct run *r = heap_peek(&s->runs);
    if (r) {
        int64_t now = s->clock.now;
        s->clock.clock.timer_start(s->runs_timer, r->due_ns > now ? r->due_ns - now : 0);
    } else {
        s->clock.clock.timer_stop(s->runs_timer);
    }
}

static void plan(struct sim *s, struct run *r, enum run_step next, int64_t in_ns) {
    heap_remove(&s->runs, r);
    r->next = next;
    r->due_ns = s->clock.now + in_ns;
    r->order = s->order++;
    if (next != RUN_IDLE && heap_push(&s->runs, r) != 0) {
        sim_fail(s, &(struct err){.code = ERR_NOMEM, .text = "out of memory"}, "run", r->name);
    }
    arm(s);
}

static int64_t declared_on(const struct sim *s, struct arena *a, const struct object *o) {
    int64_t ms, ns;
    yyjson_doc *d;
    if (str_contains(o->json, STR("\"" SIM_RUNTIME_ANNOTATION "\"")) &&
        json_parse(a, o->json, &d, NULL) == 0) {
        yyjson_val *notes = json_path(yyjson_doc_get_root(d), "metadata.annotations");
        struct str text = json_str(json_get(notes, STR(SIM_RUNTIME_ANNOTATION)));
        if (duration_parse(text, &ns, NULL) == 0 && ns >= 0) {
            return ns;
        }
    }
    if (str_to_i64(object_label(o, STR(SIM_RUNTIME_LABEL)), &ms) && ms >= 0 && ms <= INT32_MAX) {
        return ms * NS_PER_MS;
    }
    return s->o.runtime_ns;
}

/* A Job's pods run in waves when it wants more completions than it may run at once. */
static int64_t waves_of(yyjson_val *root) {
    int64_t p = json_i64_at(root, "spec.parallelism", 1);
    int64_t c = json_i64_at(root, "spec.completions", p);
    return p > 0 && c > p ? (c + p - 1) / p : 1;
}

static int64_t waves(struct sim *s, const struct object *o) {
    yyjson_doc *d;
    if (o->kind != s->kind_job || json_parse(&s->scratch, o->json, &d, NULL) != 0) {
        return 1;
    }
    return waves_of(yyjson_doc_get_root(d));
}

int64_t runs_declared(struct sim *s, const struct object *o) {
    const struct owner_ref *owner = object_controller(o);
    const struct object *job = owner ? mirror_owner(s->mirror, o->ns, owner) : NULL;
    job = o->kind == s->kind_job ? o : job;
    int64_t ns = declared_on(s, &s->scratch, job ? job : o);
    ns *= job ? waves(s, job) : 1;
    arena_reset(&s->scratch);
    return ns;
}

static struct run *run_of(struct sim *s, const struct object *o) {
    struct run *r = map_get(&s->by_uid, o->uid);
    if (r) {
        return r;
    }
    r = ARENA_NEW(&s->arena, struct run);
    if (r) {
        *r = (struct run){.uid = arena_str(&s->arena, o->uid),
                          .ns = arena_str(&s->arena, o->ns),
                          .name = arena_str(&s->arena, o->name),
                          .kind = o->kind,
                          .began_ns = -1,
                          .left_ns = runs_declared(s, o),
                          .waves = waves(s, o)};
        arena_reset(&s->scratch);
    }
    if (r == NULL || arena_ok(&s->arena) != 0 || map_put(&s->by_uid, r->uid, r, NULL) != 0) {
        sim_fail(s, &(struct err){.code = ERR_NOMEM, .text = "out of memory"}, "run", o->name);
        return NULL;
    }
    return r;
}

/* What of a run, start-up included, counts for nothing once it is cut short. */
static int64_t lost(const struct sim *s, int64_t ran_ns) {
    return s->o.checkpoint && ran_ns > s->o.startup_ns ? s->o.startup_ns : ran_ns;
}

static void keep(struct sim *s, struct run *r, int64_t ran_ns) {
    int64_t worked = ran_ns - lost(s, ran_ns);
    r->left_ns -= worked < r->left_ns ? worked : r->left_ns;
    r->began_ns = -1;
}

/* ---- Workloads that nobody owns ---- */

void runs_started(void *ctx, struct ledger_work *w, const struct object *o) {
    struct sim *s = ctx;
    struct run *r = o->n_owners == 0 ? run_of(s, o) : NULL;
    if (r) {
        r->began_ns = s->clock.now;
        plan(s, r, RUN_READY, s->o.startup_ns);
    }
}

int64_t runs_stopped(void *ctx, struct ledger_work *w, const struct object *o, int64_t ran_ns) {
    struct sim *s = ctx;
    struct run *r = o->n_owners == 0 ? map_get(&s->by_uid, o->uid) : NULL;
    if (r) {
        keep(s, r, ran_ns);
        plan(s, r, RUN_IDLE, 0);
    }
    return lost(s, ran_ns);
}

static bool evicted(const struct object *o) {
    return str_contains(o->json, STR("\"Evicted\"")) &&
           str_contains(o->json, STR("\"admission\":{"));
}

/* Whether it ran or only held quota: nobody but us would say that nothing of it runs any more. */
void runs_workload_changed(void *ctx, const struct change *ch) {
    struct sim *s = ctx;
    struct run *r = ch->type != CHANGE_DELETED && ch->obj->n_owners == 0 && evicted(ch->obj)
                        ? run_of(s, ch->obj)
                        : NULL;
    if (r && r->next == RUN_IDLE) {
        plan(s, r, RUN_STOP, 0);
    }
}

static int patch_status(struct sim *s, const struct run *r, struct str body, struct err *err) {
    const struct object *o = NULL;
    int e = memory_store_patch(&s->store, r->kind, r->ns, r->name, "status", PATCH_MERGE, body, &o,
                               err);
    object_unref(o);
    return e;
}

static int write_workload(struct sim *s, const struct run *r, enum run_step step, struct err *err) {
    const struct object *o = mirror_get(s->mirror, r->kind, r->ns, r->name);
    struct workload_change ch;
    struct workload w;
    yyjson_doc *d;
    struct buf b;
    if (o == NULL || !str_eq(o->uid, r->uid)) {
        return 0;
    }
    int e = object_tree(o, &s->scratch, &d, err);
    e = e ? e : codec_decode(&schema_workload, yyjson_doc_get_root(d), &s->scratch, &w, err);
    if (e != 0) {
        return e;
    }
    buf_init(&b, BODY_MAX);
    workload_change_init(&ch, o, &w, &s->scratch, clock_wall(&s->clock.clock));
    ch.settings = s->o.settings;
    if (step == RUN_READY) {
        workload_change_set(&ch, "PodsReady", true, "Started",
                            STR("All pods reached readiness and the workload is running"));
    } else if (step == RUN_FINISH) {
        workload_change_set(&ch, "Finished", true, "Succeeded", STR("The simulated run is over"));
    } else if (conditions_true(&ch.status.conditions, "Evicted")) {
        workload_change_release(&ch);
    }
    e = workload_change_write(&ch, &b);
    if (e != ERR_NOT_FOUND) { /* it is ready already */
        e = e ? err_set(err, e, "its status could not be written")
              : patch_status(s, r, buf_view(&b), err);
    }
    buf_release(&b);
    return e == ERR_NOT_FOUND ? 0 : e;
}

/* ---- Jobs ---- */

static void job_over(struct sim *s, struct run *r) {
    s->open_jobs -= r->open;
    r->open = false;
}

void runs_job_changed(void *ctx, const struct change *ch) {
    struct sim *s = ctx;
    yyjson_doc *d;
    struct run *r = map_get(&s->by_uid, ch->obj->uid);
    if (ch->type == CHANGE_DELETED) {
        if (r) {
            plan(s, r, RUN_IDLE, 0);
            job_over(s, r);
        }
        return;
    }
    if (json_parse(&s->scratch, ch->obj->json, &d, NULL) != 0) {
        return;
    }
    yyjson_val *root = yyjson_doc_get_root(d);
    bool suspended = json_bool_at(root, "spec.suspend", false);
    bool over = json_path(root, "status.completionTime") != NULL;
    int64_t n = waves_of(root);
    arena_reset(&s->scratch);
    if (r == NULL && (r = run_of(s, ch->obj))) {
        r->open = true;
        s->open_jobs++;
    }
    if (r && over) {
        job_over(s, r);
    }
    if (r == NULL || over) {
        return;
    }
    if (!suspended && r->began_ns < 0) {
        r->began_ns = s->clock.now;
        if (n != r->waves) { /* it was admitted with fewer pods, or with more again */
            r->left_ns = r->left_ns / r->waves * n + r->left_ns % r->waves * n / r->waves;
            r->waves = n;
        }
        plan(s, r, RUN_START, 0);
    } else if (suspended && r->began_ns >= 0) {
        keep(s, r, s->clock.now - r->began_ns);
        plan(s, r, RUN_STOP, 0);
    }
}

static int write_job(struct sim *s, const struct run *r, enum run_step step, struct err *err) {
    const struct object *o = mirror_get(s->mirror, r->kind, r->ns, r->name);
    char body[1024], at[TIME_TEXT_MAX];
    yyjson_doc *d;
    if (o == NULL || !str_eq(o->uid, r->uid) || json_parse(&s->scratch, o->json, &d, err) != 0) {
        return 0;
    }
    yyjson_val *root = yyjson_doc_get_root(d);
    struct str now = time_text(clock_wall(&s->clock.clock), at);
    long long p = json_i64_at(root, "spec.parallelism", 1);
    long long c = json_i64_at(root, "spec.completions", p);
    long long active = p < c ? p : c,
              ready = s->o.startup_ns == 0 || step == RUN_READY ? active : 0;
    int n = 0;
    switch (step) {
    case RUN_START:
    case RUN_READY:
        n = snprintf(body, sizeof body,
                     "{\"status\":{\"startTime\":\"%.*s\",\"active\":%lld,\"ready\":%lld,"
                     "\"terminating\":0}}",
                     STR_ARG(now), active, ready);
        break;
    case RUN_STOP:
        n = snprintf(
            body, sizeof body,
            "{\"status\":{\"startTime\":null,\"active\":0,\"ready\":0,\"terminating\":0}}");
        break;
    default:
        n = snprintf(
            body, sizeof body,
            "{\"status\":{\"active\":0,\"ready\":0,\"terminating\":0,\"succeeded\":%lld,"
            "\"completionTime\":\"%.*s\",\"conditions\":[{\"type\":\"Complete\",\"status\":"
            "\"True\",\"reason\":\"CompletionsReached\",\"message\":\"Reached expected "
            "number of succeeded pods\",\"lastProbeTime\":\"%.*s\",\"lastTransitionTime\":"
            "\"%.*s\"}]}}",
            c, STR_ARG(now), STR_ARG(now), STR_ARG(now));
    }
    assert(n > 0 && (size_t)n < sizeof body);
    return patch_status(s, r, str_from(body, (size_t)n), err);
}

/* ---- what is due ---- */

static void step(struct sim *s, struct run *r) {
    struct err err = {0};
    enum run_step now = r->next;
    r->next = RUN_IDLE;
    int64_t startup = s->o.startup_ns;
    if (now == RUN_START && startup > 0) {
        plan(s, r, RUN_READY, startup);
    } else if (now == RUN_START || now == RUN_READY) {
        plan(s, r, RUN_FINISH, r->left_ns);
    }
    int e = r->kind == s->kind_job ? write_job(s, r, now, &err) : write_workload(s, r, now, &err);
    arena_reset(&s->scratch);
    if (e != 0) {
        sim_fail(s, &err, r->kind->kind, r->name);
    }
}

void runs_due(void *ctx) {
    struct sim *s = ctx;
    uint64_t end = s->order; /* what this leads to is for another turn */
    struct run *r;
    while ((r = heap_peek(&s->runs)) && r->due_ns <= s->clock.now && r->order < end) {
        heap_pop(&s->runs);
        step(s, r);
    }
    arm(s);
}

void runs_release(struct sim *s) {
    heap_release(&s->runs);
    map_release(&s->by_uid);
}
