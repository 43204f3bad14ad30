/* oldest: see oldest.h. */
#include "control/kube/oldest.h"

#include <stdlib.h>

struct gathering {
    const struct oldest *how;
    const struct object **v; /* NULL: only counted */
    size_t n;
};

static bool gather(void *ctx, const struct object *o) {
    struct gathering *g = ctx;
    if (!o->deleting_ns && (g->how->counts == NULL || g->how->counts(o))) {
        if (g->v) {
            g->v[g->n] = o;
        }
        g->n++;
    }
    return true;
}

/* Creation is told in seconds; who was written to last in one of them is the younger. */
static int by_age(const void *a, const void *b) {
    const struct object *x = *(const struct object *const *)a;
    const struct object *y = *(const struct object *const *)b;
    if (x->created_ns != y->created_ns) {
        return x->created_ns < y->created_ns ? -1 : 1;
    }
    return x->rv < y->rv ? -1 : x->rv > y->rv;
}

static void remove_one(struct controller *c, struct round *r, const struct oldest *how,
                       const struct object *o) {
    struct arena scratch;
    arena_init(&scratch, 16 << 20);
    if (how->may_go == NULL || how->may_go(&scratch, o)) {
        round_remove(r, o->kind, o->ns, o->name,
                     &(struct delete_options){
                         .uid = o->uid, .rv = o->rv, .grace_seconds = how->grace_seconds});
    }
    arena_release(&scratch);
}

bool oldest_remove(struct controller *c, struct round *r, const struct oldest *how) {
    struct gathering g = {.how = how};
    if (how->keep == 0) {
        return false;
    }
    mirror_scan(c->env.mirror, how->kind, STR(""), gather, &g);
    size_t too_many = g.n > how->keep ? g.n - how->keep : 0;
    g.v = too_many ? ARENA_ARRAY(&c->arena, const struct object *, g.n) : NULL;
    if (g.v == NULL) {
        return false;
    }
    g.n = 0;
    mirror_scan(c->env.mirror, how->kind, STR(""), gather, &g);
    qsort(g.v, g.n, sizeof(*g.v), by_age);
    for (size_t i = 0; i < too_many && i < how->most; i++) {
        remove_one(c, r, how, g.v[i]);
    }
    return too_many > how->most;
}
