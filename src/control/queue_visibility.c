/*
 * queue_visibility: Kueue's visibility API. Who waits in a ClusterQueue or LocalQueue, in the order of the queue.
 *
 * The engine knows the order of all it was given. Those that it was not given for now (their queue is not active, or a
 * back-off keeps them out) stand behind, by age.
 */
#include <stdlib.h>

#include "control/queue_private.h" /* first */

#include "core/engine_list.h"
#include "wire/time.h"

enum { LIMIT_DEFAULT = 1000, LIMIT_MAX = 100000 };
static const size_t MEMORY_MAX = (size_t)1 << 30;

struct queue_visibility {
    struct queue_controller *c;
    struct virtual_source clusters, locals;
};

struct page {
    struct queue_controller *c;
    struct arena arena;
    struct buf out;
    size_t offset, limit, n; /* n: written */
};

/* ---- one ---- */

static void owners_write(struct buf *b, const struct object *o) {
    for (size_t i = 0; i < o->n_owners; i++) {
        buf_c(b, i > 0 ? ",{\"apiVersion\":" : ",\"ownerReferences\":[{\"apiVersion\":");
        buf_json(b, o->owners[i].api_version);
        buf_c(b, ",\"kind\":");
        buf_json(b, o->owners[i].kind);
        buf_c(b, ",\"name\":");
        buf_json(b, o->owners[i].name);
        buf_c(b, ",\"uid\":");
        buf_json(b, o->owners[i].uid);
        buf_ch(b, '}');
    }
    buf_c(b, o->n_owners > 0 ? "]" : "");
}

static void item_write(struct page *p, const struct queue_work *q, size_t at, size_t at_local) {
    const struct object *o =
        mirror_get(p->c->env->mirror, p->c->kinds[QK_WORKLOAD], q->ns, q->name);
    char text[TIME_TEXT_MAX];
    yyjson_doc *doc = NULL;
    struct buf *b = &p->out;
    if (o == NULL) {
        return;
    }
    arena_reset(&p->c->arena);
    (void)object_tree(o, &p->c->arena, &doc, NULL);
    buf_c(b, p->n++ > 0 ? ",{\"metadata\":{\"name\":" : "{\"metadata\":{\"name\":");
    buf_json(b, o->name);
    buf_c(b, ",\"namespace\":");
    buf_json(b, o->ns);
    buf_c(b, ",\"creationTimestamp\":");
    buf_json(b, time_text(o->created_ns, text));
    owners_write(b, o);
    buf_f(
        b, "},\"priority\":%lld,\"localQueueName\":",
        (long long)json_i64_at(doc != NULL ? yyjson_doc_get_root(doc) : NULL, "spec.priority", 0));
    buf_json(b, q->local != NULL ? q->local->name : STR(""));
    buf_f(b, ",\"positionInClusterQueue\":%zu,\"positionInLocalQueue\":%zu}", at, at_local);
}

/* ---- those that the engine was not given ---- */

struct kept_out {
    struct queue_work **v;
    size_t n, cap;
};

static int older_first(const void *a, const void *b, void *ctx) {
    const struct queue_controller *c = ctx;
    const struct queue_work *x = *(struct queue_work *const *)a,
                            *y = *(struct queue_work *const *)b;
    const struct object *o = mirror_get(c->env->mirror, c->kinds[QK_WORKLOAD], x->ns, x->name);
    const struct object *p = mirror_get(c->env->mirror, c->kinds[QK_WORKLOAD], y->ns, y->name);
    int64_t s = o != NULL ? o->created_ns : 0, t = p != NULL ? p->created_ns : 0;
    return s != t ? (s < t ? -1 : 1) : str_cmp(x->uid, y->uid);
}

static int kept_out_of(struct page *p, const struct local_state *l, struct kept_out *k) {
    bool holds;
    for (struct queue_work *q = l->works; q != NULL; q = q->next) {
        if (q->share.state != TALLY_PENDING ||
            engine_workload_known(p->c->engine, q->uid, &holds)) {
            continue;
        }
        if (k->n == k->cap) {
            size_t cap = k->cap > 0 ? 2 * k->cap : 64;
            struct queue_work **grown = ARENA_ARRAY(&p->arena, struct queue_work *, cap);
            if (grown == NULL) {
                return ERR_NOMEM;
            }
            if (k->n > 0) {
                memcpy(grown, k->v, k->n * sizeof(struct queue_work *));
            }
            k->v = grown;
            k->cap = cap;
        }
        k->v[k->n++] = q;
    }
    return 0;
}

