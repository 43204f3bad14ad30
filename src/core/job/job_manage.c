/* job_manage (core): see job_manage.h. */
#include "core/job/job_manage.h"

#include <stdlib.h>

#include "base/clock.h"

static int delete_room(struct job_sight *s, struct job_plan *plan) {
    plan->deletes = ARENA_ARRAY(s->a, size_t, s->f->n_pods + 1);
    return plan->deletes ? 0 : ERR_NOMEM;
}

static int delete_active(struct job_sight *s, struct job_plan *plan) {
    if (delete_room(s, plan) != 0) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < s->f->n_pods && plan->n_deletes < JOB_BURST_MAX; i++) {
        if (job_pod_active(&s->f->pods[i])) {
            plan->deletes[plan->n_deletes++] = i;
        }
    }
    return 0;
}

int job_manage_end(struct job_sight *s, struct job_plan *plan) {
    return delete_active(s, plan);
}

/* ---- too many ---- */

static int rank(const struct job_pod *p) {
    return p->ready ? 3 : p->phase == POD_RUNNING ? 2 : p->scheduled ? 1 : 0;
}

/* First to go: least far, then with most restarts, then youngest. */
static int surplus_cmp(const void *va, const void *vb, void *ctx) {
    const struct job_pod *pods = ctx;
    const struct job_pod *a = &pods[*(const size_t *)va], *b = &pods[*(const size_t *)vb];
    if (rank(a) != rank(b)) {
        return rank(a) - rank(b);
    }
    if (a->restarts != b->restarts) {
        return a->restarts > b->restarts ? -1 : 1;
    }
    if (a->created_ns != b->created_ns) {
        return a->created_ns > b->created_ns ? -1 : 1;
    }
    return str_cmp(b->name, a->name);
}

/* An index has one active pod; of several, the one that got furthest stays. Indexes that are done, or beyond
 * completions, have none. */
static void delete_misplaced(struct job_sight *s, struct job_plan *plan, bool *gone) {
    size_t *stays = NULL;
    for (size_t k = 0; k < s->n_by_index; k++) {
        size_t *at = &s->by_index[k];
        const struct job_pod *p = &s->f->pods[*at];
        bool same = stays && s->f->pods[*stays].index == p->index;
        stays = same ? stays : NULL;
        if (!job_pod_active(p)) {
            continue;
        }
        size_t *goes = NULL;
        if (index_set_has(&s->completed, p->index)) {
            goes = at;
        } else if (stays) {
            goes = surplus_cmp(stays, at, s->f->pods) < 0 ? stays : at;
        }
        stays = goes == at ? stays : at;
        if (goes) {
            gone[*goes] = true;
        }
    }
    for (size_t i = 0; i < s->f->n_pods; i++) {
        const struct job_pod *p = &s->f->pods[i];
        gone[i] |= job_pod_active(p) && !job_sight_index_valid(s, p->index);
        if (gone[i] && plan->n_deletes < JOB_BURST_MAX) {
            plan->deletes[plan->n_deletes++] = i;
        }
    }
}

static int delete_surplus(struct job_sight *s, struct job_plan *plan, int64_t want) {
    bool *gone = ARENA_ARRAY(s->a, bool, s->f->n_pods + 1);
    size_t *rest = ARENA_ARRAY(s->a, size_t, s->f->n_pods + 1), n = 0;
    if (gone == NULL || rest == NULL || delete_room(s, plan) != 0) {
        return ERR_NOMEM;
    }
    if (s->indexed) {
        delete_misplaced(s, plan, gone);
    }
    int64_t more = s->active - want - (int64_t)plan->n_deletes;
    if (more <= 0) {
        return 0;
    }
    for (size_t i = 0; i < s->f->n_pods; i++) {
        if (job_pod_active(&s->f->pods[i]) && !gone[i]) {
            rest[n++] = i;
        }
    }
    qsort_r(rest, n, sizeof *rest, surplus_cmp, s->f->pods);
    for (size_t i = 0; i < n && more > 0 && plan->n_deletes < JOB_BURST_MAX; i++, more--) {
        plan->deletes[plan->n_deletes++] = rest[i];
    }
    return 0;
}

/* ---- too few ---- */

static void look_again(struct job_plan *plan, int64_t delay) {
    if (delay > 0 && (!plan->again_ns || delay < plan->again_ns)) {
        plan->again_ns = delay;
    }
}

