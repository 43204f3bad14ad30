/* memory_writer: a list of writes and one timer. See memory_writer.h. */
#include "mirror/memory/memory_writer.h"

#include <assert.h>

#include "base/mem.h"

static void arm(struct memory_writer *w) {
    if (w->first) {
        struct clock *c = w->store->clock;
        int64_t now = clock_mono(c);
        c->timer_start(w->timer, w->first->due > now ? w->first->due - now : 0);
    }
}

static int apply(struct memory_store *s, const struct memory_write *x, const struct object **ret,
                 struct err *err) {
    switch (x->verb) {
    case MEMORY_CREATE:
        return memory_store_create(s, x->kind, x->ns, x->body, ret, err);
    case MEMORY_PATCH:
        return memory_store_patch(s, x->kind, x->ns, x->name, x->sub.p, x->type, x->body, ret, err);
    default:
        return memory_store_remove(s, x->kind, x->ns, x->name,
                                   &(struct delete_options){.uid = x->uid,
                                                            .rv = x->rv,
                                                            .grace_seconds = x->grace,
                                                            .propagation = x->propagation},
                                   ret, err);
    }
}

static void one(struct memory_writer *w, struct memory_write *x) {
    const struct object *o = NULL;
    struct write_result res = {0};
    res.code = w->before ? w->before(w->ctx, x, &res.err) : 0;
    if (res.code == 0) {
        res.code = apply(w->store, x, &o, &res.err);
        res.obj = o;
    }
    res.code = res.code > 0 ? 0 : res.code;
    w->writes++;
    if (w->after) {
        w->after(w->ctx, x, &res);
    }
    if (x->done) {
        x->done(x->ctx, &res);
    }
    object_unref(o);
}

/* All that are due, as a server commits a batch; what they lead to is for another turn. */
static void write_due(void *ctx) {
    struct memory_writer *w = ctx;
    int64_t now = clock_mono(w->store->clock);
    size_t n = 0;
    for (const struct memory_write *x = w->first; x && x->due <= now; x = x->next) {
        n++;
    }
    while (n-- > 0 && w->first) { /* a callback may have released the writer */
        struct memory_write *x = w->first;
        w->first = x->next;
        if (w->first == NULL) {
            w->last = &w->first;
        }
        one(w, x);
        mem_free(x);
    }
    arm(w);
}

/* The texts of a write, all in one allocation. */
struct texts {
    struct str ns, name, sub, body, uid, propagation;
};

static struct str put(char **to, struct str s) {
    struct str r = {*to, s.n};
    if (s.n) {
        memcpy(*to, s.p, s.n);
    }
    (*to)[s.n] = 0;
    *to += s.n + 1;
    return r;
}

/* NULL: no memory, and `done` was told so at once, as the other writers do. */
static struct memory_write *enqueue(struct writer *writer, enum memory_verb verb,
                                    const struct kind *k, const struct texts *t, write_done *done,
                                    void *ctx) {
    struct memory_writer *w = (struct memory_writer *)writer;
    assert(k != NULL);
    struct memory_write *x = mem_zalloc(sizeof *x + t->ns.n + t->name.n + t->sub.n + t->body.n +
                                        t->uid.n + t->propagation.n + 6);
    if (x == NULL) {
        struct write_result res = {.code = ERR_NOMEM};
        (void)err_set(&res.err, ERR_NOMEM, "out of memory");
        if (done != NULL) {
            done(ctx, &res);
        }
        return NULL;
    }
    *x = (struct memory_write){.verb = verb,
                               .due = clock_mono(w->store->clock) + w->latency_ns,
                               .kind = k,
                               .done = done,
                               .ctx = ctx};
    char *to = x->text;
    x->ns = put(&to, t->ns);
    x->name = put(&to, t->name);
    x->sub = put(&to, t->sub);
    x->body = put(&to, t->body);
    x->uid = put(&to, t->uid);
    x->propagation = put(&to, t->propagation);
    *w->last = x;
    w->last = &x->next;
    if (w->first == x) {
        arm(w);
    }
    return x;
}

static void memory_create(struct writer *writer, const char *who, const struct kind *k,
                          struct str ns, struct str json, write_done *done, void *ctx) {
    enqueue(writer, MEMORY_CREATE, k, &(struct texts){.ns = ns, .body = json}, done, ctx);
}

static void memory_patch(struct writer *writer, const char *who, const struct kind *k,
                         struct str ns, struct str name, const char *sub, enum patch_type type,
                         struct str body, write_done *done, void *ctx) {
    struct texts t = {.ns = ns, .name = name, .sub = str_of(sub), .body = body};
    struct memory_write *x = enqueue(writer, MEMORY_PATCH, k, &t, done, ctx);
    if (x != NULL) {
        x->type = type;
    }
}

static void memory_remove(struct writer *writer, const char *who, const struct kind *k,
                          struct str ns, struct str name, const struct delete_options *o,
                          write_done *done, void *ctx) {
    struct texts t = {.ns = ns, .name = name};
    if (o) {
        t.uid = o->uid;
        t.propagation = o->propagation;
    }
    struct memory_write *x = enqueue(writer, MEMORY_REMOVE, k, &t, done, ctx);
    if (x != NULL) {
        x->rv = o ? o->rv : 0;
        x->grace = o ? o->grace_seconds : -1;
    }
}

int memory_writer_init(struct memory_writer *w, struct memory_store *store) {
    *w = (struct memory_writer){
        .writer = {.create = memory_create, .patch = memory_patch, .remove = memory_remove},
        .store = store};
    w->last = &w->first;
    w->timer = store->clock->timer_new(store->clock, write_due, w);
    return w->timer ? 0 : ERR_NOMEM;
}

void memory_writer_release(struct memory_writer *w) {
    while (w->first) {
        struct memory_write *x = w->first;
        w->first = x->next;
        struct write_result res = {.code = ERR_GONE};
        if (x->done) {
            x->done(x->ctx, &res);
        }
        mem_free(x);
    }
    w->last = &w->first;
    if (w->timer) {
        w->store->clock->timer_free(w->timer);
    }
}
