/*
 * scan: ordered walks over one kind, now or at a past revision. See mirror.h.
 *
 * The past is the present with history undone: of each key that changed after the revision, the first change
 * says what was there before it. Those keys, in order, are merged with the tree.
 */
#include "base/err.h"
#include "base/heap.h"
#include "base/mem.h"
#include "mirror/mirror_private.h"

struct past {
    const struct past_change *change;
    size_t order; /* in history */
};

static int cmp_keys(struct obj_key a, struct obj_key b) {
    int c = str_cmp(a.ns, b.ns);
    return c ? c : str_cmp(a.name, b.name);
}

static struct obj_key key_of(const struct object *o) {
    return (struct obj_key){.ns = o->ns, .name = o->name};
}

static int cmp_past(const void *x, const void *y, void *ctx) {
    const struct past *a = x, *b = y;
    int c = cmp_keys(key_of(a->change->obj), key_of(b->change->obj));
    return c ? c : (a->order > b->order) - (a->order < b->order);
}

/* Which keys a walk covers: after `after`, and of one namespace unless ns is empty. */
struct scan_range {
    struct str ns;
    struct obj_key after;
};

static bool in_range(const struct scan_range *r, struct obj_key k) {
    return cmp_keys(k, r->after) > 0 && (r->ns.n == 0 || str_eq(k.ns, r->ns));
}

/* The tree's position at the beginning of the range. */
static struct tree_pos seek(const struct mirror_table *t, const struct scan_range *r) {
    struct obj_key from = r->after;
    if (str_cmp(r->ns, from.ns) > 0) {
        from = (struct obj_key){.ns = r->ns};
    }
    return tree_seek(&t->objects, &from);
}

/* The next visible object in the range, or NULL. */
static const struct object *next_in(const struct mirror *m, const struct mirror_table *t,
                                    const struct scan_range *r, struct tree_pos *pos) {
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
    const struct mirror_table *t = table_find(m, k);
    if (t == NULL) {
        return;
    }
    struct scan_range r = {.ns = ns};
    struct tree_pos pos = seek(t, &r);
    const struct object *o;
    while ((o = next_in(m, t, &r, &pos)) && each(ctx, o)) {
    }
}

/* The changes in the range after rv, as a heap: a page needs the first of them only, so they are not sorted. The heap
 * points into *ret_all. */
static int collect_past(const struct mirror_table *t, const struct scan_range *r, uint64_t rv,
                        struct past **ret_all, struct heap *past) {
    size_t from = history_after(&t->history, rv), n = 0;
    struct past *v = mem_array(t->history.n - from, sizeof(*v));
    int code = v ? 0 : ERR_NOMEM;
    for (size_t i = from; i < t->history.n && code == 0; i++) {
        const struct past_change *c = history_at(&t->history, i);
        if (in_range(r, key_of(c->obj))) {
            v[n] = (struct past){.change = c, .order = i};
            code = heap_push(past, &v[n++]);
        }
    }
    *ret_all = v;
    return code;
}

/* The first change of the least key; later ones of that key go with it. NULL: no more. */
static const struct past_change *take_past(struct heap *past) {
    const struct past *first = heap_pop(past), *p;
    while (first && (p = heap_peek(past)) &&
           cmp_keys(key_of(first->change->obj), key_of(p->change->obj)) == 0) {
        (void)heap_pop(past);
    }
    return first ? first->change : NULL;
}

static void merge(const struct mirror *m, const struct mirror_table *t, const struct scan_range *r,
                  struct heap *past, bool (*each)(void *ctx, const struct object *o), void *ctx) {
    struct tree_pos pos = seek(t, r);
    const struct object *now = next_in(m, t, r, &pos);
    const struct past_change *change = take_past(past);
    while (now || change) {
        int c = now == NULL ? 1 : change == NULL ? -1 : cmp_keys(key_of(now), key_of(change->obj));
        const struct object *o = c < 0 ? now : change->old;
        if (c <= 0) {
            now = next_in(m, t, r, &pos);
        }
        if (c >= 0) {
            change = take_past(past);
        }
        if (o && !each(ctx, o)) {
            return;
        }
    }
}

int mirror_scan_at(const struct mirror *m, const struct kind *k, struct str ns, uint64_t rv,
                   struct str after_ns, struct str after_name,
                   bool (*each)(void *ctx, const struct object *o), void *ctx, struct err *err) {
    const struct mirror_table *t = table_find(m, k);
    if (rv < history_start(m, t)) {
        return err_set(err, ERR_EXPIRED,
                       "The provided continue parameter is too old to display a consistent list "
                       "result.");
    }
    if (rv > m->revision) {
        return err_set(err, ERR_BAD_REQUEST, "revision %llu has not been yet",
                       (unsigned long long)rv);
    }
    if (t == NULL) {
        return 0;
    }
    struct scan_range r = {.ns = ns, .after = {.ns = after_ns, .name = after_name}};
    struct heap past;
    struct past *all;
    heap_init(&past, cmp_past, NULL, HEAP_NO_PLACE);
    int code = collect_past(t, &r, rv, &all, &past);
    if (code == 0) {
        merge(m, t, &r, &past, each, ctx);
    }
    heap_release(&past);
    mem_free(all);
    return code ? err_set(err, code, "out of memory") : 0;
}
