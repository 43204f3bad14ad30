/* daemon_set_decide: the pods of each node, then the rolling update over all nodes. See daemon_set_decide.h. */
#include "control/apps/daemon_set_decide.h"

#include "api/walk/value.h"
#include "base/clock.h"
#include "base/map.h"

#define REPLACE_ENDED_NS (10 * NS_PER_SEC) /* after it was made */

/* One node, with the pods that are to stay on it. */
struct daemon_place {
    const struct daemon_node *node;
    const struct daemon_pod *old,
        *new;   /* of the template before, and as it is; the oldest of each */
    bool going; /* a pod of it is being deleted: the next one waits */
    bool any;   /* it has a pod, whatever its state */
};

struct daemon_look {
    const struct daemon_facts *f;
    struct daemon_plan *p;
    struct daemon_place *places;
    int64_t down, surge; /* maxUnavailable, maxSurge */
    bool rolls;
};

static int64_t amount_of(struct str amount, int64_t whole, int64_t otherwise) {
    uint64_t n;
    bool percent = str_ends(amount, STR("%"));
    if (!str_to_u64(percent ? str_head(amount, amount.n - 1) : amount, &n)) {
        return otherwise;
    }
    n = n > INT32_MAX ? INT32_MAX : n;
    return percent ? ((int64_t)n * whole + 99) / 100 : (int64_t)n;
}

static bool available(const struct daemon_look *l, const struct daemon_pod *p) {
    return p && owned_pod_available(&p->pod, l->f->set->spec->min_ready_seconds, l->f->now_ns,
                                    &l->p->again_ns);
}

static void drop(struct daemon_look *l, const struct daemon_pod *p) {
    if (l->p->n_deletes < DAEMON_BURST_MAX) {
        l->p->deletes[l->p->n_deletes++] = (size_t)(p - l->f->pods);
    }
}

static bool older(const struct daemon_pod *a, const struct daemon_pod *b) {
    const struct object *x = a->pod.obj, *y = b->pod.obj;
    return x->created_ns != y->created_ns ? x->created_ns < y->created_ns
                                          : str_cmp(x->name, y->name) < 0;
}

/* One pod of a node is looked at: it stays, or goes. */
static void settle(struct daemon_look *l, struct daemon_place *at, const struct daemon_pod *p) {
    bool ended = p->pod.phase == OWNED_SUCCEEDED || p->pod.phase == OWNED_FAILED;
    const struct daemon_pod **slot = p->current ? &at->new : &at->old;
    at->any = true;
    if (p->pod.obj->deleting_ns) {
        at->going = true;
    } else if (!at->node->may_stay) {
        drop(l, p);
    } else if (ended) {
        int64_t left = p->pod.obj->created_ns + REPLACE_ENDED_NS - l->f->now_ns;
        at->going = true;
        if (left > 0) {
            l->p->again_ns = l->p->again_ns == 0 || left < l->p->again_ns ? left : l->p->again_ns;
        } else {
            l->p->ended[l->p->n_ended++] = (size_t)(p - l->f->pods);
            drop(l, p);
        }
    } else if (*slot == NULL) {
        *slot = p;
    } else if (older(p, *slot)) {
        drop(l, *slot);
        *slot = p;
    } else {
        drop(l, p);
    }
}

static int look_at_pods(struct daemon_look *l) {
    struct map by_name;
    int r = 0;
    map_init(&by_name);
    for (size_t i = 0; r == 0 && i < l->f->n_nodes; i++) {
        l->places[i].node = &l->f->nodes[i];
        r = map_put(&by_name, l->f->nodes[i].name, &l->places[i], NULL);
    }
    for (size_t i = 0; r == 0 && i < l->f->n_pods; i++) {
        const struct daemon_pod *p = &l->f->pods[i];
        struct daemon_place *at = map_get(&by_name, p->node);
        if (at) {
            settle(l, at, p);
        } else if (!p->pod.obj->deleting_ns) {
            drop(l, p); /* its node is gone */
        }
    }
    map_release(&by_name);
    return r;
}

/* ---- the numbers ---- */

