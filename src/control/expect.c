/*
 * expect: one entry per object version awaited, found by the object's uid; and per key the entries it waits for.
 */
#include "control/expect.h"

#include "base/map.h"
#include "base/mem.h"

enum { GIVE_UP_S = 300 };

struct waiter; /* a key */

struct awaited {
    struct str uid; /* in text */
    uint64_t rv;    /* UINT64_MAX: its removal */
    int64_t until;
    struct waiter *key;
    struct awaited *next; /* of the same key */
    char text[];
};

struct waiter {
    struct str key; /* "ns/name" in text */
    struct awaited *first;
    char text[];
};

struct expect {
    struct mirror *mirror;
    struct clock *clock;
    struct map by_uid, by_key;
};

static struct str join_key(char *buf, size_t cap, struct str ns, struct str name) {
    size_t n = ns.n + 1 + name.n;
    if (n > cap) {
        return (struct str){0};
    }
    if (ns.n) {
        memcpy(buf, ns.p, ns.n);
    }
    buf[ns.n] = '/';
    if (name.n) {
        memcpy(buf + ns.n + 1, name.p, name.n);
    }
    return str_from(buf, n);
}

struct expect *expect_new(struct mirror *m, struct clock *clock) {
    struct expect *e = mem_zalloc(sizeof *e);
    if (e) {
        e->mirror = m;
        e->clock = clock;
    }
    return e;
}

void expect_free(struct expect *e) {
    if (!e) {
        return;
    }
    const struct map_entry *m;
    for (size_t i = 0; (m = map_next(&e->by_uid, &i));) {
        mem_free(m->value);
    }
    for (size_t i = 0; (m = map_next(&e->by_key, &i));) {
        mem_free(m->value);
    }
    map_release(&e->by_uid);
    map_release(&e->by_key);
    mem_free(e);
}

static void waiter_drop_if_idle(struct expect *e, struct waiter *w) {
    if (w && !w->first) {
        map_del(&e->by_key, w->key);
        mem_free(w);
    }
}

static void forget(struct expect *e, struct awaited *a) {
    struct waiter *w = a->key;
    for (struct awaited **p = &w->first; *p; p = &(*p)->next) {
        if (*p == a) {
            *p = a->next;
            break;
        }
    }
    map_del(&e->by_uid, a->uid);
    mem_free(a);
    waiter_drop_if_idle(e, w);
}

static bool is_there(const struct object *seen, uint64_t rv) {
    if (rv == UINT64_MAX) {
        return !seen || seen->deleting_ns != 0;
    }
    return seen && seen->rv >= rv;
}

/* A write that took the last finalizer off: the object went with it, and the mirror has seen that already. */
static bool went(const struct object *seen, const struct object *obj) {
    return seen == NULL && obj->deleting_ns != 0 && obj->n_finalizers == 0;
}

static struct waiter *waiter_get(struct expect *e, struct str key) {
    struct waiter *w = map_get(&e->by_key, key);
    if (w) {
        return w;
    }
    w = mem_zalloc(sizeof *w + key.n);
    if (!w) {
        return NULL;
    }
    memcpy(w->text, key.p, key.n);
    w->key = str_from(w->text, key.n);
    if (map_put(&e->by_key, w->key, w, NULL) != 0) {
        mem_free(w);
        return NULL;
    }
    return w;
}

static void await(struct expect *e, struct str ns, struct str name, const struct object *obj,
                  uint64_t rv) {
    char buf[512];
    struct str key = join_key(buf, sizeof buf, ns, name);
    const struct object *seen = mirror_by_uid(e->mirror, obj->uid);
    if (str_empty(key) || str_empty(obj->uid) || is_there(seen, rv) || went(seen, obj)) {
        return;
    }
    struct awaited *a = map_get(&e->by_uid, obj->uid);
    if (a) {
        forget(e, a); /* the newer write is the one to wait for */
    }
    struct waiter *w = waiter_get(e, key);
    a = w ? mem_zalloc(sizeof *a + obj->uid.n) : NULL;
    if (!a) {
        waiter_drop_if_idle(e, w);
        return;
    }
    memcpy(a->text, obj->uid.p, obj->uid.n);
    a->uid = str_from(a->text, obj->uid.n);
    a->rv = rv;
    a->until = clock_mono(e->clock) + GIVE_UP_S * NS_PER_SEC;
    a->key = w;
    a->next = w->first;
    w->first = a;
    if (map_put(&e->by_uid, a->uid, a, NULL) != 0) {
        forget(e, a);
    }
}

void expect_written(struct expect *e, struct str ns, struct str name, const struct object *obj) {
    await(e, ns, name, obj, obj->rv);
}

void expect_removed(struct expect *e, struct str ns, struct str name, const struct object *obj) {
    await(e, ns, name, obj, UINT64_MAX);
}

void expect_seen(struct expect *e, const struct change *c) {
    struct awaited *a = map_get(&e->by_uid, c->obj->uid);
    if (a && (c->type == CHANGE_DELETED || is_there(c->obj, a->rv))) {
        forget(e, a);
    }
}

bool expect_met(struct expect *e, struct str ns, struct str name, int64_t *ret_wait_ns) {
    char buf[512];
    struct str key = join_key(buf, sizeof buf, ns, name);
    int64_t now = clock_mono(e->clock);
    for (;;) {
        struct waiter *w = str_empty(key) ? NULL : map_get(&e->by_key, key);
        if (!w) {
            return true;
        }
        /* The newest is first; all must be old for the key to go on. */
        struct awaited *a = w->first;
        if (a->until > now) {
            if (ret_wait_ns) {
                *ret_wait_ns = a->until - now;
            }
            return false;
        }
        forget(e, a);
    }
}

size_t expect_count(const struct expect *e) {
    return map_count(&e->by_uid);
}
