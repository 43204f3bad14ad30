/* cron_decide: first what the Jobs say about the status, then what the clock says. See cron_decide.h. */
#include "control/cron/cron_decide.h"

#include <stdlib.h>

#include "api/walk/value.h"
#include "base/limits.h"
#include "base/map.h"
#include "wire/text/cron.h"
#include "wire/text/time.h"

enum { LATE_NS = 100 * 1000 * 1000, MANY_MISSED = 100, NOTES_OF_CLOCK = 4 };

struct sight {
    const struct cron_facts *f;
    const struct cron_job_spec *spec;
    struct arena *a;
    struct cron_plan *p;
    bool *active;   /* one per run: it is in the status */
    int64_t last_s; /* the latest time that a Job was made for; 0: none */
    size_t notes_cap;
};

struct str cron_run_name(struct str cron_job, int64_t due_s, struct arena *a) {
    return arena_f(a, "%.*s-%lld", STR_ARG(cron_job), (long long)(due_s / 60));
}

static void note(struct sight *s, enum event_type type, const char *reason, struct str text) {
    if (s->p->n_notes < s->notes_cap) {
        s->p->notes[s->p->n_notes++] = (struct cron_note){type, reason, text};
    }
}

/* ---- the Jobs ---- */

static void add_active(struct sight *s, const struct cron_run *r, struct str ns) {
    s->p->status.active.v[s->p->status.active.n++] =
        (struct object_reference){.api_version = STR("batch/v1"),
                                  .kind = STR("Job"),
                                  .namespace = ns,
                                  .name = r->name,
                                  .uid = r->uid};
}

static void note_completed(struct sight *s, const struct cron_run *r) {
    note(s, EVENT_NORMAL, "SawCompletedJob",
         arena_f(s->a, "Saw completed job: %.*s, condition: %s", STR_ARG(r->name), r->finished));
}

/* What the status calls active, as long as it is. */
static int keep_active(struct sight *s, const struct cron_job_status *was) {
    struct map by_uid;
    int r = 0;
    map_init(&by_uid);
    for (size_t i = 0; r == 0 && i < s->f->n_runs; i++) {
        r = map_put(&by_uid, s->f->runs[i].uid, (void *)&s->f->runs[i], NULL);
    }
    for (size_t i = 0; r == 0 && i < was->active.n; i++) {
        const struct object_reference *o = &was->active.v[i];
        const struct cron_run *run = map_get(&by_uid, o->uid);
        if (run == NULL) {
            note(s, EVENT_NORMAL, "MissingJob",
                 arena_f(s->a, "Active job went missing: %.*s", STR_ARG(o->name)));
            continue;
        }
        s->active[run - s->f->runs] = true;
        if (run->finished) {
            note_completed(s, run);
        } else {
            s->p->status.active.v[s->p->status.active.n++] = *o;
        }
    }
    map_release(&by_uid);
    return r;
}

static void look_at_runs(struct sight *s) {
    struct str ns = s->f->job->metadata ? s->f->job->metadata->namespace : STR("");
    int64_t written_s = s->last_s; /* the last time that the status says */
    for (size_t i = 0; i < s->f->n_runs; i++) {
        const struct cron_run *r = &s->f->runs[i];
        if (r->finished && r->due_s > written_s && !s->active[i]) {
            note_completed(s, r); /* it ended before the status could call it active */
        }
        if (r->due_s > s->last_s) {
            s->last_s = r->due_s;
        }
        if (r->finished && str_is(str_of(r->finished), "Complete") &&
            r->completion_ns > s->p->status.last_successful_ns) {
            s->p->status.last_successful_ns = r->completion_ns;
        }
        if (s->active[i] || r->finished || r->deleting) {
            continue;
        }
        if (r->due_s >= 0) { /* made, and not written down yet */
            add_active(s, r, ns);
            s->active[i] = true;
        } else if (!r->manual) {
            note(s, EVENT_WARNING, "UnexpectedJob",
                 arena_f(s->a, "Saw a job that the controller did not create or forgot: %.*s",
                         STR_ARG(r->name)));
        }
    }
}

