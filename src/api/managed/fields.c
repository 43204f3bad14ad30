/* fields: see fields.h. Every operation is one walk over both trees side by side. */
#include "api/managed/fields.h"

#include <stdlib.h>

void fields_reserve(struct arena *a, struct fields *to, size_t n) {
    if (to->cap == 0 && n > 0 && n < UINT32_MAX) {
        to->v = arena_alloc(a, n * sizeof(*to->v));
        to->cap = to->v != NULL ? (uint32_t)n : 0;
    }
}

static bool make_room(struct arena *a, struct fields *to) {
    if (to->n < to->cap) {
        return true;
    }
    uint32_t cap = to->cap == 0 ? 4 : to->cap * 2;
    struct fields *v = arena_alloc(a, cap * sizeof(*v));
    if (v == NULL) {
        return false;
    }
    if (to->n > 0) {
        memcpy(v, to->v, to->n * sizeof(*v));
    }
    to->v = v;
    to->cap = cap;
    return true;
}

void fields_add(struct arena *a, struct fields *to, const struct fields *node) {
    if (fields_empty(node) || !make_room(a, to)) {
        return;
    }
    to->mixed = to->mixed || (to->n > 0 && step_cmp(&to->v[to->n - 1].step, &node->step) >= 0);
    to->v[to->n++] = *node;
}

void fields_add_member(struct arena *a, struct fields *to, struct field_step step) {
    struct fields node = {.step = step, .member = true};
    fields_add(a, to, &node);
}

static int node_cmp(const void *a, const void *b) {
    const struct fields *x = a, *y = b;
    return step_cmp(&x->step, &y->step);
}

void fields_order(struct arena *a, struct fields *f) {
    if (!f->mixed) {
        return;
    }
    f->mixed = false;
    (void)arena_charge(a, 16 * (uint64_t)f->n); /* comparisons of the sort */
    qsort(f->v, f->n, sizeof(*f->v), node_cmp);
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        if (n > 0 && step_cmp(&f->v[n - 1].step, &f->v[i].step) == 0) {
            f->v[n - 1] = fields_union(a, &f->v[n - 1], &f->v[i]);
        } else {
            f->v[n++] = f->v[i];
        }
    }
    f->n = n;
}

const struct fields *fields_find(const struct fields *f, const struct field_step *step) {
    uint32_t lo = 0, hi = f->n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        int c = step_cmp(&f->v[mid].step, step);
        if (c == 0) {
            return &f->v[mid];
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return NULL;
}

bool fields_equal(const struct fields *a, const struct fields *b) {
    if (a->member != b->member || a->n != b->n) {
        return false;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        if (step_cmp(&a->v[i].step, &b->v[i].step) != 0 || !fields_equal(&a->v[i], &b->v[i])) {
            return false;
        }
    }
    return true;
}

/* ---- two at a time ---- */

enum keep { KEEP_X = 1, KEEP_Y = 2 }; /* nodes of one alone that are taken over whole */

typedef bool member_rule(bool x, bool y);

static bool either(bool x, bool y) {
    return x || y;
}
static bool both(bool x, bool y) {
    return x && y;
}
static bool first_alone(bool x, bool y) {
    return x && !y;
}

static struct fields combine(struct arena *a, const struct fields *x, const struct fields *y,
                             member_rule *rule, unsigned keep) {
    struct fields r = {.step = x->step, .member = rule(x->member, y->member)};
    for (uint32_t i = 0, j = 0; (i < x->n || j < y->n) && arena_charge(a, 8);) {
        int c = i == x->n ? 1 : j == y->n ? -1 : step_cmp(&x->v[i].step, &y->v[j].step);
        if (c == 0) {
            struct fields node = combine(a, &x->v[i++], &y->v[j++], rule, keep);
            fields_add(a, &r, &node);
            continue;
        }
        const struct fields *one = c < 0 ? &x->v[i++] : &y->v[j++];
        if ((keep & (c < 0 ? KEEP_X : KEEP_Y)) != 0) {
            fields_add(a, &r, one);
        }
    }
    return r;
}

struct fields fields_union(struct arena *a, const struct fields *x, const struct fields *y) {
    return combine(a, x, y, either, KEEP_X | KEEP_Y);
}

struct fields fields_both(struct arena *a, const struct fields *x, const struct fields *y) {
    return combine(a, x, y, both, 0);
}

struct fields fields_minus(struct arena *a, const struct fields *x, const struct fields *y) {
    return combine(a, x, y, first_alone, KEEP_X);
}

static struct fields pick(struct arena *a, const struct fields *f, const char *name, bool wanted) {
    struct fields r = {.step = f->step};
    for (uint32_t i = 0; i < f->n; i++) {
        const struct field_step *s = &f->v[i].step;
        if ((s->type == STEP_FIELD && str_is(s->text, name)) == wanted) {
            fields_add(a, &r, &f->v[i]);
        }
    }
    return r;
}

struct fields fields_without(struct arena *a, const struct fields *f, const char *name) {
    return pick(a, f, name, false);
}

struct fields fields_only(struct arena *a, const struct fields *f, const char *name) {
    return pick(a, f, name, true);
}

/* ---- to people ---- */

struct path_teller {
    struct arena *arena;
    struct buf path;
    bool (*each)(void *ctx, struct str path);
    void *ctx;
};

static bool tell(struct path_teller *t, const struct fields *f) {
    size_t at = t->path.n;
    bool on = true;
    for (int deep = 0; deep < 2; deep++) {
        for (uint32_t i = 0; i < f->n && on; i++) {
            if (deep ? f->v[i].n == 0 : !f->v[i].member) {
                continue;
            }
            step_write(&f->v[i].step, t->arena, &t->path);
            on =
                deep ? tell(t, &f->v[i]) : t->each(t->ctx, arena_str(t->arena, buf_view(&t->path)));
            t->path.n = at;
        }
    }
    return on;
}

bool fields_each(const struct fields *f, struct arena *a, bool (*each)(void *ctx, struct str path),
                 void *ctx) {
    struct path_teller t = {.arena = a, .each = each, .ctx = ctx};
    buf_init(&t.path, 0);
    bool all = tell(&t, f);
    buf_release(&t.path);
    return all;
}

size_t fields_count(const struct fields *f) {
    size_t n = f->member;
    for (uint32_t i = 0; i < f->n; i++) {
        n += fields_count(&f->v[i]);
    }
    return n;
}
