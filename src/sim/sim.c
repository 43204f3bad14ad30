/* sim: the world itself. What comes into it is in sim_arrivals.c, what runs in it in sim_runs.c. See sim.h. */
#include "base/mem.h"
#include "base/zoneinfo.h"
#include "core/admit/engine.h"
#include "sim/sim_private.h"
#include "wire/text/zone.h"

enum {
    SCRATCH_MAX = 64 << 20,
    CHECK_STEPS = 20000,      /* between looks at the engine */
    QUIET_HOURS = 24,         /* without any change of a Workload: nothing will move any more */
    STEPS_AT_ONCE = 20000000, /* in one moment of virtual time */
    TURN_MAX = 1 << 20, /* decisions wait for all that comes at a moment: its order is nobody's */
};
#define ARENA_MAX ((size_t)16 << 30)

void sim_fail(struct sim *s, const struct err *err, const char *what, struct str name) {
    if (s->err.code == 0) {
        s->err = *err;
        err_wrap(&s->err, "at %.3f s: %s %.*s", (double)s->clock.now / NS_PER_SEC, what,
                 STR_ARG(name));
    }
}

/* Events are for people who watch; nobody does. */
static int before(void *ctx, const struct memory_write *w, struct err *err) {
    struct sim *s = ctx;
    return w->kind == s->kind_event ? 1 : 0;
}

static int64_t declared(void *ctx, const struct object *o) {
    return runs_declared(ctx, o);
}

