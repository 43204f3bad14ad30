/*
 * job_decide (core): the order of a decision: has the Job ended, and why; what is counted; which pods come and go; what
 * the status says then. See job_decide.h.
 */
#include "core/job/job_decide.h"

#include "api/walk/value.h"
#include "base/clock.h"
#include "core/job/job_manage.h"
#include "core/job/job_sight.h"

/* Why the Job ends, before it has ended. */
struct job_verdict {
    const char *type; /* NULL: it goes on */
    struct str reason, message;
};

const struct condition *job_condition(const struct job *j, const char *type) {
    for (size_t i = 0; j->status && i < j->status->conditions.n; i++) {
        if (str_is(j->status->conditions.v[i].type, type)) {
            return &j->status->conditions.v[i];
        }
    }
    return NULL;
}

bool job_condition_true(const struct job *j, const char *type) {
    const struct condition *c = job_condition(j, type);
    return c && str_is(c->status, "True");
}

bool job_finished(const struct job *j) {
    return job_condition_true(j, "Complete") || job_condition_true(j, "Failed");
}

int64_t job_backoff_ns(int64_t failures) {
    if (failures <= 0) {
        return 0;
    }
    return failures > 6 ? 600 * NS_PER_SEC : (10 * NS_PER_SEC) << (failures - 1);
}

static struct job_verdict kept(const struct job *j, const char *type) {
    const struct condition *c = job_condition(j, type);
    return (struct job_verdict){type, c->reason, c->message};
}

static struct job_verdict fail(const char *reason, const char *message) {
    return (struct job_verdict){"FailureTarget", str_of(reason), str_of(message)};
}

static bool failed_by_policy(struct job_sight *s, struct str *ret_why) {
    for (size_t i = 0; s->spec->pod_failure_policy && i < s->f->n_pods; i++) {
        if (s->marks[i].failed && s->marks[i].action == FAILURE_FAIL_JOB) {
            job_failure_action(s->spec->pod_failure_policy, &s->f->pods[i], s->a, ret_why);
            return true;
        }
    }
    return false;
}

static bool past_backoff_limit(const struct job_sight *s) {
    int64_t limit = s->spec->backoff_limit.set ? s->spec->backoff_limit.v
                    : s->per_index             ? INT32_MAX
                                               : 6;
    if (s->failed > limit) {
        return true;
    }
    const struct pod_template *t = s->spec->template;
    if (t == NULL || t->spec == NULL || !str_is(t->spec->restart_policy, "OnFailure")) {
        return false;
    }
    int64_t restarts = 0;
    for (size_t i = 0; i < s->f->n_pods; i++) {
        const struct job_pod *p = &s->f->pods[i];
        restarts += p->phase == POD_RUNNING || p->phase == POD_PENDING ? p->restarts : 0;
    }
    return limit == 0 ? restarts > 0 : restarts >= limit;
}

/* Time left before activeDeadlineSeconds; INT64_MAX without one. */
static int64_t deadline_left(const struct job_sight *s) {
    if (!s->spec->active_deadline_seconds.set || s->suspended || !s->was->start_ns) {
        return INT64_MAX;
    }
    int64_t limit;
    if (__builtin_mul_overflow(s->spec->active_deadline_seconds.v, NS_PER_SEC, &limit)) {
        return INT64_MAX;
    }
    return limit - (s->f->now_ns - s->was->start_ns);
}

static struct job_verdict indexes_verdict(const struct job_sight *s) {
    int64_t failed = s->per_index ? index_set_count(&s->failed_indexes) : 0;
    if (s->per_index && s->spec->max_failed_indexes.set && failed > s->spec->max_failed_indexes.v) {
        return fail("MaxFailedIndexesExceeded",
                    "Job has exceeded the specified maximal number of failed indexes");
    }
    if (failed > 0 && s->completions >= 0 && failed + s->succeeded >= s->completions) {
        return fail("FailedIndexes", "Job has failed indexes");
    }
    int rule = s->indexed && s->spec->success_policy
                   ? job_success_rule(s->spec->success_policy, &s->completed,
                                      (int32_t)s->completions, s->a)
                   : -1;
    if (rule >= 0) {
        return (struct job_verdict){"SuccessCriteriaMet", STR("SuccessPolicy"),
                                    arena_f(s->a, "Matched rules at index %d", rule)};
    }
    return (struct job_verdict){0};
}