static void count(struct daemon_look *l) {
    struct daemon_set_status *s = &l->p->status;
    s->desired_number_scheduled = s->current_number_scheduled = s->number_misscheduled = 0;
    s->number_ready = s->number_available = s->updated_number_scheduled = 0;
    for (size_t i = 0; i < l->f->n_nodes; i++) {
        const struct daemon_place *at = &l->places[i];
        const struct daemon_pod *p = at->old ? at->old : at->new;
        if (!at->node->should_run) {
            s->number_misscheduled += at->any;
            continue;
        }
        bool ready = (at->old && at->old->pod.ready) || (at->new && at->new->pod.ready);
        s->desired_number_scheduled++;
        s->current_number_scheduled += p != NULL;
        s->number_ready += ready;
        s->number_available += available(l, at->old) || available(l, at->new);
        s->updated_number_scheduled += at->new != NULL;
    }
    s->number_unavailable = s->desired_number_scheduled - s->number_available;
    s->observed_generation = l->f->generation;
}

/* ---- what is made, and what is replaced ---- */

static void make_missing(struct daemon_look *l) {
    for (size_t i = 0; i < l->f->n_nodes && l->p->n_creates < DAEMON_BURST_MAX; i++) {
        const struct daemon_place *at = &l->places[i];
        if (at->node->should_run && at->old == NULL && at->new == NULL && !at->going) {
            l->p->creates[l->p->n_creates++] = i;
        }
    }
}

/* Old pods go first; those that are available as far as others are. */
static void roll_down(struct daemon_look *l) {
    int64_t room = l->down - l->p->status.number_unavailable;
    for (size_t i = 0; i < l->f->n_nodes; i++) {
        const struct daemon_place *at = &l->places[i];
        bool up = available(l, at->old);
        if (!at->node->should_run || at->old == NULL) {
            continue;
        }
        if (at->new || !up || room > 0) {
            room -= up && at->new == NULL;
            drop(l, at->old);
        }
    }
}

/* New pods come first, beside old ones. */
static void roll_up(struct daemon_look *l) {
    int64_t beside = 0;
    for (size_t i = 0; i < l->f->n_nodes; i++) {
        beside += l->places[i].old && l->places[i].new;
    }
    for (size_t i = 0; i < l->f->n_nodes; i++) {
        const struct daemon_place *at = &l->places[i];
        if (!at->node->should_run || at->old == NULL) {
            continue;
        }
        if (at->new) {
            if (available(l, at->new) || !available(l, at->old)) {
                drop(l, at->old);
            }
        } else if ((beside < l->surge || !available(l, at->old)) &&
                   l->p->n_creates < DAEMON_BURST_MAX) {
            beside++;
            l->p->creates[l->p->n_creates++] = i;
        }
    }
}

static void read_strategy(struct daemon_look *l) {
    const struct daemon_set_strategy *s = l->f->set->spec->update_strategy;
    const struct deployment_rolling *rolling = s ? s->rolling_update : NULL;
    int64_t desired = l->p->status.desired_number_scheduled;
    l->rolls = s == NULL || str_is(s->type, "RollingUpdate") || s->type.n == 0;
    l->down = rolling ? amount_of(rolling->max_unavailable, desired, 1) : 1;
    l->surge = rolling ? amount_of(rolling->max_surge, desired, 0) : 0;
}

int daemon_set_decide(const struct daemon_facts *f, struct arena *a, struct daemon_plan *ret) {
    static const struct daemon_set_status nothing;
    const struct daemon_set_status *was = f->set->status ? f->set->status : &nothing;
    struct daemon_plan p = {.status = *was};
    struct daemon_look l = {.f = f, .p = &p};
    l.places = ARENA_ARRAY(a, struct daemon_place, f->n_nodes + 1);
    p.creates = ARENA_ARRAY(a, size_t, f->n_nodes + DAEMON_BURST_MAX + 1);
    p.deletes = ARENA_ARRAY(a, size_t, DAEMON_BURST_MAX + 1);
    p.ended = ARENA_ARRAY(a, size_t, f->n_pods + 1);
    if (arena_ok(a) != 0 || look_at_pods(&l) != 0) {
        return ERR_NOMEM;
    }
    count(&l);
    read_strategy(&l);
    if (f->deleting) { /* its pods are the garbage collector's */
        p.n_creates = p.n_deletes = p.n_ended = 0;
    } else {
        make_missing(&l);
        if (l.rolls && l.surge > 0) {
            roll_up(&l);
        } else if (l.rolls) {
            roll_down(&l);
        }
    }
    p.write_status =
        f->set->status == NULL || !value_views_same(&schema_daemon_set_status, was, &p.status);
    *ret = p;
    return 0;
}
