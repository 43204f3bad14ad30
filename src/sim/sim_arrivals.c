/*
 * sim_arrivals: what comes into the world, and when. Every source stands in one heap by the time of its next object;
 * one timer serves it.
 */
#include "api/schema/codec.h"
#include "base/limits.h"
#include "base/mem.h"
#include "sim/ledger_private.h"
#include "sim/sim_private.h"

enum { BODY_MAX = 1 << 20 };
#define KUEUE_API "\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"

void arrivals_arm(struct sim *s) {
    const struct sim_source *x = heap_peek(&s->arrivals);
    if (x) {
        int64_t now = s->clock.now;
        s->clock.clock.timer_start(s->arrivals_timer, x->due_ns > now ? x->due_ns - now : 0);
    }
}

static struct sim_source *source_new(struct sim *s, enum source_type type, int64_t due_ns,
                                     struct err *err) {
    struct sim_source *x = ARENA_NEW(&s->arena, struct sim_source);
    if (x == NULL || sources_push(&s->all, x) != 0 || heap_push(&s->arrivals, x) != 0) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    x->type = type;
    x->due_ns = due_ns;
    x->order = s->o.seed && type == SOURCE_STREAM ? prng_u64(&s->prng) >> 1 : s->order++;
    heap_fix(&s->arrivals, x);
    return x;
}

/* ---- manifests ---- */

static const struct kind *by_name(const char *group, const char *kind) {
    return kind_by_name(str_of(group), str_of(kind));
}

static int create(struct sim *s, const struct kind *k, struct str ns, struct str json,
                  struct err *err) {
    const struct object *o = NULL;
    int e = memory_store_create(&s->store, k, ns, json, &o, err);
    object_unref(o);
    return e;
}

static int need_namespace(struct sim *s, struct str ns, struct err *err) {
    if (str_empty(ns) || mirror_get(s->mirror, s->kind_namespace, STR(""), ns)) {
        return 0;
    }
    struct str json = arena_f(&s->scratch,
                              "{\"metadata\":{\"name\":\"%.*s\",\"labels\":"
                              "{\"kubernetes.io/metadata.name\":\"%.*s\"}}}",
                              STR_ARG(ns), STR_ARG(ns));
    return json.p ? create(s, s->kind_namespace, STR(""), json, err)
                  : err_set(err, ERR_NOMEM, "out of memory");
}

/* A Job that names a queue comes suspended, as Kueue's webhook has it. */
static void suspend(const struct sim *s, const struct manifest *m, yyjson_mut_doc *d) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    yyjson_mut_val *labels = json_mpath(root, "metadata.labels");
    if (m->kind == s->kind_job && json_mget(labels, STR("kueue.x-k8s.io/queue-name"))) {
        json_mset_bool(d, json_mensure(d, root, "spec"), "suspend", true);
    }
}

static int put(struct sim *s, const struct manifest *m, const char *sub, enum patch_type type,
               yyjson_mut_val *body, struct err *err) {
    const struct object *o = NULL;
    struct buf b;
    buf_init(&b, LIMIT_BODY_BYTES);
    json_write_mut(&b, body);
    int e = buf_ok(&b) ? err_set(err, ERR_NOMEM, "out of memory")
                       : memory_store_patch(&s->store, m->kind, m->ns, m->name, sub, type,
                                            buf_view(&b), &o, err);
    object_unref(o);
    buf_release(&b);
    return e;
}

/* A new state of what is there: metadata is merged; spec and other members are replaced, but for Jobs and Workloads,
 * whose specs others write in as well; status, where there is one, through its subresource. */
static int change(struct sim *s, const struct manifest *m, yyjson_mut_doc *d, struct err *err) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d), *key;
    yyjson_mut_val *ops = yyjson_mut_arr(d), *merge = yyjson_mut_obj(d),
                   *status = yyjson_mut_obj(d);
    bool shared = m->kind == s->kind_job || m->kind == s->kind_workload, has_status = false;
    yyjson_mut_obj_iter x = yyjson_mut_obj_iter_with(root);
    while ((key = yyjson_mut_obj_iter_next(&x))) {
        struct str name = json_mstr(key);
        yyjson_mut_val *v = yyjson_mut_val_mut_copy(d, yyjson_mut_obj_iter_get_val(key));
        if (str_is(name, "status") && m->kind->flags & KIND_STATUS) {
            json_mset(d, status, name, v);
            has_status = true;
        } else if (str_is(name, "metadata") || (shared && str_is(name, "spec"))) {
            json_mset(d, merge, name, v);
        } else if (!str_is(name, "apiVersion") && !str_is(name, "kind")) {
            yyjson_mut_val *op = yyjson_mut_obj(d);
            struct str path = arena_f(&s->input, "/%.*s", STR_ARG(name));
            json_mset_str(d, op, "op", STR("add"));
            json_mset_str(d, op, "path", path);
            json_mset(d, op, STR("value"), v);
            yyjson_mut_arr_append(ops, op);
        }
    }
    int e = put(s, m, "", PATCH_MERGE, merge, err);
    e = e || yyjson_mut_arr_size(ops) == 0 ? e : put(s, m, "", PATCH_JSON, ops, err);
    return e || !has_status ? e : put(s, m, "status", PATCH_MERGE, status, err);
}

