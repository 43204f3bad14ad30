/*
 * queue_visibility: Kueue's visibility API. Who waits in a ClusterQueue or LocalQueue, in the order of the queue.
 *
 * The engine knows the order of all it was given. Those that it was not given for now (their queue is not active, or a
 * back-off keeps them out) stand behind, by age.
 *
 * Who is shown, and where, is settled when it is asked; a long answer is written some at a time, a turn of the loop
 * each, from what is there by then. Those that went meanwhile are left out. An answer is in memory until it is whole,
 * so few that may be long are made at a time; the others wait, and nothing is looked up for them before their turn.
 */
#include <stdlib.h>

#include "control/queue/queue_private.h"

#include "api/schema/codec_encode.h"
#include "core/admit/engine_list.h"

enum {
    LIMIT_DEFAULT = 1000,
    LIMIT_MAX = 100000,
    STEP = 100,
    LONG_AT_ONCE = 2, /* answers of more than LIMIT_DEFAULT that are being made */
};
static const size_t MEMORY_MAX = (size_t)1 << 30;

struct queue_visibility {
    struct queue_controller *c;
    struct virtual_source clusters, locals;
    struct timer *timer;
    struct virtual_call *calls; /* under way */
    struct virtual_call *waiting;
    size_t n_long; /* of the calls */
};

struct visibility_line {
    struct str uid; /* in the call's arena */
    size_t at, at_local;
};

struct virtual_call {
    struct queue_visibility *x;
    struct queue_controller *c;
    virtual_done *done;
    void *ctx;
    const struct virtual_ask *q;
    bool local, is_long;
    struct arena arena;
    struct buf out;
    size_t offset, limit;
    struct visibility_line *lines; /* at most `limit` */
    size_t n, next;                /* lines; the next to be written */
    struct virtual_call *after;    /* of queue_visibility.calls */
};

/* ---- one ---- */

/* Failures are the buffer's. */
static void item_write(struct virtual_call *p, const struct queue_work *q, size_t at,
                       size_t at_local) {
    const struct object *o =
        mirror_get(p->c->env->mirror, p->c->base.kinds[QK_WORKLOAD], q->ns, q->name);
    struct arena *a = &p->c->base.arena;
    struct meta meta = {.name = q->name, .namespace = q->ns};
    yyjson_doc *doc = NULL;
    if (o == NULL) {
        return;
    }
    arena_reset(a);
    (void)object_tree(o, a, &doc, NULL);
    meta.creation_ns = o->created_ns;
    meta.owner_references.v = ARENA_ARRAY(a, struct owner_reference, o->n_owners + 1);
    for (size_t i = 0; meta.owner_references.v != NULL && i < o->n_owners; i++) {
        const struct owner_ref *r = &o->owners[i];
        meta.owner_references.v[meta.owner_references.n++] = (struct owner_reference){
            .api_version = r->api_version, .kind = r->kind, .name = r->name, .uid = r->uid};
    }
    yyjson_val *root = doc != NULL ? yyjson_doc_get_root(doc) : NULL;
    struct pending_workload w = {.metadata = &meta,
                                 .priority = (int32_t)json_i64_at(root, "spec.priority", 0),
                                 .local_queue_name = q->local != NULL ? q->local->name : STR(""),
                                 .position_in_cluster_queue = (int32_t)at,
                                 .position_in_local_queue = (int32_t)at_local};
    codec_list_item(&schema_pending_workload, &w, &p->out);
}

/* Notes one to be written. */
static int line_add(struct virtual_call *p, struct str uid, size_t at, size_t at_local) {
    p->lines[p->n] = (struct visibility_line){arena_str(&p->arena, uid), at, at_local};
    p->n++;
    return arena_ok(&p->arena);
}

/* ---- those that the engine was not given ---- */

struct kept {
    struct queue_work *q;
    int64_t created_ns;
};

struct kept_out {
    struct kept *v;
    size_t n, cap;
};

static int older_first(const void *a, const void *b) {
    const struct kept *x = a, *y = b;
    return x->created_ns != y->created_ns ? (x->created_ns < y->created_ns ? -1 : 1)
                                          : str_cmp(x->q->uid, y->q->uid);
}

