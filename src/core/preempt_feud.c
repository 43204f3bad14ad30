/*
 * preempt_feud (core): who evicted whom, so that no two evict each other for ever. See preempt.h.
 *
 * A graph by uid: an edge from each victim to its preemptor. A search marks all that the asker lost to by
 * following the edges from it; those are no candidates. An eviction therefore never closes a circle.
 */
#include "core/preempt_private.h"

enum {
    FEUDS_MAX = 100000
}; /* beyond it all is forgotten: evictions may repeat then, nothing worse */

static void feud_free(struct feud *f) {
    feud_vec_release(&f->lost_to);
    mem_free(f);
}

void feuds_release(struct preempt_scratch *m) {
    size_t i = 0;
    for (const struct map_entry *x; (x = map_next(&m->feuds, &i)) != NULL;) {
        feud_free(x->value);
    }
    map_release(&m->feuds);
    while (m->dead != NULL) {
        struct feud *f = m->dead;
        m->dead = f->next;
        feud_free(f);
    }
    m->n_dead = 0;
}

static struct feud *feud_get(struct preempt_scratch *m, struct str uid) {
    struct feud *f = map_get(&m->feuds, uid);
    if (f != NULL) {
        return f;
    }
    f = mem_zalloc(sizeof(*f) + uid.n);
    if (f == NULL) {
        return NULL;
    }
    if (uid.n > 0) {
        memcpy(f + 1, uid.p, uid.n);
    }
    f->uid = str_from((const char *)(f + 1), uid.n);
    if (map_put(&m->feuds, f->uid, f, NULL) != 0) {
        mem_free(f);
        return NULL;
    }
    return f;
}

/* What was true of another tree, or of too many, is forgotten. */
static void feuds_age(struct engine *e, struct preempt_scratch *m) {
    if (m->feuds_edits != e->forest.edits || map_count(&m->feuds) + m->n_dead > FEUDS_MAX) {
        feuds_release(m);
        m->feuds_edits = e->forest.edits;
    }
}

static bool has_edge(const struct feud *f, const struct feud *to) {
    for (size_t i = 0; i < f->lost_to.n; i++) {
        if (f->lost_to.v[i] == to) {
            return true;
        }
    }
    return false;
}

int preempt_issued(struct engine *e, const struct engine_workload *w, const struct victim *v,
                   size_t n) {
    if (!e->o.break_alternation) {
        return 0;
    }
    struct preempt_scratch *m = scratch_of(e);
    if (m == NULL) {
        return ERR_NOMEM;
    }
    feuds_age(e, m);
    struct feud *winner = feud_get(m, w->uid);
    for (size_t i = 0; i < n && winner != NULL; i++) {
        struct feud *loser = v[i].w->evicting ? NULL : feud_get(m, v[i].w->uid);
        if (v[i].w->evicting) {
            continue;
        }
        if (loser == NULL ||
            (!has_edge(loser, winner) && feud_vec_push(&loser->lost_to, winner) != 0)) {
            return ERR_NOMEM;
        }
    }
    return winner != NULL ? 0 : ERR_NOMEM;
}

void preempt_forget(struct engine *e, struct str uid) {
    struct feud *gone = e->scratch != NULL ? map_get(&e->scratch->feuds, uid) : NULL;
    if (gone == NULL) {
        return;
    }
    map_del(&e->scratch->feuds, gone->uid); /* edges to it stay, and lead nowhere */
    gone->lost_to.n = 0;
    gone->next = e->scratch->dead;
    e->scratch->dead = gone;
    e->scratch->n_dead++;
}

bool preempt_refused(const struct engine *e) {
    return e->scratch != NULL && e->scratch->refused;
}

int feuds_begin(struct search *s) {
    struct preempt_scratch *m = s->m;
    m->refused = false;
    if (!s->e->o.break_alternation) {
        return 0;
    }
    feuds_age(s->e, m);
    struct feud *asker = map_get(&m->feuds, s->ask->w->uid);
    if (asker == NULL || asker->lost_to.n == 0) {
        return 0;
    }
    size_t n = 0, at = 0;
    struct feud **open = ARENA_ARRAY(&m->memory, struct feud *, map_count(&m->feuds) + m->n_dead);
    if (open == NULL) {
        return ERR_NOMEM;
    }
    asker->stamp = ++m->feuds_stamp;
    open[n++] = asker;
    while (at < n) {
        const struct feud *f = open[at++];
        for (size_t i = 0; i < f->lost_to.n; i++) {
            struct feud *to = f->lost_to.v[i];
            if (to->stamp != m->feuds_stamp) {
                to->stamp = m->feuds_stamp;
                open[n++] = to;
            }
        }
    }
    s->feud = true;
    return 0;
}

bool feud_spares(const struct search *s, const struct engine_workload *w) {
    const struct feud *f = map_get(&s->m->feuds, w->uid);
    return f != NULL && f->stamp == s->m->feuds_stamp;
}
