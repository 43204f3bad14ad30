/*
 * outside: a mirror whose objects come from outside: at recovery, by a reflector, by what writes were answered
 * with. See
 * mirror.h.
 *
 * Two streams tell of the same changes, and neither waits for the other: the watch, in order, and the answers to our
 * own writes, each as soon as it comes. Revisions say which of two states is newer. They cannot say it of an object
 * that is not there any more, so:
 *
 *   - an answer is ignored when the source is past it: the object may have been deleted after it;
 *   - a deletion that an answer told leaves a tomb, until the watch tells of it too (or for TOMB_SECONDS: a list may
 *     have told it instead): older events do not bring back that object, nor an earlier one of its name.
 */
#include <assert.h>

#include "base/limits.h"
#include "base/mem.h"
#include "mirror/mirror_private.h"

enum { TOMB_SECONDS = 600 };

/* ---- recovery ---- */

static void saw_revision(struct mirror *m, uint64_t rv) {
    m->revision = rv > m->revision ? rv : m->revision;
    m->last_rv = m->revision > m->last_rv ? m->revision : m->last_rv;
}

void mirror_set_revision(struct mirror *m, uint64_t rv) {
    saw_revision(m, rv);
    m->base = m->revision;
}

int mirror_load(struct mirror *m, struct object *obj, struct err *err) {
    struct mirror_table *t = table_get(m, obj->kind);
    int code = m->n >= LIMIT_STORE_OBJECTS ? ERR_TOO_MANY : t == NULL ? ERR_NOMEM : 0;
    code = code ? code : mirror_put_loaded(m, t, obj);
    if (code == ERR_TOO_MANY) {
        err_set(err, code, "more than %d objects", LIMIT_STORE_OBJECTS);
    } else if (code == ERR_EXISTS) {
        err_set(err, code, "%s \"%.*s\" is there twice", obj->kind->plural, STR_ARG(obj->name));
    } else if (code != 0) {
        err_set(err, code, "out of memory");
    }
    if (code != 0) {
        object_unref(obj);
        return code;
    }
    mirror_set_revision(m, obj->rv);
    return 0;
}

/* ---- what is gone ---- */

static uint64_t tomb_hash(const struct kind *k, struct str ns, struct str name) {
    return pset_hash(pset_hash(pset_hash_ptr(k), ns.p, ns.n), name.p, name.n);
}

static struct tomb *tomb_find(const struct tombs *t, const struct object *o) {
    uint64_t hash = tomb_hash(o->kind, o->ns, o->name);
    struct tomb *x;
    for (size_t i = pset_first(&t->by_key, hash); (x = pset_next(&t->by_key, hash, &i));) {
        if (x->last->kind == o->kind && str_eq(x->last->name, o->name) &&
            str_eq(x->last->ns, o->ns)) {
            return x;
        }
    }
    return NULL;
}

static void tomb_free(struct tombs *t, struct tomb *x) {
    const struct object *o = x->last;
    pset_del(&t->by_key, tomb_hash(o->kind, o->ns, o->name), x);
    *(x->newer ? &x->newer->older : &t->newest) = x->older;
    *(x->older ? &x->older->newer : &t->oldest) = x->newer;
    t->n--;
    object_unref(o);
    mem_free(x);
}

void tombs_release(struct tombs *t) {
    while (t->oldest) {
        tomb_free(t, t->oldest);
    }
    pset_release(&t->by_key);
}

/* Without memory there is none: then an older event may show the object for a moment. */
static void tomb_add(struct mirror *m, const struct object *last) {
    struct tombs *t = &m->tombs;
    int64_t now = m->o.clock ? clock_mono(m->o.clock) : 0;
    struct tomb *x = tomb_find(t, last);
    if (x) { /* of an earlier life under the same name */
        tomb_free(t, x);
    }
    while (t->oldest && (t->n >= LIMIT_MIRROR_TOMBS ||
                         now - t->oldest->at_ns > (int64_t)TOMB_SECONDS * NS_PER_SEC)) {
        tomb_free(t, t->oldest);
    }
    x = mem_alloc(sizeof(*x));
    if (x == NULL) {
        return;
    }
    *x = (struct tomb){.at_ns = now, .last = last, .older = t->newest};
    if (pset_add(&t->by_key, tomb_hash(last->kind, last->ns, last->name), x) != 0) {
        mem_free(x);
        return;
    }
    object_ref(last);
    *(t->newest ? &t->newest->newer : &t->oldest) = x;
    t->newest = x;
    t->n++;
}