static int look(struct sight *s, const struct cron_job_status *was) {
    size_t room = s->f->n_runs + was->active.n;
    s->notes_cap = room + NOTES_OF_CLOCK;
    s->p->notes = ARENA_ARRAY(s->a, struct cron_note, s->notes_cap);
    s->p->status.active.v = ARENA_ARRAY(s->a, struct object_reference, room + 1);
    s->p->status.active.n = 0;
    s->active = ARENA_ARRAY(s->a, bool, s->f->n_runs + 1);
    s->p->deletes = ARENA_ARRAY(s->a, size_t, s->f->n_runs + 1);
    if (arena_ok(s->a) != 0) {
        return ERR_NOMEM;
    }
    int r = keep_active(s, was);
    if (r == 0) {
        look_at_runs(s);
        s->p->status.last_schedule_ns = s->last_s * NS_PER_SEC;
    }
    return r;
}

/* ---- old ones ---- */

struct ended {
    size_t at;
    int64_t start_ns;
    struct str name;
};

static int by_start(const void *x, const void *y) {
    const struct ended *a = x, *b = y;
    if (!a->start_ns != !b->start_ns) {
        return a->start_ns ? -1 : 1; /* what never started comes last */
    }
    return a->start_ns != b->start_ns ? (a->start_ns < b->start_ns ? -1 : 1)
                                      : str_cmp(a->name, b->name);
}

/* The oldest of those that ended so, beyond how many are kept. */
static int forget(struct sight *s, const char *how, struct opt_i32 limit) {
    struct ended *v = limit.set ? ARENA_ARRAY(s->a, struct ended, s->f->n_runs + 1) : NULL;
    size_t n = 0;
    if (!limit.set) {
        return 0;
    }
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < s->f->n_runs; i++) {
        const struct cron_run *r = &s->f->runs[i];
        if (r->finished && strcmp(r->finished, how) == 0) {
            v[n++] = (struct ended){i, r->start_ns, r->name};
        }
    }
    size_t keep = limit.v > 0 ? (size_t)limit.v : 0;
    if (n <= keep) {
        return 0;
    }
    qsort(v, n, sizeof *v, by_start);
    for (size_t i = 0; i < n - keep; i++) {
        s->p->deletes[s->p->n_deletes++] = v[i].at;
    }
    return 0;
}

/* ---- the clock ---- */

/* Roughly how many times there were since `from`, told by the distance of the first two. */
static bool missed_many(const struct cron *c, const struct zone *z, int64_t from, int64_t now) {
    int64_t first, second;
    return cron_next(c, z, from, &first) && cron_next(c, z, first, &second) && now >= second &&
           (now - first) / (second - first) + 1 > MANY_MISSED;
}

/* "Fri, 27 Nov 2026 16:00:00 +0000" */
static struct str written_out(int64_t at_s, struct arena *a) {
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct time_parts p = time_split(at_s * NS_PER_SEC);
    return arena_f(a, "%s, %02d %s %d %02d:%02d:%02d +0000", days[p.weekday], p.day,
                   months[p.month - 1], p.year, p.hour, p.minute, p.second);
}

/* One is due now. False: it waits, and it was said why. */
static bool may_start(struct sight *s) {
    struct cron_plan *p = s->p;
    bool running = p->status.active.n > 0;
    if (running && str_is(s->spec->concurrency_policy, "Forbid")) {
        note(s, EVENT_NORMAL, "JobAlreadyActive",
             STR("Not starting job because prior execution is running and concurrency policy is "
                 "Forbid"));
        return false;
    }
    if (running && str_is(s->spec->concurrency_policy, "Replace")) {
        for (size_t i = 0; i < s->f->n_runs; i++) {
            if (s->active[i] && s->f->runs[i].finished == NULL && !s->f->runs[i].deleting) {
                p->deletes[p->n_deletes++] = i;
            }
        }
        p->status.active.n = 0;
    }
    if (p->status.active.n >= LIMIT_CRON_ACTIVE) {
        note(s, EVENT_WARNING, "TooManyActiveJobs",
             arena_f(s->a, "Not starting job because %d are running already", LIMIT_CRON_ACTIVE));
        return false;
    }
    return true;
}