/* Failures since the last success delay the next pod. Counted from the pods that are still there. */
static int64_t backoff_left(const struct job_sight *s) {
    int64_t success = INT64_MIN, last = 0, failures = 0;
    for (size_t i = 0; i < s->f->n_pods; i++) {
        const struct job_pod *p = &s->f->pods[i];
        if (p->phase == POD_SUCCEEDED && p->finished_ns > success) {
            success = p->finished_ns;
        }
    }
    for (size_t i = 0; i < s->f->n_pods; i++) {
        const struct job_pod *p = &s->f->pods[i];
        /* A pod that lost its finalizer before it was deleted went because the Job wanted it to. */
        bool counts = s->marks[i].failed && s->marks[i].action != FAILURE_IGNORE &&
                      (p->tracked || !p->deleting);
        if (counts && p->finished_ns >= success) {
            failures++;
            last = p->finished_ns > last ? p->finished_ns : last;
        }
    }
    return failures ? last + job_backoff_ns(failures) - s->f->now_ns : 0;
}

static bool index_busy(const struct job_sight *s, size_t first, size_t end) {
    for (size_t k = first; k < end; k++) {
        const struct job_pod *p = &s->f->pods[s->by_index[k]];
        if (job_pod_active(p) || (s->replace_failed_only && job_pod_terminating(p))) {
            return true;
        }
    }
    return false;
}

/* The next attempt at an index whose pods are by_index[first..end); false while its back-off lasts. */
static bool index_attempt(struct job_sight *s, struct job_plan *plan, size_t first, size_t end,
                          struct job_create *c) {
    if (!s->per_index || first == end) {
        return true;
    }
    size_t at = s->by_index[end - 1];
    const struct job_pod *p = &s->f->pods[at];
    const struct pod_mark *m = &s->marks[at];
    c->failures = p->index_failures;
    c->ignored = p->index_ignored;
    if (!m->failed || !(p->tracked || !p->deleting)) {
        return true;
    }
    *(m->action == FAILURE_IGNORE ? &c->ignored : &c->failures) += 1;
    int64_t left =
        p->finished_ns + job_backoff_ns((int64_t)c->failures + c->ignored) - s->f->now_ns;
    look_again(plan, left);
    return left <= 0;
}

static void create_indexed(struct job_sight *s, struct job_plan *plan, int64_t n) {
    size_t k = 0;
    for (int64_t i = 0; i < s->completions && n > 0; i++) {
        int32_t index = (int32_t)i;
        size_t first = k;
        while (k < s->n_by_index && s->f->pods[s->by_index[k]].index == index) {
            k++;
        }
        struct job_create c = {.index = index};
        if (index_set_has(&s->completed, index) ||
            (s->per_index && index_set_has(&s->failed_indexes, index)) || index_busy(s, first, k) ||
            !index_attempt(s, plan, first, k, &c)) {
            continue;
        }
        plan->creates[plan->n_creates++] = c;
        n--;
    }
}

static int create_missing(struct job_sight *s, struct job_plan *plan, int64_t missing) {
    int64_t max = (int64_t)s->f->create_max;
    int64_t n = missing < max ? missing : max;
    if (!s->per_index) {
        int64_t left = backoff_left(s);
        if (left > 0) {
            look_again(plan, left);
            return 0;
        }
    }
    plan->creates = ARENA_ARRAY(s->a, struct job_create, (size_t)n);
    if (plan->creates == NULL) {
        return ERR_NOMEM;
    }
    if (s->indexed) {
        create_indexed(s, plan, n);
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        plan->creates[plan->n_creates++] = (struct job_create){.index = -1};
    }
    return 0;
}

static int64_t wanted_active(const struct job_sight *s) {
    if (s->completions < 0) {
        /* Work-queue Jobs start no more pods once one succeeded. */
        int64_t active = s->active < s->parallelism ? s->active : s->parallelism;
        return s->succeeded > 0 ? active : s->parallelism;
    }
    int64_t left = s->completions - s->succeeded;
    if (s->per_index) {
        left -= index_set_count(&s->failed_indexes);
    }
    left = left < 0 ? 0 : left;
    return left < s->parallelism ? left : s->parallelism;
}

int job_manage(struct job_sight *s, struct job_plan *plan) {
    plan->strip_first = true;
    if (s->suspended) {
        return delete_active(s, plan);
    }
    int64_t want = wanted_active(s);
    if (delete_surplus(s, plan, want) != 0) {
        return ERR_NOMEM;
    }
    int64_t missing = want - s->active - (s->replace_failed_only ? s->terminating : 0);
    if (plan->n_deletes || missing <= 0) {
        return 0;
    }
    return create_missing(s, plan, missing);
}
