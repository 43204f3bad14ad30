/*
 * feed: delivers committed changes to watchers and controllers. See mirror.h.
 *
 * A feed may be made or freed inside a delivery. A new one is appended and starts with the next change
 * (`after`); a freed one is marked dead and unlinked when the outermost delivery is over, so that a walk over
 * the list never loses its place.
 */
#include "base/mem.h"
#include "mirror/mirror_private.h"

struct feed *mirror_feed(struct mirror *m, const struct kind *k,
                         void (*each)(void *ctx, const struct change *c), void *ctx) {
    struct mirror_table *t = k ? table_get(m, k) : NULL;
    struct feed *f = k && t == NULL ? NULL : mem_alloc(sizeof(*f));
    if (f == NULL) {
        return NULL;
    }
    struct feed_list *list = t ? &t->feeds : &m->feeds;
    *f = (struct feed){
        .m = m, .list = list, .prev = list->last, .each = each, .ctx = ctx, .after = m->changes};
    *(list->last ? &list->last->next : &list->first) = f;
    list->last = f;
    return f;
}

static void unlink_and_free(struct feed *f) {
    *(f->prev ? &f->prev->next : &f->list->first) = f->next;
    *(f->next ? &f->next->prev : &f->list->last) = f->prev;
    mem_free(f);
}

void feed_free(struct feed *f) {
    if (f == NULL) {
        return;
    }
    if (f->m->delivering > 0) {
        f->dead = true;
        f->next_dead = f->m->dead;
        f->m->dead = f;
    } else {
        unlink_and_free(f);
    }
}

static void deliver(struct mirror *m, const struct feed_list *list, const struct change *c) {
    for (struct feed *f = list->first; f; f = f->next) {
        if (!f->dead && f->after < m->changes) {
            f->each(f->ctx, c);
        }
    }
}

void feeds_deliver(struct mirror *m, struct mirror_table *t, const struct change *c) {
    m->delivering++;
    deliver(m, &m->feeds, c);
    deliver(m, &t->feeds, c);
    m->delivering--;
    while (m->delivering == 0 && m->dead) {
        struct feed *f = m->dead;
        m->dead = f->next_dead;
        unlink_and_free(f);
    }
}

void feeds_release(struct feed_list *list) {
    for (struct feed *f = list->first, *next; f; f = next) {
        next = f->next;
        mem_free(f);
    }
    *list = (struct feed_list){0};
}