static int apply(struct sim *s, const struct manifest *m, struct err *err) {
    yyjson_mut_doc *d;
    struct buf b;
    bool there = m->name.n && mirror_get(s->mirror, m->kind, m->ns, m->name);
    int e = need_namespace(s, m->ns, err);
    e = e ? e : json_parse_mut(&s->input, m->json, &d, err);
    if (e || there) {
        return e ? e : change(s, m, d, err);
    }
    suspend(s, m, d);
    buf_init(&b, LIMIT_OBJECT_BYTES);
    json_write_mut(&b, yyjson_mut_doc_get_root(d));
    e = buf_ok(&b) ? err_set(err, ERR_NOMEM, "out of memory")
                   : create(s, m->kind, m->ns, buf_view(&b), err);
    buf_release(&b);
    return e;
}

/* A merge patch: status through its subresource, where it has one. */
static int merge_in(struct sim *s, const struct manifest *m, struct err *err) {
    yyjson_mut_doc *d;
    int e = json_parse_mut(&s->input, m->json, &d, err);
    if (e != 0) {
        return e;
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d), *status = NULL;
    json_mdel(root, STR("apiVersion"));
    json_mdel(root, STR("kind"));
    if (m->kind->flags & KIND_STATUS && json_mget(root, STR("status"))) {
        status = yyjson_mut_obj(d);
        json_mset(d, status, STR("status"),
                  yyjson_mut_val_mut_copy(d, json_mget(root, STR("status"))));
        json_mdel(root, STR("status"));
    }
    e = put(s, m, "", PATCH_MERGE, root, err);
    return e || status == NULL ? e : put(s, m, "status", PATCH_MERGE, status, err);
}

static int delete(struct sim *s, const struct manifest *m, struct err *err) {
    const struct object *o = NULL;
    struct delete_options none = {.grace_seconds = -1, .propagation = STR("Background")};
    int e = memory_store_remove(&s->store, m->kind, m->ns, m->name, &none, &o, err);
    object_unref(o);
    return e;
}

int sim_at(struct sim *s, int64_t at_ns, enum sim_act act, const struct manifest *m,
           struct err *err) {
    struct sim_source *x = source_new(s, SOURCE_ACTION, at_ns, err);
    if (x == NULL) {
        return ERR_NOMEM;
    }
    x->act = act;
    x->manifest = m;
    return 0;
}

/* ---- loads and traces ---- */

struct queue_spec {
    struct str flavor, resource, cohort, reclaim, within;
    struct quantity nominal, borrowing;
    bool limited;
};

static int make_flavor(struct sim *s, struct str name, struct err *err) {
    struct str json =
        arena_f(&s->scratch, "{" KUEUE_API "\"ResourceFlavor\",\"metadata\":{\"name\":\"%.*s\"}}",
                STR_ARG(name));
    int e = json.p ? create(s, by_name("kueue.x-k8s.io", "ResourceFlavor"), STR(""), json, err)
                   : err_set(err, ERR_NOMEM, "out of memory");
    return e == ERR_EXISTS ? 0 : e;
}

/* A ClusterQueue and its LocalQueue in a namespace. */
static int make_queue(struct sim *s, struct str name, struct str ns, struct str local,
                      const struct queue_spec *q, struct err *err) {
    struct buf b;
    int e = need_namespace(s, ns, err);
    buf_init(&b, BODY_MAX);
    buf_f(&b,
          "{" KUEUE_API "\"ClusterQueue\",\"metadata\":{\"name\":\"%.*s\"},\"spec\":{"
          "\"cohortName\":\"%.*s\",\"namespaceSelector\":{},\"preemption\":{"
          "\"reclaimWithinCohort\":\"%.*s\",\"withinClusterQueue\":\"%.*s\"},\"resourceGroups\":[{"
          "\"coveredResources\":[\"%.*s\"],\"flavors\":[{\"name\":\"%.*s\",\"resources\":[{"
          "\"name\":\"%.*s\",\"nominalQuota\":\"",
          STR_ARG(name), STR_ARG(q->cohort), STR_ARG(q->reclaim), STR_ARG(q->within),
          STR_ARG(q->resource), STR_ARG(q->flavor), STR_ARG(q->resource));
    quantity_write(&b, q->nominal);
    if (q->limited) {
        buf_c(&b, "\",\"borrowingLimit\":\"");
        quantity_write(&b, q->borrowing);
    }
    buf_c(&b, "\"}]}]}]}}");
    e = e ? e : create(s, by_name("kueue.x-k8s.io", "ClusterQueue"), STR(""), buf_view(&b), err);
    buf_reset(&b);
    buf_f(&b,
          "{" KUEUE_API "\"LocalQueue\",\"metadata\":{\"name\":\"%.*s\"},\"spec\":{"
          "\"clusterQueue\":\"%.*s\"}}",
          STR_ARG(local), STR_ARG(name));
    e = e ? e : create(s, by_name("kueue.x-k8s.io", "LocalQueue"), ns, buf_view(&b), err);
    if (e == 0 && buf_ok(&b)) {
        e = err_set(err, ERR_NOMEM, "out of memory");
    }
    buf_release(&b);
    arena_reset(&s->scratch);
    return e;
}