static int kept_out_of(struct virtual_call *p, const struct local_state *l, struct kept_out *k) {
    bool holds;
    for (struct queue_work *q = l->works; q != NULL; q = q->next) {
        if (q->share.state != TALLY_PENDING ||
            engine_workload_known(p->c->engine, q->uid, &holds)) {
            continue;
        }
        if (k->n == k->cap && ARENA_GROW(&p->arena, k->v, k->cap) != 0) {
            return ERR_NOMEM;
        }
        const struct object *o =
            mirror_get(p->c->env->mirror, p->c->base.kinds[QK_WORKLOAD], q->ns, q->name);
        k->v[k->n++] = (struct kept){q, o != NULL ? o->created_ns : 0};
    }
    return 0;
}

/* Behind `known` that the engine knows of the queue; only those of `only`, unless that is NULL. */
static int kept_out_add(struct virtual_call *p, const struct cluster_state *s,
                        const struct local_state *only, size_t known) {
    struct kept_out k = {0};
    if (s->tally.pending <= (int64_t)known) {
        return 0;
    }
    for (struct local_state *l = s->locals; l != NULL; l = l->of_next) {
        size_t before = k.n;
        if (kept_out_of(p, l, &k) != 0) {
            return ERR_NOMEM;
        }
        l->listed =
            l->tally.pending - (int64_t)(k.n - before); /* those of it that the engine has */
    }
    if (k.n > 1) {
        qsort(k.v, k.n, sizeof(*k.v), older_first);
    }
    for (size_t i = 0; i < k.n && p->n < p->limit; i++) {
        struct local_state *l = k.v[i].q->local;
        size_t at_local = l->listed > 0 ? (size_t)l->listed : 0;
        l->listed = (int64_t)at_local + 1;
        if ((only == NULL && known + i >= p->offset) || (l == only && at_local >= p->offset)) {
            if (line_add(p, k.v[i].q->uid, known + i, at_local) != 0) {
                return ERR_NOMEM;
            }
        }
    }
    return 0;
}

/* ---- a queue ---- */

static int lines_find(struct virtual_call *p, const struct cluster_state *s,
                      const struct local_state *l) {
    struct queue_listed *v = NULL;
    struct engine_counts known = {0};
    size_t n = 0;
    int r = l != NULL
                ? engine_list_local(p->c->engine, s->name, l->key, p->offset, p->limit, &p->arena,
                                    &v, &n)
                : engine_list_queue(p->c->engine, s->name, p->offset, p->limit, &p->arena, &v, &n);
    p->lines = ARENA_ARRAY(&p->arena, struct visibility_line, p->limit);
    if (r == ERR_NOMEM || p->lines == NULL) {
        return ERR_NOMEM;
    }
    (void)engine_queue_counts(p->c->engine, s->name, &known);
    for (size_t i = 0; i < n; i++) {
        if (line_add(p, v[i].uid, v[i].at, v[i].at_local) != 0) {
            return ERR_NOMEM;
        }
    }
    return p->n < p->limit ? kept_out_add(p, s, l, known.pending) : 0;
}

static int number(const struct virtual_ask *q, const char *key, int64_t otherwise, int64_t max,
                  size_t *ret, struct err *err) {
    struct str text = virtual_param(q, key);
    int64_t v = otherwise;
    if (text.n > 0 && !str_to_i64(text, &v)) {
        return err_set(err, ERR_BAD_REQUEST,
                       "invalid value for query parameter \"%s\": expected an integer", key);
    }
    *ret = (size_t)(v < 0 ? 0 : v > max ? max : v);
    return 0;
}

/* ---- an answer ---- */

/* Some of it; true when that was the last. */
static bool step(struct virtual_call *k) {
    for (size_t i = 0; i < STEP && k->next < k->n; i++) {
        const struct visibility_line *l = &k->lines[k->next++];
        const struct queue_work *q = map_get(&k->c->by_uid, l->uid);
        if (q != NULL) {
            item_write(k, q, l->at, l->at_local);
        }
    }
    return k->next == k->n;
}

