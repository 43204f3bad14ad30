/*
 * round: counts answers. Alive while answers are due or the worker still holds it; cut from its queue when that is
 * freed.
 */
#include "control/kit/round.h"

#include <assert.h>

#include "base/mem.h"

/* What an answer brings back besides the round: one per write, since hooks need its tag. */
struct pending {
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
    struct str ns, name;
    char text[];
};

static void round_cut(struct workqueue_link *l) {
    struct round *r = (struct round *)l;
    r->queue = NULL;
    assert(!r->held);
}

struct round *round_new(struct workqueue *q, struct writer *w, const char *who, struct str ns,
                        struct str name) {
    struct round *r = mem_zalloc(sizeof *r + ns.n + name.n);
    if (!r) {
        return NULL;
    }
    if (ns.n) {
        memcpy(r->text, ns.p, ns.n);
    }
    if (name.n) {
        memcpy(r->text + ns.n, name.p, name.n);
    }
    r->ns = str_from(r->text, ns.n);
    r->name = str_from(r->text + ns.n, name.n);
    r->queue = q;
    r->writer = w;
    r->who = who;
    r->held = true;
    r->link.cut = round_cut;
    workqueue_attach(q, &r->link);
    return r;
}

void round_on_done(struct round *r, round_hook *hook, void *ctx) {
    r->hook = hook;
    r->hook_ctx = ctx;
}

void round_tag(struct round *r, uint64_t tag) {
    r->tag = tag;
}

void round_fail(struct round *r, int code) {
    r->failed |= code != 0;
}

struct str round_ns(const struct round *r) {
    return r->ns;
}

struct str round_name(const struct round *r) {
    return r->name;
}

static void end_if_done(struct round *r) {
    if (r->due || r->held) {
        return;
    }
    if (r->queue) {
        struct workqueue *q = r->queue;
        workqueue_detach(&r->link);
        workqueue_finish(q, r->ns, r->name, r->failed ? WORK_RETRY : WORK_OK);
    }
    mem_free(r);
}

static void answered(void *ctx, const struct write_result *res) {
    struct pending *p = ctx;
    struct round *r = p->round;
    if (r->queue) {
        int code = r->hook ? r->hook(r->hook_ctx, r, p->tag, res) : res->code;
        r->failed |= code != 0;
    }
    mem_free(p);
    r->due--;
    end_if_done(r);
}

static struct pending *begin(struct round *r) {
    struct pending *p = mem_alloc(sizeof *p);
    if (!p) {
        r->failed = true;
        return NULL;
    }
    *p = (struct pending){.round = r, .tag = r->tag};
    r->due++;
    return p;
}

void round_create(struct round *r, const struct kind *k, struct str ns, struct str json) {
    struct pending *p = begin(r);
    if (p) {
        writer_create(r->writer, r->who, k, ns, json, answered, p);
    }
}

void round_patch(struct round *r, const struct kind *k, struct str ns, struct str name,
                 const char *subresource, enum patch_type type, struct str body) {
    struct pending *p = begin(r);
    if (p) {
        writer_patch(r->writer, r->who, k, ns, name, subresource, type, body, answered, p);
    }
}

void round_remove(struct round *r, const struct kind *k, struct str ns, struct str name,
                  const struct delete_options *o) {
    struct pending *p = begin(r);
    if (p) {
        writer_remove(r->writer, r->who, k, ns, name, o, answered, p);
    }
}

enum work round_end(struct round *r) {
    r->held = false;
    if (r->due) {
        return WORK_BUSY;
    }
    enum work w = r->failed ? WORK_RETRY : WORK_OK;
    workqueue_detach(&r->link);
    mem_free(r);
    return w;
}
