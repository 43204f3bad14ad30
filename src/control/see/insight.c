/* insight: copying and computing. What is written is in insight_json.c. */
#include "control/see/insight.h"

#include "base/limits.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

enum { SCRATCH_MAX = 64 << 20, ARENA_MAX = 512 << 20 };

/* ---- taking ---- */

static int namespace_number(struct insight *in, struct map *seen, struct str ns, uint32_t *ret) {
    uintptr_t there = (uintptr_t)map_get(seen, ns);
    if (there > 0) {
        *ret = (uint32_t)(there - 1);
        return 0;
    }
    in->namespaces[in->n_namespaces] = arena_str(&in->arena, ns);
    struct str key = in->namespaces[in->n_namespaces];
    *ret = (uint32_t)in->n_namespaces++;
    return key.p != NULL ? map_put(seen, key, (void *)(uintptr_t)in->n_namespaces, NULL)
                         : ERR_NOMEM;
}

static int objects_take(struct insight *in, const struct insight_options *o) {
    size_t n = in->clone.n_works;
    struct map seen = {0};
    in->works = ARENA_ARRAY(&in->arena, struct insight_work, n + 1);
    in->namespaces = ARENA_ARRAY(&in->arena, struct str, n + 1);
    int r = in->works != NULL && in->namespaces != NULL ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct object *w = mirror_by_uid(o->mirror, in->clone.works[i].in.uid);
        const struct owner_ref *owner = w != NULL ? object_controller(w) : NULL;
        const struct object *by = owner != NULL ? mirror_owner(o->mirror, w->ns, owner) : NULL;
        in->works[i].obj = w != NULL ? object_ref(w) : NULL;
        in->works[i].owner = by != NULL ? object_ref(by) : NULL;
        if (o->hindsight != NULL && i >= in->clone.n_holding) {
            in->works[i].told = hindsight_told(o->hindsight, in->clone.works[i].in.uid);
        }
        r = namespace_number(in, &seen, w != NULL ? w->ns : STR(""), &in->works[i].ns);
    }
    map_release(&seen);
    return r;
}

int insight_take(const struct insight_options *o, struct insight **ret) {
    struct insight *in = mem_zalloc(sizeof(*in));
    if (in == NULL) {
        return ERR_NOMEM;
    }
    in->now = o->now;
    arena_init(&in->arena, ARENA_MAX);
    in->times = run_times_copy(o->times);
    in->hindsight = o->hindsight != NULL ? hindsight_copy(o->hindsight) : hindsight_new();
    int r = clone_take(o->engine, o->queues, o->n_queues, o->cohorts, o->n_cohorts, o->limits,
                       &in->clone);
    r = r == 0 && (in->times == NULL || in->hindsight == NULL) ? ERR_NOMEM : r;
    if (r == 0) {
        r = objects_take(in, o);
    }
    if (r != 0) {
        insight_free(in);
        return r;
    }
    *ret = in;
    return 0;
}

int insight_extend(struct insight *in, const struct object *const *objects,
                   const struct workload_input *inputs, size_t n) {
    struct clone *c = &in->clone;
    size_t all = c->n_works + n;
    struct clone_work *works = ARENA_ARRAY(&in->arena, struct clone_work, all + 1);
    struct insight_work *beside = ARENA_ARRAY(&in->arena, struct insight_work, all + 1);
    struct str *namespaces = ARENA_ARRAY(&in->arena, struct str, all + 1);
    if (works == NULL || beside == NULL || namespaces == NULL) {
        return ERR_NOMEM;
    }
    memcpy(works, c->works, c->n_works * sizeof(*works));
    memcpy(beside, in->works, c->n_works * sizeof(*beside));
    memcpy(namespaces, in->namespaces, in->n_namespaces * sizeof(*namespaces));
    for (size_t i = 0; i < n; i++) {
        uint32_t ns = 0;
        while (ns < in->n_namespaces && !str_eq(namespaces[ns], objects[i]->ns)) {
            ns++;
        }
        if (ns == in->n_namespaces) {
            namespaces[in->n_namespaces++] = arena_str(&in->arena, objects[i]->ns);
        }
        works[c->n_works + i] = (struct clone_work){.in = inputs[i]};
        beside[c->n_works + i] = (struct insight_work){.obj = object_ref(objects[i]), .ns = ns};
    }
    c->works = works;
    c->n_works = all;
    in->works = beside;
    in->namespaces = namespaces;
    return arena_ok(&in->arena);
}

