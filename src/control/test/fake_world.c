/* fake_world: faults, a user's hands and a node's, over memory_store. See fake_world.h. */
#include "control/test/fake_world.h"

#include <assert.h>

#include "api/schema/codec.h"
#include "base/mem.h"
#include "base/test.h"
#include "control/kit/round.h"
#include "control/load/workload_status.h"
#include "wire/text/time.h"

static int before(void *ctx, const struct memory_write *x, struct err *err) {
    struct fake_world *w = ctx;
    if (w->fail_at == 1 && w->fault != FAULT_LOST) {
        return err_set(err, w->fault == FAULT_CONFLICT ? ERR_CONFLICT : ERR_UNAVAILABLE,
                       "refused by the test");
    }
    return 0;
}

static void after(void *ctx, const struct memory_write *x, struct write_result *res) {
    static const char *const verbs[] = {"create", "patch", "remove"};
    struct fake_world *w = ctx;
    bool fault = w->fail_at && --w->fail_at == 0;
    if (fault && w->fault == FAULT_LOST && res->code == 0) {
        res->obj = NULL;
        res->code = err_set(&res->err, ERR_TIMEOUT, "answer lost by the test");
    }
    w->writes = w->writer.writes;
    if (w->log_writes) {
        print_message("%8lld ms %s %s %s/%s %s %.300s -> %d %s\n",
                      (long long)(w->clock.now / NS_PER_MS), verbs[x->verb], x->kind->kind, x->ns.p,
                      x->name.p, x->sub.p, x->body.p, res->code, res->err.text);
    }
}

static void log_line(struct log *l, enum log_level level, struct str line) {
    print_message("log: %.*s\n", STR_ARG(line));
}

static void on_any(void *ctx, const struct change *ch) {
    struct fake_world *w = ctx;
    if (w->sabotage > 0) {
        mem_fault(w->sabotage, 0);
        w->sabotage = 0;
    }
}

static void quiet(struct log *l, enum log_level level, struct str line) {
}

void fake_world_sabotage(struct fake_world *w, uint64_t nth) {
    w->sabotage = nth;
    w->log.write = quiet;
}

bool fake_world_spare(struct fake_world *w) {
    bool hit = mem_fault_hit();
    mem_fault(0, 0);
    w->sabotage = 0;
    return hit;
}

void fake_world_init(struct fake_world *w) {
    *w = (struct fake_world){.log = {.level = LOG_WARN, .write = log_line}};
    round_be_strict();
    virtual_clock_init(&w->clock, 0);
    w->mirror = mirror_new(&(struct mirror_options){.clock = &w->clock.clock});
    assert_non_null(w->mirror);
    w->first = mirror_feed(w->mirror, NULL, on_any, w);
    assert_non_null(w->first);
    w->store = (struct memory_store){.mirror = w->mirror, .clock = &w->clock.clock};
    assert_int_equal(memory_writer_init(&w->writer, &w->store), 0);
    w->writer.latency_ns = NS_PER_MS;
    w->writer.before = before;
    w->writer.after = after;
    w->writer.ctx = w;
    w->env = (struct control_env){.mirror = w->mirror,
                                  .writer = &w->writer.writer,
                                  .clock = &w->clock.clock,
                                  .log = &w->log,
                                  .seed = 1};
}

void fake_world_release(struct fake_world *w) {
    if (w->evictions != NULL) {
        feed_free(w->evictions);
        w->clock.clock.timer_free(w->lets_go);
    }
    memory_writer_release(&w->writer);
    feed_free(w->first);
    mirror_free(w->mirror);
    virtual_clock_release(&w->clock);
}

void fake_world_run(struct fake_world *w, int64_t ns) {
    virtual_clock_run(&w->clock, ns);
}

void fake_world_live(struct fake_world *w, int seconds) {
    for (int i = 0; i < seconds; i++) {
        fake_world_run(w, NS_PER_SEC);
        fake_world_kubelet(w);
    }
}

/* ---- who runs what nobody owns ---- */

void fake_world_let_go(struct fake_world *w, const char *ns, const char *name) {
    struct arena a;
    struct buf b;
    struct workload wl;
    struct workload_change ch;
    yyjson_doc *d;
    const struct object *o = fake_world_get(w, "Workload", ns, name);
    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    assert_int_equal(object_tree(o, &a, &d, NULL), 0);
    assert_int_equal(codec_decode(&schema_workload, yyjson_doc_get_root(d), &a, &wl, NULL), 0);
    workload_change_init(&ch, o, &wl, &a, clock_wall(w->env.clock));
    ch.settings = w->env.settings;
    workload_change_release(&ch);
    assert_int_equal(workload_change_write(&ch, &b), 0);
    fake_world_patch(w, "Workload", ns, name, "status", buf_cstr(&b));
    buf_release(&b);
    arena_release(&a);
}

struct evicted {
    char ns[64], name[256];
    bool found;
};

