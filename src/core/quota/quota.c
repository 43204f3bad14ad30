/* quota (core): the quota tree, settled lazily and asked often. */
#include "core/quota/quota.h"

#include <assert.h>

#include "core/quota/shape.h"

enum { DEPTH_MAX = 1000 }; /* nodes above one */

void quota_init(struct quota_forest *f) {
    *f = (struct quota_forest){0};
}

static void node_free(struct quota_node *n) {
    if (n != NULL) {
        mem_free(n->own);
        mem_free(n->cells);
        mem_free(n->lend);
        mem_free((char *)n->parent_name.p);
        mem_free((char *)n->name.p);
        mem_free(n);
    }
}

static void nodes_release(struct map *m) {
    size_t i = 0;
    for (const struct map_entry *e; (e = map_next(m, &i)) != NULL;) {
        node_free(e->value);
    }
    map_release(m);
}

void quota_release(struct quota_forest *f) {
    nodes_release(&f->queues);
    nodes_release(&f->cohorts);
    quota_nodes_release(&f->order);
    quota_journal_release(&f->journal);
}

struct quota_node *quota_find(const struct quota_forest *f, bool queue, struct str name) {
    return map_get(queue ? &f->queues : &f->cohorts, name);
}

static struct quota_node *node_new(struct quota_forest *f, bool queue, struct str name) {
    struct quota_node *n = mem_zalloc(sizeof(*n));
    if (n == NULL) {
        return NULL;
    }
    n->queue = queue;
    n->redrawn = true;
    n->weight = 1;
    n->name = (struct str){mem_cstr(name), name.n};
    if (n->name.p == NULL || map_put(queue ? &f->queues : &f->cohorts, n->name, n, NULL) != 0) {
        node_free(n);
        return NULL;
    }
    return n;
}

static int limits_cmp(const void *a, const void *b) {
    uint32_t x = ((const struct quota_limits *)a)->pair, y = ((const struct quota_limits *)b)->pair;
    return (x > y) - (x < y);
}

/* The cells of a node: what its spec offers, and what `more` (sorted) adds with nothing of its own. Usage is carried
 * over for queues, whose usage is the truth; cohorts are summed later. */
static int cells_build(struct quota_node *n, const uint32_t *more, size_t n_more) {
    struct quota_cell *cells =
        mem_array(n->n_own + n_more + (n->queue ? n->n_cells : 0) + 1, sizeof(*cells));
    if (cells == NULL) {
        return ERR_NOMEM;
    }
    size_t i = 0, j = 0, k = 0, at = 0;
    for (;;) {
        while (k < n->n_cells && (!n->queue || n->cells[k].usage == 0)) {
            k++; /* an old cell is kept for its usage only */
        }
        uint32_t next = UINT32_MAX;
        next = i < n->n_own && n->own[i].pair < next ? n->own[i].pair : next;
        next = j < n_more && more[j] < next ? more[j] : next;
        next = k < n->n_cells && n->cells[k].q.pair < next ? n->cells[k].q.pair : next;
        if (next == UINT32_MAX) {
            break;
        }
        struct quota_cell *c = &cells[at++];
        *c = (struct quota_cell){
            .q = {.pair = next, .borrowing = AMOUNT_NONE, .lending = AMOUNT_NONE}, .node = n};
        if (i < n->n_own && n->own[i].pair == next) {
            c->q = n->own[i++];
            c->offered = true;
        }
        if (k < n->n_cells && n->cells[k].q.pair == next) {
            c->usage = n->cells[k++].usage;
        }
        while (j < n_more && more[j] == next) {
            j++;
        }
    }
    mem_free(n->cells);
    n->cells = cells;
    n->n_cells = at;
    return 0;
}

/* ---- edits ---- */

static void list_add(struct quota_forest *f, enum quota_list k, struct quota_node *n) {
    if (n->list[k].in) {
        return;
    }
    n->list[k].in = true;
    n->list[k].prev = NULL;
    n->list[k].next = f->first[k];
    if (f->first[k] != NULL) {
        f->first[k]->list[k].prev = n;
    }
    f->first[k] = n;
}

static void list_del(struct quota_forest *f, enum quota_list k, struct quota_node *n) {
    struct quota_node *next = n->list[k].next, *prev = n->list[k].prev;
    if (!n->list[k].in) {
        return;
    }
    *(prev != NULL ? &prev->list[k].next : &f->first[k]) = next;
    if (next != NULL) {
        next->list[k].prev = prev;
    }
    n->list[k].next = n->list[k].prev = NULL;
    n->list[k].in = false;
}

