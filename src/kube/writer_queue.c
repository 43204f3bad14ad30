/*
 * writer_queue: which write is sent next. See writer.h.
 *
 * A write is ready when nothing of the same object is before it; the others stand in their object's line. A line whose
 * last comer is more urgent than the one in front makes that one more urgent too, or it would wait for it.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "kube/writer_private.h"

enum { LINES_KEPT = 1023 };

void list_push(struct pending_list *l, struct pending *p) {
    p->next = NULL;
    p->prev = l->last;
    *(l->last ? &l->last->next : &l->first) = p;
    l->last = p;
    l->n++;
}

void list_remove(struct pending_list *l, struct pending *p) {
    *(p->prev ? &p->prev->next : &l->first) = p->next;
    *(p->next ? &p->next->prev : &l->last) = p->prev;
    p->next = p->prev = NULL;
    l->n--;
}

enum urgency urgency_of(const struct kind *k, const char *subresource) {
    static const struct {
        const char *group, *kind, *subresource;
        enum urgency urgency;
    } rows[] = {
        {"kueue.x-k8s.io", "Workload", "status", URGENT},
        {"kueue.x-k8s.io", "ClusterQueue", "status", COUNTERS},
        {"kueue.x-k8s.io", "LocalQueue", "status", COUNTERS},
        {"kueue.x-k8s.io", "Cohort", "status", COUNTERS},
        {"", "Event", "", EVENTS},
        {"events.k8s.io", "Event", "", EVENTS},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (strcmp(rows[i].kind, k->kind) == 0 && strcmp(rows[i].group, k->group) == 0 &&
            strcmp(rows[i].subresource, subresource ? subresource : "") == 0) {
            return rows[i].urgency;
        }
    }
    return NORMAL;
}

void pending_free(struct pending *p) {
    if (p == NULL) {
        return;
    }
    for (struct listener *l = p->others, *next; l; l = next) {
        next = l->next;
        mem_free(l);
    }
    mem_free(p->path);
    mem_free(p->early);
    mem_free(p);
}

/* ---- lines ---- */

static uint64_t line_hash(const struct pending *p) {
    return pset_hash(pset_hash(pset_hash_ptr(p->kind), p->ns.p, p->ns.n), p->name.p, p->name.n);
}

static struct line *line_find(const struct write_queue *q, const struct pending *p, uint64_t hash) {
    struct line *l;
    for (size_t i = pset_first(&q->lines, hash); (l = pset_next(&q->lines, hash, &i));) {
        if (l->kind == p->kind && str_eq(l->name, p->name) && str_eq(l->ns, p->ns)) {
            return l;
        }
    }
    return NULL;
}

static struct line *line_get(struct write_queue *q, const struct pending *p) {
    uint64_t hash = line_hash(p);
    struct line *l = line_find(q, p, hash);
    if (l) {
        return l;
    }
    l = mem_alloc(sizeof(*l) + p->ns.n + p->name.n);
    if (l == NULL) {
        return NULL;
    }
    *l = (struct line){.kind = p->kind, .hash = hash};
    memcpy(l->text, p->name.p, p->name.n);
    l->name = str_from(l->text, p->name.n);
    l->ns = str_from(l->text + p->name.n, p->ns.n);
    if (p->ns.n) {
        memcpy(l->text + p->name.n, p->ns.p, p->ns.n);
    }
    if (pset_add(&q->lines, hash, l) != 0) {
        mem_free(l);
        return NULL;
    }
    return l;
}

static void line_push(struct line *l, struct pending *p) {
    p->line = l;
    p->ns = l->ns;
    p->name = l->name;
    *(l->last ? &l->last->after : &l->first) = p;
    l->last = p;
}

static void ready(struct write_queue *q, struct pending *p) {
    list_push(&q->ready[p->urgency], p);
}

/* Nothing in front of an urgent write may be less so. */
static void hurry(struct write_queue *q, struct line *l, enum urgency u) {
    for (struct pending *p = l->first; p; p = p->after) {
        if (p->urgency > u && !p->sent) {
            if (p == l->first) {
                list_remove(&q->ready[p->urgency], p);
                list_push(&q->ready[u], p);
            }
            p->urgency = u;
        }
    }
}

