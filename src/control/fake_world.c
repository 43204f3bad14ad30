/* fake_world: the writer, a user's hands and a node's, over fake_store. See fake_world.h. */
#include "control/fake_world.h"

#include <assert.h>

#include "base/mem.h"
#include "base/test.h"
#include "wire/time.h"

enum write_verb { WRITE_CREATE, WRITE_PATCH, WRITE_REMOVE };

struct fake_write {
    struct fake_write *next;
    enum write_verb verb;
    int64_t due;
    const struct kind *kind;
    char *ns, *name, *sub, *body, *uid, *propagation;
    enum patch_type type;
    uint64_t rv;
    int64_t grace;
    write_done *done;
    void *ctx;
};

static char *copy(struct str s) {
    char *p = mem_cstr(s);
    assert_non_null(p);
    return p;
}

static void arm(struct fake_world *w) {
    if (w->first) {
        int64_t now = w->clock.now;
        w->clock.clock.timer_start(w->timer, w->first->due > now ? w->first->due - now : 0);
    }
}

static int apply(struct fake_world *w, struct fake_write *x, const struct object **ret,
                 struct err *err) {
    switch (x->verb) {
    case WRITE_CREATE:
        return fake_store_create(w, x->kind, str_of(x->ns), str_of(x->body), ret, err);
    case WRITE_PATCH:
        return fake_store_patch(w, x->kind, str_of(x->ns), str_of(x->name), x->sub, x->type,
                                str_of(x->body), ret, err);
    default:
        return fake_store_remove(w, x->kind, str_of(x->ns), str_of(x->name),
                                 &(struct delete_options){.uid = str_of(x->uid),
                                                          .rv = x->rv,
                                                          .grace_seconds = x->grace,
                                                          .propagation = str_of(x->propagation)},
                                 ret, err);
    }
}

static void write_free(struct fake_write *x) {
    mem_free(x->ns);
    mem_free(x->name);
    mem_free(x->sub);
    mem_free(x->body);
    mem_free(x->uid);
    mem_free(x->propagation);
    mem_free(x);
}

static int apply_with_faults(struct fake_world *w, struct fake_write *x, const struct object **ret,
                             struct err *err) {
    bool fault = w->fail_at && --w->fail_at == 0;
    if (fault && w->fault != FAULT_LOST) {
        return err_set(err, w->fault == FAULT_CONFLICT ? ERR_CONFLICT : ERR_UNAVAILABLE,
                       "refused by the test");
    }
    int r = apply(w, x, ret, err);
    if (fault && r == 0) {
        object_unref(*ret);
        *ret = NULL;
        return err_set(err, ERR_TIMEOUT, "answer lost by the test");
    }
    return r;
}

static void write_due(void *ctx) {
    struct fake_world *w = ctx;
    struct fake_write *x = w->first;
    w->first = x->next;
    if (!w->first) {
        w->last = &w->first;
    }
    const struct object *o = NULL;
    struct write_result res = {0};
    res.code = apply_with_faults(w, x, &o, &res.err);
    res.obj = o;
    w->writes++;
    if (w->log_writes) {
        print_message("%8lld ms %s %s %s/%s %s %.300s -> %d %s\n",
                      (long long)(w->clock.now / NS_PER_MS),
                      x->verb == WRITE_CREATE  ? "create"
                      : x->verb == WRITE_PATCH ? "patch"
                                               : "remove",
                      x->kind->kind, x->ns, x->name ? x->name : "", x->sub ? x->sub : "",
                      x->body ? x->body : "", res.code, res.err.text);
    }
    if (x->done) {
        x->done(x->ctx, &res);
    }
    object_unref(o);
    write_free(x);
    arm(w);
}

static struct fake_write *enqueue(struct writer *writer, enum write_verb verb, const struct kind *k,
                                  struct str ns, write_done *done, void *ctx) {
    struct fake_world *w = (struct fake_world *)writer;
    struct fake_write *x = mem_zalloc(sizeof *x);
    assert_non_null(x);
    assert_non_null(k);
    *x = (struct fake_write){.verb = verb,
                             .due = w->clock.now + w->latency_ns,
                             .kind = k,
                             .ns = copy(ns),
                             .done = done,
                             .ctx = ctx};
    *w->last = x;
    w->last = &x->next;
    if (w->first == x) {
        arm(w);
    }
    return x;
}