void quota_touch(struct quota_forest *f, struct quota_node *n) {
    f->dirty = true;
    n->stale = true;
    if (n->root != NULL) {
        n->root->stale = true;
    }
    list_add(f, QUOTA_EDITED, n);
}

struct quota_node *quota_fresh(struct quota_forest *f) {
    struct quota_node *n = f->first[QUOTA_FRESH];
    if (n != NULL) {
        list_del(f, QUOTA_FRESH, n);
    }
    return n;
}

void quota_touch_all(struct quota_forest *f) {
    struct map *maps[] = {&f->cohorts, &f->queues};
    for (size_t m = 0; m < 2; m++) {
        size_t i = 0;
        for (const struct map_entry *e; (e = map_next(maps[m], &i)) != NULL;) {
            quota_touch(f, e->value);
        }
    }
}

/* Both trees are stale: the one it leaves and the one it comes to. */
static void above_set(struct quota_forest *f, struct quota_node *n, struct quota_node *above) {
    quota_touch(f, n);
    /* A cohort that is only named ends when its last child leaves, and begins anew when it comes back: so does Kueue
     * with a queue that is put again, alone in one. */
    bool alone = above != NULL && !above->declared && above->below == n && n->beside == NULL;
    if (n->above != above || alone) {
        n->redrawn = true;
        if (n->above != NULL) {
            n->above->redrawn = true;
        }
    }
    if (n->above != NULL) {
        quota_touch(f, n->above);
        *(n->beside_prev != NULL ? &n->beside_prev->beside : &n->above->below) = n->beside;
        if (n->beside != NULL) {
            n->beside->beside_prev = n->beside_prev;
        }
    }
    n->above = above;
    n->beside = n->beside_prev = NULL;
    if (above != NULL) {
        quota_touch(f, above);
        n->beside = above->below;
        if (n->beside != NULL) {
            n->beside->beside_prev = n;
        }
        above->below = n;
    }
}

/* The cohort of this name: named is enough to exist. NULL: out of memory. */
static struct quota_node *cohort_named(struct quota_forest *f, struct str name) {
    struct quota_node *n = quota_find(f, false, name);
    n = n != NULL ? n : node_new(f, false, name);
    if (n != NULL) {
        quota_touch(f, n); /* forgotten again when nobody comes to it */
    }
    return n;
}

/* Both sorted by pair. */
static bool limits_same(const struct quota_node *n, const struct quota_limits *v, size_t count) {
    bool same = n->n_own == count;
    for (size_t i = 0; same && i < count; i++) {
        const struct quota_limits *x = &n->own[i];
        same = x->pair == v[i].pair && x->nominal == v[i].nominal &&
               x->borrowing == v[i].borrowing && x->lending == v[i].lending;
    }
    return same;
}

int quota_put(struct quota_forest *f, bool queue, struct str name, struct str parent, bool active,
              const struct quota_limits *limits, size_t n, struct quota_node **ret) {
    assert(f->trial == 0);
    struct quota_limits *own = mem_array(n, sizeof(*own));
    char *up = mem_cstr(parent);
    struct quota_node *above = NULL, *node = quota_find(f, queue, name);
    bool ok = own != NULL && up != NULL;
    if (ok && !str_empty(parent)) {
        above = cohort_named(f, parent);
        ok = above != NULL;
        node = queue ? node : quota_find(f, queue, name); /* a cohort may name itself */
    }
    if (ok && node == NULL) {
        node = node_new(f, queue, name);
        ok = node != NULL;
    }
    if (!ok) {
        mem_free(own);
        mem_free(up);
        return ERR_NOMEM;
    }
    if (n > 0) {
        memcpy(own, limits, n * sizeof(*own));
        qsort(own, n, sizeof(*own), limits_cmp);
    }
    node->redrawn = node->redrawn || !queue || !limits_same(node, own, n);
    mem_free(node->own);
    mem_free((char *)node->parent_name.p);
    node->own = own;
    node->n_own = n;
    node->parent_name = (struct str){up, parent.n};
    node->active = active;
    node->declared = true;
    above_set(f, node, above);
    *ret = node;
    return 0;
}

static void node_drop(struct quota_forest *f, struct quota_node *n) {
    above_set(f, n, NULL);
    list_del(f, QUOTA_EDITED, n);
    list_del(f, QUOTA_FRESH, n);
    map_del(n->queue ? &f->queues : &f->cohorts, n->name);
    node_free(n);
}