void insight_free(struct insight *in) {
    if (in == NULL) {
        return;
    }
    for (size_t i = 0; in->works != NULL && i < in->clone.n_works; i++) {
        object_unref(in->works[i].obj);
        object_unref(in->works[i].owner);
    }
    explain_index_free(in->index);
    engine_free(in->engine);
    run_times_free(in->times);
    hindsight_free(in->hindsight);
    map_release(&in->by_uid);
    clone_release(&in->clone);
    arena_release(&in->arena);
    mem_free(in);
}

/* ---- reading the objects ---- */

int64_t insight_since(yyjson_val *workload, const char *type) {
    yyjson_val *list = json_path(workload, "status.conditions"), *c;
    size_t i, n;
    int64_t at;
    yyjson_arr_foreach(list, i, n, c) {
        if (str_is(json_str_at(c, "type"), type) && str_is(json_str_at(c, "status"), "True") &&
            time_parse(json_str_at(c, "lastTransitionTime"), &at, NULL) == 0) {
            return at;
        }
    }
    return 0;
}

/* "1h30m", or whole seconds; 0: absent or not understood. */
static int64_t annotated(yyjson_val *root) {
    yyjson_val *all = json_path(root, "metadata.annotations");
    struct str text = json_str(json_get(all, STR(EXPECTED_RUNTIME_ANNOTATION)));
    int64_t v = 0;
    if (str_to_i64(text, &v)) {
        return v > 0 && v < INT64_MAX / 1000000000 ? v * 1000000000 : 0;
    }
    return text.n > 0 && duration_parse(text, &v, NULL) == 0 && v > 0 ? v : 0;
}

static int64_t seconds_at(yyjson_val *root, const char *path) {
    int64_t v = json_i64_at(root, path, 0);
    return v > 0 && v < INT64_MAX / 1000000000 ? v * 1000000000 : 0;
}

struct run_times_of insight_alike(const struct object *o, struct str local) {
    const struct owner_ref *owner = object_controller(o);
    return (struct run_times_of){.ns = o->ns,
                                 .queue = local,
                                 .kind = owner != NULL ? owner->kind : STR("Workload"),
                                 .name = owner != NULL ? owner->name : o->name};
}

int64_t insight_declared(yyjson_val *root, yyjson_val *owner) {
    int64_t limit = seconds_at(root, "spec.maximumExecutionTimeSeconds");
    int64_t past = seconds_at(root, "status.accumulatedPastExecutionTimeSeconds");
    int64_t v = annotated(root);
    v = v > 0 ? v : annotated(owner);
    v = v > 0 ? v : limit > past ? limit - past : 0;
    return v > 0 ? v : seconds_at(owner, "spec.activeDeadlineSeconds");
}

/* A declared run time is as good as those that alike ones declared were. */
static void declared(const struct insight *in, const struct insight_work *w,
                     struct forecast_work *f, int64_t v) {
    struct run_times_of of = insight_alike(w->obj, w->local);
    f->runtime = v;
    f->basis = BASIS_DECLARED;
    f->seen = run_times_shares(in->times, &of, &f->n_seen);
    f->unit = v / RUN_TIMES_WHOLE;
}

static void observed(const struct insight *in, const struct insight_work *w,
                     struct forecast_work *f) {
    struct run_times_of of = insight_alike(w->obj, w->local);
    size_t n;
    int64_t v = run_times_median(in->times, &of, &n);
    if (v >= 0) {
        f->runtime = v;
        f->basis = BASIS_OBSERVED;
        f->seen = run_times_seen(in->times, &of, &f->n_seen);
        f->unit = 1;
    }
}

/* What is left of a holder's run, as the alike ones that ran longer than it has went on; one that outran what was
 * declared, or all of these, gets as much more as it is late, and a tenth at least. One that has run for longer than
 * was told is called overdue. */
static void remaining(const struct insight *in, struct insight_work *w, struct forecast_work *f) {
    if (!f->holds || f->runtime == FORECAST_UNKNOWN) {
        return;
    }
    int64_t elapsed = w->started > 0 && in->now > w->started ? in->now - w->started : 0;
    struct run_times_of of = insight_alike(w->obj, w->local);
    f->remaining =
        f->basis == BASIS_OBSERVED ? run_times_left(in->times, &of, elapsed) : f->runtime - elapsed;
    f->elapsed = elapsed;
    w->overdue = f->runtime <= elapsed;
    if (f->remaining <= 0) {
        int64_t more = f->runtime / 10, late = elapsed - f->runtime;
        more = more > 1000000000 ? more : 1000000000;
        f->remaining = more > late ? more : late;
    }
    w->ends = in->now > INT64_MAX - f->remaining ? INT64_MAX : in->now + f->remaining;
}

