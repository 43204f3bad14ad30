/*
 * scan: ordered walks over one kind, now or at a past revision. See mirror.h.
 *
 * The past is the present with history undone: of each key that changed after the revision, the first change
 * says what was there before it. Those keys, sorted, are merged with the tree.
 */
#include "base/err.h"
#include "base/mem.h"
#include "mirror/mirror_int.h"

struct past {
    struct obj_key key;
    const struct object *was; /* NULL: was not there */
    size_t order;             /* in history */
};

static int cmp_keys(struct obj_key a, struct obj_key b) {
    int c = str_cmp(a.ns, b.ns);
    return c ? c : str_cmp(a.name, b.name);
}

static int cmp_past(const void *x, const void *y) {
    const struct past *a = x, *b = y;
    int c = cmp_keys(a->key, b->key);
    return c ? c : (a->order > b->order) - (a->order < b->order);
}

static struct obj_key key_of(const struct object *o) {
    return (struct obj_key){.ns = o->ns, .name = o->name};
}

/* Which keys a walk covers: after `after`, and of one namespace unless ns is empty. */
struct range {
    struct str ns;
    struct obj_key after;
};

static bool in_range(const struct range *r, struct obj_key k) {
    return cmp_keys(k, r->after) > 0 && (r->ns.n == 0 || str_eq(k.ns, r->ns));
}

/* The tree's position at the beginning of the range. */
static struct tree_pos seek(const struct table *t, const struct range *r) {
    struct obj_key from = r->after;
    if (str_cmp(r->ns, from.ns) > 0) {
        from = (struct obj_key){.ns = r->ns};
    }
    return tree_seek(&t->objects, &from);
}

/* The next visible object in the range, or NULL. */
static const struct object *next_in(const struct mirror *m, const struct table *t,
                                    const struct range *r, struct tree_pos *pos) {
    const struct object *o;
    while ((o = tree_next(&t->objects, pos))) {
        if (r->ns.n && str_cmp(o->ns, r->ns) > 0) {
            return NULL;
        }
        if (visible(m, o) && in_range(r, key_of(o))) {
            return o;
        }
    }
    return NULL;
}

void mirror_scan(const struct mirror *m, const struct kind *k, struct str ns,
                 bool (*each)(void *ctx, const struct object *o), void *ctx) {
    const struct table *t = table_find(m, k);
    if (!t) {
        return;
    }
    struct range r = {.ns = ns};
    struct tree_pos pos = seek(t, &r);
    const struct object *o;
    while ((o = next_in(m, t, &r, &pos)) && each(ctx, o)) {
    }
}

/* The keys in the range that changed after rv, in order, each with what was there at rv. */
static int collect_past(const struct table *t, const struct range *r, uint64_t rv,
                        struct past **ret, size_t *ret_n) {
    size_t from = history_after(&t->history, rv), n = 0;
    struct past *v = mem_array(t->history.n - from, sizeof(*v));
    if (!v) {
        return ERR_NOMEM;
    }
    for (size_t i = from; i < t->history.n; i++) {
        const struct past_change *c = history_at(&t->history, i);
        if (in_range(r, key_of(c->obj))) {
            v[n++] = (struct past){.key = key_of(c->obj), .was = c->old, .order = i};
        }
    }
    if (n) {
        qsort(v, n, sizeof(*v), cmp_past);
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || cmp_keys(v[kept - 1].key, v[i].key) != 0) {
            v[kept++] = v[i];
        }
    }
    *ret = v;
    *ret_n = kept;
    return 0;
}

static void merge(const struct mirror *m, const struct table *t, const struct range *r,
                  const struct past *past, size_t n_past,
                  bool (*each)(void *ctx, const struct object *o), void *ctx) {
    struct tree_pos pos = seek(t, r);
    const struct object *now = next_in(m, t, r, &pos);
    size_t i = 0;
    while (now || i < n_past) {
        int c = !now ? 1 : i == n_past ? -1 : cmp_keys(key_of(now), past[i].key);
        const struct object *o = c < 0 ? now : past[i].was;
        if (c <= 0) {
            now = next_in(m, t, r, &pos);
        }
        if (c >= 0) {
            i++;
        }
        if (o && !each(ctx, o)) {
            return;
        }
    }
}

int mirror_scan_at(const struct mirror *m, const struct kind *k, struct str ns, uint64_t rv,
                   struct str after_ns, struct str after_name,
                   bool (*each)(void *ctx, const struct object *o), void *ctx, struct err *err) {
    const struct table *t = table_find(m, k);
    if (rv < history_start(m, t)) {
        return err_set(err, ERR_EXPIRED,
                       "The provided continue parameter is too old to display a consistent list "
                       "result.");
    }
    if (rv > m->revision) {
        return err_set(err, ERR_BAD_REQUEST, "revision %llu has not been yet",
                       (unsigned long long)rv);
    }
    if (!t) {
        return 0;
    }
    struct range r = {.ns = ns, .after = {.ns = after_ns, .name = after_name}};
    struct past *past;
    size_t n;
    if (collect_past(t, &r, rv, &past, &n) != 0) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    merge(m, t, &r, past, n, each, ctx);
    mem_free(past);
    return 0;
}