void quota_del(struct quota_forest *f, struct quota_node *n) {
    assert(f->trial == 0);
    if (!n->queue) {
        n->declared = false; /* settle forgets it when nobody names it */
        n->redrawn = true;
        n->n_own = 0;
        n->weight = 1;
        mem_free((char *)n->parent_name.p);
        n->parent_name = (struct str){0};
        above_set(f, n, NULL);
        return;
    }
    f->order.n = 0;
    node_drop(f, n);
}

struct quota_cell *quota_cell_of(const struct quota_node *n, uint32_t pair) {
    size_t lo = 0, hi = n->n_cells;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (n->cells[mid].q.pair < pair) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < n->n_cells && n->cells[lo].q.pair == pair ? &n->cells[lo] : NULL;
}

int quota_hold(struct quota_forest *f, struct quota_node *queue, uint32_t pair, int64_t v) {
    if (quota_cell_of(queue, pair) == NULL) {
        int r = cells_build(queue, &pair, 1);
        if (r != 0) {
            return r;
        }
        quota_touch(f, queue);
    }
    return quota_use(f, quota_cell_of(queue, pair), v);
}

/* ---- settling ---- */

/* All that hang together with it, by name: downwards from the highest above it, or from a node of its cycle. */
static void gather_tree(struct quota_forest *f, struct quota_node *n) {
    if (n->gathered) {
        return;
    }
    f->stamp++;
    for (; n->above != NULL && n->stamp != f->stamp; n = n->above) {
        n->stamp = f->stamp;
    }
    size_t i = f->order.n;
    n->gathered = true;
    f->order.v[f->order.n++] = n;
    for (; i < f->order.n; i++) {
        for (n = f->order.v[i]->below; n != NULL; n = n->beside) {
            if (!n->gathered) {
                n->gathered = true;
                f->order.v[f->order.n++] = n;
            }
        }
    }
}

/* The trees that edits are in; without implicit cohorts that nobody names any more, which are forgotten. */
static int gather(struct quota_forest *f) {
    f->order.n = 0;
    if (quota_nodes_room(&f->order, map_count(&f->cohorts) + map_count(&f->queues)) != 0) {
        return ERR_NOMEM;
    }
    for (struct quota_node *n = f->first[QUOTA_EDITED]; n != NULL; n = n->list[QUOTA_EDITED].next) {
        gather_tree(f, n);
    }
    for (size_t i = 0; i < f->order.n; i++) {
        struct quota_node *n = f->order.v[i];
        n->gathered = false;
        n->stale = true;
        n->root = NULL; /* it may be forgotten below */
    }
    size_t kept = 0;
    for (size_t i = 0; i < f->order.n; i++) {
        struct quota_node *n = f->order.v[i];
        if (!n->queue && !n->declared && n->below == NULL) {
            node_drop(f, n);
        } else {
            f->order.v[kept++] = n;
        }
    }
    f->order.n = kept;
    return 0;
}

static uint32_t depth_of(const struct quota_node *n) {
    uint32_t d = 0;
    for (; n->parent != NULL && d <= DEPTH_MAX; n = n->parent) {
        d++;
    }
    return d;
}

static int deeper_first(const void *a, const void *b) {
    const struct quota_node *x = *(struct quota_node *const *)a;
    const struct quota_node *y = *(struct quota_node *const *)b;
    if (x->depth != y->depth) {
        return x->depth > y->depth ? -1 : 1;
    }
    if (x->queue != y->queue) {
        return x->queue ? -1 : 1;
    }
    return str_cmp(x->name, y->name);
}

static void order_all(struct quota_forest *f) {
    for (size_t i = 0; i < f->order.n; i++) {
        struct quota_node *n = f->order.v[i];
        n->parent = n->above;
        n->height = 0;
    }
    for (size_t i = 0; i < f->order.n; i++) {
        struct quota_node *n = f->order.v[i];
        n->depth = depth_of(n);
        n->apart = n->depth > DEPTH_MAX; /* in a cycle, or under one */
    }
    for (size_t i = 0; i < f->order.n; i++) {
        struct quota_node *n = f->order.v[i];
        if (n->apart) {
            n->parent = NULL;
            n->depth = 0;
        }
    }
    if (f->order.n > 0) {
        qsort(f->order.v, f->order.n, sizeof(*f->order.v), deeper_first);
    }
}

