/*
 * reservation_answer: ReservationCheck: what would come of a booking, at once and without writing anything.
 *
 * The embedded server's admission asks the same way when a Reservation is made or changed, and says `hold`, which no
 * request can: what fits is then kept free for a moment, until its object is seen, so that of two who ask in one breath
 * one is refused.
 */
#include "control/book/reservation_private.h"

#include "api/schema/codec.h"
#include "api/schema/codec_encode.h"
#include "base/limits.h"
#include "control/book/reservation_grid.h"

enum { ANSWER_MAX = 64 << 20 };

/* ---- places kept for a moment ---- */

static void tentative_free(struct reservation_controller *c, struct plan_tentative *t) {
    (void)calendar_remove(c->calendar, str_of(t->id));
    mem_free(t->id);
    mem_free(t->ns);
    mem_free(t->name);
    mem_free(t);
}

/* Those that are old, or whose object is there. */
void plan_tentatives_trim(struct reservation_controller *c) {
    int64_t now = plan_now(c);
    for (struct plan_tentative **p = &c->tentatives; *p;) {
        struct plan_tentative *t = *p;
        if (t->until <= now || booking_find(c, str_of(t->ns), str_of(t->name))) {
            *p = t->next;
            tentative_free(c, t);
        } else {
            p = &t->next;
        }
    }
}

void plan_tentatives_drop(struct reservation_controller *c) {
    while (c->tentatives) {
        struct plan_tentative *t = c->tentatives;
        c->tentatives = t->next;
        tentative_free(c, t);
    }
}

static void tentative_keep(struct reservation_controller *c, const struct plan_want *w,
                           const struct plan_outcome *o, struct str ns, struct str name) {
    struct plan_tentative *t = mem_zalloc(sizeof *t);
    struct calendar_ask ask = w->ask;
    char id[64];
    /* Two may ask for one name in one breath: which of them gets it is not known yet, so both are kept. */
    (void)snprintf(id, sizeof id, "tentative/%llu", (unsigned long long)c->n_tentatives++);
    if (t) {
        *t = (struct plan_tentative){.until = plan_now(c) + PLAN_TENTATIVE_S,
                                     .id = mem_cstr(str_of(id)),
                                     .ns = mem_cstr(ns),
                                     .name = mem_cstr(name)};
    }
    if (t == NULL || t->id == NULL || t->ns == NULL || t->name == NULL) {
        if (t) {
            tentative_free(c, t);
        }
        return;
    }
    ask.id = str_of(t->id);
    ask.start = o->start;
    ask.end = o->end;
    if (calendar_insert(c->calendar, &ask, NULL) != 0) {
        tentative_free(c, t);
        return;
    }
    plan_moved(c);
    t->next = c->tentatives;
    c->tentatives = t;
    plan_look_at(c, PLAN_ITSELF, (PLAN_TENTATIVE_S + 1) * NS_PER_SEC);
}

/* ---- the answer ---- */

struct answer_check {
    struct reservation_controller *c;
    const struct virtual_ask *q;
    struct arena a;
    struct reservation *r;
    yyjson_val *root;
    struct plan_want w;
    struct plan_outcome o;
    struct calendar_plan plan;
    struct booking *instead;
    struct str name; /* of the Reservation that would be */
};

static const char *phase_of(const struct answer_check *k) {
    if (k->o.verdict == PLAN_FITS) {
        return k->o.approver ? "PendingApproval" : "Confirmed";
    }
    return k->o.verdict == PLAN_FULL && k->r->spec->waitlist ? "Waitlisted" : "Rejected";
}

/* ---- what would be made ---- */

#define QUEUE_NAME "rsv-<first 8 of its uid>"

/* The objects so far; failures are the arena's. */
struct made {
    struct arena *a;
    struct reservation_check_status *to;
};

