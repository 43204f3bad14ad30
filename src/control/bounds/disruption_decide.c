/* disruption_decide: see disruption_decide.h. */
#include "control/bounds/disruption_decide.h"

#include "api/conditions.h"
#include "api/disruption.h"
#include "api/walk/value.h"

static bool is_percent(struct str amount) {
    return str_ends(amount, STR("%"));
}

/* "3" as it is, "50%" of `whole`, rounded up. */
static int64_t amount_of(struct str amount, int64_t whole) {
    uint64_t n = 0;
    bool percent = is_percent(amount);
    (void)str_to_u64(percent ? str_head(amount, amount.n - 1) : amount, &n);
    n = n > INT32_MAX ? INT32_MAX : n;
    return percent ? ((int64_t)n * whole + 99) / 100 : (int64_t)n;
}

static int32_t within(int64_t n) {
    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

bool disruption_counts_wanted(const struct disruption_budget *b) {
    return b->spec && (b->spec->max_unavailable.n > 0 || is_percent(b->spec->min_available));
}

static void count(const struct disruption_facts *f, struct disruption_status *s) {
    const struct disruption_spec *spec = f->budget->spec;
    int64_t expected = disruption_counts_wanted(f->budget) ? f->wanted : (int64_t)f->n_pods;
    int64_t desired = 0;
    if (spec && spec->max_unavailable.n > 0) {
        desired = expected - amount_of(spec->max_unavailable, expected);
    } else if (spec && spec->min_available.n > 0) {
        desired = amount_of(spec->min_available, expected);
    } else {
        expected = 0; /* it asks for nothing */
    }
    s->expected_pods = within(expected);
    s->desired_healthy = within(desired);
    int64_t room = (int64_t)s->current_healthy - s->desired_healthy;
    s->disruptions_allowed = expected > 0 ? within(room) : 0;
}

/* Who is healthy, and who was evicted and is there still. */
static int look_at_pods(const struct disruption_facts *f, const struct disruption_status *was,
                        struct arena *a, struct disruption_plan *p) {
    size_t n = was->disrupted_pods.n < f->n_pods ? was->disrupted_pods.n : f->n_pods;
    struct time_pair *kept = ARENA_ARRAY(a, struct time_pair, n + 1);
    int64_t healthy = 0;
    p->overdue = ARENA_ARRAY(a, size_t, n + 1);
    p->status.disrupted_pods.n = 0;
    if (kept == NULL || p->overdue == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < f->n_pods; i++) {
        const struct guarded_pod *pod = &f->pods[i];
        int64_t at = pod->deleting ? 0 : disruption_of_pod(was, pod->name);
        int64_t left = at ? at + DISRUPTION_DISRUPTED_FOR - f->now_ns : 0;
        if (left > 0) {
            kept[p->status.disrupted_pods.n++] = (struct time_pair){pod->name, at};
            p->again_ns = !p->again_ns || left < p->again_ns ? left : p->again_ns;
        } else if (at) {
            p->overdue[p->n_overdue++] = i;
        }
        healthy += !pod->deleting && pod->ready && left <= 0;
    }
    p->status.disrupted_pods.v = kept;
    p->status.current_healthy = within(healthy);
    return 0;
}

int disruption_decide(const struct disruption_facts *f, struct arena *a,
                      struct disruption_plan *ret) {
    static const struct disruption_status nothing;
    const struct disruption_status *was = f->budget->status ? f->budget->status : &nothing;
    struct disruption_plan p = {.status = *was};
    int r;
    if (f->failure.n > 0) { /* to be safe nothing is allowed */
        struct condition_list list;
        p.status.disruptions_allowed = 0;
        r = conditions_copy(&was->conditions, a, &list);
        r = r ? r
              : conditions_set(&list, a, DISRUPTION_ALLOWED, false, DISRUPTION_SYNC_FAILED,
                               f->failure, f->now_ns, was->observed_generation, NULL);
        p.status.conditions = list;
    } else {
        p.status.observed_generation = f->generation;
        r = look_at_pods(f, was, a, &p);
        if (r == 0) {
            count(f, &p.status);
            r = disruption_set_condition(&p.status, a, f->now_ns);
        }
    }
    if (r == 0) {
        p.write = !value_views_same(&schema_disruption_status, was, &p.status) ||
                  f->budget->status == NULL;
        *ret = p;
    }
    return r;
}