static void call_free(struct virtual_call *k) {
    buf_release(&k->out);
    arena_release(&k->arena);
    mem_free(k);
}

/* Says it, or `code` instead, and frees it. */
static void finish(struct virtual_call *k, int code) {
    struct err err = {0};
    codec_list_end(&k->out);
    code = code != 0 ? code : buf_ok(&k->out);
    if (code != 0) {
        err_set(&err, code,
                code == ERR_UNAVAILABLE ? "the queues are going"
                : code == ERR_NOT_FOUND ? "the queue has gone"
                                        : "out of memory");
    }
    k->done(k->ctx, code, code == 0 ? buf_view(&k->out) : (struct str){0}, &err);
    call_free(k);
}

static void call_add(struct virtual_call **list, struct virtual_call *k) {
    while (*list != NULL) {
        list = &(*list)->after;
    }
    k->after = NULL;
    *list = k;
}

static bool call_take(struct virtual_call **list, const struct virtual_call *k) {
    while (*list != NULL && *list != k) {
        list = &(*list)->after;
    }
    bool is = *list == k;
    if (is) {
        *list = k->after;
    }
    return is;
}

/* The queues that it is about. NULL: they are not there. */
static const struct cluster_state *queues_of(const struct virtual_call *k,
                                             const struct local_state **ret) {
    struct queue_controller *c = k->c;
    const struct cluster_state *s = NULL;
    *ret = NULL;
    if (!k->local) {
        s = map_get(&c->clusters, k->q->name);
    } else if (mirror_get(c->env->mirror, c->base.kinds[QK_LOCAL_QUEUE], k->q->ns, k->q->name) !=
               NULL) {
        *ret = queue_local(c, k->q->ns, k->q->name);
        s = *ret != NULL && (*ret)->cluster != NULL ? map_get(&c->clusters, str_of((*ret)->cluster))
                                                    : NULL;
    }
    return s != NULL && s->exists ? s : NULL;
}

static int call_start(struct virtual_call *k) {
    const struct local_state *l;
    const struct cluster_state *s = queues_of(k, &l);
    if (s == NULL) {
        return ERR_NOT_FOUND;
    }
    return k->limit > 0 ? lines_find(k, s, l) : 0;
}

/* Those that wait, as far as it is their turn. */
static void start_waiting(struct queue_visibility *x) {
    while (x->waiting != NULL && x->n_long < LONG_AT_ONCE) {
        struct virtual_call *k = x->waiting;
        x->waiting = k->after;
        int r = call_start(k);
        if (r != 0) {
            finish(k, r);
            continue;
        }
        x->n_long++;
        call_add(&x->calls, k);
    }
}

/* Calls take turns. */
static void turn(void *ctx) {
    struct queue_visibility *x = ctx;
    struct virtual_call *k = x->calls;
    if (k != NULL) {
        x->calls = k->after;
        if (step(k)) {
            x->n_long -= k->is_long;
            finish(k, 0);
        } else {
            call_add(&x->calls, k);
        }
    }
    start_waiting(x);
    if (x->calls != NULL) {
        x->c->env->clock->timer_start(x->timer, 0);
    }
}

static struct virtual_call *call_new(struct queue_visibility *x, const struct virtual_ask *q,
                                     bool local, virtual_done *done, void *ctx) {
    struct virtual_call *k = mem_zalloc(sizeof(*k));
    if (k == NULL) {
        return NULL;
    }
    *k = (struct virtual_call){.x = x, .c = x->c, .q = q, .local = local, .done = done, .ctx = ctx};
    arena_init(&k->arena, MEMORY_MAX);
    buf_init(&k->out, MEMORY_MAX);
    /* The version that is asked for is the version of the answer. */
    codec_list_begin("PendingWorkloadsSummary", STR("visibility.kueue.x-k8s.io"),
                     q->version.n > 0 ? q->version : STR("v1beta2"), &k->out);
    return k;
}

