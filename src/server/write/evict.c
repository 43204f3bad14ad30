/* evict: see evict.h. */
#include "server/write/evict.h"

#include "api/conditions.h"
#include "api/disruption.h"
#include "api/schema/codec.h"
#include "api/selector.h"
#include "server/write/meta.h"
#include "server/write/remove.h"

#define REFUSED "Cannot evict pod as it would violate the pod's disruption budget."

enum { BUDGET_STEPS = 2000, BUDGET_ARENA = 16 << 20, AGAIN_S = 1 }; /* of reading one budget */

static int nomem(struct write *w) {
    return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
}

static const struct kind *budget_kind(void) {
    return kind_by_name(STR("policy"), STR("PodDisruptionBudget"));
}

/* ---- which budget ---- */

struct budget_search {
    struct write *w;
    struct arena scratch; /* of one budget */
    const struct object *found;
    size_t n;
    int code;
};

static bool look_at_budget(void *ctx, const struct object *o) {
    struct budget_search *s = ctx;
    struct selector selector;
    yyjson_doc *d;
    const struct object *now = mirror_pending(s->w->s->o.mirror, o->kind, o->ns, o->name);
    if (!arena_charge(s->w->arena, BUDGET_STEPS)) {
        return false;
    }
    if (now == NULL) {
        return true;
    }
    arena_reset(&s->scratch);
    s->code = object_tree(now, &s->scratch, &d, NULL);
    if (s->code == 0 &&
        selector_from_json(&s->scratch, json_path(yyjson_doc_get_root(d), "spec.selector"),
                           &selector, NULL) == 0 &&
        selector_matches(&selector, &s->w->old->labels)) {
        s->found = now;
        s->n++;
    }
    return s->code == 0 && s->n < 2;
}

/* *ret NULL: no budget selects the pod. */
static int find_budget(struct write *w, const struct object **ret) {
    struct budget_search s = {.w = w};
    const struct kind *k = budget_kind();
    *ret = NULL;
    if (k == NULL || mirror_count(w->s->o.mirror, k) == 0) {
        return 0;
    }
    arena_init(&s.scratch, BUDGET_ARENA);
    mirror_scan(w->s->o.mirror, k, w->old->ns, look_at_budget, &s);
    arena_release(&s.scratch);
    if (s.code != 0) {
        return nomem(w);
    }
    if (arena_spent(w->arena)) { /* write_finish says so */
        return failure_set(&w->failure, w->arena, ERR_TOO_LARGE, "too many budgets");
    }
    if (s.n > 1) {
        return failure_set(&w->failure, w->arena, ERR_INTERNAL,
                           "This pod has more than one PodDisruptionBudget, which the eviction "
                           "subresource does not support.");
    }
    *ret = s.found;
    return 0;
}

/* ---- what it allows ---- */

/* Pods that are not ready take nothing from those that are. */
static bool is_free(const struct write *w, const struct disruption_budget *b) {
    if (disruption_pod_ready(w->old_tree)) {
        return false;
    }
    return (b->spec != NULL && str_is(b->spec->unhealthy_pod_eviction_policy, "AlwaysAllow")) ||
           (b->status->desired_healthy > 0 &&
            b->status->current_healthy >= b->status->desired_healthy);
}

static int refuse(struct write *w, struct str why, int again_s) {
    (void)failure_set(&w->failure, w->arena, ERR_TOO_MANY, REFUSED);
    w->failure.retry_after = again_s;
    return failure_cause(&w->failure, w->arena, STR("DisruptionBudget"), why, (struct str){0});
}

static int check_room(struct write *w, const struct object *o, const struct disruption_status *s) {
    const struct condition *c = conditions_find(&s->conditions, DISRUPTION_ALLOWED);
    if (s->observed_generation < o->generation) {
        return refuse(w,
                      arena_f(w->arena,
                              "The disruption budget %.*s is still being processed by the server.",
                              STR_ARG(o->name)),
                      AGAIN_S);
    }
    if (s->disrupted_pods.n > DISRUPTION_DISRUPTED_MAX) {
        return failure_forbidden(&w->failure, w->arena, o->kind, o->name,
                                 "DisruptedPods map too big - too many evictions not confirmed by "
                                 "PDB controller");
    }
    if (s->disruptions_allowed > 0) {
        return 0;
    }
    if (c != NULL && str_is(c->reason, DISRUPTION_SYNC_FAILED)) {
        return refuse(w,
                      arena_f(w->arena,
                              "The disruption budget %.*s does not allow evicting pods currently "
                              "because it failed sync: %.*s",
                              STR_ARG(o->name), STR_ARG(c->message)),
                      0);
    }
    return refuse(w,
                  arena_f(w->arena,
                          "The disruption budget %.*s needs %d healthy pods and has %d currently",
                          STR_ARG(o->name), s->desired_healthy, s->current_healthy),
                  0);
}

/* The budget with one disruption less. */
static int charge(struct write *w, const struct object *o, yyjson_val *tree,
                  const struct disruption_status *was) {
    struct disruption_status s = *was;
    s.disruptions_allowed--;
    int r = disruption_add_pod(&s, w->arena, w->old->name, w->now);
    if (r == 0 && s.disruptions_allowed == 0) {
        r = disruption_set_condition(&s, w->arena, w->now);
    }
    return r != 0 ? nomem(w) : write_beside(w, o, tree, &schema_disruption_status, &s);
}

static int ask_budget(struct write *w) {
    static const struct disruption_status nothing;
    const struct object *o;
    struct disruption_budget b;
    yyjson_doc *d;
    int r = find_budget(w, &o);
    if (r != 0 || o == NULL) {
        return r;
    }
    if (object_tree(o, w->arena, &d, NULL) != 0 ||
        codec_decode(&schema_disruption_budget, yyjson_doc_get_root(d), w->arena, &b, NULL) != 0) {
        return nomem(w);
    }
    b.status = b.status != NULL ? b.status : (struct disruption_status *)&nothing;
    if (is_free(w, &b)) {
        return 0;
    }
    r = check_room(w, o, b.status);
    return r != 0 || w->req->opt.dry_run ? r : charge(w, o, yyjson_doc_get_root(d), b.status);
}

/* It has ended, never began, or ends already. */
static bool is_outside_budgets(const struct write *w) {
    static const char *const phases[] = {"Succeeded", "Failed", "Pending"};
    struct str phase = json_str_at(w->old_tree, "status.phase");
    bool any = w->old->deleting_ns != 0;
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        any = any || str_is(phase, phases[i]);
    }
    return any;
}

void evict_run(struct write *w) {
    int r = write_load(w);
    if (r == 0 && !is_outside_budgets(w)) {
        r = ask_budget(w);
    }
    if (r != 0) {
        write_finish(w);
        return;
    }
    w->evicts = true;
    remove_run(w);
}

int evict_mark(struct write *w) {
    return meta_set_condition(w, "DisruptionTarget", "EvictionByEvictionAPI",
                              "Eviction API: evicting");
}