VEC(pair_vec, uint32_t);

static int pair_cmp(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Children's pairs, gathered at the parent while walking up: one list per node, in the order of `order`. */
static int build_all(struct quota_forest *f, struct pair_vec *wanted) {
    for (size_t i = 0; i < f->order.n; i++) {
        f->order.v[i]->n_children =
            (uint32_t)i; /* its place in `wanted`, until counted again below */
    }
    for (size_t i = 0; i < f->order.n; i++) {
        struct quota_node *n = f->order.v[i];
        if (wanted[i].n > 0) {
            qsort(wanted[i].v, wanted[i].n, sizeof(uint32_t), pair_cmp);
        }
        if (cells_build(n, wanted[i].v, wanted[i].n) != 0) {
            return ERR_NOMEM;
        }
        for (size_t k = 0; n->parent != NULL && k < n->n_cells; k++) {
            if (pair_vec_push(&wanted[n->parent->n_children], n->cells[k].q.pair) != 0) {
                return ERR_NOMEM;
            }
        }
    }
    return 0;
}

static void sum_all(struct quota_forest *f) {
    for (size_t i = 0; i < f->order.n; i++) {
        f->order.v[i]->n_children = 0;
        for (size_t k = 0; k < f->order.v[i]->n_cells; k++) {
            struct quota_cell *c = &f->order.v[i]->cells[k];
            c->subtree = c->q.nominal;
            c->up = NULL;
            c->usage = f->order.v[i]->queue ? c->usage : 0;
        }
    }
    for (size_t i = 0; i < f->order.n; i++) {
        struct quota_node *n = f->order.v[i];
        struct quota_node *p = n->parent;
        if (p == NULL) {
            continue;
        }
        if (!n->queue || n->active) { /* one that is stopped is no step towards quota */
            p->n_children++;
            p->height = p->height > n->height + 1 ? p->height : n->height + 1;
        }
        for (size_t k = 0; k < n->n_cells; k++) {
            struct quota_cell *c = &n->cells[k];
            c->up = quota_cell_of(p, c->q.pair);
            int64_t local = quota_local(c);
            c->up->subtree = amount_add(c->up->subtree, amount_sub(c->subtree, local));
            c->up->usage = amount_add(c->up->usage, amount_max(0, amount_sub(c->usage, local)));
        }
    }
}

static void over_link(struct quota_cell *c) {
    struct quota_cell *up = c->up;
    c->over_prev = NULL;
    c->over_next = up->over_first;
    if (c->over_next != NULL) {
        c->over_next->over_prev = c;
    }
    up->over_first = c;
    c->over = true;
}

static void over_unlink(struct quota_cell *c) {
    *(c->over_prev != NULL ? &c->over_prev->over_next : &c->up->over_first) = c->over_next;
    if (c->over_next != NULL) {
        c->over_next->over_prev = c->over_prev;
    }
    c->over_prev = c->over_next = NULL;
    c->over = false;
}

static void over_check(struct quota_cell *c) {
    bool over = c->up != NULL && c->usage > c->subtree;
    if (over != c->over) {
        over ? over_link(c) : over_unlink(c);
    }
}

static void over_all(struct quota_forest *f) {
    for (size_t i = 0; i < f->order.n; i++) {
        for (size_t k = 0; k < f->order.v[i]->n_cells; k++) {
            over_check(&f->order.v[i]->cells[k]);
        }
    }
}

/* Not every node on the way has a cell of the pair: one without limits hands through. */
static int64_t potential_at(const struct quota_node *n, uint32_t pair) {
    for (; n != NULL; n = n->parent) {
        const struct quota_cell *c = quota_cell_of(n, pair);
        if (c != NULL) {
            return quota_potential(c);
        }
    }
    return 0;
}

static struct quota_lend *lend_slot(struct quota_node *n, uint32_t resource) {
    size_t i = 0;
    while (i < n->n_lend && n->lend[i].resource < resource) {
        i++;
    }
    if (i == n->n_lend || n->lend[i].resource != resource) {
        memmove(&n->lend[i + 1], &n->lend[i], (n->n_lend - i) * sizeof(*n->lend));
        n->lend[i] = (struct quota_lend){.resource = resource};
        n->n_lend++;
    }
    return &n->lend[i];
}

static int lend_all(struct quota_forest *f) {
    for (size_t i = 0; i < f->order.n; i++) {
        struct quota_node *n = f->order.v[i];
        if (n->queue) {
            continue;
        }
        struct quota_lend *lend = mem_array(n->root->n_cells + 1, sizeof(*lend));
        if (lend == NULL) {
            return ERR_NOMEM;
        }
        mem_free(n->lend);
        n->lend = lend;
        n->n_lend = 0;
        for (size_t k = 0; k < n->root->n_cells; k++) {
            uint32_t pair = n->root->cells[k].q.pair;
            struct quota_lend *l = lend_slot(n, pair & 0xffff);
            l->v = amount_add(l->v, potential_at(n, pair));
        }
    }
    return 0;
}

/* Roots come last in `order`, so going backwards each parent is known before its children. */
static void root_all(struct quota_forest *f) {
    for (size_t i = 0; i < f->order.n; i++) {
        f->order.v[i]->tree_first = NULL;
    }
    for (size_t i = f->order.n; i > 0; i--) {
        struct quota_node *n = f->order.v[i - 1];
        n->root = n->parent != NULL ? n->parent->root : n;
        n->root->redrawn = n->root->redrawn || n->redrawn;
        n->redrawn = n == n->root && n->redrawn;
        if (n->queue) {
            n->tree_next = n->root->tree_first;
            n->root->tree_first = n;
        }
    }
}

static int build(struct quota_forest *f) {
    struct pair_vec *wanted = mem_array(f->order.n, sizeof(*wanted));
    if (wanted == NULL) {
        return ERR_NOMEM;
    }
    int r = build_all(f, wanted);
    for (size_t i = 0; i < f->order.n; i++) {
        pair_vec_release(&wanted[i]);
    }
    mem_free(wanted);
    return r;
}

int quota_settle(struct quota_forest *f) {
    if (!f->dirty) {
        return 0;
    }
    assert(f->trial == 0);
    if (gather(f) != 0) {
        return ERR_NOMEM;
    }
    order_all(f);
    int r = f->order.n > 0 ? build(f) : 0;
    if (r != 0) {
        return r;
    }
    sum_all(f);
    root_all(f);
    over_all(f);
    r = lend_all(f);
    if (r != 0) {
        return r;
    }
    for (size_t i = f->order.n; i > 0; i--) {
        f->order.v[i - 1]->stale = false;
        list_add(f, QUOTA_FRESH, f->order.v[i - 1]);
    }
    while (f->first[QUOTA_EDITED] != NULL) {
        list_del(f, QUOTA_EDITED, f->first[QUOTA_EDITED]);
    }
    f->built += f->order.n;
    f->dirty = false;
    return 0;
}

static bool has(const struct quota_nodes *v, const struct quota_node *n) {
    size_t i = 0;
    while (i < v->n && v->v[i] != n) {
        i++;
    }
    return i < v->n;
}

int quota_nodes_of(const struct quota_forest *f, const struct quota_nodes *roots,
                   struct quota_nodes *out) {
    const struct map *maps[] = {&f->cohorts, &f->queues};
    out->n = 0;
    for (size_t m = 0; m < 2; m++) {
        size_t i = 0;
        for (const struct map_entry *e; (e = map_next(maps[m], &i)) != NULL;) {
            struct quota_node *n = e->value;
            if ((roots == NULL || has(roots, n->root)) && quota_nodes_push(out, n) != 0) {
                return ERR_NOMEM;
            }
        }
    }
    if (out->n > 0) {
        qsort(out->v, out->n, sizeof(*out->v), deeper_first);
    }
    return 0;
}

/* ---- questions ---- */

int64_t quota_local(const struct quota_cell *c) {
    return c->q.lending == AMOUNT_NONE ? 0 : amount_max(0, amount_sub(c->subtree, c->q.lending));
}

int64_t quota_local_available(const struct quota_cell *c) {
    return amount_max(0, amount_sub(quota_local(c), c->usage));
}

int64_t quota_available(const struct quota_cell *c) {
    if (c->up == NULL) {
        return amount_sub(c->subtree, c->usage);
    }
    int64_t p = quota_available(c->up);
    if (c->q.borrowing != AMOUNT_NONE) {
        int64_t local = quota_local(c);
        int64_t stored = amount_sub(c->subtree, local);
        int64_t used = amount_max(0, amount_sub(c->usage, local));
        p = amount_min(p, amount_add(amount_sub(stored, used), c->q.borrowing));
    }
    return amount_add(quota_local_available(c), p);
}

int64_t quota_potential(const struct quota_cell *c) {
    if (c->up == NULL) {
        return c->subtree;
    }
    int64_t a = amount_add(quota_local(c), quota_potential(c->up));
    return c->q.borrowing == AMOUNT_NONE ? a
                                         : amount_min(amount_add(c->subtree, c->q.borrowing), a);
}

bool quota_borrows_with(const struct quota_cell *c, int64_t v) {
    return c->subtree < amount_add(c->usage, v); /* a queue's subtree is its nominal quota */
}

bool quota_own_room(const struct quota_cell **cells, int64_t *rest, size_t n) {
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        fits = fits && !quota_borrows_with(cells[i], rest[i]);
        rest[i] = amount_max(0, amount_sub(rest[i], quota_local_available(cells[i])));
        cells[i] = cells[i]->up;
    }
    return fits;
}

