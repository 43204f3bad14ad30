/* daemon_history: looks, compares, writes. See daemon_history.h. */
#include "control/apps/daemon_history.h"

#include <stdlib.h>

#include "api/tables/view_apps.h"
#include "base/limits.h"
#include "control/apps/stateful_write.h"
#include "control/kit/edit.h"

struct daemon_revision {
    const struct object *obj;
    int64_t number;
};

struct daemon_revisions {
    const struct daemon_history *h;
    struct daemon_revision *v; /* by number */
    size_t n, cap;
};

static bool is_ours(const struct daemon_history *h, const struct object *o) {
    const struct owner_ref *ref = object_controller(o);
    return o->kind == h->kind && ref && object_named_by(h->set, o->ns, ref);
}

static bool count_one(void *ctx, const struct object *o) {
    struct daemon_revisions *l = ctx;
    l->cap += is_ours(l->h, o);
    return true;
}

static bool read_one(void *ctx, const struct object *o) {
    struct daemon_revisions *l = ctx;
    yyjson_doc *d;
    if (is_ours(l->h, o) && l->n < l->cap && object_tree(o, l->h->arena, &d, NULL) == 0) {
        l->v[l->n++] =
            (struct daemon_revision){o, json_i64_at(yyjson_doc_get_root(d), "revision", 0)};
    }
    return true;
}

static int by_number(const void *x, const void *y) {
    const struct daemon_revision *a = x, *b = y;
    return a->number != b->number ? (a->number > b->number) * 2 - 1
                                  : str_cmp(a->obj->name, b->obj->name);
}

static void make(const struct daemon_history *h, struct str name, int64_t number, struct round *r) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    int code = stateful_write_revision(h->set, h->tree, name, h->hash, number, h->arena, &b);
    if (code == 0) {
        round_create(r, h->kind, h->set->ns, buf_view(&b));
    } else {
        round_fail(r, code);
    }
    buf_release(&b);
}

static void renumber(const struct daemon_revision *x, int64_t number, struct round *r) {
    struct controller_revision was = {.revision = x->number}, want = {.revision = number};
    (void)edit_send(r, x->obj, "", EDIT_VERSION, &was, &want);
}

/* The hash that ends its name. */
static struct str hash_of(const struct daemon_history *h, const struct object *o) {
    return str_skip(o->name, h->set->name.n + 1);
}

static size_t forget_old(const struct daemon_revisions *l, const struct object *current,
                         struct round *r) {
    const struct daemon_history *h = l->h;
    size_t dead = 0, writes = 0, keep = h->limit.set && h->limit.v > 0 ? (size_t)h->limit.v : 0;
    for (int pass = 0; pass < 2; pass++) { /* counted first, then the oldest of them go */
        for (size_t i = 0; i < l->n; i++) {
            const struct object *o = l->v[i].obj;
            if (o == current || o->deleting_ns || h->lives(h->ctx, hash_of(h, o))) {
                continue;
            }
            if (pass == 0) {
                dead++;
            } else if (h->limit.set && dead > keep) {
                dead--;
                writes++;
                round_remove(r, o->kind, o->ns, o->name,
                             &(struct delete_options){.uid = o->uid, .grace_seconds = -1});
            }
        }
    }
    return writes;
}

size_t daemon_history_keep(const struct daemon_history *h, struct round *r) {
    struct daemon_revisions l = {.h = h};
    struct str name = arena_f(h->arena, "%.*s-%.*s", STR_ARG(h->set->name), STR_ARG(h->hash));
    const struct object *current = mirror_get(h->mirror, h->kind, h->set->ns, name);
    size_t writes = 0;
    mirror_owned(h->mirror, h->set, count_one, &l);
    l.v = ARENA_ARRAY(h->arena, struct daemon_revision, l.cap + 1);
    if (l.v == NULL || h->set->deleting_ns || (current && !is_ours(h, current))) {
        return 0; /* the name is somebody else's: this template has no history */
    }
    mirror_owned(h->mirror, h->set, read_one, &l);
    if (l.n > 0) {
        qsort(l.v, l.n, sizeof *l.v, by_number);
    }
    int64_t newest = l.n > 0 ? l.v[l.n - 1].number : 0;
    if (current == NULL) {
        make(h, name, newest + 1, r);
        writes++;
    }
    for (size_t i = 0; i + 1 < l.n; i++) {
        if (l.v[i].obj == current && l.v[i].number < newest) {
            renumber(&l.v[i], newest + 1, r);
            writes++;
        }
    }
    return writes + forget_old(&l, current, r);
}
