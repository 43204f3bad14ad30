/* serve_status: see serve_status.h. */
#include "core/serve/serve_status.h"

static struct serve_condition condition(const char *type, enum serve_truth truth, struct str reason,
                                        struct str message) {
    return (struct serve_condition){type, truth, reason, message};
}

/* By the Deployment: available says that it serves; progressing overrides it while a rollout is on its way or stuck;
 * not available and failing replicas override that. */
static struct serve_condition by_deployment(const struct serve_observed *o) {
    const struct serve_seen *a = &o->available, *p = &o->progressing, *f = &o->replica_failure;
    struct serve_condition c = condition("PredictorReady", SERVE_FALSE, STR(""), STR(""));

    if (a->there && a->truth == SERVE_TRUE) {
        c = condition(c.type, SERVE_TRUE, a->reason, a->message);
    }
    if (p->there && p->truth == SERVE_FALSE && p->message.n > 0) {
        c = condition(c.type, SERVE_FALSE, p->reason, p->message);
    } else if (p->there && p->truth == SERVE_TRUE) {
        bool done = str_is(p->reason, "NewReplicaSetAvailable");
        c = condition(c.type, done ? SERVE_TRUE : SERVE_UNKNOWN, p->reason, p->message);
    }
    if (a->there && a->truth == SERVE_FALSE) {
        c = condition(c.type, SERVE_FALSE, a->reason, a->message);
    }
    if (f->there && f->truth == SERVE_TRUE) {
        c = condition(c.type, SERVE_FALSE, f->reason, f->message);
    }
    return c;
}

static bool at_zero(const struct serve_observed *o) {
    return o->wanted == 0 && o->pods == 0 && !o->stopped;
}

static struct serve_condition predictor(const struct serve_observed *o) {
    const char *type = "PredictorReady";

    if (o->no_runtime != NULL) {
        return condition(type, SERVE_FALSE, str_of(o->no_runtime), o->no_runtime_text);
    }
    if (o->stopped) {
        return condition(type, SERVE_FALSE, STR("Stopped"),
                         STR("stopped by annotation serving.kserve.io/stop"));
    }
    if (at_zero(o)) {
        return condition(type, SERVE_TRUE, STR("ScaledToZero"), STR("the first request starts it"));
    }
    struct serve_condition c = by_deployment(o);
    if (o->queued.n > 0 && (o->ready == 0 || c.truth != SERVE_TRUE)) {
        return condition(type, o->ready == 0 ? SERVE_FALSE : c.truth, STR("Queued"), o->queued);
    }
    return c;
}

static struct serve_condition ingress(const struct serve_observed *o) {
    if (o->stopped) {
        return condition("IngressReady", SERVE_FALSE, STR("Stopped"), STR(""));
    }
    return o->routed ? condition("IngressReady", SERVE_TRUE, STR(""), STR(""))
                     : condition("IngressReady", SERVE_UNKNOWN, STR("NotRouted"),
                                 STR("the gateway has no route to it yet"));
}

static struct serve_condition both(const struct serve_condition *a,
                                   const struct serve_condition *b) {
    const struct serve_condition *worse = a->truth == SERVE_FALSE   ? a
                                          : b->truth == SERVE_FALSE ? b
                                          : a->truth != SERVE_TRUE  ? a
                                                                    : b;
    bool fine = worse->truth == SERVE_TRUE;
    return condition("Ready", worse->truth, fine ? STR("") : worse->reason,
                     fine ? STR("") : worse->message);
}

/* ---- the model ---- */

static void model(struct serve_status *s, const char *transition, const char *target) {
    s->transition = transition;
    s->target = target;
}

static void fail(struct serve_status *s, const struct serve_observed *o, const char *reason) {
    model(s, "BlockedByFailedLoad", "FailedToLoad");
    s->failure = reason;
    s->failure_text = o->pod_text;
    s->failure_location = o->pod_name;
    s->exit_code = o->exit_code;
}

static void by_pod(struct serve_status *s, const struct serve_observed *o) {
    switch (o->pod) {
    case SERVE_POD_FETCHING:
    case SERVE_POD_LOADING:
        model(s, "InProgress", "Loading");
        break;
    case SERVE_POD_READY:
        model(s, "UpToDate", "Loaded");
        break;
    case SERVE_POD_FETCH_FAILED:
        fail(s, o, "ModelLoadFailed");
        break;
    case SERVE_POD_ENDED:
        fail(s, o, o->was_loaded ? "RuntimeUnhealthy" : "ModelLoadFailed");
        break;
    default:
        model(s, "InProgress", "Pending");
    }
}

static void model_status(struct serve_status *s, const struct serve_observed *o) {
    bool ready = s->conditions[0].truth == SERVE_TRUE;

    s->copies = o->pods;
    s->failed_copies = o->failed;
    if (o->no_runtime != NULL) {
        model(s, "InvalidSpec", "FailedToLoad");
        s->failure = o->no_runtime;
        s->failure_text = o->no_runtime_text;
    } else if (o->stopped) {
        model(s, "UpToDate", NULL);
    } else if (at_zero(o)) {
        model(s, "UpToDate", "Standby");
        s->active = "Standby";
        return;
    } else if (ready && o->ready > 0) {
        model(s, "UpToDate", "Loaded");
    } else if (o->queued.n > 0) {
        model(s, "InProgress", "Pending");
    } else {
        by_pod(s, o);
    }
    bool loaded = s->target != NULL && str_is(str_of(s->target), "Loaded");
    bool others = o->was_loaded || o->queued.n > 0; /* that are ready */
    s->active = loaded || (others && o->ready > 0) ? "Loaded" : NULL;
}

/* What the newest pod tells of itself, where it is the reason that the model does not serve. */
static void tell_pod(const struct serve_observed *o, struct serve_condition *c) {
    bool by_pods = c->truth != SERVE_TRUE && o->no_runtime == NULL && !o->stopped;
    bool refused = o->replica_failure.there && o->replica_failure.truth == SERVE_TRUE;

    if (by_pods && o->pod == SERVE_POD_FETCHING && o->fetching.n > 0) {
        *c = condition(c->type, c->truth, STR("Loading"), o->fetching);
    } else if (by_pods && !refused && o->queued.n == 0 && o->pod == SERVE_POD_WAITING &&
               o->waiting.n > 0) {
        *c = condition(c->type, c->truth, o->waiting, o->waiting_text);
    }
}

struct serve_status serve_status_of(const struct serve_observed *o) {
    struct serve_status s = {.copies = 0};
    struct serve_condition *c = s.conditions;

    c[0] = predictor(o);
    tell_pod(o, &c[0]);
    c[1] = ingress(o);
    c[2] = both(&c[0], &c[1]);
    c[3] = condition("Stopped", o->stopped ? SERVE_TRUE : SERVE_FALSE, STR(""), STR(""));
    model_status(&s, o);
    return s;
}