static void made_add(struct made *m, const char *group, const char *kind, const void *view) {
    struct buf b;
    yyjson_doc *d;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    codec_encode_object(kind_by_name(str_of(group), str_of(kind)), view, &b);
    struct str text = buf_ok(&b) == 0 ? arena_str(m->a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    if (text.p && json_parse(m->a, text, &d, NULL) == 0) {
        m->to->objects.v[m->to->objects.n++] = yyjson_doc_get_root(d);
    }
}

static void made_reservation(struct answer_check *k, struct made *m) {
    struct meta meta = {.namespace = k->q->ns, .name = k->name};
    struct reservation_spec spec = *k->r->spec;
    spec.name = (struct str){0};
    made_add(m, "berth.dev", "Reservation",
             &(struct reservation){.metadata = &meta, .spec = &spec});
}

static void made_queue(struct answer_check *k, struct made *m) {
    const struct reservation_pool *pool = k->c->policy.spec->pool;
    size_t n = k->w.ask.n_lines;
    struct str_pair in = {STR("kubernetes.io/metadata.name"), k->q->ns};
    struct label_selector namespaces = {.match_labels = {&in, 1}};
    struct cluster_queue_preemption preemption = {STR("Any"), STR("Never"), NULL};
    struct flavor_quotas flavor = {.name = k->plan.n ? k->plan.v[0].flavor : STR("")};
    struct resource_group group = {.flavors = {&flavor, 1}};
    struct cluster_queue_spec spec = {.resource_groups = {&group, 1},
                                      .cohort_name = pool ? pool->cohort : STR("pool"),
                                      .namespace_selector = &namespaces,
                                      .preemption = &preemption};
    struct meta meta = {.name = STR(QUEUE_NAME)};
    flavor.resources.v = ARENA_ARRAY(m->a, struct resource_quota, n + 1);
    group.covered_resources.v = ARENA_ARRAY(m->a, struct str, n + 1);
    for (size_t i = 0; arena_ok(m->a) == 0 && i < n; i++) {
        const struct calendar_line *l = &k->w.ask.lines[i];
        group.covered_resources.v[group.covered_resources.n++] = l->resource;
        flavor.resources.v[flavor.resources.n++] = (struct resource_quota){
            .name = l->resource, .nominal_quota = quantity_of(l->count, QUANTITY_DECIMAL)};
    }
    made_add(m, "kueue.x-k8s.io", "ClusterQueue",
             &(struct cluster_queue){.metadata = &meta, .spec = &spec});
}

static void made_local(struct answer_check *k, struct made *m) {
    struct str local = arena_f(m->a, "rsv-%.*s", STR_ARG(k->name));
    struct meta meta = {.namespace = k->q->ns, .name = local};
    struct local_queue_spec spec = {.cluster_queue = STR(QUEUE_NAME)};
    made_add(m, "kueue.x-k8s.io", "LocalQueue",
             &(struct local_queue){.metadata = &meta, .spec = &spec});
    for (size_t i = 0; i < k->w.ask.n_lines; i++) {
        const struct calendar_line *l = &k->w.ask.lines[i];
        struct str last = str_skip(l->resource, (size_t)(str_find_last(l->resource, '/') + 1));
        struct hardware_identifier id = {.display_name = l->resource,
                                         .identifier = l->resource,
                                         .min_count = STR("1"),
                                         .default_count = STR("1"),
                                         .max_count = arena_f(m->a, "%lld", (long long)l->count),
                                         .resource_type = STR("Accelerator")};
        struct hardware_kueue kueue = {.local_queue_name = local};
        struct hardware_scheduling scheduling = {.type = STR("Queue"), .kueue = &kueue};
        struct hardware_profile_spec profile = {.identifiers = {&id, 1}, .scheduling = &scheduling};
        struct meta about = {.namespace = k->q->ns,
                             .name = arena_f(m->a, "%.*s-%.*s", STR_ARG(local), STR_ARG(last))};
        made_add(m, "infrastructure.opendatahub.io", "HardwareProfile",
                 &(struct hardware_profile){.metadata = &about, .spec = &profile});
    }
}

static void set_refused(struct answer_check *k, struct reservation_check_status *s) {
    struct reservation_status told = {0};
    plan_outcome_status(k->c, k->r, &k->w, &k->o, k->instead, &k->a, &told);
    s->refusals.v = told.refusals.v;
    s->refusals.n = told.refusals.n;
    s->alternatives.v = told.alternatives.v;
    s->alternatives.n = told.alternatives.n;
    s->conflicts.v = told.conflicts.v;
    s->conflicts.n = told.conflicts.n;
}

static void answer(struct answer_check *k, struct buf *out) {
    bool fits = k->o.verdict == PLAN_FITS;
    int64_t length = k->o.end > k->o.start ? k->o.end - k->o.start : 0;
    struct reservation_cost cost = {
        .quoted = booking_hours_text(&k->a, booking_gpu_ms(k->w.share, 1, length))};
    struct reservation_check_status s = {.fits = fits,
                                         .phase = str_of(phase_of(k)),
                                         .reason = str_of(plan_outcome_reason(&k->o)),
                                         .message =
                                             plan_outcome_text(k->c, k->r, &k->w, &k->o, &k->a),
                                         .start_ns = plan_ns(k->o.start),
                                         .end_ns = plan_ns(k->o.end),
                                         .cost = &cost};
    struct made m = {&k->a, &s};
    s.objects.v = ARENA_ARRAY(&k->a, yyjson_val *, k->w.ask.n_lines + 3);
    if (s.objects.v == NULL) {
        return; /* the caller looks */
    }
    made_reservation(k, &m);
    if (fits) {
        s.plan = plan_places(k->c, &k->plan, k->w.ask.lines, k->w.ask.n_lines, &k->a);
        made_queue(k, &m);
        made_local(k, &m);
    } else {
        set_refused(k, &s);
    }
    struct reservation_answer as = {json_get(k->root, STR("metadata")),
                                    json_get(k->root, STR("spec")), &s};
    codec_encode_object_as(kind_by_name(STR("berth.dev"), STR("ReservationCheck")),
                           &schema_reservation_answer, &as, out);
}

/* ---- for whom ---- */

static bool asker_is(const struct virtual_ask *q, struct str name, bool group) {
    for (size_t i = 0; group && i < q->n_groups; i++) {
        if (str_eq(q->groups[i], name)) {
            return true;
        }
    }
    return !group && str_eq(q->user, name);
}

static bool is_group(const struct reservation_beneficiary *b) {
    return b && b->name.n > 0 && str_is(b->kind, "Group");
}

/* Does the booking that is to be changed belong to the asker, or to a group of theirs? */
static bool owns(struct answer_check *k) {
    const struct reservation *r = booking_view(k->c, k->instead, &k->a, NULL);
    const struct reservation_beneficiary *b = r ? r->spec->beneficiary : NULL;
    return asker_is(k->q, k->instead->user, false) ||
           (is_group(b) && asker_is(k->q, b->name, true));
}

/* Limits are judged for who would have it; whoever may not book in that name is not told about them. What the object
 * itself says of who asks is not believed. */
static int judge_for(struct answer_check *k, struct err *err) {
    const struct virtual_ask *q = k->q;
    const struct reservation_beneficiary *b = k->r->spec->beneficiary;
    struct str_pair *by = ARENA_NEW(&k->a, struct str_pair);
    if (by == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *by = (struct str_pair){STR(RESERVATION_USER_ANNOTATION),
                            k->instead ? k->instead->user : q->user};
    k->r->metadata->annotations = (struct str_map){by, 1};
    if (k->instead && !owns(k) &&
        !q->may(q, "update", "berth.dev", "reservations/manage", q->ns, (struct str){0})) {
        return err_set(err, ERR_FORBIDDEN,
                       "this is somebody else's booking: to change it needs update of "
                       "reservations/manage");
    }
    bool as_was = k->instead && str_eq(plan_user(k->r), k->instead->user);
    if (b && b->name.n > 0 && !as_was && !asker_is(q, b->name, is_group(b)) &&
        !q->may(q, "update", "berth.dev", "reservations/onbehalf", q->ns, (struct str){0})) {
        return err_set(err, ERR_FORBIDDEN,
                       "you may not book for %.*s: that needs update of reservations/onbehalf",
                       STR_ARG(b->name));
    }
    return 0;
}

static int read_check(struct answer_check *k, struct err *err) {
    yyjson_doc *d;
    k->r = ARENA_NEW(&k->a, struct reservation);
    int r = k->r ? json_parse(&k->a, k->q->body, &d, err) : ERR_NOMEM;
    r = r ? r : codec_decode(&schema_reservation_check, yyjson_doc_get_root(d), &k->a, k->r, err);
    if (r == 0 && (k->r->spec == NULL || k->r->metadata == NULL)) {
        return err_set(err, ERR_INVALID, "spec: Required value");
    }
    if (r != 0) {
        return r;
    }
    k->root = yyjson_doc_get_root(d);
    struct str changed = k->r->spec->name, name = k->r->metadata->name;
    k->r->metadata->namespace = k->q->ns;
    k->r->metadata->creation_ns = 0;
    k->instead = changed.n ? booking_find(k->c, k->q->ns, changed) : NULL;
    k->name = changed.n ? changed : name.n ? name : STR("booking");
    if (k->instead && !k->instead->held) {
        k->instead = NULL;
    }
    return judge_for(k, err);
}

/* Times are put on the grid, as they are when the Reservation is made. */
static void align(struct answer_check *k) {
    int64_t grid = k->c->policy.spec->granularity_ns / NS_PER_SEC;
    struct reservation_spec *s = k->r->spec;
    int64_t start = s->start_ns / NS_PER_SEC, end = s->end_ns / NS_PER_SEC;
    start = reservation_grid_down(start, grid, plan_grid_base(k->c, start));
    end = reservation_grid_up(end, grid, plan_grid_base(k->c, end));
    s->start_ns = start * NS_PER_SEC;
    s->end_ns = end * NS_PER_SEC;
}

static int judge(struct answer_check *k) {
    struct reservation_controller *c = k->c;
    if (k->instead == NULL) {
        align(k);
    }
    int r = plan_want_of(c, k->r->spec, STR("check"), plan_now(c), &k->a, &k->w);
    if (r == 0 && k->instead && booking_begun(k->instead->phase)) {
        k->w.ask.start = k->instead->start;
        k->w.ask.fixed = true;
        k->w.min_s = 0;
    }
    r = r ? r : plan_judge(c, k->r, k->q->ns, &k->w, k->instead, &k->o);
    if (r == 0 && k->o.verdict == PLAN_FITS) {
        struct calendar_ask ask = k->w.ask;
        ask.start = k->o.start;
        ask.end = k->o.end;
        (void)calendar_check(c->calendar, &ask, k->instead ? k->instead->uid : STR(""), &k->a,
                             &k->plan, NULL);
    }
    return r;
}

static int check_ask(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                     void *ctx, struct virtual_call **ret, struct err *err) {
    struct reservation_controller *c =
        (struct reservation_controller *)((char *)s -
                                          offsetof(struct reservation_controller, check_source));
    struct answer_check k = {.c = c, .q = q};
    struct buf out;
    (void)ret;
    arena_init(&k.a, ANSWER_MAX);
    buf_init(&out, ANSWER_MAX);
    plan_tentatives_trim(c);
    int r = plan_refresh(c) != 0 ? err_set(err, ERR_UNAVAILABLE, "out of memory") : 0;
    r = r ? r : read_check(&k, err);
    r = r ? r : judge(&k);
    if (r == 0) {
        answer(&k, &out);
        r = buf_ok(&out) || arena_ok(&k.a) ? err_set(err, ERR_NOMEM, "out of memory") : 0;
    }
    if (r == 0 && k.o.verdict == PLAN_FITS && k.instead == NULL && q->hold.n) {
        tentative_keep(c, &k.w, &k.o, q->ns, q->hold);
    }
    if (r == 0) {
        done(ctx, 0, buf_view(&out), NULL);
    }
    buf_release(&out);
    arena_release(&k.a);
    return r;
}

void plan_answers_init(struct reservation_controller *c) {
    c->check_source = (struct virtual_source){
        .group = "berth.dev", .resource = "reservationchecks", .subresource = "", .ask = check_ask};
    c->slots_source = (struct virtual_source){.group = "berth.dev",
                                              .resource = "availabilities",
                                              .subresource = "",
                                              .ask = plan_slots_ask};
    if (c->base.env.virtuals) {
        virtual_add(c->base.env.virtuals, &c->check_source);
        virtual_add(c->base.env.virtuals, &c->slots_source);
    }
}

void plan_answers_release(struct reservation_controller *c) {
    if (c->base.env.virtuals && c->check_source.ask) {
        virtual_remove(c->base.env.virtuals, &c->check_source);
        virtual_remove(c->base.env.virtuals, &c->slots_source);
    }
    if (c->calendar) {
        plan_tentatives_drop(c);
    }
}
