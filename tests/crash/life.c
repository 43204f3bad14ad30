/* life: see life.h. */
#include "life.h"

#include <assert.h>

#include "base/mem.h"
#include "mirror/fake_kind.h"

struct pending {
    struct life *l;
    uint64_t rv;
};

static void on_stop(void *ctx, const struct err *err) {
    ((struct life *)ctx)->stopped = true;
}

int life_begin(struct life *l, struct store_options o, struct err *err) {
    l->loop = (struct fake_loop)FAKE_LOOP_INIT;
    l->stopped = false;
    o.find_kind = fake_find;
    o.post = fake_post;
    o.post_ctx = &l->loop;
    o.failed = on_stop;
    o.failed_ctx = l;
    int code = store_open(&o, &l->store, err);
    if (code != 0) {
        return code;
    }
    l->m = mirror_new(
        &(struct mirror_options){.journal = store_journal(l->store), .history_events = 50});
    code = l->m ? store_recover(l->store, l->m, NULL, err) : ERR_NOMEM;
    if (code != 0) {
        store_close(l->store);
        mirror_free(l->m);
    }
    return code;
}

static void on_done(void *ctx, int code, const struct object *o, const struct err *err) {
    struct pending *p = ctx;
    struct life *l = p->l;
    if (code == 0 && l->acked) {
        l->acked(l, p->rv);
    }
    if (l->w) {
        witness_outcome(l->w, p->rv,
                        code == 0        ? OUTCOME_ACKED
                        : code == ERR_IO ? OUTCOME_UNKNOWN
                                         : OUTCOME_REFUSED);
    }
    mem_free(p);
}

static void write_one(struct life *l, struct prng *r) {
    int key = (int)prng_below(r, WITNESS_KEYS);
    char name[16];
    witness_key(key, name);
    const struct object *now = mirror_pending(l->m, &fake_map, STR("ns"), str_of(name));
    bool del = now && prng_below(r, 3) == 0;
    int value = del ? 0 : ++l->value;
    size_t size = prng_below(r, 4) ? prng_below(r, 600) : prng_below(r, 9000);
    struct object *o = witness_object(key, value, size);
    struct pending *p = mem_alloc(sizeof(*p));
    if (o == NULL || p == NULL) {
        object_unref(o);
        mem_free(p);
        return;
    }
    object_ref(o);
    p->l = l;
    int code = mirror_write(l->m,
                            del   ? CHANGE_DELETED
                            : now ? CHANGE_MODIFIED
                                  : CHANGE_ADDED,
                            o, now ? now->rv : 0, on_done, p, NULL);
    if (code == 0) {
        p->rv = o->rv;
        if (l->staged) {
            l->staged(l, o->rv, key, value);
        }
        if (l->w) {
            witness_staged(l->w, o->rv, key, value);
        }
    } else {
        mem_free(p);
    }
    object_unref(o);
}

void life_writes(struct life *l, struct prng *r) {
    for (uint64_t batches = prng_below(r, 2) + 1; batches > 0; batches--) {
        for (uint64_t n = prng_below(r, 4) + 1; n > 0; n--) {
            write_one(l, r);
        }
        if (l->flushed) {
            l->flushed(l);
        }
        if (l->w) {
            witness_flushed(l->w);
        }
        mirror_flush(l->m);
    }
}

void life_settle(struct life *l) {
    while (mirror_staged(l->m)) {
        fake_turn(&l->loop, 1);
    }
    fake_turn(&l->loop, 0);
}

void life_end(struct life *l) {
    store_close(l->store);
    mirror_free(l->m);
    fake_turn(&l->loop, 0);
}