static void fake_create(struct writer *writer, const char *who, const struct kind *k, struct str ns,
                        struct str json, write_done *done, void *ctx) {
    struct fake_write *x = enqueue(writer, WRITE_CREATE, k, ns, done, ctx);
    x->body = copy(json);
}

static void fake_patch(struct writer *writer, const char *who, const struct kind *k, struct str ns,
                       struct str name, const char *sub, enum patch_type type, struct str body,
                       write_done *done, void *ctx) {
    struct fake_write *x = enqueue(writer, WRITE_PATCH, k, ns, done, ctx);
    x->name = copy(name);
    x->sub = copy(str_of(sub));
    x->type = type;
    x->body = copy(body);
}

static void fake_remove(struct writer *writer, const char *who, const struct kind *k, struct str ns,
                        struct str name, const struct delete_options *o, write_done *done,
                        void *ctx) {
    struct fake_write *x = enqueue(writer, WRITE_REMOVE, k, ns, done, ctx);
    x->name = copy(name);
    x->uid = copy(o ? o->uid : STR(""));
    x->propagation = copy(o ? o->propagation : STR(""));
    x->rv = o ? o->rv : 0;
    x->grace = o ? o->grace_seconds : -1;
}

static void log_line(struct log *l, enum log_level level, struct str line) {
    print_message("log: %.*s\n", STR_ARG(line));
}

void fake_world_init(struct fake_world *w) {
    *w = (struct fake_world){
        .writer = {.create = fake_create, .patch = fake_patch, .remove = fake_remove},
        .log = {.level = LOG_WARN, .write = log_line},
        .latency_ns = NS_PER_MS};
    w->last = &w->first;
    virtual_clock_init(&w->clock, 0);
    w->timer = w->clock.clock.timer_new(&w->clock.clock, write_due, w);
    assert_non_null(w->timer);
    w->mirror = mirror_new(&(struct mirror_options){.clock = &w->clock.clock});
    assert_non_null(w->mirror);
    w->env = (struct control_env){.mirror = w->mirror,
                                  .writer = &w->writer,
                                  .clock = &w->clock.clock,
                                  .log = &w->log,
                                  .seed = 1};
}

void fake_world_release(struct fake_world *w) {
    while (w->first) {
        struct fake_write *x = w->first;
        w->first = x->next;
        struct write_result res = {.code = ERR_GONE};
        if (x->done) {
            x->done(x->ctx, &res);
        }
        write_free(x);
    }
    w->clock.clock.timer_free(w->timer);
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

/* ---- a user's hands ---- */

const struct kind *fake_world_kind(const char *kind) {
    size_t n;
    const struct kind *const *all = kinds_builtin(&n);
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
    assert_ok(fake_store_create(w, k, ns, str_of(json), &o, &err), &err);
    arena_release(&a);
    object_unref(o); /* the mirror keeps it */
    return o;
}

const struct object *fake_world_patch(struct fake_world *w, const char *kind, const char *ns,
                                      const char *name, const char *sub, const char *json) {
    struct err err = {0};
    const struct object *o;
    assert_ok(fake_store_patch(w, fake_world_kind(kind), str_of(ns), str_of(name), sub, PATCH_MERGE,
                               str_of(json), &o, &err),
              &err);
    object_unref(o);
    return fake_world_get(w, kind, ns, name);
}

void fake_world_delete(struct fake_world *w, const char *kind, const char *ns, const char *name,
                       const char *propagation) {
    struct err err = {0};
    const struct object *o;
    struct delete_options opts = {.grace_seconds = -1, .propagation = str_of(propagation)};
    assert_ok(
        fake_store_remove(w, fake_world_kind(kind), str_of(ns), str_of(name), &opts, &o, &err),
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
    if (!v) {
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

const char *fake_world_text(const struct object *o, const char *dotted) {
    struct arena a;
    yyjson_doc *d;
    struct err err = {0};
    assert_non_null(o);
    arena_init(&a, 8 << 20);
    assert_ok(object_tree(o, &a, &d, &err), &err);
    const char *text = text_of(json_path(yyjson_doc_get_root(d), dotted));
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
    assert_ok(fake_store_patch(w, pod->kind, pod->ns, pod->name, sub, PATCH_MERGE, str_of(body), &o,
                               &err),
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
            assert_ok(fake_store_remove(w, pod->kind, pod->ns, pod->name, &now, &o, &err), &err);
            object_unref(o);
        }
        return true;
    }
    if (over) {
        return false;
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
