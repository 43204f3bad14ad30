/*
 * queue_admit: what is written of a Workload that the engine decided about: why it waits, or what it is given.
 *
 * An admission is two writes at most: the placement, where pods get places of ours, then the admission; before them
 * come the parts of a placement that is too long for the annotation (kit/long_note.h). When no check is required, or
 * all are Ready already, the Workload is Admitted in the same write that reserves its quota.
 */
#include "api/meta.h"
#include "control/load/workload_status.h"
#include "control/queue/queue_private.h"
#include "wire/text/time.h"

#define PROTECTED_UNTIL "berth.dev/protected-until"
#define NOT_READY "Not all pods are ready or succeeded"
#define MINIMUM_RUNTIME "berth.dev/minimum-runtime"

/* ---- what the engine is told ---- */

/* Annotations that keep it from being a victim, as far as its ClusterQueue allows. What does not parse was refused when
 * it was written. */
static void protect(const struct cluster_state *s, const struct workload *w, int64_t now,
                    struct workload_input *in) {
    int64_t max = s != NULL ? s->max_protection_ns : 0, ns;
    int64_t from = in->reserved_ns != 0 ? in->reserved_ns : now;
    if (max <= 0) {
        return;
    }
    if (time_parse(meta_annotation(w->metadata, PROTECTED_UNTIL), &ns, NULL) == 0) {
        in->protected_until_ns = amount_min(ns, amount_add(from, max));
    }
    if (duration_parse(meta_annotation(w->metadata, MINIMUM_RUNTIME), &ns, NULL) == 0) {
        in->minimum_runtime_ns = amount_min(ns, max);
    }
}

/* Of a Job: its own limit, which counts from each start. */
static int64_t deadline_of(struct queue_controller *c, const struct workload *w) {
    const struct object *o = mirror_by_uid(c->env->mirror, w->metadata->uid);
    const struct owner_ref *owner = o != NULL ? object_controller(o) : NULL;
    const struct object *job = owner != NULL ? mirror_owner(c->env->mirror, o->ns, owner) : NULL;
    yyjson_doc *doc;
    if (job == NULL || job->kind != c->base.kinds[QK_JOB] ||
        !str_contains(job->json, STR("\"activeDeadlineSeconds\"")) || /* most have none */
        object_tree(job, &c->base.arena, &doc, NULL) != 0) {
        return 0;
    }
    return json_i64_at(json_get(yyjson_doc_get_root(doc), STR("spec")), "activeDeadlineSeconds", 0);
}

/* How many seconds its pods run at most, from its admission on; 0: that is not known. */
static int32_t run_max(struct queue_controller *c, const struct workload *w) {
    int64_t most = deadline_of(c, w);
    if (w->spec != NULL && w->spec->maximum_execution_time_seconds.set) {
        const struct opt_i32 *past =
            w->status != NULL ? &w->status->accumulated_past_execution_time_seconds : NULL;
        int64_t left =
            w->spec->maximum_execution_time_seconds.v - (past != NULL && past->set ? past->v : 0);
        left = left > 0 ? left : 1;
        most = most > 0 && most < left ? most : left;
    }
    return most < 0 ? 0 : most < INT32_MAX ? (int32_t)most : INT32_MAX;
}

int queue_input(struct queue_controller *c, const struct workload *w, struct str cq,
                struct workload_input *ret) {
    const struct cluster_state *s = cq.n > 0 ? map_get(&c->clusters, cq) : NULL;
    int r = translate_workload_with(w, cq, c->settings, s != NULL && s->covers_pods, &c->base.arena,
                                    ret);
    if (r == 0) {
        protect(s, w, clock_wall(c->env->clock), ret);
        for (size_t i = 0; queue_slice_elastic(c, w) && i < ret->n_sets; i++) {
            ((struct set_input *)ret->sets)[i].min_count =
                0; /* it grows by slices, never in part */
        }
        ret->replaces = queue_slice_prior(c, w);
        ret->run_max_s = run_max(c, w);
    }
    return r;
}

int queue_message_set(struct queue_work *q, const char *reason, struct str text) {
    char *copy = mem_cstr(text);
    if (copy == NULL) {
        return ERR_NOMEM;
    }
    mem_free(q->message);
    q->message = copy;
    q->message_n = text.n;
    q->reason = reason;
    return 0;
}

/* ---- it waits ---- */

const char *queue_unsatisfied(const struct queue_controller *c) {
    return c->settings->gates.unadmitted_observability ? "UnsatisfiedAdmissionChecks"
                                                       : "UnsatisfiedChecks";
}