struct workload_spec_in {
    struct str name, ns, queue, class, resource;
    struct quantity request;
    int64_t pods, priority, runtime_ms;
};

static int make_workload(struct sim *s, const struct workload_spec_in *w, struct err *err) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    buf_f(&b,
          "{" KUEUE_API
          "\"Workload\",\"metadata\":{\"name\":\"%.*s\",\"labels\":{\"" SIM_RUNTIME_LABEL
          "\":\"%lld\"",
          STR_ARG(w->name), (long long)w->runtime_ms);
    if (w->class.n) {
        buf_f(&b, ",\"" LEDGER_CLASS_LABEL "\":\"%.*s\"", STR_ARG(w->class));
    }
    buf_f(&b,
          "}},\"spec\":{\"queueName\":\"%.*s\",\"priority\":%lld,\"podSets\":[{\"name\":\"main\","
          "\"count\":%lld,\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
          "\"name\":\"c\",\"image\":\"none\",\"resources\":{\"requests\":{\"%.*s\":\"",
          STR_ARG(w->queue), (long long)w->priority, (long long)w->pods, STR_ARG(w->resource));
    quantity_write(&b, w->request);
    buf_c(&b, "\"}}}]}}}]}}");
    int e = buf_ok(&b) ? err_set(err, ERR_NOMEM, "out of memory")
                       : create(s, s->kind_workload, w->ns, buf_view(&b), err);
    buf_release(&b);
    return e;
}

struct loading {
    struct sim *s;
    const struct load_file *l;
    struct err *err;
};

/* Moves a stream to its next workload; false at the end. */
static bool stream_next(struct sim_source *x) {
    buf_reset(&x->name);
    x->class = load_stream_next(&x->stream, &x->name);
    x->due_ns = x->stream.due_ms * NS_PER_MS;
    return x->class != NULL;
}

static int load_queue(void *ctx, const struct load_place *p) {
    struct loading *g = ctx;
    struct sim *s = g->s;
    struct buf name, cohort;
    buf_init(&name, 0);
    buf_init(&cohort, 0);
    load_queue_name(p, &name);
    load_cohort_name(p, &cohort);
    struct str queue = arena_str(&s->arena, buf_view(&name));
    struct queue_spec q = {.flavor = g->l->flavor,
                           .resource = g->l->resource,
                           .cohort = buf_view(&cohort),
                           .reclaim = p->queues->reclaim,
                           .within = p->queues->within,
                           .nominal = p->queues->nominal,
                           .borrowing = p->queues->borrowing,
                           .limited = p->queues->limited};
    int e = queue.p ? make_queue(s, queue, queue, queue, &q, g->err)
                    : err_set(g->err, ERR_NOMEM, "out of memory");
    buf_release(&name);
    buf_release(&cohort);
    for (size_t i = 0; e == 0 && i < p->queues->n_sets; i++) {
        struct sim_source *x = source_new(s, SOURCE_STREAM, 0, g->err);
        if (x == NULL) {
            return ERR_NOMEM;
        }
        buf_init(&x->name, 0);
        x->load = g->l;
        x->queue = queue;
        x->stream = (struct load_stream){.set = &p->queues->sets[i], .set_index = i};
        stream_next(x); /* a set has one at least */
        heap_fix(&s->arrivals, x);
    }
    return e;
}

int sim_load(struct sim *s, const struct load_file *l, struct err *err) {
    struct loading g = {.s = s, .l = l, .err = err};
    int e = make_flavor(s, l->flavor, err);
    return e ? e : load_each_queue(l, load_queue, &g);
}