static int object_read(struct insight *in, size_t i, struct arena *scratch) {
    struct insight_work *w = &in->works[i];
    struct forecast_work *f = &in->runs[i];
    yyjson_doc *doc = NULL, *owner = NULL;
    *f = (struct forecast_work){.uid = in->clone.works[i].in.uid,
                                .holds = in->clone.works[i].holds,
                                .runtime = FORECAST_UNKNOWN,
                                .remaining = FORECAST_UNKNOWN,
                                .basis = BASIS_UNKNOWN};
    if (w->obj == NULL) {
        return 0;
    }
    int r = object_tree(w->obj, scratch, &doc, NULL);
    if (r == 0 && w->owner != NULL) {
        r = object_tree(w->owner, scratch, &owner, NULL);
    }
    if (r != 0) {
        return r;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    const struct owner_ref *by = object_controller(w->obj);
    w->local = arena_str(&in->arena, json_str_at(root, "spec.queueName"));
    w->job = by != NULL ? by->name : w->obj->name; /* in the object, which is held */
    w->kind = by != NULL ? by->kind : (struct str){0};
    w->started = insight_since(root, "Admitted");
    int64_t said = insight_declared(root, owner != NULL ? yyjson_doc_get_root(owner) : NULL);
    if (said > 0) {
        declared(in, w, f, said);
    } else {
        observed(in, w, f);
    }
    remaining(in, w, f);
    in->n_unknown += f->basis == BASIS_UNKNOWN;
    return arena_ok(&in->arena);
}

int insight_read(struct insight *in) {
    struct arena scratch;
    int r = 0;
    if (in->runs != NULL) {
        return 0;
    }
    in->runs = ARENA_ARRAY(&in->arena, struct forecast_work, in->clone.n_works + 1);
    if (in->runs == NULL) {
        return ERR_NOMEM;
    }
    arena_init(&scratch, SCRATCH_MAX);
    for (size_t i = 0; i < in->clone.n_works && r == 0; i++) {
        arena_reset(&scratch);
        r = object_read(in, i, &scratch);
        if (r == 0) {
            r = map_put(&in->by_uid, in->runs[i].uid, (void *)(uintptr_t)(i + 1), NULL);
        }
    }
    arena_release(&scratch);
    return r;
}

/* ---- positions ---- */

static int positions(struct insight *in) {
    struct map locals = {0};
    struct str queue = {0};
    size_t n = 0;
    int r = 0;
    for (size_t i = in->clone.n_holding; i < in->clone.n_works && r == 0; i++) {
        struct insight_work *w = &in->works[i];
        if (i == in->clone.n_holding || !str_eq(queue, in->clone.works[i].in.queue)) {
            queue = in->clone.works[i].in.queue;
            n = 0;
        }
        w->position = ++n;
        struct str key = arena_f(&in->arena, "%.*s/%.*s/%.*s", STR_ARG(queue),
                                 STR_ARG(in->namespaces[w->ns]), STR_ARG(w->local));
        w->local_position = (uintptr_t)map_get(&locals, key) + 1;
        r = key.p != NULL ? map_put(&locals, key, (void *)(uintptr_t)w->local_position, NULL)
                          : ERR_NOMEM;
    }
    map_release(&locals);
    return r;
}

/* ---- running ahead ---- */

struct insight_telling {
    struct insight *in;
    struct engine *e;
    struct arena scratch;
};

static void waits(void *ctx, const struct engine_action *a, int64_t now) {
    struct insight_telling *t = ctx;
    ptrdiff_t i = insight_find(t->in, a->uid);
    if (i < 0 || now != t->in->now || t->in->works[i].reason != NULL || a->verdict == NULL) {
        return;
    }
    struct buf b;
    buf_init(&b, LIMIT_CONDITION_MESSAGE);
    arena_reset(&t->scratch);
    verdict_text(a->verdict, engine_flavors(t->e), engine_resources(t->e), &t->scratch, &b);
    t->in->works[i].reason = pend_reason_text(a->verdict->reason);
    t->in->works[i].message = arena_str(&t->in->arena, buf_view(&b));
    buf_release(&b);
}

static int run_ahead(struct insight *in, struct forecast_work *runs, bool unknown_ends,
                     const atomic_bool *stop) {
    struct insight_telling t = {.in = in};
    struct forecast_options o = {
        .now = in->now, .unknown_ends = unknown_ends, .stop = stop, .waits = waits, .ctx = &t};
    bool cut = false;
    int r = clone_build(&in->clone, &t.e);
    if (r != 0) {
        return r;
    }
    arena_init(&t.scratch, 1 << 20);
    r = forecast_run(t.e, runs, in->clone.n_works, &o, &cut);
    in->cut = in->cut || cut;
    arena_release(&t.scratch);
    engine_free(t.e);
    return r;
}

static int classes(struct insight *in) {
    char text[HINDSIGHT_KEY_MAX];
    for (size_t i = in->clone.n_holding; i < in->clone.n_works; i++) {
        struct insight_work *w = &in->works[i];
        w->class = arena_str(&in->arena, hindsight_class(&in->clone.works[i].in, text));
        hindsight_late(in->hindsight, w->class, &w->told, in->now);
    }
    return arena_ok(&in->arena);
}

/* The ranges, as hindsight has them. */
static int look_ahead(struct insight *in, const atomic_bool *stop) {
    struct forecast_options o = {.now = in->now, .stop = stop};
    size_t n = in->clone.n_works;
    bool cut = false;
    in->said = ARENA_ARRAY(&in->arena, struct outlook, n + 1);
    in->outlooks = ARENA_ARRAY(&in->arena, struct outlook, n + 1);
    if (in->said == NULL || in->outlooks == NULL) {
        return ERR_NOMEM;
    }
    int r = outlook_run(&in->clone, in->runs, n, &o, &in->arena, in->said, &cut);
    if (r == 0) {
        r = classes(in);
    }
    in->cut = in->cut || cut;
    for (size_t i = in->clone.n_holding; i < n && r == 0; i++) {
        const struct insight_work *w = &in->works[i];
        in->outlooks[i] = in->said[i];
        hindsight_adjust(in->hindsight, w->class, &w->told, in->now, &in->outlooks[i]);
    }
    return r;
}

void insight_note(struct insight *in, struct hindsight *h) {
    if (in->noted || !in->computed) { /* a preview's is never computed */
        return;
    }
    in->noted = true;
    for (size_t i = in->clone.n_holding; i < in->clone.n_works; i++) {
        struct hindsight_told told = {.at = in->now, .said = in->said[i]};
        hindsight_note(h, in->runs[i].uid, in->works[i].class, &told);
    }
}

/* What cannot be told because run times are not known gets a bound. */
static int run_least(struct insight *in, const atomic_bool *stop) {
    size_t n = in->clone.n_works;
    bool missing = false;
    for (size_t i = in->clone.n_holding; i < n && in->n_unknown > 0; i++) {
        missing = missing || in->runs[i].start == FORECAST_NEVER;
    }
    if (!missing) {
        return 0;
    }
    in->least = ARENA_ARRAY(&in->arena, struct forecast_work, n + 1);
    if (in->least == NULL) {
        return ERR_NOMEM;
    }
    memcpy(in->least, in->runs, n * sizeof(*in->least));
    return run_ahead(in, in->least, true, stop);
}

void insight_work(struct insight *in, const atomic_bool *stop) {
    if (in->computed) {
        return;
    }
    int r = insight_read(in);
    if (r == 0) {
        r = positions(in);
    }
    if (r == 0) {
        r = run_ahead(in, in->runs, false, stop);
    }
    if (r == 0) {
        r = look_ahead(in, stop);
    }
    if (r == 0) {
        r = run_least(in, stop);
    }
    r = r == 0 && in->engine == NULL ? clone_build(&in->clone, &in->engine) : r;
    r = r == 0 && in->index == NULL ? explain_index_new(in->engine, &in->index) : r;
    in->code = r;
    in->computed = r != ERR_GONE;
}

ptrdiff_t insight_find(const struct insight *in, struct str uid) {
    return (ptrdiff_t)(uintptr_t)map_get(&in->by_uid, uid) - 1;
}

bool insight_shows(const struct insight *in, const struct insight_viewer *v, size_t i) {
    return v->everything || (in->works[i].obj != NULL && v->namespaces[in->works[i].ns]);
}