/* What it asks for, as its status says. */
static void requests_put(const struct workload_input *in, struct workload_change *ch) {
    struct pod_set_request *v = ARENA_ARRAY(ch->arena, struct pod_set_request, in->n_sets + 1);
    for (size_t i = 0; v != NULL && i < in->n_sets; i++) {
        const struct set_input *s = &in->sets[i];
        v[i].name = s->name;
        v[i].resources.v = ARENA_ARRAY(ch->arena, struct quantity_pair, s->n_requests + 1);
        for (size_t k = 0; v[i].resources.v != NULL && k < s->n_requests; k++) {
            struct str resource = s->requests[k].resource;
            v[i].resources.v[v[i].resources.n++] = (struct quantity_pair){
                resource, amount_quantity(resource, amount_mul(s->requests[k].v, s->count))};
        }
    }
    ch->status.resource_requests.v = v;
    ch->status.resource_requests.n = v != NULL ? in->n_sets : 0;
}

/* What is said of it beside the condition. */
static void tell_waits(const struct queue_controller *c, struct queue_work *q,
                       const struct workload *w) {
    struct str gates = meta_annotation(w->metadata, "kueue.x-k8s.io/admission-gated-by");
    struct str text = str_from(q->message, q->message_n);
    const struct condition *was =
        w->status != NULL ? conditions_find(&w->status->conditions, "QuotaReserved") : NULL;
    queue_tell_not(q);
    if (was != NULL && str_is(was->reason, "AdmissionGated") && str_empty(gates)) {
        queue_tell(q, EVENT_NORMAL, "AdmissionGateCleared",
                   "Admission gate cleared, workload is now admissible");
    }
    if (str_is(str_of(q->reason), "AdmissionGated") && !str_empty(gates)) {
        queue_tell(q, EVENT_NORMAL, "AdmissionGated", "Workload admission is gated by: %.*s",
                   STR_ARG(gates));
    } else if (!str_is(str_of(q->reason), "PendingEvaluation") &&
               !str_is(str_of(q->reason), "Deactivated")) {
        queue_tell(q, EVENT_WARNING, workload_wait_reason(c->settings, q->reason), "%.*s",
                   STR_ARG(text));
    }
}

/* A Job's pods are not ready before they are started: said with what else is written, it costs no write of its own. */
static bool unready(const struct queue_controller *c, const struct object *o,
                    const struct workload *w) {
    const struct owner_ref *owner = object_controller(o);
    return c->settings->ready.on && owner != NULL && str_is(owner->kind, "Job") &&
           (w->status == NULL || conditions_find(&w->status->conditions, "PodsReady") == NULL);
}

/* What was said of it before, by a look at it, stays; else that it was passed by. */
static struct condition_want bypass(const struct condition *was, struct condition_want c) {
    static const char *const looked_at[] = {
        "WaitingForQuota",         "NoMatchingFlavor",    "ExceedsMaxQuota",
        "TopologyPlacementFailed", "WaitingForPlacement", "WaitingForPreemptedWorkloads",
        "WaitingForPodsReady",
    };
    for (size_t i = 0; was != NULL && i < sizeof(looked_at) / sizeof(*looked_at); i++) {
        if (str_is(was->reason, looked_at[i]) && str_is(was->status, "False")) {
            c.reason = looked_at[i];
            c.message = was->message;
            return c;
        }
    }
    c.message =
        STR("Bypassed scheduling evaluation because an equivalent workload recently failed");
    return c;
}

/* The conditions of one that waits. */
static void wait_conditions(const struct queue_controller *c, const struct object *o,
                            const struct queue_work *q, const struct workload *w,
                            struct workload_change *ch) {
    static const struct condition_list none;
    const struct condition_list *l = w->status != NULL ? &w->status->conditions : &none;
    struct str text = str_from(q->message, q->message_n);
    struct condition_want quota = {"QuotaReserved", "False",
                                   workload_wait_reason(c->settings, q->reason), text};
    if (q->bypassed) {
        quota = bypass(conditions_find(l, "QuotaReserved"), quota);
    }
    workload_change_put(ch, &quota);
    if (conditions_find(l, "Admitted") != NULL) {
        const char *why = workload_unreserved_reason(c->settings, w, false, &text);
        workload_change_set(ch, "Admitted", false, why, text);
    }
    if (unready(c, o, w)) {
        workload_change_set(ch, "PodsReady", false, "WaitForStart", STR(NOT_READY));
    }
    if (q->gated) {
        workload_change_set(ch, "BlockedOnPreemptionGates", true, "PreemptionGated",
                            STR("Workload requires preemption, but it's gated"));
    }
}