int queue_add(struct write_queue *q, struct pending *p, struct err *err) {
    size_t bytes = p->body.n;
    if (q->waiting >= q->max || q->bytes + bytes > LIMIT_WRITES_BYTES) {
        return err_set(err, ERR_TOO_MANY, "%zu writes (%zu MB) wait for the API server already",
                       q->waiting, q->bytes >> 20);
    }
    struct line *l = p->name.n ? line_get(q, p) : NULL;
    if (p->name.n && l == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    bool first = l == NULL || l->first == NULL;
    if (l) {
        line_push(l, p);
        hurry(q, l, p->urgency);
    }
    if (first) {
        ready(q, p);
    }
    q->waiting++;
    q->bytes += bytes;
    return 0;
}

/* ---- status patches ---- */

struct pending *queue_find_status(struct write_queue *q, const struct pending *like) {
    struct line *l = like->urgency == COUNTERS ? line_find(q, like, line_hash(like)) : NULL;
    struct pending *p = l ? l->last : NULL;
    bool same = p && !p->sent && p->mergeable && like->mergeable && p->who == like->who &&
                str_eq(p->subresource, like->subresource);
    return same ? p : NULL;
}

int queue_replace(struct write_queue *q, struct pending *old, struct pending *by) {
    struct listener *told = mem_alloc(sizeof(*told));
    if (told == NULL) {
        return ERR_NOMEM;
    }
    *told = (struct listener){.next = old->others, .done = old->done, .ctx = old->ctx};
    old->others = NULL;
    by->others = told;
    by->urgency = old->urgency;
    struct line *l = old->line;
    struct pending **at = &l->first;
    while (*at != old) {
        at = &(*at)->after;
    }
    *at = by;
    l->last = by; /* only the last of a line is replaced */
    by->line = l;
    by->ns = l->ns;
    by->name = l->name;
    if (l->first == by) { /* it keeps its place among the ready ones */
        struct pending_list *list = &q->ready[by->urgency];
        by->next = old->next;
        by->prev = old->prev;
        *(by->prev ? &by->prev->next : &list->first) = by;
        *(by->next ? &by->next->prev : &list->last) = by;
    }
    q->bytes = q->bytes + by->body.n - old->body.n;
    pending_free(old);
    return 0;
}

/* ---- flying ---- */

/* How many places writes of this urgency may take: the less urgent leave some free, and go when the server is idle.
 * Were it never idle, they would never be seen: so often one goes all the same. */
static const struct {
    size_t part;
    int64_t anyway_ns;
} shares[URGENCIES] = {
    [URGENT] = {1, 0},
    [NORMAL] = {1, 0},
    [COUNTERS] = {4, 100 * NS_PER_MS},
    [EVENTS] = {8, 100 * NS_PER_MS},
};

static bool may_fly(const struct write_queue *q, enum urgency u, int64_t now_ns) {
    size_t most = q->places / shares[u].part;
    return q->flying_of[u] < (most ? most : 1) &&
           (now_ns - q->sent_ns[u] >= shares[u].anyway_ns || pace_room(&q->pace, q->flying.n));
}

struct pending *queue_peek(struct write_queue *q, int64_t now_ns) {
    for (int u = 0; u < URGENCIES && q->flying.n < q->places; u++) {
        if (q->ready[u].first && may_fly(q, (enum urgency)u, now_ns)) {
            return q->ready[u].first;
        }
    }
    return NULL;
}

bool queue_room(const struct write_queue *q) {
    return q->ready[URGENT].first == NULL && q->ready[NORMAL].first == NULL &&
           pace_room(&q->pace, q->flying.n);
}

void queue_fly(struct write_queue *q, struct pending *p, int64_t now_ns) {
    q->sent_ns[p->urgency] = p->sent_ns = now_ns;
    list_remove(&q->ready[p->urgency], p);
    list_push(&q->flying, p);
    q->flying_of[p->urgency]++;
    q->waiting--;
    p->sent = true;
}

void queue_landed(struct write_queue *q, struct pending *p) {
    struct line *l = p->line;
    list_remove(&q->flying, p);
    q->flying_of[p->urgency]--;
    q->bytes -= p->body.n;
    if (l == NULL) {
        return;
    }
    l->first = p->after;
    p->line = NULL;
    if (l->first) {
        ready(q, l->first);
    } else {
        pset_del(&q->lines, l->hash, l);
        mem_free(l);
    }
    if (q->lines.n == 0 && q->lines.mask > LINES_KEPT) { /* after a burst */
        pset_release(&q->lines);
    }
}

void queue_release(struct write_queue *q) {
    for (int u = 0; u < URGENCIES; u++) {
        for (struct pending *p; (p = q->ready[u].first);) {
            list_remove(&q->ready[u], p);
            if (p->line == NULL) {
                pending_free(p);
            }
        }
    }
    for (size_t i = 0; q->lines.n > 0 && i <= q->lines.mask; i++) {
        struct line *l = q->lines.slots[i].item;
        for (struct pending *p = l ? l->first : NULL, *after; p; p = after) {
            after = p->after;
            pending_free(p);
        }
        mem_free(l);
    }
    pset_release(&q->lines);
}
