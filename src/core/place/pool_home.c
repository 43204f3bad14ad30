/* pool_home (core): seats by their node, in the order in which they came: a node that changes looks at its own. */
#include "core/place/pool_private.h"

int home_join(struct pool *p, struct seat *s) {
    struct seat_home *h = map_get(&p->homes, s->node);
    if (h == NULL) {
        h = mem_zalloc(sizeof(*h) + s->node.n);
        if (h == NULL) {
            return ERR_NOMEM;
        }
        if (s->node.n > 0) {
            memcpy(h + 1, s->node.p, s->node.n);
        }
        h->node = str_from((const char *)(h + 1), s->node.n);
        if (map_put(&p->homes, h->node, h, NULL) != 0) {
            mem_free(h);
            return ERR_NOMEM;
        }
    }
    s->home_prev = h->last;
    *(h->last != NULL ? &h->last->home_next : &h->first) = s;
    h->last = s;
    return 0;
}

void home_leave(struct pool *p, struct seat *s) {
    struct seat_home *h = map_get(&p->homes, s->node);
    *(s->home_prev != NULL ? &s->home_prev->home_next : &h->first) = s->home_next;
    *(s->home_next != NULL ? &s->home_next->home_prev : &h->last) = s->home_prev;
    s->home_prev = s->home_next = NULL;
    if (h->first == NULL) {
        map_del(&p->homes, h->node);
        mem_free(h);
    }
}

struct seat *home_first(const struct pool *p, struct str node) {
    const struct seat_home *h = map_get(&p->homes, node);
    return h != NULL ? h->first : NULL;
}

void homes_free(struct pool *p) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&p->homes, &i)) != NULL;) {
        mem_free(m->value);
    }
    map_release(&p->homes);
}