uint32_t quota_lowest_fit(const struct quota_cell *c, int64_t v, bool *ret_smaller) {
    if (!quota_borrows_with(c, v) || c->up == NULL) {
        *ret_smaller = c->up != NULL;
        return 0;
    }
    int64_t rem = amount_sub(v, quota_local_available(c));
    const struct quota_cell *a = c->up;
    for (;; a = a->up) {
        if (!quota_borrows_with(a, rem)) {
            *ret_smaller = a->up != NULL;
            return a->node->height;
        }
        rem = amount_sub(rem, quota_local_available(a));
        if (a->up == NULL) {
            *ret_smaller = false;
            return a->node->height;
        }
    }
}

/* ---- the one mutator ---- */

static void cell_set(struct quota_forest *f, struct quota_cell *c, int64_t usage) {
    if (f->trial > 0) {
        f->journal.v[f->journal.n++] = (struct quota_entry){c, c->usage};
    }
    c->usage = usage;
    if (!f->dirty || !quota_stale(c->node)) {
        over_check(c);
    }
}

int quota_use(struct quota_forest *f, struct quota_cell *c, int64_t v) {
    if (f->trial > 0 && quota_journal_room(&f->journal, DEPTH_MAX + 1) != 0) {
        return ERR_NOMEM;
    }
    if (f->dirty && quota_stale(c->node)) { /* sums come later; links may be stale */
        cell_set(f, c, amount_add(c->usage, v));
        return 0;
    }
    while (c != NULL && v != 0) {
        int64_t up = v;
        if (v > 0) {
            up = amount_max(0, amount_sub(v, quota_local_available(c)));
        } else {
            int64_t stored = amount_sub(c->usage, quota_local(c));
            up = stored > 0 ? -amount_min(-v, stored) : 0;
        }
        cell_set(f, c, amount_add(c->usage, v));
        v = up;
        c = c->up;
    }
    return 0;
}

