/* stateful_decide: up, down, and update. See stateful_decide.h. */
#include "control/apps/stateful_decide.h"

#include <stdlib.h>

#include "api/conditions.h"
#include "api/schema/codec.h"
#include "api/walk/value.h"
#include "control/apps/rollout.h"

struct stateful_sight {
    struct stateful_facts *f;
    struct stateful_plan *plan;
    const struct stateful_set_spec *spec;
    int64_t start, replicas, partition;
    bool ordered;
    struct stateful_pod **slots; /* of the wanted ordinals; NULL: not there */
    size_t beyond;               /* pods[beyond..] have higher ordinals, pods[..below] lower ones */
    size_t below;
};

int64_t stateful_ordinal(struct str set, struct str pod) {
    int64_t n;
    struct str digits = str_skip(pod, set.n + 1);
    bool ours = pod.n > set.n + 1 && str_starts(pod, set) && pod.p[set.n] == '-' && digits.n < 11 &&
                str_to_i64(digits, &n) && n >= 0 && digits.p[0] != '-' && digits.p[0] != '+' &&
                (digits.n == 1 || digits.p[0] != '0');
    return ours ? n : -1;
}

static bool is_over(const struct stateful_pod *p) {
    return p->pod.phase == OWNED_SUCCEEDED || p->pod.phase == OWNED_FAILED;
}

static bool is_available(struct stateful_sight *s, const struct stateful_pod *p) {
    return p->pod.phase == OWNED_RUNNING && owned_pod_available(&p->pod, s->spec->min_ready_seconds,
                                                                s->f->now_ns, &s->plan->again_ns);
}

static bool is_going(const struct stateful_pod *p) {
    return p->pod.obj->deleting_ns != 0;
}

/* ---- counts ---- */

static void count(struct stateful_sight *s) {
    struct stateful_set_status *n = &s->plan->status;
    for (size_t i = 0; i < s->f->n; i++) {
        const struct stateful_pod *p = &s->f->pods[i];
        n->replicas++;
        n->ready_replicas += p->pod.phase == OWNED_RUNNING && p->pod.ready;
        n->available_replicas += is_available(s, p);
        n->current_replicas += !is_going(p) && str_eq(p->revision, s->f->current);
        n->updated_replicas += !is_going(p) && str_eq(p->revision, s->f->update);
    }
    n->observed_generation = s->f->generation;
    n->current_revision = s->f->current;
    n->update_revision = s->f->update;
    bool rolls =
        !str_is(s->spec->update_strategy ? s->spec->update_strategy->type : STR(""), "OnDelete");
    if (rolls && n->updated_replicas == n->replicas && n->ready_replicas == n->replicas) {
        n->current_revision = n->update_revision; /* it is done */
        n->current_replicas = n->updated_replicas;
    }
}

/* ---- up ---- */

static bool create(struct stateful_sight *s, int64_t i) {
    struct stateful_plan *p = s->plan;
    p->creates[p->n_creates++] =
        (struct stateful_create){.ordinal = s->start + i, .current = i < s->partition};
    return p->n_creates < STATEFUL_BURST && !s->ordered;
}

/* False: the rest waits. */
static bool fill(struct stateful_sight *s) {
    for (int64_t i = 0; i < s->replicas; i++) {
        struct stateful_pod *p = s->slots[i];
        if (p == NULL) {
            if (!create(s, i)) {
                return false;
            }
        } else if (is_over(p)) {
            p->remove = !is_going(p);
            return false;
        } else if (s->ordered && (is_going(p) || !is_available(s, p))) {
            return false;
        }
    }
    return true;
}

/* ---- down ---- */

static bool shrink_one(struct stateful_sight *s, struct stateful_pod *p,
                       const struct stateful_pod *first) {
    if (is_going(p)) {
        return !s->ordered;
    }
    if (s->ordered && !is_available(s, p) && p != first) {
        return false;
    }
    p->remove = true;
    return !s->ordered;
}

/* Of the pods that nobody wants, the lowest that is not available: it holds the others up no longer when it goes. */
static const struct stateful_pod *first_unhealthy(struct stateful_sight *s) {
    for (size_t i = 0; i < s->f->n; i++) {
        bool wanted = i >= s->below && i < s->beyond;
        if (!wanted && !is_available(s, &s->f->pods[i])) {
            return &s->f->pods[i];
        }
    }
    return NULL;
}