enum work queue_say_waits(struct queue_controller *c, const struct object *o,
                          const struct workload *w, struct queue_work *q) {
    const struct cluster_state *s = q->local != NULL && q->local->cluster != NULL
                                        ? map_get(&c->clusters, str_of(q->local->cluster))
                                        : NULL;
    struct workload_change ch;
    struct check_need need;
    struct workload_input in;
    if (queue_checks_needed(c, s, NULL, 0, false, &need) != 0) {
        return WORK_RETRY;
    }
    workload_change_init(&ch, o, w, &c->base.arena, clock_wall(c->env->clock));
    bool checks = queue_checks_put(c, &need, &ch);
    if (q->reason != NULL && q->message != NULL) {
        wait_conditions(c, o, q, w, &ch);
    }
    if (ch.code != 0) {
        return WORK_RETRY;
    }
    if (!ch.changed) {
        return checks ? queue_change_write(c, &ch) : WORK_OK;
    }
    if (queue_input(c, w, s != NULL ? s->name : (struct str){0}, &in) != 0) {
        return WORK_RETRY;
    }
    if (!checks && !queue_news_now(c, q)) {
        return WORK_OK;
    }
    tell_waits(c, q, w);
    requests_put(&in, &ch);
    return queue_change_write(c, &ch);
}

/* ---- it is given quota ---- */

static void tell_admitted(struct queue_controller *c, const struct workload *w,
                          struct queue_work *q, struct str cq, bool admitted) {
    static const struct condition_list none;
    const struct condition *back =
        conditions_find(w->status != NULL ? &w->status->conditions : &none, "Requeued");
    const struct cluster_state *s = map_get(&c->clusters, cq);
    int64_t since = back != NULL ? back->last_transition_ns : w->metadata->creation_ns;
    int64_t waited = (clock_wall(c->env->clock) - since) / NS_PER_SEC;
    bool flavors = q->considered != NULL && *q->considered;
    queue_tell_not(q);
    queue_tell(q, EVENT_NORMAL, "QuotaReserved",
               "Quota reserved in ClusterQueue %.*s, wait time since queued was %llds%s%s",
               STR_ARG(cq), (long long)(waited > 0 ? waited : 0),
               flavors ? "; Flavors considered: " : "", flavors ? q->considered : "");
    if (admitted) {
        queue_tell(q, EVENT_NORMAL, "Admitted",
                   "Admitted by ClusterQueue %.*s, wait time since reservation was 0s",
                   STR_ARG(cq));
    }
    const char *const keys[] = {PROTECTED_UNTIL, MINIMUM_RUNTIME};
    for (size_t i = 0; i < 2; i++) {
        if (!str_empty(meta_annotation(w->metadata, keys[i])) &&
            (s == NULL || s->max_protection_ns <= 0)) {
            queue_tell(q, EVENT_WARNING, "ProtectionNotGranted",
                       "%s has no effect: ClusterQueue %.*s has no annotation "
                       "berth.dev/max-protection",
                       keys[i], STR_ARG(cq));
        }
    }
}

/* What was once true of an eviction is history when quota is reserved again. */
static void past_conditions(const struct workload *w, struct workload_change *ch) {
    static const char *const types[] = {"Evicted", "Preempted", "BlockedOnPreemptionGates"};
    for (size_t i = 0; i < 3 && w->status != NULL; i++) {
        const struct condition *x = conditions_find(&w->status->conditions, types[i]);
        if (x != NULL && str_is(x->status, "True")) {
            workload_change_set(ch, types[i], false, "QuotaReserved",
                                arena_f(ch->arena, "Previously: %.*s", STR_ARG(x->message)));
        }
    }
}

/* An admission that could not be written is taken back and decided anew: quota may have been edited meanwhile. What was
 * written although the answer says otherwise stays. */
static int admission_written(void *ctx, struct round *r, uint64_t tag,
                             const struct write_result *res) {
    struct queue_controller *c = ctx;
    const struct object *o = res->code != 0 ? mirror_get(c->env->mirror, c->base.kinds[QK_WORKLOAD],
                                                         round_ns(r), round_name(r))
                                            : NULL;
    const struct queue_work *q = o != NULL ? map_get(&c->by_uid, o->uid) : NULL;
    bool held = false;
    if (q != NULL && !q->written && engine_workload_known(c->engine, q->uid, &held) && held) {
        arena_reset(&c->base.arena);
        const struct workload *w = queue_decode(c, o);
        if (w != NULL && (w->status == NULL || w->status->admission == NULL)) {
            const struct queue_work *prior =
                map_get(&c->by_uid, engine_workload_prior(c->engine, q->uid));
            if (prior != NULL) {
                queue_look(c, QS_WORKLOAD, prior->ns, prior->name, 0); /* it is what it was */
            }
            (void)engine_workload_undo(c->engine, q->uid); /* no memory: it stays as decided */
            queue_kick(c);
        }
    }
    return queue_written(ctx, r, tag, res);
}

