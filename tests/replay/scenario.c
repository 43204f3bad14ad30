/* scenario: objects in, cycles run, decisions compared as sorted lines of text. */
#include "control/load/translate.h" /* first */

#include "api/schema/codec.h"
#include "base/map.h"
#include "base/vec.h"
#include "scenario.h"

enum { SECOND_NS = 1000000000 };
#define START_NS (INT64_C(1767607200) * SECOND_NS) /* 2026-01-05T10:00:00Z */

struct entrant {
    struct str name;
    struct workload_input in;
    const struct held_amount *held; /* of its last admission */
    size_t n_held;
    bool finished;
};
VEC(entrant_vec, struct entrant *);
VEC(line_vec, struct str);

struct replay {
    struct engine *e;
    struct arena *a;
    struct buf *difference, *story;
    struct map queues;    /* LocalQueue "namespace/name" to struct local_queue */
    struct map with_pods; /* ClusterQueues that count the resource "pods" */
    struct map by_name, by_uid;
    struct entrant_vec jobs, admitted, preempted; /* in order of submission; of the last cycle */
    struct line_vec got;                          /* of the last cycle */
    int64_t now_ns;
    size_t step, cycle;
    bool seen; /* admissions are told to the engine as those that were written */
};

/* Says what is wrong with the scenario or how the answers differ; always false. */
static bool differ(struct replay *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool differ(struct replay *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_f(r->difference, "  step %zu, cycle %zu: ", r->step, r->cycle);
    buf_vf(r->difference, fmt, ap);
    buf_ch(r->difference, '\n');
    va_end(ap);
    return false;
}

static void *decode(struct replay *r, const struct schema *s, yyjson_val *v) {
    struct err err = {0};
    void *view = arena_zalloc(r->a, s->size);
    if (view == NULL || codec_decode(s, v, r->a, view, &err) != 0) {
        differ(r, "an object cannot be read: %s", err.text);
        return NULL;
    }
    return view;
}

/* ---- objects ---- */

static bool give_flavor(struct replay *r, yyjson_val *v) {
    struct resource_flavor *f = decode(r, &schema_resource_flavor, v);
    struct flavor_input in;
    return f != NULL && translate_flavor(f, r->a, &in) == 0 && engine_flavor_put(r->e, &in) == 0;
}

static bool give_cohort(struct replay *r, yyjson_val *v) {
    struct cohort *h = decode(r, &schema_cohort, v);
    struct cohort_input in;
    return h != NULL && translate_cohort(h, r->a, &in) == 0 && engine_cohort_put(r->e, &in) == 0;
}

static bool counts_pods(const struct queue_input *in) {
    for (size_t i = 0; i < in->n_groups; i++) {
        for (size_t k = 0; k < in->groups[i].n_resources; k++) {
            if (str_is(in->groups[i].resources[k], "pods")) {
                return true;
            }
        }
    }
    return false;
}

static bool give_queue(struct replay *r, yyjson_val *v) {
    struct cluster_queue *q = decode(r, &schema_cluster_queue, v);
    struct queue_input in;
    return q != NULL && translate_queue(q, r->a, &in) == 0 && engine_queue_put(r->e, &in) == 0 &&
           (!counts_pods(&in) || map_put(&r->with_pods, in.name, q, NULL) == 0);
}

static struct str full_name(struct replay *r, struct str ns, struct str name) {
    return arena_f(r->a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
}

static bool give_local_queue(struct replay *r, yyjson_val *v) {
    struct local_queue *q = decode(r, &schema_local_queue, v);
    return q != NULL && q->spec != NULL &&
           map_put(&r->queues, full_name(r, q->metadata->namespace, q->metadata->name), q, NULL) ==
               0;
}

static bool give_all(struct replay *r, yyjson_val *list,
                     bool (*give)(struct replay *r, yyjson_val *v)) {
    size_t i, max;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, max, v) {
        if (!give(r, v)) {
            return differ(r, "an object is not taken: %.*s",
                          STR_ARG(json_str_at(v, "metadata.name")));
        }
    }
    return true;
}

static bool submit(struct replay *r, yyjson_val *v) {
    struct workload *w = decode(r, &schema_workload, v);
    struct entrant *j = ARENA_NEW(r->a, struct entrant);
    if (w == NULL || j == NULL || w->spec == NULL) {
        return false;
    }
    struct local_queue *q =
        map_get(&r->queues, full_name(r, w->metadata->namespace, w->spec->queue_name));
    j->name = w->metadata->name;
    bool pods = q != NULL && map_get(&r->with_pods, q->spec->cluster_queue) != NULL;
    return q != NULL &&
           translate_workload_with(w, q->spec->cluster_queue, NULL, pods, r->a, &j->in) == 0 &&
           map_put(&r->by_name, j->name, j, NULL) == 0 &&
           map_put(&r->by_uid, j->in.uid, j, NULL) == 0 && entrant_vec_push(&r->jobs, j) == 0 &&
           engine_workload_put(r->e, &j->in) == 0;
}

static bool finish(struct replay *r, yyjson_val *names) {
    size_t i, max;
    yyjson_val *v;
    yyjson_arr_foreach(names, i, max, v) {
        struct entrant *j = map_get(&r->by_name, json_str(v));
        if (j == NULL || j->finished) {
            return differ(r, "%.*s cannot finish", STR_ARG(json_str(v)));
        }
        engine_workload_del(r->e, j->in.uid);
        j->finished = true;
    }
    return true;
}

/* ---- decisions as lines ---- */

static int line_order(const void *a, const void *b) {
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void line_sort(struct line_vec *v) {
    if (v->n > 1) {
        qsort(v->v, v->n, sizeof(*v->v), line_order);
    }
}

/* The sorted words of one set, after its name and count: "resource=flavor". */
static void set_line(struct str name, int64_t count, struct line_vec *flavors, struct buf *out) {
    buf_f(out, "; %.*s x%lld", STR_ARG(name), (long long)count);
    line_sort(flavors);
    for (size_t i = 0; i < flavors->n; i++) {
        buf_f(out, " %.*s", STR_ARG(flavors->v[i]));
    }
    flavors->n = 0;
}

static bool line_end(struct replay *r, struct buf *line, struct line_vec *to) {
    bool ok = buf_ok(line) == 0 && line_vec_push(to, arena_str(r->a, buf_view(line))) == 0;
    buf_release(line);
    return ok;
}

static bool got_admission(struct replay *r, const struct entrant *j,
                          const struct engine_action *act) {
    struct buf line;
    struct line_vec flavors = {0};
    buf_init(&line, 0);
    buf_f(&line, "admitted %.*s in %.*s", STR_ARG(j->name), STR_ARG(act->queue));
    for (size_t s = 0; s < j->in.n_sets; s++) {
        for (size_t i = 0; i < act->n_held; i++) {
            const struct held_amount *h = &act->held[i];
            struct str resource = names_text(engine_resources(r->e), h->resource);
            struct str flavor = names_text(engine_flavors(r->e), h->flavor);
            if (h->set == s && line_vec_push(&flavors, arena_f(r->a, "%.*s=%.*s", STR_ARG(resource),
                                                               STR_ARG(flavor))) != 0) {
                break;
            }
        }
        int64_t count = act->counts != NULL ? act->counts[s] : j->in.sets[s].count;
        set_line(j->in.sets[s].name, count, &flavors, &line);
    }
    line_vec_release(&flavors);
    return line_end(r, &line, &r->got);
}

/* What it was given, kept for when the engine is told. */
static bool keep_admission(struct replay *r, struct entrant *j, const struct engine_action *act) {
    struct held_amount *held = ARENA_ARRAY(r->a, struct held_amount, act->n_held + 1);
    if (held == NULL || entrant_vec_push(&r->admitted, j) != 0) {
        return false;
    }
    if (act->n_held > 0) {
        memcpy(held, act->held, act->n_held * sizeof(*held));
    }
    j->held = held;
    j->n_held = act->n_held;
    return true;
}

/* The admissions of the cycle are written, and seen. */
static bool see_admissions(struct replay *r) {
    for (size_t i = 0; i < r->admitted.n && r->seen; i++) {
        const struct entrant *j = r->admitted.v[i];
        struct workload_input in = j->in;
        in.reserved_ns = r->now_ns;
        if (engine_workload_hold(r->e, &in, j->held, j->n_held) != 0) {
            return differ(r, "%.*s cannot be held", STR_ARG(j->name));
        }
    }
    return true;
}

static const char *reason_text(enum preempt_reason reason) {
    switch (reason) {
    case PREEMPT_IN_QUEUE:
        return "InClusterQueue";
    case PREEMPT_RECLAIM:
        return "InCohortReclamation";
    case PREEMPT_RECLAIM_BORROWING:
        return "InCohortReclaimWhileBorrowing";
    case PREEMPT_FAIR_SHARING:
        return "InCohortFairSharing";
    }
    return "?";
}

static bool got_preemption(struct replay *r, struct entrant *j, const struct engine_action *act) {
    struct str line =
        arena_f(r->a, "preempted %.*s: %s", STR_ARG(j->name), reason_text(act->reason));
    return line_vec_push(&r->got, line) == 0 && entrant_vec_push(&r->preempted, j) == 0;
}

static void tell_pending(struct replay *r, const struct entrant *j,
                         const struct engine_action *act) {
    struct buf text;
    if (r->story == NULL || act->verdict == NULL) {
        return;
    }
    buf_init(&text, 0);
    verdict_text(act->verdict, engine_flavors(r->e), engine_resources(r->e), r->a, &text);
    buf_f(r->story, "    %.*s waits: %s: %.*s\n", STR_ARG(j->name),
          pend_reason_text(act->verdict->reason), STR_ARG(buf_view(&text)));
    buf_release(&text);
}

/* Takes the actions of a cycle apart while they are valid. */
static bool take(struct replay *r, const struct engine_action *acts, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct entrant *j = map_get(&r->by_uid, acts[i].uid);
        bool ok = j != NULL;
        if (ok && acts[i].type == ACTION_ADMIT) {
            ok = got_admission(r, j, &acts[i]) && keep_admission(r, j, &acts[i]);
        } else if (ok && acts[i].type == ACTION_PREEMPT) {
            ok = got_preemption(r, j, &acts[i]);
        } else if (ok) {
            tell_pending(r, j, &acts[i]);
        }
        if (!ok) {
            return differ(r, "an action cannot be read");
        }
    }
    line_sort(&r->got);
    return true;
}

static bool wanted_set(struct replay *r, yyjson_val *set, struct buf *line) {
    struct line_vec flavors = {0};
    yyjson_val *map = json_get(set, STR("flavors")), *resource, *flavor;
    size_t i, max;
    bool ok = true;
    if (map != NULL) { /* the loop must not be given NULL */
        yyjson_obj_foreach(map, i, max, resource, flavor) {
            struct str text =
                arena_f(r->a, "%.*s=%.*s", STR_ARG(json_str(resource)), STR_ARG(json_str(flavor)));
            ok = line_vec_push(&flavors, text) == 0 && ok;
        }
    }
    set_line(json_str_at(set, "name"), json_i64_at(set, "count", -1), &flavors, line);
    line_vec_release(&flavors);
    return ok;
}

static bool wanted_lines(struct replay *r, yyjson_val *cycle, struct line_vec *want) {
    size_t i, max, k, most;
    yyjson_val *v, *set;
    bool ok = true;
    yyjson_arr_foreach(json_get(cycle, STR("admitted")), i, max, v) {
        struct buf line;
        buf_init(&line, 0);
        buf_f(&line, "admitted %.*s in %.*s", STR_ARG(json_str_at(v, "name")),
              STR_ARG(json_str_at(v, "clusterQueue")));
        yyjson_arr_foreach(json_get(v, STR("podSets")), k, most, set) {
            ok = wanted_set(r, set, &line) && ok;
        }
        ok = line_end(r, &line, want) && ok;
    }
    yyjson_arr_foreach(json_get(cycle, STR("preempted")), i, max, v) {
        struct str text = arena_f(r->a, "preempted %.*s: %.*s", STR_ARG(json_str_at(v, "name")),
                                  STR_ARG(json_str_at(v, "reason")));
        ok = line_vec_push(want, text) == 0 && ok;
    }
    line_sort(want);
    return ok;
}

/* Both sorted: what only one side has. */
static bool same(struct replay *r, const struct line_vec *want, const struct line_vec *got) {
    size_t i = 0, k = 0;
    bool equal = true;
    while (i < want->n || k < got->n) {
        int c = i == want->n ? 1 : k == got->n ? -1 : str_cmp(want->v[i], got->v[k]);
        if (c == 0) {
            i++;
            k++;
            continue;
        }
        equal = c < 0 ? differ(r, "expected %.*s", STR_ARG(want->v[i]))
                      : differ(r, "got      %.*s", STR_ARG(got->v[k]));
        i += c < 0;
        k += c > 0;
    }
    return equal;
}

/* ---- a step ---- */

/* The next written cycle that decided something; NULL: none is left. */
static yyjson_val *next_wanted(yyjson_val *cycles, size_t *at) {
    while (*at < yyjson_arr_size(cycles)) {
        yyjson_val *c = yyjson_arr_get(cycles, (*at)++);
        if (yyjson_arr_size(json_get(c, STR("admitted"))) +
                yyjson_arr_size(json_get(c, STR("preempted"))) >
            0) {
            return c;
        }
    }
    return NULL;
}

static bool is_more(yyjson_val *cycles, size_t at) {
    return next_wanted(cycles, &at) != NULL;
}

static int entrant_order(const void *a, const void *b) {
    return str_cmp((*(struct entrant *const *)a)->name, (*(struct entrant *const *)b)->name);
}

/* The victims give their quota back and queue again. */
static bool return_victims(struct replay *r) {
    if (r->preempted.n > 1) {
        qsort(r->preempted.v, r->preempted.n, sizeof(*r->preempted.v), entrant_order);
    }
    for (size_t i = 0; i < r->preempted.n; i++) {
        if (engine_workload_put(r->e, &r->preempted.v[i]->in) != 0) {
            return differ(r, "a victim cannot return");
        }
    }
    return true;
}

static void tell_cycle(struct replay *r) {
    if (r->story == NULL) {
        return;
    }
    buf_f(r->story, "  step %zu, cycle %zu:%s\n", r->step, r->cycle,
          r->got.n == 0 ? " nothing" : "");
    for (size_t i = 0; i < r->got.n; i++) {
        buf_f(r->story, "    %.*s\n", STR_ARG(r->got.v[i]));
    }
}

/* One cycle and the second after it. */
static bool cycle(struct replay *r, yyjson_val *cycles, size_t *at) {
    const struct engine_action *acts = NULL;
    struct line_vec want = {0};
    size_t n = 0;
    r->got.n = r->admitted.n = r->preempted.n = 0;
    int code = engine_cycle(r->e, r->now_ns, &acts, &n);
    if (code != 0) {
        return differ(r, "the engine fails: %s", err_name(code));
    }
    bool ok = take(r, acts, n);
    tell_cycle(r);
    if (ok && r->got.n > 0) {
        yyjson_val *w = next_wanted(cycles, at);
        ok = wanted_lines(r, w, &want) && same(r, &want, &r->got);
    }
    line_vec_release(&want);
    ok = ok && see_admissions(r);
    r->now_ns += SECOND_NS;
    ok = ok && return_victims(r);
    return ok && (engine_consistent(r->e) || differ(r, "the engine contradicts itself"));
}

static bool cycles_run(struct replay *r, yyjson_val *cycles) {
    size_t at = 0;
    uint64_t before = 0, after = 0;
    for (r->cycle = 1; r->cycle <= CYCLES_MAX; r->cycle++) {
        if (engine_active(r->e, &after) == 0) {
            break;
        }
        if (!cycle(r, cycles, &at)) {
            return false;
        }
        engine_active(r->e, &after);
        if (r->cycle > 1 && r->got.n == 0 && after == before && !is_more(cycles, at)) {
            break; /* with more to come, the recorded run did not see that they are the same */
        }
        before = after;
    }
    yyjson_val *missing = next_wanted(cycles, &at);
    struct line_vec want = {0};
    bool ok = missing == NULL;
    if (!ok && wanted_lines(r, missing, &want)) {
        r->got.n = 0;
        same(r, &want, &r->got);
        differ(r, "no further cycle decided anything");
    }
    line_vec_release(&want);
    return ok;
}

/* Who holds quota now, or who does not, against the written names. */
static bool names_same(struct replay *r, yyjson_val *names, bool holding) {
    struct line_vec want = {0}, got = {0};
    const char *word = holding ? "holds quota" : "waits";
    size_t i, max;
    yyjson_val *v;
    bool ok = true;
    yyjson_arr_foreach(names, i, max, v) {
        ok = ok &&
             line_vec_push(&want, arena_f(r->a, "that %.*s %s", STR_ARG(json_str(v)), word)) == 0;
    }
    for (i = 0; i < r->jobs.n && ok; i++) {
        struct entrant *j = r->jobs.v[i];
        bool holds = false;
        if (!j->finished && engine_workload_known(r->e, j->in.uid, &holds) && holds == holding) {
            ok = line_vec_push(&got, arena_f(r->a, "that %.*s %s", STR_ARG(j->name), word)) == 0;
        }
    }
    line_sort(&want);
    line_sort(&got);
    ok = ok && same(r, &want, &got);
    line_vec_release(&want);
    line_vec_release(&got);
    return ok;
}

static bool step(struct replay *r, yyjson_val *v) {
    r->cycle = 0;
    if (!give_all(r, json_get(v, STR("clusterQueues")), give_queue) || /* edited */
        !finish(r, json_get(v, STR("finish"))) ||
        !give_all(r, json_get(v, STR("submit")), submit) ||
        !cycles_run(r, json_get(v, STR("cycles")))) {
        return false;
    }
    bool held = names_same(r, json_get(v, STR("admittedAfter")), true);
    return names_same(r, json_get(v, STR("pendingAfter")), false) && held;
}

bool scenario_replay(yyjson_val *scenario, struct arena *a, struct buf *difference,
                     struct buf *story) {
    struct engine_options o = {.check_undo = true,
                               .fair_sharing = json_bool_at(scenario, "fairSharing", false)};
    struct replay r = {.e = engine_new(&o),
                       .a = a,
                       .difference = difference,
                       .story = story,
                       .now_ns = START_NS,
                       .seen = json_bool_at(scenario, "admissionsSeen", false)};
    size_t i, max;
    yyjson_val *v;
    bool ok = r.e != NULL &&
              give_all(&r, json_get(scenario, STR("resourceFlavors")), give_flavor) &&
              give_all(&r, json_get(scenario, STR("cohorts")), give_cohort) &&
              give_all(&r, json_get(scenario, STR("clusterQueues")), give_queue) &&
              give_all(&r, json_get(scenario, STR("localQueues")), give_local_queue);
    yyjson_arr_foreach(json_get(scenario, STR("steps")), i, max, v) {
        r.step = i + 1;
        ok = ok && step(&r, v);
    }
    engine_free(r.e);
    map_release(&r.queues);
    map_release(&r.with_pods);
    map_release(&r.by_name);
    map_release(&r.by_uid);
    entrant_vec_release(&r.jobs);
    entrant_vec_release(&r.admitted);
    entrant_vec_release(&r.preempted);
    line_vec_release(&r.got);
    return ok && arena_ok(a) == 0;
}
