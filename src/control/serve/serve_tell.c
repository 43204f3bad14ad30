/* serve_tell: the status of a service (core/serve/serve_status.h), by what is seen of it. */
#include "api/conditions.h"
#include "control/kit/edit.h"
#include "control/serve/serve_private.h"

/* Fields of the service that are kept, and that nobody acts on. */
#define HONORED "FieldsHonored"

static struct serve_seen seen(const struct serve_revision *v, const char *type) {
    const struct deployment_status *s = v->view.status;
    const struct condition *c = s ? conditions_find(&s->conditions, type) : NULL;
    if (c == NULL) {
        return (struct serve_seen){0};
    }
    return (struct serve_seen){.there = true,
                               .truth = str_is(c->status, "True")    ? SERVE_TRUE
                                        : str_is(c->status, "False") ? SERVE_FALSE
                                                                     : SERVE_UNKNOWN,
                               .reason = c->reason,
                               .message = c->message};
}

static bool was_loaded(const struct serve_look *l) {
    const struct inference_status *s = l->view.status;
    return s != NULL && s->model != NULL && s->model->states != NULL &&
           str_is(s->model->states->active, "Loaded");
}

static struct serve_observed observe(struct serve_look *l, struct str refused) {
    const struct serve_revision *v = &l->stable;
    const struct serve_revision *latest = serve_is_canary(l) ? &l->canary : v;
    const struct deployment_status *s = v->view.status;
    struct serve_observed o = {
        .no_runtime = l->fault,
        .no_runtime_text = l->fault_text,
        .stopped = l->stopped,
        .wanted = v->obj && v->view.spec && v->view.spec->replicas.set ? v->view.spec->replicas.v
                                                                       : l->min,
        .pods = s ? s->replicas : 0,
        .ready = s ? s->ready_replicas : 0,
        .failed = v->failed,
        .queued = v->queued,
        .available = seen(v, "Available"),
        .progressing = seen(v, "Progressing"),
        .replica_failure = seen(v, "ReplicaFailure"),
        .pod = latest->state,
        .pod_name = latest->pod ? latest->pod->name : (struct str){0},
        .pod_text = latest->pod_text,
        .waiting = latest->waiting,
        .waiting_text = latest->waiting_text,
        .exit_code = latest->exit_code,
        .routed = serve_get(l, SERVE_ADDRESSES, l->obj->ns, l->address_name) != NULL,
        .was_loaded = was_loaded(l),
    };
    if (refused.n > 0) {
        o.replica_failure = (struct serve_seen){true, SERVE_TRUE, STR("Refused"), refused};
    }
    return o;
}

/* ---- parts of the status ---- */

static const char *const truths[] = {
    [SERVE_UNKNOWN] = "Unknown", [SERVE_FALSE] = "False", [SERVE_TRUE] = "True"};

static int put_conditions(struct serve_look *l, const struct serve_status *s,
                          struct inference_status *to) {
    int64_t now = clock_wall(l->c->base.env.clock);
    int r =
        conditions_copy(l->view.status ? &l->view.status->conditions : NULL, l->a, &to->conditions);
    for (size_t i = 0; r == 0 && i < SERVE_CONDITIONS; i++) {
        const struct serve_condition *c = &s->conditions[i];
        struct str reason = arena_str(l->a, c->reason);
        struct condition_want want = {c->type, truths[c->truth],
                                      c->reason.n ? arena_f(l->a, "%.*s", STR_ARG(reason)).p : "",
                                      c->message};
        r = want.reason == NULL ? ERR_NOMEM
                                : conditions_put(&to->conditions, l->a, &want, now, 0, NULL);
    }
    if (r == 0 && l->ignored.n > 0) {
        struct str text =
            arena_f(l->a, "kept, and nothing acts on them: %.*s", STR_ARG(l->ignored));
        r = conditions_set(&to->conditions, l->a, HONORED, false, "NotActedOn", text, now, 0, NULL);
    } else if (r == 0) {
        conditions_remove(&to->conditions, HONORED, NULL);
    }
    return r;
}

static bool same_failure(const struct model_failure *was, const struct model_failure *now) {
    return was != NULL && str_eq(was->reason, now->reason) && str_eq(was->message, now->message) &&
           str_eq(was->location, now->location);
}