static bool is_evicted(void *ctx, const struct object *o) {
    struct evicted *e = ctx;
    e->found = o->n_owners == 0 && strcmp(fake_world_condition(o, "Evicted"), "True") == 0 &&
               strcmp(fake_world_condition(o, "QuotaReserved"), "True") == 0 &&
               str_copy(o->ns, e->ns, sizeof(e->ns)) && str_copy(o->name, e->name, sizeof(e->name));
    return !e->found;
}

static void let_go_all(void *ctx) {
    struct fake_world *w = ctx;
    struct evicted e;
    do {
        e = (struct evicted){.found = false};
        mirror_scan(w->mirror, fake_world_kind("Workload"), STR(""), is_evicted, &e);
        if (e.found) {
            fake_world_let_go(w, e.ns, e.name);
        }
    } while (e.found);
}

static void on_eviction(void *ctx, const struct change *ch) {
    struct fake_world *w = ctx;
    struct evicted e = {.found = false};
    if (ch->type != CHANGE_DELETED && !is_evicted(&e, ch->obj)) {
        w->clock.clock.timer_start(w->lets_go, NS_PER_MS);
    }
}

void fake_world_runner(struct fake_world *w) {
    w->lets_go = w->clock.clock.timer_new(&w->clock.clock, let_go_all, w);
    w->evictions = mirror_feed(w->mirror, fake_world_kind("Workload"), on_eviction, w);
    assert_non_null(w->lets_go);
    assert_non_null(w->evictions);
}

/* ---- a user's hands ---- */

const struct kind *fake_world_kind(const char *kind) {
    size_t n;
    const struct kind *const *all = kinds_all(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i]->kind, kind) == 0) {
            return all[i];
        }
    }
    fail_msg("no kind %s", kind);
    return NULL;
}

const struct object *fake_world_get(struct fake_world *w, const char *kind, const char *ns,
                                    const char *name) {
    return mirror_get(w->mirror, fake_world_kind(kind), str_of(ns), str_of(name));
}

const struct object *fake_world_put(struct fake_world *w, const char *json) {
    struct arena a;
    struct err err = {0};
    const struct object *o;
    yyjson_doc *d;
    arena_init(&a, 8 << 20);
    assert_ok(json_parse(&a, str_of(json), &d, &err), &err);
    yyjson_val *root = yyjson_doc_get_root(d);
    const struct kind *k =
        kind_by_api_version(json_str_at(root, "apiVersion"), json_str_at(root, "kind"));
    assert_non_null(k);
    struct str ns = json_str_at(root, "metadata.namespace");
    if (str_empty(ns) && (k->flags & KIND_NAMESPACED)) {
        ns = STR("default");
    }
    assert_ok(memory_store_create(&w->store, k, ns, str_of(json), &o, &err), &err);
    arena_release(&a);
    object_unref(o); /* the mirror keeps it */
    return o;
}

const struct object *fake_world_patch(struct fake_world *w, const char *kind, const char *ns,
                                      const char *name, const char *sub, const char *json) {
    struct err err = {0};
    const struct object *o;
    assert_ok(memory_store_patch(&w->store, fake_world_kind(kind), str_of(ns), str_of(name), sub,
                                 PATCH_MERGE, str_of(json), &o, &err),
              &err);
    object_unref(o);
    return fake_world_get(w, kind, ns, name);
}

void fake_world_delete(struct fake_world *w, const char *kind, const char *ns, const char *name,
                       const char *propagation) {
    struct err err = {0};
    const struct object *o;
    struct delete_options opts = {.grace_seconds = -1, .propagation = str_of(propagation)};
    assert_ok(memory_store_remove(&w->store, fake_world_kind(kind), str_of(ns), str_of(name), &opts,
                                  &o, &err),
              &err);
    object_unref(o);
}

size_t fake_world_count(struct fake_world *w, const char *kind) {
    return mirror_count(w->mirror, fake_world_kind(kind));
}

/* ---- looking ---- */

static char look[65536];

static const char *text_of(yyjson_val *v) {
    struct buf b;
    look[0] = 0;
    if (v == NULL) {
        return look;
    }
    if (yyjson_is_str(v)) {
        assert_true(str_copy(json_str(v), look, sizeof look));
        return look;
    }
    buf_init(&b, sizeof look - 1);
    json_write(&b, v);
    assert_true(str_copy(buf_view(&b), look, sizeof look));
    buf_release(&b);
    return look;
}

/* Like json_path, and into lists by number. */
static yyjson_val *path_of(yyjson_val *v, const char *dotted) {
    struct str rest = str_of(dotted), part;
    while (v && str_next(&rest, '.', &part)) {
        int64_t i;
        v = !yyjson_is_arr(v)                ? json_get(v, part)
            : str_to_i64(part, &i) && i >= 0 ? yyjson_arr_get(v, (size_t)i)
                                             : NULL;
    }
    return v;
}

const char *fake_world_text(const struct object *o, const char *dotted) {
    struct arena a;
    yyjson_doc *d;
    struct err err = {0};
    assert_non_null(o);
    arena_init(&a, 8 << 20);
    assert_ok(object_tree(o, &a, &d, &err), &err);
    const char *text = text_of(path_of(yyjson_doc_get_root(d), dotted));
    arena_release(&a);
    return text;
}

