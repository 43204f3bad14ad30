/* model_catalog: see model_catalog.h. Here: the question, copied, and its way to the offload thread and back. */
#include "control/see/model_catalog.h"

#include "base/mem.h"
#include "control/see/catalog_answer.h"
#include "control/see/fleet_private.h"

enum { MEMORY_MAX = 256 << 20 };

struct catalog_call {
    struct model_catalog *m; /* NULL: it is gone */
    virtual_done *done;
    void *ctx;
    bool cancelled;
    struct catalog_question q;
    struct fit_places places;
    struct arena arena;
    struct buf out;
    int code;
    struct err err;
    struct offload_job *job;
    struct catalog_call *prev, *next;
};

struct model_catalog {
    struct fleet *fleet;
    const struct kind *maps;
    struct virtual_source source;
    struct catalog_call *calls;
};

/* ---- a call ---- */

static void call_leave(struct catalog_call *k) {
    if (k->m == NULL) {
        return;
    }
    *(k->prev != NULL ? &k->prev->next : &k->m->calls) = k->next;
    if (k->next != NULL) {
        k->next->prev = k->prev;
    }
    k->m = NULL;
}

static void call_free(struct catalog_call *k) {
    call_leave(k);
    buf_release(&k->out);
    arena_release(&k->arena);
    mem_free(k);
}

static struct catalog_call *call_new(struct model_catalog *m, virtual_done *done, void *ctx) {
    struct catalog_call *k = mem_zalloc(sizeof(*k));
    if (k == NULL) {
        return NULL;
    }
    k->m = m;
    k->done = done;
    k->ctx = ctx;
    arena_init(&k->arena, MEMORY_MAX);
    buf_init(&k->out, MEMORY_MAX);
    k->next = m->calls;
    if (k->next != NULL) {
        k->next->prev = k;
    }
    m->calls = k;
    return k;
}

/* ---- the question ---- */

static int number(const struct virtual_ask *q, const char *key, int64_t *ret, struct err *err) {
    struct str text = virtual_param(q, key);
    if (text.n > 0 && (!str_to_i64(text, ret) || *ret < 1 || *ret > 100000000)) {
        return err_set(err, ERR_BAD_REQUEST, "%s: expected a whole number of 1 to 100000000", key);
    }
    return 0;
}

/* The kinds of GPUs of the fleet, with names of the call. */
static int places_take(struct catalog_call *k) {
    struct fleet *f = k->m->fleet;
    size_t at = 0;
    int r = fleet_nodes_refresh(f, &k->arena);
    for (const struct map_entry *e; r == 0 && (e = map_next(&f->nodes, &at));) {
        const struct fleet_node *n = e->value;
        for (size_t i = 0; n->told && i < n->inv.n; i++) {
            fit_places_card(&k->places, &n->inv, &n->inv.gpus[i]);
        }
    }
    for (size_t i = 0; i < k->places.n; i++) {
        k->places.v[i].gpu = arena_str(&k->arena, k->places.v[i].gpu);
        k->places.v[i].slice = arena_str(&k->arena, k->places.v[i].slice);
    }
    return r ? r : arena_ok(&k->arena);
}

static int prepare(struct catalog_call *k, const struct virtual_ask *q, struct err *err) {
    const struct object *o = mirror_get(k->m->fleet->c->env->mirror, k->m->maps,
                                        STR("berth-system"), STR("model-catalog-sources"));
    k->q.places = &k->places;
    k->q.name = arena_str(&k->arena, q->name);
    k->q.filter = arena_str(&k->arena, virtual_param(q, "filterQuery"));
    k->q.map = o != NULL ? arena_str(&k->arena, o->json) : (struct str){0};
    int r = number(q, "contextLength", &k->q.context, err);
    r = r ? r : number(q, "sequences", &k->q.sequences, err);
    return r ? r : places_take(k) != 0 ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

static void work(void *ctx, const atomic_bool *stop) {
    struct catalog_call *k = ctx;
    k->q.stop = stop;
    k->code = catalog_answer(&k->q, &k->arena, &k->out, &k->err);
}

/* On the loop thread: the answer is there. */
static void call_done(void *ctx) {
    struct catalog_call *k = ctx;
    if (k->m != NULL && !k->cancelled) {
        if (k->code == 0 && buf_ok(&k->out) != 0) {
            k->code = err_set(&k->err, buf_ok(&k->out), "the answer is too large");
        }
        k->done(k->ctx, k->code, buf_view(&k->out), &k->err);
    }
    call_free(k);
}

static int ask(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done, void *ctx,
               struct virtual_call **ret, struct err *err) {
    struct model_catalog *m =
        (struct model_catalog *)((char *)s - offsetof(struct model_catalog, source));
    struct offload *o = m->fleet->c->env->offload;
    static const atomic_bool never;
    struct catalog_call *k = call_new(m, done, ctx);
    int r = k != NULL ? prepare(k, q, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (r == 0 && o != NULL) {
        r = o->start(o, work, call_done, k, &k->job, err);
    }
    if (r != 0) {
        if (k != NULL) {
            call_free(k);
        }
        return r;
    }
    if (o == NULL) {
        work(k, &never);
        call_done(k);
        return 0;
    }
    *ret = (struct virtual_call *)k;
    return 0;
}

static void cancel(struct virtual_source *s, struct virtual_call *c) {
    struct catalog_call *k = (struct catalog_call *)c;
    struct model_catalog *m =
        (struct model_catalog *)((char *)s - offsetof(struct model_catalog, source));
    k->cancelled = true;
    m->fleet->c->env->offload->cancel(m->fleet->c->env->offload, k->job);
}

/* ---- life ---- */

struct model_catalog *model_catalog_new(struct fleet *f) {
    struct model_catalog *m = mem_zalloc(sizeof(*m));
    if (m == NULL) {
        return NULL;
    }
    m->fleet = f;
    m->maps = kind_by_name((struct str){0}, STR("ConfigMap"));
    m->source = (struct virtual_source){.group = "berth.dev",
                                        .resource = "catalogmodels",
                                        .subresource = "",
                                        .ask = ask,
                                        .cancel = cancel};
    if (f->c->env->virtuals != NULL) {
        virtual_add(f->c->env->virtuals, &m->source);
    }
    return m;
}

void model_catalog_free(struct model_catalog *m) {
    if (m == NULL) {
        return;
    }
    struct offload *o = m->fleet->c->env->offload;
    if (m->fleet->c->env->virtuals != NULL) {
        virtual_remove(m->fleet->c->env->virtuals, &m->source);
    }
    while (m->calls != NULL) {
        struct catalog_call *k = m->calls;
        struct err err = {0};
        bool waits = !k->cancelled;
        o->cancel(o, k->job);
        k->cancelled = true;
        call_leave(k); /* freed when the worker is done with it */
        if (waits) {
            err_set(&err, ERR_UNAVAILABLE, "the controllers are stopping");
            k->done(k->ctx, ERR_UNAVAILABLE, (struct str){0}, &err);
        }
    }
    mem_free(m);
}
