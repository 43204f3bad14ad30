/*
 * job_sight (core): reads a Job's status and pods into one picture. No decision is taken here.
 */
#include "core/job/job_sight.h"

#include <stdlib.h>

static bool is(struct str s, const char *c) {
    return str_is(s, c);
}

static int read_uncounted(struct job_sight *s) {
    const struct uncounted_pods *u = s->was->uncounted_terminated_pods;
    size_t n = u ? u->succeeded.n + u->failed.n : 0;
    if (n == 0) {
        return 0;
    }
    s->uncounted = ARENA_ARRAY(s->a, struct uncounted_uid, n);
    if (s->uncounted == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        bool failed = i >= u->succeeded.n;
        struct uncounted_uid *x = &s->uncounted[s->n_uncounted++];
        x->failed = failed;
        x->uid = failed ? u->failed.v[i - u->succeeded.n] : u->succeeded.v[i];
        if (map_put(&s->by_uid, x->uid, x, NULL) != 0) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

static int attempts(const struct job_pod *p) {
    return p->index_failures + p->index_ignored;
}

static int by_index_cmp(const void *va, const void *vb, void *ctx) {
    const struct job_pod *pods = ctx;
    const struct job_pod *a = &pods[*(const size_t *)va], *b = &pods[*(const size_t *)vb];
    if (a->index != b->index) {
        return a->index < b->index ? -1 : 1;
    }
    if (attempts(a) != attempts(b)) {
        return attempts(a) < attempts(b) ? -1 : 1;
    }
    /* Of two with the same number, the one that still runs is the later one. */
    if (job_pod_active(a) != job_pod_active(b)) {
        return job_pod_active(a) ? 1 : -1;
    }
    return a->created_ns != b->created_ns ? (a->created_ns < b->created_ns ? -1 : 1)
                                          : str_cmp(a->name, b->name);
}

static int sort_by_index(struct job_sight *s) {
    s->by_index = ARENA_ARRAY(s->a, size_t, s->f->n_pods + 1);
    if (s->by_index == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < s->f->n_pods; i++) {
        if (job_sight_index_valid(s, s->f->pods[i].index)) {
            s->by_index[s->n_by_index++] = i;
        }
    }
    qsort_r(s->by_index, s->n_by_index, sizeof *s->by_index, by_index_cmp, s->f->pods);
    return 0;
}

/* A pod of the Job that ended badly, as its replacement policy sees it. */
static bool counts_as_failed(const struct job_sight *s, const struct job_pod *p) {
    if (p->phase == POD_FAILED) {
        return true;
    }
    return !s->replace_failed_only && p->deleting && p->phase != POD_SUCCEEDED;
}

static void mark_pod(struct job_sight *s, size_t i) {
    const struct job_pod *p = &s->f->pods[i];
    struct pod_mark *m = &s->marks[i];
    m->uncounted = map_get(&s->by_uid, p->uid);
    if (m->uncounted) {
        m->uncounted->tracked |= p->tracked;
    }
    s->active += job_pod_active(p);
    s->terminating += job_pod_terminating(p);
    s->ready += job_pod_active(p) && p->ready;
    m->failed = counts_as_failed(s, p);
    if (m->failed) {
        m->action = job_failure_action(s->spec->pod_failure_policy, p, s->a, NULL);
    }
}

/* New ends, not in the status yet. */
static int count_pod(struct job_sight *s, size_t i) {
    const struct job_pod *p = &s->f->pods[i];
    struct pod_mark *m = &s->marks[i];
    bool fresh = p->tracked && m->uncounted == NULL;
    if (p->phase == POD_SUCCEEDED) {
        if (!s->indexed) {
            s->succeeded += fresh;
        } else if (fresh && job_sight_index_valid(s, p->index)) {
            return index_set_add(&s->completed, p->index);
        }
    } else if (m->failed && fresh && m->action != FAILURE_IGNORE &&
               (!s->indexed || job_sight_index_valid(s, p->index))) {
        s->failed++;
    }
    return 0;
}

static int fail_indexes(struct job_sight *s) {
    for (size_t i = 0; i < s->f->n_pods; i++) {
        const struct job_pod *p = &s->f->pods[i];
        const struct pod_mark *m = &s->marks[i];
        /* Pods that were stripped and deleted on purpose are no failures of their index. */
        if (!m->failed || !(p->tracked || !p->deleting) || !job_sight_index_valid(s, p->index) ||
            index_set_has(&s->completed, p->index)) {
            continue;
        }
        bool over =
            m->action == FAILURE_FAIL_INDEX ||
            (m->action == FAILURE_COUNT && p->index_failures >= s->spec->backoff_limit_per_index.v);
        if (over && index_set_add(&s->failed_indexes, p->index) != 0) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

/* The latest failed pod of an index that will be tried again carries the count of its failures. */
static void hold_latest(struct job_sight *s) {
    for (size_t i = 0; i < s->n_by_index; i++) {
        size_t at = s->by_index[i];
        const struct job_pod *p = &s->f->pods[at];
        bool latest = i + 1 == s->n_by_index || s->f->pods[s->by_index[i + 1]].index != p->index;
        s->marks[at].held = latest && p->tracked && s->marks[at].failed &&
                            !index_set_has(&s->completed, p->index) &&
                            !index_set_has(&s->failed_indexes, p->index);
    }
}

static void read_spec(struct job_sight *s) {
    const struct job_spec *spec = s->spec;
    s->indexed = is(spec->completion_mode, "Indexed");
    s->per_index = s->indexed && spec->backoff_limit_per_index.set;
    s->replace_failed_only = is(spec->pod_replacement_policy, "Failed");
    s->suspended = spec->suspend.set && spec->suspend.v;
    s->parallelism = spec->parallelism.set ? spec->parallelism.v : 1;
    s->completions = spec->completions.set ? spec->completions.v : -1;
}

static int read_indexes(struct job_sight *s, struct err *err) {
    int32_t limit = s->completions < 0 ? INT32_MAX : (int32_t)s->completions;
    index_set_init(&s->completed_before, s->a);
    index_set_init(&s->completed, s->a);
    index_set_init(&s->failed_indexes, s->a);
    int r = s->indexed
                ? index_set_parse(&s->completed_before, s->was->completed_indexes, limit, err)
                : 0;
    r = r || !s->indexed ? r
                         : index_set_parse(&s->completed, s->was->completed_indexes, limit, err);
    return r || !s->per_index
               ? r
               : index_set_parse(&s->failed_indexes, s->was->failed_indexes, limit, err);
}

static int look(struct job_sight *s) {
    for (size_t i = 0; i < s->f->n_pods; i++) {
        mark_pod(s, i);
    }
    s->succeeded = s->was->succeeded;
    s->failed = s->was->failed;
    for (size_t i = 0; i < s->n_uncounted; i++) {
        *(s->uncounted[i].failed ? &s->failed : &s->succeeded) += 1;
    }
    for (size_t i = 0; i < s->f->n_pods; i++) {
        if (count_pod(s, i) != 0) {
            return ERR_NOMEM;
        }
    }
    if (s->indexed) {
        s->succeeded = index_set_count(&s->completed);
    }
    int r = s->indexed ? sort_by_index(s) : 0;
    if (r == 0 && s->per_index) {
        r = fail_indexes(s);
        hold_latest(s);
    }
    return r;
}

int job_sight_init(struct job_sight *s, const struct job_facts *f, struct arena *a,
                   struct err *err) {
    static const struct job_status no_status;
    *s = (struct job_sight){.f = f, .a = a, .spec = f->job->spec};
    s->was = f->job->status ? f->job->status : &no_status;
    map_init(&s->by_uid);
    read_spec(s);
    s->marks = ARENA_ARRAY(a, struct pod_mark, f->n_pods + 1);
    int r = s->marks ? read_uncounted(s) : ERR_NOMEM;
    r = r ? err_set(err, r, "out of memory") : read_indexes(s, err);
    r = r ? r : look(s);
    if (r != 0) {
        job_sight_release(s);
    }
    return r;
}

void job_sight_release(struct job_sight *s) {
    map_release(&s->by_uid);
}