struct long_note queue_plan(const struct queue_controller *c) {
    return (struct long_note){.annotation = PLACEMENT_ANNOTATION,
                              .label = PLAN_LABEL,
                              .member = "places",
                              .kind = c->base.kinds[QK_REVISION],
                              .mirror = c->env->mirror};
}

enum work queue_plan_create(struct queue_controller *c, const struct object *o,
                            const struct long_text *t, round_hook *hook) {
    const struct long_note plan = queue_plan(c);
    struct round *r = controller_begin(&c->base);
    round_on_done(r, hook, c);
    long_note_create(&plan, o, t, &c->base.arena, r);
    return round_end(r);
}

/* The work that needs them comes again when they are there. */
int queue_plan_written(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    if (res->code == 0) {
        queue_look(ctx, (enum queue_sort)round_key(r).what, round_ns(r), round_name(r), 0);
    }
    return res->code;
}

void queue_plan_note(struct queue_controller *c, struct queue_work *q, const struct meta *m) {
    struct str was = meta_annotation(m, PLACEMENT_ANNOTATION);
    if (long_note_divided(was, &c->base.arena)) {
        mem_free(q->plan_was);
        q->plan_was = mem_cstr(was); /* no memory: they go with the Workload */
    }
}

void queue_plan_drop(struct queue_controller *c, struct round *r, struct queue_work *q,
                     const struct object *o) {
    const struct long_note plan = queue_plan(c);
    if (q->plan_was != NULL) {
        arena_reset(&c->base.arena);
        long_note_drop(&plan, o, str_of(q->plan_was), &c->base.arena, r);
        mem_free(q->plan_was);
        q->plan_was = NULL;
    }
}

bool queue_unwritable(struct queue_controller *c, const struct workload *w,
                      const struct queue_work *q, struct str *text) {
    const struct long_note plan = queue_plan(c);
    if (q->unwritable == 0 || q->unwritable != w->metadata->generation || q->edits != c->edits ||
        q->unwritable_room < long_note_room(&plan, w->metadata)) {
        return false;
    }
    *text = arena_f(&c->base.arena,
                    "quota is available, but the places of its pods would take %zu bytes in the "
                    "annotation " PLACEMENT_ANNOTATION ", and there is room for %zu: let it ask "
                    "for fewer pods, or shorten its other annotations",
                    q->unwritable_bytes, q->unwritable_room);
    return true;
}

static int placement_written(void *ctx, struct round *r, uint64_t tag,
                             const struct write_result *res) {
    struct queue_controller *c = ctx;
    struct queue_work *q =
        res->code == 0 && res->obj != NULL ? map_get(&c->by_uid, res->obj->uid) : NULL;
    if (q != NULL) {
        queue_plan_drop(c, r, q, res->obj);
    }
    return admission_written(ctx, r, tag, res);
}

static int parts_written(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    return res->code == 0 ? queue_plan_written(ctx, r, tag, res)
                          : admission_written(ctx, r, tag, res);
}

/* text empty: it has none. */
static enum work patch_placement(struct queue_controller *c, const struct object *o,
                                 const struct workload *w, struct queue_work *q, struct str text) {
    struct meta meta = *w->metadata;
    struct workload want = *w;
    want.metadata = &meta;
    queue_plan_note(c, q, w->metadata);
    return meta_set(&meta.annotations, &c->base.arena, PLACEMENT_ANNOTATION, text) == 0
               ? queue_edit(c, o, w, &want, placement_written)
               : WORK_RETRY;
}

/* The placement annotation, when it is not as the seats are: true when that was written, or what it is to name, and the
 * change brings us back for the admission; or when it is too long: then what was decided is taken back by the work that
 * follows at once. */