static bool shrink(struct stateful_sight *s) {
    const struct stateful_pod *first = first_unhealthy(s);
    for (size_t i = s->f->n; i-- > 0;) {
        bool wanted = i >= s->below && i < s->beyond;
        if (!wanted && !shrink_one(s, &s->f->pods[i], first)) {
            return false;
        }
    }
    return true;
}

/* ---- update ---- */

static int64_t may_be_missing(const struct stateful_sight *s) {
    const struct stateful_strategy *way = s->spec->update_strategy;
    struct str max = way && way->rolling_update ? way->rolling_update->max_unavailable : STR("");
    struct rollout_bounds b = rollout_bounds((int32_t)s->replicas, true, STR("1"), max);
    return b.unavailable > 0 ? b.unavailable : 1;
}

static void update(struct stateful_sight *s) {
    int64_t left = may_be_missing(s);
    for (int64_t i = 0; i < s->replicas; i++) {
        left -= s->slots[i] == NULL || is_going(s->slots[i]) || !is_available(s, s->slots[i]);
    }
    for (int64_t i = s->replicas; i-- > s->partition;) {
        struct stateful_pod *p = s->slots[i];
        if (p == NULL || is_going(p) || str_eq(p->revision, s->f->update)) {
            continue;
        }
        bool healthy = is_available(s, p);
        if (healthy && left <= 0) {
            return;
        }
        left -= healthy;
        p->remove = true;
        if (s->ordered && !healthy) {
            return;
        }
    }
}

/* ---- all of it ---- */

static int by_ordinal(const void *va, const void *vb) {
    const struct stateful_pod *a = va, *b = vb;
    return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static int place(struct stateful_sight *s, struct arena *a) {
    s->slots = ARENA_ARRAY(a, struct stateful_pod *, (size_t)s->replicas + 1);
    s->plan->creates = ARENA_ARRAY(a, struct stateful_create, (size_t)s->replicas + 1);
    if (s->slots == NULL || s->plan->creates == NULL) {
        return ERR_NOMEM;
    }
    memset(s->slots, 0, ((size_t)s->replicas + 1) * sizeof(struct stateful_pod *));
    if (s->f->n) {
        qsort(s->f->pods, s->f->n, sizeof *s->f->pods, by_ordinal);
    }
    s->below = 0;
    while (s->below < s->f->n && s->f->pods[s->below].ordinal < s->start) {
        s->below++;
    }
    s->beyond = s->below;
    while (s->beyond < s->f->n && s->f->pods[s->beyond].ordinal < s->start + s->replicas) {
        struct stateful_pod *p = &s->f->pods[s->beyond++];
        s->slots[p->ordinal - s->start] = p;
    }
    return 0;
}

int stateful_decide(struct stateful_facts *f, struct arena *a, struct stateful_plan *ret) {
    static const struct stateful_set_status none;
    const struct stateful_set_spec *spec = f->set->spec;
    const struct stateful_set_status *was = f->set->status ? f->set->status : &none;
    const struct stateful_strategy *way = spec->update_strategy;
    bool on_delete = way && str_is(way->type, "OnDelete");
    struct stateful_sight s = {.f = f,
                               .plan = ret,
                               .spec = spec,
                               .start = spec->ordinals ? spec->ordinals->start : 0,
                               .replicas = spec->replicas.set ? spec->replicas.v : 1,
                               .ordered = !str_is(spec->pod_management_policy, "Parallel")};
    s.partition = way && way->rolling_update ? way->rolling_update->partition.v : 0;
    *ret = (struct stateful_plan){.status.collision_count = was->collision_count};
    int r = place(&s, a);
    r = r ? r : conditions_copy(&was->conditions, a, &ret->status.conditions);
    if (r != 0) {
        return r;
    }
    count(&s);
    if (!f->deleting && fill(&s) && shrink(&s) && !on_delete) {
        update(&s);
    }
    ret->write_status =
        f->set->status == NULL || !value_views_same(&schema_stateful_set_status, was, &ret->status);
    return 0;
}