static int source_order(const void *a, const void *b, void *ctx) {
    const struct sim_source *x = a, *y = b;
    if (x->due_ns != y->due_ns) {
        return x->due_ns < y->due_ns ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

static int run_order(const void *a, const void *b, void *ctx) {
    const struct run *x = a, *y = b;
    if (x->due_ns != y->due_ns) {
        return x->due_ns < y->due_ns ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

static int parts_new(struct sim *s, struct err *err) {
    struct clock *clock = &s->clock.clock;
    s->mirror = mirror_new(&(struct mirror_options){.clock = clock, .history_events = 1});
    s->arrivals_timer = clock->timer_new(clock, arrivals_due, s);
    s->runs_timer = clock->timer_new(clock, runs_due, s);
    s->store = (struct memory_store){.mirror = s->mirror, .clock = clock};
    s->zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    if (s->mirror == NULL || s->arrivals_timer == NULL || s->runs_timer == NULL ||
        s->zones == NULL || memory_writer_init(&s->writer, &s->store) != 0) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    s->writer.latency_ns = s->o.latency_ns;
    s->writer.before = before;
    s->writer.ctx = s;
    s->env = (struct control_env){.mirror = s->mirror,
                                  .writer = &s->writer.writer,
                                  .clock = clock,
                                  .log = s->o.log,
                                  .settings = s->o.settings,
                                  .zones = s->zones,
                                  .turn = TURN_MAX,
                                  .seed = s->o.seed};
    struct ledger_options lo = {.mirror = s->mirror,
                                .clock = clock,
                                .started = runs_started,
                                .stopped = runs_stopped,
                                .runtime = declared,
                                .ctx = s};
    int r = ledger_init(&s->ledger, &lo, err);
    s->has_ledger = r == 0;
    s->story = r == 0 && s->o.story ? story_new(s->mirror, clock, err) : NULL;
    r = r == 0 && s->o.story && s->story == NULL ? ERR_NOMEM : r;
    s->jobs = r == 0 ? mirror_feed(s->mirror, s->kind_job, runs_job_changed, s) : NULL;
    unsigned set = CONTROL_QUEUES | CONTROL_WORKLOADS | CONTROL_RESERVATIONS;
    set |= s->o.jobs ? CONTROL_JOB_QUEUE | CONTROL_GC : 0;
    s->workloads =
        s->jobs ? mirror_feed(s->mirror, s->kind_workload, runs_workload_changed, s) : NULL;
    s->control = s->workloads ? control_new(&s->env, set, err) : NULL;
    return s->control ? 0 : r ? r : err_set(err, ERR_NOMEM, "out of memory");
}

struct sim *sim_new(const struct sim_options *o, struct err *err) {
    struct sim *s = mem_zalloc(sizeof *s);
    if (s == NULL) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    s->o = *o;
    s->kind_job = kind_by_name(STR("batch"), STR("Job"));
    s->kind_workload = kind_by_name(STR("kueue.x-k8s.io"), STR("Workload"));
    s->kind_event = kind_by_name(STR(""), STR("Event"));
    s->kind_namespace = kind_by_name(STR(""), STR("Namespace"));
    arena_init(&s->arena, ARENA_MAX);
    arena_init(&s->scratch, SCRATCH_MAX);
    arena_init(&s->input, SCRATCH_MAX);
    prng_seed(&s->prng, o->seed);
    virtual_clock_init(&s->clock, 0);
    heap_init(&s->arrivals, source_order, NULL, offsetof(struct sim_source, place));
    heap_init(&s->runs, run_order, NULL, offsetof(struct run, place));
    if (parts_new(s, err) != 0) {
        sim_free(s);
        return NULL;
    }
    return s;
}

void sim_free(struct sim *s) {
    if (s == NULL) {
        return;
    }
    control_free(s->control);
    if (s->jobs) {
        feed_free(s->jobs);
    }
    if (s->workloads) {
        feed_free(s->workloads);
    }
    if (s->has_ledger) {
        ledger_release(&s->ledger);
    }
    story_free(s->story);
    if (s->writer.store) {
        memory_writer_release(&s->writer);
    }
    s->clock.clock.timer_free(s->arrivals_timer);
    s->clock.clock.timer_free(s->runs_timer);
    arrivals_release(s);
    runs_release(s);
    if (s->mirror) {
        mirror_free(s->mirror);
    }
    zones_free(s->zones);
    virtual_clock_release(&s->clock);
    arena_release(&s->arena);
    arena_release(&s->scratch);
    arena_release(&s->input);
    mem_free(s);
}

/* ---- the run ---- */

static bool check(struct sim *s) {
    struct engine *e = control_engine(s->control);
    if (s->err.code == 0 && s->ledger.err.code != 0) {
        s->err = s->ledger.err;
    }
    if (s->err.code == 0 && e && !engine_consistent(e)) {
        err_set(&s->err, ERR_INTERNAL, "at %.3f s: the engine contradicts itself",
                (double)s->clock.now / NS_PER_SEC);
    }
    return s->err.code == 0;
}

static bool quiet(const struct sim *s) {
    int64_t since = s->ledger.changed_ns, next = virtual_clock_next(&s->clock);
    return heap_peek(&s->arrivals) == NULL && heap_peek(&s->runs) == NULL &&
           (next == INT64_MAX || next - since > QUIET_HOURS * 3600 * NS_PER_SEC);
}

int sim_run(struct sim *s, enum sim_end *ret, struct err *err) {
    enum sim_end end = SIM_DONE;
    uint64_t steps = 0, check_at = CHECK_STEPS, at_once = 0;
    arrivals_arm(s);
    while (s->err.code == 0 && s->ledger.err.code == 0) {
        int64_t next = virtual_clock_next(&s->clock), now = s->clock.now;
        if (heap_peek(&s->arrivals) == NULL && heap_peek(&s->runs) == NULL && s->ledger.open == 0 &&
            s->open_jobs == 0) {
            break;
        }
        if (quiet(s)) {
            end = SIM_STUCK;
            break;
        }
        if (s->o.until_ns && next > s->o.until_ns) {
            virtual_clock_run(&s->clock, s->o.until_ns - now);
            end = SIM_UNTIL;
            break;
        }
        virtual_clock_step(&s->clock);
        at_once = s->clock.now == now ? at_once + 1 : 0;
        if (at_once > STEPS_AT_ONCE) {
            err_set(&s->err, ERR_INTERNAL, "at %.3f s: %d steps and no end",
                    (double)s->clock.now / NS_PER_SEC, STEPS_AT_ONCE);
        }
        if (++steps >= check_at) { /* a look costs what there is */
            if (!check(s)) {
                break;
            }
            check_at = steps + CHECK_STEPS + (uint64_t)s->ledger.open;
        }
    }
    if (s->story && s->err.code == 0 && story_error(s->story) != 0) {
        err_set(&s->err, ERR_NOMEM, "out of memory");
    }
    if (!check(s)) {
        *err = s->err;
        return s->err.code;
    }
    ledger_close(&s->ledger);
    *ret = end;
    return 0;
}

struct ledger *sim_ledger(struct sim *s) {
    return &s->ledger;
}

struct story *sim_story(struct sim *s) {
    return s->story;
}

const struct mirror *sim_mirror(const struct sim *s) {
    return s->mirror;
}

int64_t sim_now(const struct sim *s) {
    return s->clock.now;
}

uint64_t sim_writes(const struct sim *s) {
    return s->writer.writes;
}