static struct job_verdict judge(struct job_sight *s) {
    const struct job *j = s->f->job;
    struct str why = {0};
    if (job_condition_true(j, "SuccessCriteriaMet")) {
        return kept(j, "SuccessCriteriaMet");
    }
    if (job_condition_true(j, "FailureTarget")) {
        return kept(j, "FailureTarget");
    }
    if (failed_by_policy(s, &why)) {
        return (struct job_verdict){"FailureTarget", STR("PodFailurePolicy"), why};
    }
    if (past_backoff_limit(s)) {
        return fail("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    }
    if (deadline_left(s) <= 0) {
        return fail("DeadlineExceeded", "Job was active longer than specified deadline");
    }
    struct job_verdict v = indexes_verdict(s);
    if (v.type) {
        return v;
    }
    bool enough = s->completions < 0 ? s->succeeded > 0 : s->succeeded >= s->completions;
    if (enough && s->active == 0) {
        return (struct job_verdict){"SuccessCriteriaMet", STR("CompletionsReached"),
                                    STR("Reached expected number of succeeded pods")};
    }
    return (struct job_verdict){0};
}

/* ---- counting ---- */

static int list_push(struct arena *a, struct str_list *l, size_t max, struct str s) {
    if (l->v == NULL) {
        l->v = ARENA_ARRAY(a, struct str, max);
        if (l->v == NULL) {
            return ERR_NOMEM;
        }
    }
    l->v[l->n++] = s;
    return 0;
}

/* Steps 1 and 2 for one pod: *ret_strip says that its finalizer goes now; a new uid enters `next`. */
static int account_pod(struct job_sight *s, size_t i, bool ending, struct uncounted_pods *next,
                       bool *ret_strip) {
    const struct job_pod *p = &s->f->pods[i];
    const struct pod_mark *m = &s->marks[i];
    bool valid = !s->indexed || job_sight_index_valid(s, p->index);
    if (!p->tracked) {
        return 0;
    }
    if (m->uncounted) {
        *ret_strip = true;
        return 0;
    }
    if (p->phase == POD_SUCCEEDED) {
        if (s->indexed) {
            *ret_strip = !valid || index_set_has(&s->completed_before, p->index);
            return 0;
        }
        return list_push(s->a, &next->succeeded, JOB_UNCOUNTED_MAX, p->uid);
    }
    /* Once the Job is ending, every pod that did not end well has failed. */
    if ((!m->failed && !ending) || (m->held && !ending)) {
        return 0;
    }
    if (!valid || (m->failed && m->action == FAILURE_IGNORE)) {
        *ret_strip = true;
        return 0;
    }
    return list_push(s->a, &next->failed, JOB_UNCOUNTED_MAX, p->uid);
}

/* *ret_open: pods that have their finalizer, and are neither counted by this status nor let go now. */
static int account(struct job_sight *s, bool ending, struct job_plan *plan, size_t *ret_open) {
    struct uncounted_pods *next = ARENA_NEW(s->a, struct uncounted_pods);
    plan->strips = ARENA_ARRAY(s->a, size_t, s->f->n_pods + 1);
    if (next == NULL || plan->strips == NULL) {
        return ERR_NOMEM;
    }
    plan->status.uncounted_terminated_pods = next;
    plan->status.succeeded = s->was->succeeded;
    plan->status.failed = s->was->failed;
    for (size_t i = 0; i < s->n_uncounted; i++) {
        struct uncounted_uid *u = &s->uncounted[i];
        if (!u->tracked) { /* step 3 */
            *(u->failed ? &plan->status.failed : &plan->status.succeeded) += 1;
        } else if (next->succeeded.n + next->failed.n < JOB_UNCOUNTED_MAX &&
                   list_push(s->a, u->failed ? &next->failed : &next->succeeded, JOB_UNCOUNTED_MAX,
                             u->uid) != 0) {
            return ERR_NOMEM;
        }
    }
    for (size_t i = 0; i < s->f->n_pods; i++) {
        bool strip = false;
        size_t before = next->succeeded.n + next->failed.n;
        bool room = before < JOB_UNCOUNTED_MAX;
        if ((room || s->marks[i].uncounted) && account_pod(s, i, ending, next, &strip) != 0) {
            return ERR_NOMEM;
        }
        if (strip) {
            plan->strips[plan->n_strips++] = i;
        }
        bool indexed = room && s->indexed && s->f->pods[i].phase == POD_SUCCEEDED;
        bool listed = next->succeeded.n + next->failed.n > before;
        *ret_open += s->f->pods[i].tracked && !strip && !listed && !indexed;
    }
    if (s->indexed) {
        plan->status.succeeded = (int32_t)s->succeeded;
    }
    return 0;
}

/* ---- the status ---- */

static int64_t whole_seconds(int64_t ns) {
    return ns - ns % NS_PER_SEC;
}

static void set_condition(struct job_plan *plan, const struct job_sight *s, const char *type,
                          bool truth, struct str reason, struct str message) {
    struct condition_list *l = &plan->status.conditions;
    struct condition *c = NULL;
    for (size_t i = 0; i < l->n && c == NULL; i++) {
        c = str_is(l->v[i].type, type) ? &l->v[i] : NULL;
    }
    if (c && str_is(c->status, truth ? "True" : "False")) {
        return;
    }
    if (c == NULL) {
        if (!truth) {
            return; /* what never was does not become False */
        }
        c = &l->v[l->n++]; /* room for four more was made */
    }
    int64_t now = whole_seconds(s->f->now_ns);
    *c = (struct condition){.type = str_of(type),
                            .status = truth ? STR("True") : STR("False"),
                            .reason = reason,
                            .message = message,
                            .last_transition_ns = now,
                            .last_probe_ns = now};
    plan->write_status = true;
}

static int start_status(struct job_plan *plan, struct job_sight *s) {
    struct job_status *next = &plan->status;
    *next = *s->was;
    next->conditions.v = ARENA_ARRAY(s->a, struct condition, s->was->conditions.n + 4);
    if (next->conditions.v == NULL) {
        return ERR_NOMEM;
    }
    if (s->was->conditions.n) {
        memcpy(next->conditions.v, s->was->conditions.v,
               s->was->conditions.n * sizeof *next->conditions.v);
    }
    return 0;
}

static void suspend_status(struct job_plan *plan, struct job_sight *s) {
    if (s->suspended) {
        set_condition(plan, s, "Suspended", true, STR("JobSuspended"), STR("Job suspended"));
        return;
    }
    if (job_condition_true(s->f->job, "Suspended")) {
        set_condition(plan, s, "Suspended", false, STR("JobResumed"), STR("Job resumed"));
        plan->status.start_ns = whole_seconds(s->f->now_ns);
    }
    if (!plan->status.start_ns) {
        plan->status.start_ns = whole_seconds(s->f->now_ns);
    }
}

static int write_set(struct arena *a, const struct index_set *set, struct str *ret) {
    struct buf b;
    buf_init(&b, 1 << 20);
    index_set_write(set, &b);
    int r = buf_ok(&b);
    if (r == 0) {
        *ret = arena_str(a, buf_view(&b));
    }
    buf_release(&b);
    return r;
}

static int finish_status(struct job_plan *plan, struct job_sight *s) {
    const struct job_status *was = s->was;
    struct job_status *next = &plan->status;
    next->active = (int32_t)(s->active - (int64_t)plan->n_deletes + (int64_t)plan->n_creates);
    next->ready = (struct opt_i32){true, (int32_t)s->ready};
    next->terminating = (struct opt_i32){true, (int32_t)s->terminating};
    int r = s->indexed ? write_set(s->a, &s->completed, &next->completed_indexes) : 0;
    if (r == 0 && s->per_index) {
        r = write_set(s->a, &s->failed_indexes, &next->failed_indexes);
    }
    plan->write_status |= !value_views_same(&schema_job_status, was, next);
    return r;
}

/* The second step of ending: nothing runs or ends, and what waits to be counted is counted with it. */
static void end_status(struct job_plan *plan, struct job_sight *s, const struct job_verdict *v,
                       size_t open) {
    struct uncounted_pods *u = plan->status.uncounted_terminated_pods;
    set_condition(plan, s, v->type, true, v->reason, v->message);
    if (s->active || s->terminating || open) {
        return;
    }
    plan->status.succeeded += s->indexed ? 0 : (int32_t)u->succeeded.n;
    plan->status.failed += (int32_t)u->failed.n;
    *u = (struct uncounted_pods){0};
    bool good = str_is(str_of(v->type), "SuccessCriteriaMet");
    set_condition(plan, s, good ? "Complete" : "Failed", true, v->reason, v->message);
    if (good) {
        plan->status.completion_ns = whole_seconds(s->f->now_ns);
    }
}

static int strip_all(struct job_sight *s, struct job_plan *plan) {
    plan->strips = ARENA_ARRAY(s->a, size_t, s->f->n_pods + 1);
    if (plan->strips == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < s->f->n_pods; i++) {
        if (s->f->pods[i].tracked) {
            plan->strips[plan->n_strips++] = i;
        }
    }
    return 0;
}

static int decide(struct job_sight *s, struct job_plan *plan) {
    if (job_finished(s->f->job) || s->f->deleting) {
        return strip_all(s, plan); /* nothing is counted any more, and nothing must hold the pods */
    }
    struct job_verdict v = judge(s);
    size_t open = 0;
    if (start_status(plan, s) != 0 || account(s, v.type != NULL, plan, &open) != 0) {
        return ERR_NOMEM;
    }
    suspend_status(plan, s);
    int r = v.type ? job_manage_end(s, plan) : job_manage(s, plan);
    if (r != 0) {
        return r;
    }
    if (v.type) {
        end_status(plan, s, &v, open);
    } else if (deadline_left(s) != INT64_MAX &&
               (!plan->again_ns || deadline_left(s) < plan->again_ns)) {
        plan->again_ns = deadline_left(s);
    }
    return finish_status(plan, s);
}

int job_decide(const struct job_facts *f, struct arena *a, struct job_plan *ret, struct err *err) {
    struct job_sight s;
    struct job_plan plan = {0};
    int r = job_sight_init(&s, f, a, err);
    if (r != 0) {
        return r;
    }
    r = decide(&s, &plan);
    job_sight_release(&s);
    r = r ? r : arena_ok(a);
    if (r != 0) {
        return err_set(err, r, "out of memory");
    }
    *ret = plan;
    return 0;
}