size_t quota_mark(struct quota_forest *f) {
    f->trial++;
    return f->journal.n;
}

void quota_undo(struct quota_forest *f, size_t mark) {
    assert(f->trial > 0 && mark <= f->journal.n);
    while (f->journal.n > mark) {
        struct quota_entry *e = &f->journal.v[--f->journal.n];
        e->cell->usage = e->usage;
        if (!f->dirty || !quota_stale(e->cell->node)) {
            over_check(e->cell);
        }
    }
    f->trial--;
}

void quota_keep(struct quota_forest *f) {
    f->journal.n = 0;
    f->trial = 0;
}

int64_t quota_lendable(const struct quota_node *cohort, uint32_t resource) {
    for (size_t i = 0; i < cohort->n_lend; i++) {
        if (cohort->lend[i].resource == resource) {
            return cohort->lend[i].v;
        }
    }
    return 0;
}

uint64_t quota_digest(const struct quota_forest *f) {
    const struct map *maps[] = {&f->cohorts, &f->queues};
    uint64_t sum = 0;
    for (size_t m = 0; m < 2; m++) {
        size_t i = 0;
        for (const struct map_entry *e; (e = map_next(maps[m], &i)) != NULL;) {
            const struct quota_node *n = e->value;
            uint64_t h = hash_str(m, n->name);
            for (size_t k = 0; k < n->n_cells; k++) {
                const struct quota_cell *c = &n->cells[k];
                if (c->usage !=
                    0) { /* a cell that nothing uses may be gone after the next settling */
                    sum += hash_mix(hash_mix(h, c->q.pair), (uint64_t)c->usage);
                }
            }
        }
    }
    return sum;
}