static int trace_queues(struct sim *s, const struct trace *t, int64_t gpus, struct err *err) {
    struct map seen;
    const struct map_entry *m;
    char key[2 * LIMIT_LABEL + 2];
    int e = make_flavor(s, STR("gpu"), err);
    map_init(&seen);
    for (size_t i = 0; e == 0 && i < t->n; i++) {
        int n = snprintf(key, sizeof key, "%.*s/%.*s", STR_ARG(t->v[i].ns), STR_ARG(t->v[i].queue));
        struct str k = str_from(key, (size_t)n);
        if (map_get(&seen, k) == NULL) {
            k = arena_str(&s->arena, k);
            e = k.p && map_put(&seen, k, (void *)&t->v[i], NULL) == 0
                    ? 0
                    : err_set(err, ERR_NOMEM, "out of memory");
        }
    }
    int64_t i = 0, queues = (int64_t)map_count(&seen);
    for (size_t at = 0; e == 0 && (m = map_next(&seen, &at)); i++) {
        const struct trace_job *j = m->value;
        struct queue_spec q = {.flavor = STR("gpu"),
                               .resource = STR("nvidia.com/gpu"),
                               .cohort = STR("trace"),
                               .reclaim = STR("Any"),
                               .within = STR("LowerPriority"),
                               .nominal = quantity_of(gpus / queues + (i < gpus % queues), 0)};
        struct str name = j->queue;
        if (!str_is(j->ns, "default")) {
            name = arena_f(&s->arena, "%.*s-%.*s", STR_ARG(j->ns), STR_ARG(j->queue));
        }
        e = make_queue(s, name, j->ns, j->queue, &q, err);
    }
    map_release(&seen);
    return e;
}

int sim_trace(struct sim *s, const struct trace *t, int64_t gpus, struct err *err) {
    int e = gpus > 0 ? trace_queues(s, t, gpus, err) : 0;
    struct sim_source *x =
        e == 0 && t->n ? source_new(s, SOURCE_TRACE, t->v[0].submit_ns, err) : NULL;
    if (x) {
        x->trace = t;
    }
    return e ? e : x || t->n == 0 ? 0 : ERR_NOMEM;
}

/* ---- what is due ---- */

/* Brings the source's object and moves it on; false when it has no more. */
static bool bring(struct sim *s, struct sim_source *x) {
    struct err err = {0};
    struct str name = x->type == SOURCE_ACTION ? x->manifest->name : buf_view(&x->name);
    const char *what = x->type == SOURCE_ACTION ? x->manifest->kind->kind : "Workload";
    char text[64];
    int e;
    if (x->type == SOURCE_ACTION) {
        e = x->act == SIM_APPLY   ? apply(s, x->manifest, &err)
            : x->act == SIM_PATCH ? merge_in(s, x->manifest, &err)
                                  : delete (s, x->manifest, &err);
    } else if (x->type == SOURCE_STREAM) {
        e = make_workload(s,
                          &(struct workload_spec_in){.name = buf_view(&x->name),
                                                     .ns = x->queue,
                                                     .queue = x->queue,
                                                     .class = x->class->name,
                                                     .resource = x->load->resource,
                                                     .request = x->class->request,
                                                     .pods = x->class->pods,
                                                     .priority = x->class->priority,
                                                     .runtime_ms = x->class->runtime_ms},
                          &err);
    } else {
        const struct trace_job *j = &x->trace->v[x->at];
        int n = snprintf(text, sizeof text, "job-%zu", j->line);
        name = str_from(text, (size_t)n);
        e = need_namespace(s, j->ns, &err);
        e = e ? e
              : make_workload(s,
                              &(struct workload_spec_in){.name = name,
                                                         .ns = j->ns,
                                                         .queue = j->queue,
                                                         .class = j->class,
                                                         .resource = STR("nvidia.com/gpu"),
                                                         .request = quantity_of(j->gpus, 0),
                                                         .pods = 1,
                                                         .priority = j->priority,
                                                         .runtime_ms = j->duration_ns / NS_PER_MS},
                              &err);
    }
    arena_reset(&s->scratch);
    arena_reset(&s->input);
    if (e != 0) {
        sim_fail(s, &err, what, name);
        return false;
    }
    if (x->type == SOURCE_TRACE && ++x->at < x->trace->n) {
        x->due_ns = x->trace->v[x->at].submit_ns;
        return true;
    }
    return x->type == SOURCE_STREAM && stream_next(x);
}

void arrivals_due(void *ctx) {
    struct sim *s = ctx;
    struct sim_source *x;
    while ((x = heap_peek(&s->arrivals)) && x->due_ns <= s->clock.now && s->err.code == 0) {
        if (bring(s, x)) {
            heap_fix(&s->arrivals, x);
        } else {
            heap_remove(&s->arrivals, x);
        }
    }
    arrivals_arm(s);
}

void arrivals_release(struct sim *s) {
    for (size_t i = 0; i < s->all.n; i++) {
        buf_release(&s->all.v[i]->name);
    }
    sources_release(&s->all);
    heap_release(&s->arrivals);
}