/* Behind `known` that the engine knows of the queue; only those of `only`, unless that is NULL. */
static int kept_out_write(struct page *p, const struct cluster_state *s,
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
        qsort_r(k.v, k.n, sizeof(struct queue_work *), older_first, p->c);
    }
    for (size_t i = 0; i < k.n && p->n < p->limit; i++) {
        struct local_state *l = k.v[i]->local;
        size_t at_local = l->listed > 0 ? (size_t)l->listed : 0;
        l->listed = (int64_t)at_local + 1;
        if ((only == NULL && known + i >= p->offset) || (l == only && at_local >= p->offset)) {
            item_write(p, k.v[i], known + i, at_local);
        }
    }
    return 0;
}

/* ---- a queue ---- */

static int page_write(struct page *p, const struct cluster_state *s, const struct local_state *l) {
    struct engine_listed *v = NULL;
    struct engine_counts known = {0};
    size_t n = 0;
    int r = l != NULL
                ? engine_list_local(p->c->engine, s->name, l->key, p->offset, p->limit, &p->arena,
                                    &v, &n)
                : engine_list_queue(p->c->engine, s->name, p->offset, p->limit, &p->arena, &v, &n);
    if (r == ERR_NOMEM) {
        return r;
    }
    (void)engine_queue_counts(p->c->engine, s->name, &known);
    for (size_t i = 0; i < n; i++) {
        const struct queue_work *q = map_get(&p->c->by_uid, v[i].uid);
        if (q != NULL) {
            item_write(p, q, v[i].at, v[i].at_local);
        }
    }
    return p->n < p->limit ? kept_out_write(p, s, l, known.pending) : 0;
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

/* The version that is asked for is the version of the answer. */
static int answer(struct queue_controller *c, const struct virtual_ask *q,
                  const struct cluster_state *s, const struct local_state *l, virtual_done *done,
                  void *ctx, struct err *err) {
    struct page p = {.c = c};
    int r = number(q, "offset", 0, INT32_MAX, &p.offset, err);
    r = r == 0 ? number(q, "limit", LIMIT_DEFAULT, LIMIT_MAX, &p.limit, err) : r;
    if (r != 0) {
        return r;
    }
    arena_init(&p.arena, MEMORY_MAX);
    buf_init(&p.out, MEMORY_MAX);
    buf_c(&p.out,
          "{\"kind\":\"PendingWorkloadsSummary\",\"apiVersion\":\"visibility.kueue.x-k8s.io/");
    buf_str(&p.out, q->version.n > 0 ? q->version : STR("v1beta2"));
    buf_c(&p.out, "\",\"metadata\":{},\"items\":[");
    r = p.limit > 0 ? page_write(&p, s, l) : 0;
    buf_c(&p.out, "]}");
    r = r == 0 ? buf_ok(&p.out) : r;
    if (r == 0) {
        done(ctx, 0, buf_view(&p.out), NULL);
    } else {
        r = err_set(err, ERR_NOMEM, "out of memory");
    }
    buf_release(&p.out);
    arena_release(&p.arena);
    return r;
}

static int cluster_ask(struct virtual_source *source, const struct virtual_ask *q,
                       virtual_done *done, void *ctx, struct virtual_call **ret, struct err *err) {
    struct queue_visibility *x =
        (struct queue_visibility *)((char *)source - offsetof(struct queue_visibility, clusters));
    const struct cluster_state *s = map_get(&x->c->clusters, q->name);
    return s != NULL && s->exists ? answer(x->c, q, s, NULL, done, ctx, err) : ERR_NOT_FOUND;
}

static int local_ask(struct virtual_source *source, const struct virtual_ask *q, virtual_done *done,
                     void *ctx, struct virtual_call **ret, struct err *err) {
    struct queue_visibility *x =
        (struct queue_visibility *)((char *)source - offsetof(struct queue_visibility, locals));
    const struct local_state *l = NULL;
    if (mirror_get(x->c->env->mirror, x->c->kinds[QK_LOCAL_QUEUE], q->ns, q->name) != NULL) {
        l = queue_local(x->c, q->ns, q->name);
    }
    const struct cluster_state *s =
        l != NULL && l->cluster != NULL ? map_get(&x->c->clusters, str_of(l->cluster)) : NULL;
    return s != NULL && s->exists ? answer(x->c, q, s, l, done, ctx, err) : ERR_NOT_FOUND;
}

static void cancel(struct virtual_source *source, struct virtual_call *call) {
}

/* ---- life ---- */

struct queue_visibility *queue_visibility_new(struct queue_controller *c) {
    struct queue_visibility *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        return NULL;
    }
    x->c = c;
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
    if (x != NULL && x->c->env->virtuals != NULL) {
        virtual_remove(x->c->env->virtuals, &x->clusters);
        virtual_remove(x->c->env->virtuals, &x->locals);
    }
    mem_free(x);
}