static bool write_placement(struct queue_controller *c, const struct object *o,
                            const struct workload *w, struct queue_work *q, enum work *ret) {
    struct str prior = engine_workload_prior(c->engine, o->uid);
    struct seat *first = pool_workload_first(engine_pool(c->engine), o->uid);
    struct seat *before = pool_workload_first(engine_pool(c->engine), prior);
    const struct long_note plan = queue_plan(c);
    struct long_text now;
    struct buf seats;
    buf_init(&seats, LIMIT_PLAN_BYTES);
    if (first != NULL || before != NULL) {
        translate_placement_joined(before, first, &seats);
    }
    int r = buf_ok(&seats);
    if (r == 0) {
        r = long_note_make(&plan, o, w->metadata, buf_view(&seats), &c->base.arena, &now);
    } else {
        now = (struct long_text){.bytes = LIMIT_PLAN_BYTES,
                                 .room = long_note_room(&plan, w->metadata)};
    }
    bool news = r != 0 || !str_eq(meta_annotation(w->metadata, PLACEMENT_ANNOTATION), now.text);
    *ret = r != 0 && r != ERR_TOO_LARGE ? WORK_RETRY : WORK_OK;
    if (r == ERR_TOO_LARGE) {
        q->unwritable = w->metadata->generation;
        q->unwritable_bytes = now.bytes;
        q->unwritable_room = now.room;
        queue_look(c, QS_WORKLOAD, q->ns, q->name, 0);
    } else if (r == 0 && now.n_missing > 0) {
        *ret = queue_plan_create(c, o, &now, parts_written);
        news = true;
    } else if (news && r == 0) {
        *ret = patch_placement(c, o, w, q, now.text);
    }
    buf_release(&seats);
    return news;
}

static int flavors_of(struct queue_controller *c, const struct held_amount *held, size_t n,
                      struct str **ret) {
    *ret = ARENA_ARRAY(&c->base.arena, struct str, n + 1);
    for (size_t i = 0; *ret != NULL && i < n; i++) {
        (*ret)[i] = names_text(engine_flavors(c->engine), held[i].flavor);
    }
    return *ret != NULL ? 0 : ERR_NOMEM;
}

static void admission_conditions(struct queue_controller *c, const struct workload *w,
                                 struct str cq, bool admitted, struct workload_change *ch) {
    struct str text = arena_f(&c->base.arena, "Quota reserved in ClusterQueue %.*s", STR_ARG(cq));
    workload_change_set(ch, "QuotaReserved", true, "QuotaReserved", text);
    if (admitted) {
        workload_change_set(ch, "Admitted", true, "Admitted", STR("The workload is admitted"));
    } else {
        workload_change_set(ch, "Admitted", false, queue_unsatisfied(c),
                            STR("The workload has not all checks ready"));
    }
    if (unready(c, ch->obj, w)) {
        workload_change_set(ch, "PodsReady", false, "WaitForStart", STR(NOT_READY));
    }
    past_conditions(w, ch);
}

enum work queue_write_admission(struct queue_controller *c, const struct object *o,
                                const struct workload *w, struct queue_work *q,
                                const struct held_amount *held, size_t n, struct str cq) {
    struct workload_change ch;
    struct workload_input in;
    struct check_need need;
    struct str *flavors;
    enum work result;
    if (write_placement(c, o, w, q, &result)) {
        return result;
    }
    if (queue_slice_held(c, q->uid, &held, &n) != 0 || flavors_of(c, held, n, &flavors) != 0 ||
        queue_checks_needed(c, map_get(&c->clusters, cq), flavors, n, true, &need) != 0 ||
        queue_input(c, w, cq, &in) != 0) {
        return WORK_RETRY;
    }
    for (size_t i = 0; !queue_slice_elastic(c, w) && i < q->n_counts && i < in.n_sets; i++) {
        ((struct set_input *)in.sets)[i].count = q->counts[i]; /* our own copy, in the arena */
    }
    bool admitted = queue_checks_ready(w, &need);
    workload_change_init(&ch, o, w, &c->base.arena, clock_wall(c->env->clock));
    admission_conditions(c, w, cq, admitted, &ch);
    (void)queue_checks_put(c, &need, &ch);
    ch.status.resource_requests.n = 0;
    if (ch.code != 0 || !ch.changed ||
        translate_assigned(c->engine, cq, &in, held, n, &c->base.arena, &ch.status.admission) !=
            0) {
        return WORK_RETRY;
    }
    tell_admitted(c, w, q, cq, admitted);
    return queue_change_send(c, &ch, admission_written);
}

/* ---- the end ---- */

enum work queue_finalizer_drop(struct queue_controller *c, const struct object *o) {
    struct buf body;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    int code = edit_drop_finalizer(o, QUEUE_FINALIZER, &c->base.arena, &body);
    return queue_send(c, o, "", code, &body, NULL);
}
