/* replica_set_decide: counts, compares, and says what failed. See replica_set_decide.h. */
#include "control/apps/replica_set_decide.h"

#include "api/conditions.h"
#include "api/schema/codec.h"
#include "api/walk/value.h"

#define FAILURE "ReplicaFailure"

static bool has_all(const struct str_map *labels, const struct str_map *of) {
    for (size_t i = 0; of && i < of->n; i++) {
        bool found = false;
        for (size_t k = 0; !found && k < labels->n; k++) {
            found = str_eq(labels->v[k].key, of->v[i].key) &&
                    str_eq(labels->v[k].value, of->v[i].value);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static void count(const struct replica_set_facts *f, struct replica_set_plan *plan) {
    const struct replica_set_spec *spec = f->set->spec;
    const struct meta *m = spec->template ? spec->template->metadata : NULL;
    struct replica_set_status *s = &plan->status;
    for (size_t i = 0; i < f->active.n; i++) {
        const struct owned_pod *p = &f->active.v[i];
        s->replicas++;
        s->ready_replicas += p->ready;
        s->fully_labeled_replicas += has_all(&p->obj->labels, m ? &m->labels : NULL);
        s->available_replicas +=
            owned_pod_available(p, spec->min_ready_seconds, f->now_ns, &plan->again_ns);
    }
    s->terminating_replicas = (struct opt_i32){!f->untold, f->untold ? 0 : f->terminating};
    s->observed_generation = f->generation;
}

/* A failure is known from the answers of the look before; while pods are still being made it stays as it was. */
static int tell_failure(const struct replica_set_facts *f, int64_t missing, struct arena *a,
                        struct replica_set_status *s) {
    const struct condition *was = conditions_find(&s->conditions, FAILURE);
    const char *reason = missing > 0 ? "FailedCreate" : "FailedDelete";
    bool same = was && str_is(was->status, "True") && str_is(was->reason, reason);
    if (!str_empty(f->fault) && missing != 0) {
        return same ? 0
                    : conditions_set(&s->conditions, a, FAILURE, true, reason, f->fault, f->now_ns,
                                     0, NULL);
    }
    if (was && missing <= 0) {
        conditions_remove(&s->conditions, FAILURE, NULL);
    }
    return 0;
}

int replica_set_decide(struct replica_set_facts *f, struct arena *a, struct replica_set_plan *ret) {
    static const struct replica_set_status none;
    const struct replica_set_status *was = f->set->status ? f->set->status : &none;
    int64_t want = f->set->spec->replicas.set ? f->set->spec->replicas.v : 1;
    int64_t missing = want - (int64_t)f->active.n;
    *ret = (struct replica_set_plan){0};
    count(f, ret);
    int r = conditions_copy(&was->conditions, a, &ret->status.conditions);
    r = r ? r : tell_failure(f, f->deleting ? 0 : missing, a, &ret->status);
    if (r == 0 && !f->deleting && missing > 0) {
        ret->creates = replica_set_batch((size_t)missing, f->active.n, f->tried);
    } else if (r == 0 && !f->deleting && missing < 0) {
        ret->deletes = -missing < REPLICA_SET_BURST ? (size_t)-missing : REPLICA_SET_BURST;
        r = owned_pods_rank(&f->active, f->now_ns);
    }
    ret->write_status =
        f->set->status == NULL || !value_views_same(&schema_replica_set_status, was, &ret->status);
    return r;
}