static void follow_clock(struct sight *s, const struct cron *c) {
    const struct cron_facts *f = s->f;
    const struct opt_i64 deadline = s->spec->starting_deadline_seconds;
    int64_t now = f->now_ns / NS_PER_SEC, created = f->created_ns / NS_PER_SEC, due, next;
    int64_t from = s->last_s > 0 ? s->last_s : created;
    int64_t open = deadline.set && now - deadline.v > from ? now - deadline.v : from;
    bool is_due = cron_latest(c, f->zone, from, now, &due);
    if (!cron_next(c, f->zone, is_due ? due : from, &next)) {
        if (!is_due) {
            note(s, EVENT_WARNING, "InvalidSchedule",
                 arena_f(s->a, "invalid schedule: %.*s : no time within five years fits",
                         STR_ARG(str_head(s->spec->schedule, 128))));
            return;
        }
        next = now + 60;
    }
    bool same_minute = is_due && s->last_s > 0 && due / 60 == s->last_s / 60;
    if (same_minute && next / 60 == due / 60) {
        next = (due / 60 + 1) * 60;
    }
    s->p->again_ns = (next > now ? next * NS_PER_SEC - f->now_ns : 0) + LATE_NS;
    if (!is_due || same_minute) {
        return;
    }
    if (due <= open && open > from) {
        note(s, EVENT_WARNING, "MissSchedule",
             arena_f(s->a, "Missed scheduled time to start a job: %.*s",
                     STR_ARG(written_out(due, s->a))));
        return;
    }
    if (missed_many(c, f->zone, open, now)) {
        note(s, EVENT_WARNING, "TooManyMissedTimes",
             STR("too many missed start times. Set or decrease .spec.startingDeadlineSeconds or "
                 "check clock skew"));
    }
    if (may_start(s)) {
        s->p->due_s = due;
    }
}

static void start_what_is_due(struct sight *s) {
    struct cron c;
    struct err why = {0};
    if (s->f->deleting) {
        return;
    }
    if (s->f->zone == NULL) {
        note(s, EVENT_WARNING, "UnknownTimeZone",
             arena_f(s->a, "invalid timeZone: \"%.*s\": unknown time zone %.*s",
                     STR_ARG(str_head(s->spec->time_zone, 64)),
                     STR_ARG(str_head(s->spec->time_zone, 64))));
        return;
    }
    if (s->spec->suspend.set && s->spec->suspend.v) {
        return;
    }
    if (cron_parse(s->spec->schedule, &c, &why) != 0) {
        note(s, EVENT_WARNING, "UnparseableSchedule",
             arena_f(s->a, "unparseable schedule: \"%.*s\" : %s",
                     STR_ARG(str_head(s->spec->schedule, 128)), why.text));
        return;
    }
    follow_clock(s, &c);
}

int cron_decide(const struct cron_facts *f, struct arena *a, struct cron_plan *ret,
                struct err *err) {
    static const struct cron_job_status no_status;
    const struct cron_job_status *was = f->job->status ? f->job->status : &no_status;
    struct cron_plan p = {.status = *was};
    struct sight s = {.f = f, .spec = f->job->spec, .a = a, .p = &p};
    s.last_s = was->last_schedule_ns / NS_PER_SEC;
    int r = look(&s, was);
    if (r == 0) {
        start_what_is_due(&s);
        p.write_status = !value_views_same(&schema_cron_job_status, was, &p.status);
    }
    /* What is deleted is in the status already, as the last that was made. */
    if (r == 0 && p.status.last_schedule_ns == was->last_schedule_ns) {
        r = forget(&s, "Complete", s.spec->successful_jobs_history_limit);
        r = r ? r : forget(&s, "Failed", s.spec->failed_jobs_history_limit);
    }
    if (p.write_status) {
        p.due_s = 0;
    }
    if (r != 0 || arena_ok(a) != 0) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *ret = p;
    return 0;
}