static const char *condition_member(const struct object *o, const char *type, const char *member) {
    struct arena a;
    yyjson_doc *d;
    struct err err = {0};
    assert_non_null(o);
    arena_init(&a, 8 << 20);
    assert_ok(object_tree(o, &a, &d, &err), &err);
    yyjson_val *list = json_path(yyjson_doc_get_root(d), "status.conditions"), *c;
    size_t i, n;
    look[0] = 0;
    yyjson_arr_foreach(list, i, n, c) {
        if (str_is(json_str_at(c, "type"), type)) {
            text_of(json_get(c, str_of(member)));
        }
    }
    arena_release(&a);
    return look;
}

const char *fake_world_condition(const struct object *o, const char *type) {
    return condition_member(o, type, "status");
}

const char *fake_world_condition_reason(const struct object *o, const char *type) {
    return condition_member(o, type, "reason");
}

const char *fake_world_condition_message(const struct object *o, const char *type) {
    return condition_member(o, type, "message");
}

struct event_count {
    const char *reason;
    int64_t n;
};

static bool count_event(void *ctx, const struct object *o) {
    struct event_count *c = ctx;
    int64_t n = 0;
    if (strcmp(fake_world_text(o, "reason"), c->reason) == 0) {
        str_to_i64(str_of(fake_world_text(o, "count")), &n);
        c->n += n;
    }
    return true;
}

int64_t fake_world_events(struct fake_world *w, const char *reason) {
    struct event_count c = {.reason = reason};
    mirror_scan(w->mirror, fake_world_kind("Event"), STR(""), count_event, &c);
    return c.n;
}

/* ---- a node's hands ---- */

enum { PODS_MAX = 20000 };

struct pods {
    const struct object **v;
    size_t n;
};

static bool gather(void *ctx, const struct object *o) {
    struct pods *p = ctx;
    if (p->n < PODS_MAX) {
        p->v[p->n++] = object_ref(o);
    }
    return true;
}

static void pod_patch(struct fake_world *w, const struct object *pod, const char *sub,
                      const char *body) {
    struct err err = {0};
    const struct object *o;
    assert_ok(memory_store_patch(&w->store, pod->kind, pod->ns, pod->name, sub, PATCH_MERGE,
                                 str_of(body), &o, &err),
              &err);
    object_unref(o);
}

static void pod_finish(struct fake_world *w, const struct object *pod, int code) {
    char body[1024], at[TIME_TEXT_MAX];
    struct str now = time_text(clock_wall(&w->clock.clock), at);
    snprintf(
        body, sizeof body,
        "{\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\","
        "\"lastTransitionTime\":\"%.*s\"}],\"containerStatuses\":[{\"name\":\"c\",\"state\":"
        "{\"terminated\":{\"exitCode\":%d,\"finishedAt\":\"%.*s\"}}}]}}",
        code == 0 ? "Succeeded" : "Failed", STR_ARG(now), code, STR_ARG(now));
    pod_patch(w, pod, "status", body);
}

static bool pod_step(struct fake_world *w, const struct object *pod) {
    char phase[64];
    snprintf(phase, sizeof phase, "%s", fake_world_text(pod, "status.phase"));
    bool over = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
    if (pod->deleting_ns) {
        if (!over && *fake_world_text(pod, "spec.nodeName")) {
            pod_finish(w, pod, 143);
        }
        if (strcmp(fake_world_text(pod, "metadata.deletionGracePeriodSeconds"), "0") != 0) {
            struct err err = {0};
            const struct object *o;
            struct delete_options now = {.grace_seconds = 0};
            assert_ok(memory_store_remove(&w->store, pod->kind, pod->ns, pod->name, &now, &o, &err),
                      &err);
            object_unref(o);
        }
        return true;
    }
    if (over) {
        return false;
    }
    if (strlen(fake_world_text(pod, "spec.schedulingGates")) > strlen("[]")) {
        return false; /* nobody places it yet */
    }
    if (!*fake_world_text(pod, "spec.nodeName")) {
        pod_patch(w, pod, "", "{\"spec\":{\"nodeName\":\"n1\"}}");
    }
    if (strcmp(phase, "Running") != 0) {
        pod_patch(w, pod, "status",
                  "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","
                  "\"status\":\"True\"}]}}");
        return true;
    }
    int code = w->outcome ? w->outcome(w->outcome_ctx, pod) : 0;
    if (code >= 0) {
        pod_finish(w, pod, code);
    }
    return code >= 0;
}

size_t fake_world_kubelet(struct fake_world *w) {
    struct pods pods = {.v = mem_array(PODS_MAX, sizeof *pods.v)};
    size_t changed = 0;
    assert_non_null(pods.v);
    mirror_scan(w->mirror, fake_world_kind("Pod"), STR(""), gather, &pods);
    for (size_t i = 0; i < pods.n; i++) {
        changed += pod_step(w, pods.v[i]);
        object_unref(pods.v[i]);
    }
    mem_free(pods.v);
    return changed;
}
