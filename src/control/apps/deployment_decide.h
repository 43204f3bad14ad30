/*
 * deployment_decide: what a Deployment does next, from its spec and its ReplicaSets. Pure.
 *
 * One look decides: which set has the current template (the oldest whose template is the same, template_text.h, else
 * the one that was made of it, whatever admission changed there) or that one is to be made, how many pods each set
 * should have (rollout.h), which old sets are not kept any more, and the status with its conditions. Reasons and
 * messages are Kubernetes'.
 */
#ifndef BERTH_CONTROL_DEPLOYMENT_DECIDE_H
#define BERTH_CONTROL_DEPLOYMENT_DECIDE_H

#include "api/tables/view_apps.h"
#include "mirror/object.h"

#define DEPLOYMENT_REVISION "deployment.kubernetes.io/revision"
#define DEPLOYMENT_HISTORY "deployment.kubernetes.io/revision-history"
#define DEPLOYMENT_DESIRED "deployment.kubernetes.io/desired-replicas"
#define DEPLOYMENT_MAX "deployment.kubernetes.io/max-replicas"

struct deployment_set {
    const struct object *obj;
    struct replica_set set;
    struct str text;  /* of its template */
    int64_t revision; /* 0: it says none */
    bool has_pods;    /* of a Deployment that recreates: some have not ended */
    /* Decided. */
    struct replica_set_spec spec;
    struct meta meta;
    bool write, remove;
};

struct deployment_facts {
    const struct object *obj;
    const struct deployment *deployment;
    struct str text;  /* of its template */
    struct str name;  /* that a new set would have */
    bool taken;       /* another object has that name */
    struct str fault; /* why the new set could not be made; empty: it was not tried, or made */
    struct deployment_set *sets;
    size_t n;
    int64_t now_ns;
};

struct deployment_plan {
    bool create;                /* a new set ... */
    int32_t create_replicas;    /* ... of so many pods, and ... */
    struct str_map annotations; /* ... with these */
    struct meta meta;           /* the Deployment's, with its revision */
    struct deployment_status status;
    bool write_meta, write_status;
    int64_t again_ns; /* look again after this time; 0: not by time */
};

/* Sorts f->sets, and decides for each. 0 or ERR_NOMEM. */
int deployment_decide(struct deployment_facts *f, struct arena *a, struct deployment_plan *ret);

/* The revision in annotations; 0: none. */
int64_t deployment_revision(const struct meta *m);

#endif
