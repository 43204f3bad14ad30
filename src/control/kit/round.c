/*
 * round: counts answers. Alive while answers are due or the worker still holds it; cut from its queue when that is
 * freed.
 */
#include "control/kit/round.h"

#include <assert.h>

#include "base/mem.h"

/* What an answer brings back besides the round: one per write, since hooks need its tag. */
struct round_pending {
    struct round *round;
    uint64_t tag;
};

struct round {
    struct workqueue_link link; /* first: the queue hands it back */
    struct workqueue *queue;    /* NULL once cut */
    struct writer *writer;
    const char *who;
    round_hook *hook;
    void *hook_ctx;
    uint64_t tag;
    size_t due; /* answers */
    bool held;  /* by the worker */
    bool failed;
    const struct mirror *mirror;
    struct log *log;
    round_may *may;
    const void *may_ctx;
    struct work_key key;
    char text[];
};

static void round_cut(struct workqueue_link *l) {
    struct round *r = (struct round *)l;
    r->queue = NULL;
    assert(!r->held);
}

struct round *round_begin(struct workqueue *q, struct writer *w, const char *who,
                          struct work_key key) {
    struct round *r = mem_zalloc(sizeof *r + key.ns.n + key.name.n);
    if (r == NULL) {
        return NULL;
    }
    if (key.ns.n) {
        memcpy(r->text, key.ns.p, key.ns.n);
    }
    if (key.name.n) {
        memcpy(r->text + key.ns.n, key.name.p, key.name.n);
    }
    r->key = (struct work_key){key.what, str_from(r->text, key.ns.n),
                               str_from(r->text + key.ns.n, key.name.n)};
    r->queue = q;
    r->writer = w;
    r->who = who;
    r->held = true;
    r->link.cut = round_cut;
    workqueue_attach(q, &r->link);
    return r;
}

static bool strict;

void round_be_strict(void) {
    strict = true;
}

/* A promise was broken, a fault of the program: tests end there; in production the log has it and the write goes on. */
static void breach(const struct round *r, const struct kind *k, const char *what) {
    assert(!strict);
    if (r->log != NULL) {
        log_error(r->log, "%s: %s of %s", r->who, what, k->plural);
    }
}

void round_bind(struct round *r, const struct mirror *m, struct log *log, round_may *may,
                const void *ctx) {
    r->mirror = m;
    r->log = log;
    r->may = may;
    r->may_ctx = ctx;
}

void round_on_done(struct round *r, round_hook *hook, void *ctx) {
    if (r) {
        r->hook = hook;
        r->hook_ctx = ctx;
    }
}

void round_tag(struct round *r, uint64_t tag) {
    if (r) {
        r->tag = tag;
    }
}

void round_fail(struct round *r, int code) {
    if (r) {
        r->failed |= code != 0;
    }
}

struct work_key round_key(const struct round *r) {
    return r->key;
}

struct str round_ns(const struct round *r) {
    return r->key.ns;
}

struct str round_name(const struct round *r) {
    return r->key.name;
}

static void end_if_done(struct round *r) {
    if (r->due || r->held) {
        return;
    }
    if (r->queue) {
        struct workqueue *q = r->queue;
        workqueue_detach(&r->link);
        workqueue_done(q, r->key, r->failed ? WORK_RETRY : WORK_OK);
    }
    mem_free(r);
}

/* What was written is seen, or what came after it: another object of the name, or none. Kinds that nobody follows are
 * not in the mirror. */
static bool is_seen(const struct mirror *m, const struct object *o) {
    const struct object *now = mirror_get(m, o->kind, o->ns, o->name);
    return now == NULL || now->rv >= o->rv || !str_eq(now->uid, o->uid);
}

static void answered(void *ctx, const struct write_result *res) {
    struct round_pending *p = ctx;
    struct round *r = p->round;
    if (r->queue) {
        if (r->mirror && res->code == 0 && res->obj && !is_seen(r->mirror, res->obj)) {
            breach(r, res->obj->kind, "an answer came before the change was seen, in a write");
        }
        int code = r->hook ? r->hook(r->hook_ctx, r, p->tag, res) : res->code;
        r->failed |= code != 0;
    }
    mem_free(p);
    r->due--;
    end_if_done(r);
}

static struct round_pending *begin(struct round *r, const struct kind *k, enum may verb) {
    if (r == NULL) {
        return NULL;
    }
    struct round_pending *p = mem_alloc(sizeof *p);
    if (r->may && !r->may(r->may_ctx, k, verb)) {
        breach(r, k, "its row does not declare a write");
    }
    if (p == NULL) {
        r->failed = true;
        return NULL;
    }
    *p = (struct round_pending){.round = r, .tag = r->tag};
    r->due++;
    return p;
}

void round_create(struct round *r, const struct kind *k, struct str ns, struct str json) {
    struct round_pending *p = begin(r, k, MAY_CREATE);
    if (p) {
        writer_create(r->writer, r->who, k, ns, json, answered, p);
    }
}

void round_patch(struct round *r, const struct kind *k, struct str ns, struct str name,
                 const char *subresource, enum patch_type type, struct str body) {
    bool whole = subresource == NULL || !*subresource;
    struct round_pending *p = begin(r, k, whole ? MAY_PATCH : MAY_STATUS);
    if (p) {
        writer_patch(r->writer, r->who, k, ns, name, subresource, type, body, answered, p);
    }
}

void round_remove(struct round *r, const struct kind *k, struct str ns, struct str name,
                  const struct delete_options *o) {
    struct round_pending *p = begin(r, k, MAY_DELETE);
    if (p) {
        writer_remove(r->writer, r->who, k, ns, name, o, answered, p);
    }
}

enum work round_end(struct round *r) {
    if (r == NULL) {
        return WORK_RETRY;
    }
    r->held = false;
    if (r->due) {
        return WORK_BUSY;
    }
    enum work w = r->failed ? WORK_RETRY : WORK_OK;
    workqueue_detach(&r->link);
    mem_free(r);
    return w;
}