void mirror_forget_gone(struct mirror *m, const struct kind *k) {
    for (struct tomb *x = m->tombs.oldest, *newer; x; x = newer) {
        newer = x->newer;
        if (x->last->kind == k) {
            tomb_free(&m->tombs, x);
        }
    }
}

static bool is_buried(const struct mirror *m, const struct object *obj) {
    const struct tomb *x = m->tombs.n ? tomb_find(&m->tombs, obj) : NULL;
    return x && (str_eq(x->last->uid, obj->uid) || obj->rv <= x->last->rv);
}

/* The deletion that a tomb waited for. */
static void deletion_seen(struct mirror *m, const struct object *obj) {
    struct tomb *x = m->tombs.n ? tomb_find(&m->tombs, obj) : NULL;
    if (x && str_eq(x->last->uid, obj->uid)) {
        tomb_free(&m->tombs, x);
    }
}

/* ---- changes ---- */

static int commit(struct mirror *m, enum change_type type, struct object *obj, struct err *err) {
    int code = mirror_commit_one(m, type, obj);
    if (code != 0) {
        object_unref(obj);
        return err_set(err, code, "out of memory");
    }
    return 0;
}

static bool is_old(const struct mirror *m, enum change_type type, const struct object *obj,
                   const struct object *now) {
    if (type == CHANGE_DELETED) {
        return now == NULL || (obj->rv && now->rv > obj->rv);
    }
    return (now && obj->rv && now->rv >= obj->rv) || is_buried(m, obj);
}

static bool other_uid(const struct object *a, const struct object *b) {
    return a->uid.n && b->uid.n && !str_eq(a->uid, b->uid);
}

int mirror_apply(struct mirror *m, enum change_type type, struct object *obj, struct err *err) {
    assert(!m->o.journal); /* a mirror is written or filled from outside, not both */
    const struct object *now = mirror_pending(m, obj->kind, obj->ns, obj->name);
    if (type == CHANGE_DELETED) {
        deletion_seen(m, obj);
    }
    if (is_old(m, type, obj, now)) {
        object_unref(obj);
        return 0;
    }
    if (now && other_uid(now, obj)) { /* that one was deleted without our hearing of it */
        if (type == CHANGE_DELETED) {
            object_unref(obj);
            obj = object_ref(now);
        } else {
            int code = commit(m, CHANGE_DELETED, object_ref(now), err);
            if (code != 0) {
                object_unref(obj);
                return code;
            }
            now = NULL;
        }
    }
    return commit(m,
                  type == CHANGE_DELETED ? type
                  : now                  ? CHANGE_MODIFIED
                                         : CHANGE_ADDED,
                  obj, err);
}

/* ---- what writes were answered with ---- */

void mirror_follow(struct mirror *m, struct mirror_source *s) {
    s->next = m->sources;
    m->sources = s;
}

void mirror_unfollow(struct mirror *m, struct mirror_source *s) {
    struct mirror_source **at = &m->sources;
    while (*at && *at != s) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = s->next;
    }
}

static const struct mirror_source *source_of(const struct mirror *m, const struct object *obj) {
    for (const struct mirror_source *s = m->sources; s; s = s->next) {
        if (s->kind == obj->kind && s->covers(s, obj)) {
            return s;
        }
    }
    return NULL;
}

int mirror_answer(struct mirror *m, struct object *obj, struct err *err) {
    const struct mirror_source *s = source_of(m, obj);
    if (s == NULL || s->passed >= obj->rv) {
        object_unref(obj);
        return 0;
    }
    const struct object *written = object_ref(obj);
    int code = mirror_apply(m, CHANGE_MODIFIED, obj, err);
    const struct object *now = mirror_pending(m, written->kind, written->ns, written->name);
    assert(code != 0 || !now || now->rv >= written->rv); /* what mirror/writer.h promises */
    object_unref(written);
    return code;
}

int mirror_answer_gone(struct mirror *m, const struct kind *k, struct str ns, struct str name,
                       struct str uid, struct err *err) {
    const struct object *now = mirror_pending(m, k, ns, name);
    if (now == NULL || uid.n == 0 || !str_eq(now->uid, uid) || source_of(m, now) == NULL) {
        return 0;
    }
    tomb_add(m, now);
    return commit(m, CHANGE_DELETED, object_ref(now), err);
}