static int put_model(struct serve_look *l, const struct serve_status *s,
                     struct inference_status *to) {
    struct model_status *m = ARENA_NEW(l->a, struct model_status);
    struct model_states *states = ARENA_NEW(l->a, struct model_states);
    struct model_copies *copies = ARENA_NEW(l->a, struct model_copies);
    struct model_failure *f = ARENA_NEW(l->a, struct model_failure);
    const struct model_status *was = l->view.status ? l->view.status->model : NULL;
    if (arena_ok(l->a) != 0) {
        return ERR_NOMEM;
    }
    *states = (struct model_states){s->active ? str_of(s->active) : (struct str){0},
                                    s->target ? str_of(s->target) : (struct str){0}};
    *copies = (struct model_copies){s->failed_copies, s->copies};
    *m = (struct model_status){.transition = str_of(s->transition),
                               .states = s->active || s->target ? states : NULL,
                               .copies = copies};
    if (s->failure != NULL) {
        *f = (struct model_failure){.location = s->failure_location,
                                    .reason = str_of(s->failure),
                                    .message = s->failure_text,
                                    .exit_code = {s->exit_code != 0, s->exit_code}};
        const struct model_failure *before = was ? was->last_failure : NULL;
        f->time_ns = same_failure(before, f) ? before->time_ns : clock_wall(l->c->base.env.clock);
        m->last_failure = f;
    }
    to->model = m;
    return 0;
}

/* Shares of the revisions, as KServe's: the latest first, the one before tagged. */
static void put_traffic(const struct serve_look *l, struct predictor_status *p,
                        struct model_traffic v[static 2]) {
    bool canary = serve_is_canary(l);
    v[0] = (struct model_traffic){.revision_name = canary ? l->canary.name : l->stable.name,
                                  .latest_revision = true,
                                  .percent = {true, canary ? l->canary_percent : 100}};
    v[1] = (struct model_traffic){.revision_name = l->stable.name,
                                  .tag = STR("prev"),
                                  .percent = {true, 100 - l->canary_percent}};
    p->traffic.v = v;
    p->traffic.n = canary ? 2 : 1;
}

static int put_components(struct serve_look *l, const struct serve_status *s,
                          struct inference_status *to) {
    struct model_components *c = ARENA_NEW(l->a, struct model_components);
    struct predictor_status *p = ARENA_NEW(l->a, struct predictor_status);
    struct model_address *address = ARENA_NEW(l->a, struct model_address);
    struct model_traffic *traffic = ARENA_ARRAY(l->a, struct model_traffic, 2);
    if (arena_ok(l->a) != 0) {
        return ERR_NOMEM;
    }
    *address = (struct model_address){l->url};
    *p = (struct predictor_status){.url = l->url, .address = address};
    put_traffic(l, p, traffic);
    p->latest_created_revision = traffic[0].revision_name;
    p->latest_rolledout_revision = l->stable.name;
    if (s->conditions[0].truth == SERVE_TRUE &&
        (!serve_is_canary(l) || l->canary.state == SERVE_POD_READY)) {
        p->latest_ready_revision = traffic[0].revision_name;
    }
    if (l->obj != NULL && !l->stopped && l->stable.obj != NULL) {
        c->predictor = p;
        to->components = c;
        to->url = l->url;
        to->address = address;
    }
    return 0;
}

void serve_tell(struct serve_look *l, struct str refused) {
    struct serve_observed o = observe(l, refused);
    struct serve_status s = serve_status_of(&o);
    struct inference_service want = l->view;
    struct inference_status to = {
        .observed_generation = l->obj->generation,
        .deployment_mode = STR("Standard"),
    };
    *(l->cluster_runtime ? &to.cluster_runtime : &to.runtime) = l->runtime;
    int r = put_conditions(l, &s, &to);
    r = r ? r : put_model(l, &s, &to);
    r = r ? r : put_components(l, &s, &to);
    if (r != 0) {
        round_fail(l->round, r);
        return;
    }
    want.status = &to;
    edit_send(l->round, l->obj, "status", EDIT_UID, &l->view, &want);
}