/* Puts a long one behind others, begins it, or answers it at once. */
static int call_run(struct virtual_call *k, struct virtual_call **ret) {
    struct queue_visibility *x = k->x;
    const struct local_state *l;
    k->is_long = k->limit > LIMIT_DEFAULT;
    if (k->is_long && (x->n_long == LONG_AT_ONCE || x->waiting != NULL)) {
        if (queues_of(k, &l) == NULL) {
            return ERR_NOT_FOUND;
        }
        call_add(&x->waiting, k);
        *ret = k;
        return 0;
    }
    int r = call_start(k);
    if (r != 0) {
        return r;
    }
    if (step(k)) {
        finish(k, 0);
        return 0;
    }
    if (x->calls == NULL) {
        x->c->env->clock->timer_start(x->timer, 0);
    }
    x->n_long += k->is_long;
    call_add(&x->calls, k);
    *ret = k;
    return 0;
}

static int answer(struct queue_visibility *x, const struct virtual_ask *q, bool local,
                  virtual_done *done, void *ctx, struct virtual_call **ret, struct err *err) {
    size_t offset, limit;
    int r = number(q, "offset", 0, INT32_MAX, &offset, err);
    if (r == 0) {
        r = number(q, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit, err);
    }
    if (r != 0) {
        return r;
    }
    struct virtual_call *k = call_new(x, q, local, done, ctx);
    if (k == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    k->offset = offset;
    k->limit = limit;
    r = call_run(k, ret);
    if (r != 0) {
        call_free(k);
    }
    return r == 0 || r == ERR_NOT_FOUND ? r : err_set(err, ERR_NOMEM, "out of memory");
}

static int cluster_ask(struct virtual_source *source, const struct virtual_ask *q,
                       virtual_done *done, void *ctx, struct virtual_call **ret, struct err *err) {
    struct queue_visibility *x =
        (struct queue_visibility *)((char *)source - offsetof(struct queue_visibility, clusters));
    return answer(x, q, false, done, ctx, ret, err);
}

static int local_ask(struct virtual_source *source, const struct virtual_ask *q, virtual_done *done,
                     void *ctx, struct virtual_call **ret, struct err *err) {
    struct queue_visibility *x =
        (struct queue_visibility *)((char *)source - offsetof(struct queue_visibility, locals));
    return answer(x, q, true, done, ctx, ret, err);
}

static void cancel(struct virtual_source *source, struct virtual_call *call) {
    struct queue_visibility *x = call->x;
    if (!call_take(&x->waiting, call)) {
        (void)call_take(&x->calls, call);
        x->n_long -= call->is_long;
    }
    call_free(call);
    if (x->calls == NULL && x->waiting != NULL) { /* it is another's turn */
        x->c->env->clock->timer_start(x->timer, 0);
    }
}

/* ---- life ---- */

struct queue_visibility *queue_visibility_new(struct queue_controller *c) {
    struct queue_visibility *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        return NULL;
    }
    x->c = c;
    x->timer = c->env->clock->timer_new(c->env->clock, turn, x);
    if (x->timer == NULL) {
        mem_free(x);
        return NULL;
    }
    x->clusters = (struct virtual_source){.group = "visibility.kueue.x-k8s.io",
                                          .resource = "clusterqueues",
                                          .subresource = "pendingworkloads",
                                          .ask = cluster_ask,
                                          .cancel = cancel};
    x->locals = x->clusters;
    x->locals.resource = "localqueues";
    x->locals.ask = local_ask;
    if (c->env->virtuals != NULL && c->settings->gates.visibility) {
        virtual_add(c->env->virtuals, &x->clusters);
        virtual_add(c->env->virtuals, &x->locals);
    }
    return x;
}

void queue_visibility_free(struct queue_visibility *x) {
    if (x == NULL) {
        return;
    }
    struct virtual_call **lists[] = {&x->calls, &x->waiting};
    for (size_t i = 0; i < 2; i++) {
        for (struct virtual_call *k; (k = *lists[i]) != NULL;) {
            *lists[i] = k->after;
            finish(k, ERR_UNAVAILABLE);
        }
    }
    if (x->c->env->virtuals != NULL) {
        virtual_remove(x->c->env->virtuals, &x->clusters);
        virtual_remove(x->c->env->virtuals, &x->locals);
    }
    x->c->env->clock->timer_free(x->timer);
    mem_free(x);
}
