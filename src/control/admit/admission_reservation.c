/*
 * admission_reservation: who books, what may be changed of a booking and by whom, times on the grid. Where the planner
 * runs in the same process (the embedded server) it is asked at once, and what it would refuse is refused here, with
 * what would fit instead; elsewhere its verdict comes with the status.
 *
 * Rights are verbs on subresources that exist for this alone: update of reservations/approve, reservations/manage
 * (bookings of others), reservations/onbehalf (bookings for others). A webhook cannot ask the API server in time: there
 * the members of one group have them (MANAGERS_GROUP), and administrators.
 */
#include "api/tables/view_reservation.h"
#include "base/clock.h"
#include "control/admit/admission.h"
#include "control/book/reservation_grid.h"
#include "control/series/reservation_series.h"
#include "core/booking/booking.h"
#include "port/virtual.h"
#include "wire/text/time.h"

enum { GRID_USUAL_S = 900 };

/* Who has these rights where rights cannot be asked for. */
#define MANAGERS_GROUP "berth:booking-managers"

static bool in_group(const struct admission_ask *q, struct str name) {
    for (size_t i = 0; i < q->n_groups; i++) {
        if (str_eq(q->groups[i], name)) {
            return true;
        }
    }
    return false;
}

static bool may(const struct admission_ask *q, const char *subresource, struct str ns) {
    if (q->internal) {
        return true;
    }
    return q->may ? q->may(q, "update", "berth.dev", "reservations", subresource, ns)
                  : in_group(q, STR("system:masters")) || in_group(q, STR(MANAGERS_GROUP));
}

static struct str note(yyjson_mut_val *obj, const char *key) {
    return json_mstr(json_mget(json_mpath(obj, "metadata.annotations"), str_of(key)));
}

/* ---- what is filled in ---- */

static yyjson_val *policy_of(const struct admission_context *c, struct arena *a) {
    const struct kind *k = kind_by_name(STR("berth.dev"), STR("ReservationPolicy"));
    const struct object *o =
        k ? mirror_pending(c->mirror, k, STR(""), STR(RESERVATION_POLICY_NAME)) : NULL;
    yyjson_doc *d;
    return o && object_tree(o, a, &d, NULL) == 0 ? yyjson_doc_get_root(d) : NULL;
}

static int put_on_grid(const struct admission_context *c, struct admission_ask *q,
                       struct err *err) {
    static const char *const members[] = {"start", "end"};
    yyjson_val *policy = policy_of(c, q->arena);
    yyjson_mut_val *spec = json_mget(q->obj, STR("spec"));
    int64_t grid = GRID_USUAL_S, ns;
    if (duration_parse(json_str_at(policy, "spec.granularity"), &ns, NULL) == 0 && ns > 0) {
        grid = ns / NS_PER_SEC;
    }
    for (int i = 0; i < 2; i++) {
        char text[TIME_TEXT_MAX], path[32];
        struct str was = json_mstr_at(spec, members[i]);
        (void)snprintf(path, sizeof path, "spec.%s", members[i]);
        if (time_parse(was, &ns, NULL) != 0 || (q->old && str_eq(json_str_at(q->old, path), was))) {
            continue;
        }
        int64_t at = ns / NS_PER_SEC;
        int64_t base =
            reservation_grid_base(c->zones, json_str_at(policy, "spec.timeZone"), grid, at);
        int64_t to =
            i == 0 ? reservation_grid_down(at, grid, base) : reservation_grid_up(at, grid, base);
        struct str now = time_text(to * NS_PER_SEC, text);
        if (to != at) {
            if (json_mset_str(q->doc, spec, members[i], now) != 0) {
                return err_set(err, ERR_NOMEM, "out of memory");
            }
            admission_warn(q, "spec.%s: moved to %.*s, the grid of bookings", members[i],
                           STR_ARG(now));
        }
    }
    return 0;
}

static bool same_at(const struct admission_ask *q, const char *dotted) {
    yyjson_mut_val *now = json_mpath(q->obj, dotted);
    yyjson_val *was = json_path(q->old, dotted);
    yyjson_mut_val *copy = was ? yyjson_val_mut_copy(q->doc, was) : NULL;
    return (now == NULL && was == NULL) || (now && copy && json_mequal(now, copy));
}

/* It was given for what the booking was then. */
static void drop_approval(struct admission_ask *q) {
    if (q->old && same_at(q, "spec.approval") &&
        !(same_at(q, "spec.start") && same_at(q, "spec.end") && same_at(q, "spec.lines") &&
          same_at(q, "spec.class") && same_at(q, "spec.flexible"))) {
        json_mdel(json_mget(q->obj, STR("spec")), STR("approval"));
    }
}

static int mutate(const struct admission_context *c, struct admission_ask *q, struct err *err) {
    if (q->subresource.n) {
        return 0;
    }
    int r = put_on_grid(c, q, err);
    if (r == 0 && q->op == ADMISSION_CREATE &&
        !(q->internal && note(q->obj, RESERVATION_USER_ANNOTATION).n)) {
        r = admission_set_annotation(q, RESERVATION_USER_ANNOTATION, q->user, err);
    }
    if (r == 0 && q->op == ADMISSION_UPDATE && !q->internal) {
        drop_approval(q);
    }
    return r;
}

/* ---- rules ---- */

static void blame(struct admission_ask *q, enum cause_type type, const char *field,
                  const char *text) {
    causes_add(&q->causes, type, str_of(field), "%s", text);
}

static void deny(struct admission_ask *q, struct str text) {
    if (q->denied.n == 0) {
        q->denied = text;
    }
}

/* For whom `at` ("spec", or the template of a series) is: oneself, a group one is in, or whoever one may book for. */
static void check_beneficiary(struct admission_ask *q, const char *at) {
    char name_at[64], kind_at[64];
    (void)snprintf(name_at, sizeof name_at, "%s.beneficiary.name", at);
    (void)snprintf(kind_at, sizeof kind_at, "%s.beneficiary.kind", at);
    struct str name = json_mstr_at(q->obj, name_at);
    bool group = str_is(json_mstr_at(q->obj, kind_at), "Group");
    /* Without a beneficiary it is its maker's, by whose limits it is judged. */
    struct str by = json_str(
        json_get(json_path(q->old, "metadata.annotations"), STR(RESERVATION_USER_ANNOTATION)));
    struct str whose = name.n == 0 && by.n > 0 ? by : name;
    bool own = whose.n == 0 || (group ? in_group(q, whose) : str_eq(whose, q->user));
    bool as_was = q->old && str_eq(json_str_at(q->old, name_at), name) &&
                  str_is(json_str_at(q->old, kind_at), "Group") == group;
    if (!own && !as_was && !may(q, "onbehalf", q->ns)) {
        deny(q, arena_f(q->arena,
                        "you may not book for %.*s: that needs update of reservations/onbehalf",
                        STR_ARG(whose)));
    }
}

/* An approval that the policy leaves to administrators needs the right in all projects; so does one that nobody asked
 * for, since what it would be for is not known yet. */
static void check_approval(struct admission_ask *q) {
    bool manager = q->old && str_is(json_str_at(q->old, "status.phase"), "PendingApproval") &&
                   str_is(json_str_at(q->old, "status.reason"), "NeedsManager");
    bool admin = !manager;
    if (json_mpath(q->obj, "spec.approval") == NULL || (q->old && same_at(q, "spec.approval"))) {
        return;
    }
    if (!may(q, "approve", admin ? STR("") : q->ns)) {
        deny(q, admin ? STR("this booking is approved by an administrator: that needs update of "
                            "reservations/approve in all projects")
                      : STR("you may not approve bookings here: that needs update of "
                            "reservations/approve"));
    }
}

/* Whose it was when it was made. */
static bool is_owner(const struct admission_ask *q) {
    struct str by = json_str(
        json_get(json_path(q->old, "metadata.annotations"), STR(RESERVATION_USER_ANNOTATION)));
    struct str name = json_str_at(q->old, "spec.beneficiary.name");
    bool group = str_is(json_str_at(q->old, "spec.beneficiary.kind"), "Group");
    return str_eq(by, q->user) || (name.n && (group ? in_group(q, name) : str_eq(name, q->user)));
}

static bool spec_same_but_approval(const struct admission_ask *q) {
    yyjson_mut_val *spec = json_mget(q->obj, STR("spec")), *key;
    yyjson_val *was = json_path(q->old, "spec"), *old_key;
    size_t i, n;
    yyjson_val *v;
    char path[80];
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(spec);
    while ((key = yyjson_mut_obj_iter_next(&it)) != NULL) {
        struct str name = json_mstr(key);
        (void)snprintf(path, sizeof path, "spec.%.*s", STR_ARG(str_head(name, 64)));
        if (!str_is(name, "approval") && !same_at(q, path)) {
            return false;
        }
    }
    if (was) {
        yyjson_obj_foreach(was, i, n, old_key, v) {
            if (json_mget(spec, json_str(old_key)) == NULL &&
                !str_is(json_str(old_key), "approval")) {
                return false;
            }
        }
    }
    return true;
}

/* A cluster's own controllers, which remove what a project or an owner that is gone leaves behind. */
static bool cleans_up(const struct admission_ask *q) {
    static const char *const who[] = {"system:serviceaccount:kube-system:namespace-controller",
                                      "system:serviceaccount:kube-system:generic-garbage-collector",
                                      "system:kube-controller-manager"};
    for (size_t i = 0; i < sizeof who / sizeof *who; i++) {
        if (str_is(q->user, who[i])) {
            return true;
        }
    }
    return false;
}

/* What it is removed by when something else goes: its series, its owners. */
static bool ties_same(const struct admission_ask *q) {
    struct str now = json_mstr(json_mget(json_mpath(q->obj, "metadata.labels"), STR(SERIES_LABEL)));
    struct str was = json_str(json_get(json_path(q->old, "metadata.labels"), STR(SERIES_LABEL)));
    return str_eq(now, was) && (json_mpath(q->obj, "metadata.ownerReferences") == NULL ||
                                same_at(q, "metadata.ownerReferences"));
}

static void check_others(struct admission_ask *q) {
    bool cancels = json_mpath(q->obj, "spec.cancel") && json_path(q->old, "spec.cancel") == NULL;
    if (q->internal || is_owner(q) || cleans_up(q) || (spec_same_but_approval(q) && ties_same(q))) {
        return;
    }
    if (!may(q, "manage", q->ns)) {
        deny(q, STR("this is somebody else's booking: to change it needs update of "
                    "reservations/manage"));
    } else if (cancels && json_mstr_at(q->obj, "spec.cancel.reason").n == 0) {
        blame(q, CAUSE_REQUIRED, "spec.cancel.reason",
              "Required value: say why, it is somebody else's booking");
    }
}

/* `by`: who made it, as it says. Where it does not, who manages others' bookings may say so: everybody else would
 * make theirs, or a third's, what is nobody's. */
static void check_maker(struct admission_ask *q, struct str by) {
    struct str now = note(q->obj, RESERVATION_USER_ANNOTATION);
    if (!str_eq(by, now) && (by.n > 0 || !may(q, "manage", q->ns))) {
        blame(q, CAUSE_INVALID, "metadata.annotations[" RESERVATION_USER_ANNOTATION "]",
              "field is immutable");
    }
}

static void check_fixed(struct admission_ask *q) {
    enum booking_phase p = booking_phase_of(json_str_at(q->old, "status.phase"));
    bool over = p < BOOKING_PHASES && booking_final(p),
         begun = p < BOOKING_PHASES && booking_begun(p);
    static const char *const shape[] = {"spec.start", "spec.lines", "spec.flexible",
                                        "spec.exclusive", "spec.class"};
    struct str by = json_str(
        json_get(json_path(q->old, "metadata.annotations"), STR(RESERVATION_USER_ANNOTATION)));
    check_maker(q, by);
    if (json_path(q->old, "spec.cancel") && json_mpath(q->obj, "spec.cancel") == NULL) {
        blame(q, CAUSE_FORBIDDEN, "spec.cancel",
              "Forbidden: a cancelled booking stays cancelled; make a new one");
    }
    if (over && !same_at(q, "spec.end")) {
        blame(q, CAUSE_FORBIDDEN, "spec.end", "Forbidden: this booking is over");
    }
    for (size_t i = 0; (begun || over) && i < sizeof shape / sizeof *shape; i++) {
        if (!same_at(q, shape[i])) {
            blame(q, CAUSE_FORBIDDEN, shape[i],
                  over ? "Forbidden: this booking is over"
                       : "Forbidden: this booking has begun: only its end can change");
        }
    }
}

/* ---- what the planner says ---- */

struct booking_verdict {
    struct arena *a;
    yyjson_val *status; /* NULL: no answer */
};

static void told(void *ctx, int code, struct str json, const struct err *err) {
    struct booking_verdict *v = ctx;
    yyjson_doc *d;
    if (code == 0 && json_parse(v->a, arena_str(v->a, json), &d, NULL) == 0) {
        v->status = json_path(yyjson_doc_get_root(d), "status");
    }
}

/* Whether the asker may was looked at before. */
static bool always(const struct virtual_ask *q, const char *verb, const char *group,
                   const char *resource, struct str ns, struct str name) {
    return true;
}

static yyjson_val *ask_planner(const struct admission_context *c, struct admission_ask *q,
                               struct str name) {
    struct virtual_source *s =
        c->virtuals ? virtual_find(c->virtuals, STR("berth.dev"), STR("reservationchecks"), STR(""))
                    : NULL;
    struct booking_verdict v = {.a = q->arena};
    struct virtual_call *call = NULL;
    struct buf b;
    yyjson_mut_doc *d = s ? json_mut_new(q->arena) : NULL;
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL;
    yyjson_mut_val *meta = root ? json_mensure(d, root, "metadata") : NULL;
    yyjson_mut_val *spec = meta ? yyjson_mut_val_mut_copy(d, json_mget(q->obj, STR("spec"))) : NULL;
    if (spec == NULL || json_mset_str(d, meta, "name", name) != 0 ||
        json_mset(d, root, STR("spec"), spec) != 0 ||
        json_mset_str(d, spec, "name", q->old ? name : STR("")) != 0) {
        return NULL;
    }
    buf_init(&b, 0);
    json_write_mut(&b, root);
    struct virtual_ask ask = {.verb = "create",
                              .kind = q->kind,
                              .version = q->version,
                              .ns = q->ns,
                              .body = buf_view(&b),
                              .hold = q->old || q->dry ? STR("") : name,
                              .user = note(q->obj, RESERVATION_USER_ANNOTATION),
                              .may = always};
    (void)s->ask(s, &ask, told, &v, &call, &(struct err){0});
    buf_release(&b);
    return v.status;
}

/* The message, then each alternative; and the same as causes, for programs. */
static void conflict(struct admission_ask *q, yyjson_val *status) {
    yyjson_val *list = json_get(status, STR("alternatives")), *v;
    struct str text = json_str_at(status, "message");
    size_t i, n;
    struct buf b;
    buf_init(&b, 0);
    buf_str(&b, text);
    causes_add(&q->causes, CAUSE_INVALID, STR("spec"), "%.*s", STR_ARG(text));
    if (list) {
        yyjson_arr_foreach(list, i, n, v) {
            struct str t = json_str_at(v, "text"), kind = json_str_at(v, "kind");
            buf_f(&b, "%s%.*s", i == 0 ? "; instead there is: " : "; or ", STR_ARG(t));
            causes_add(&q->causes, CAUSE_INVALID, arena_f(q->arena, "alternatives[%zu]", i),
                       "%.*s: %.*s", STR_ARG(kind), STR_ARG(t));
        }
    }
    q->conflict = arena_str(q->arena, buf_view(&b));
    buf_release(&b);
}

static void check_room(const struct admission_context *c, struct admission_ask *q) {
    enum booking_phase p =
        q->old ? booking_phase_of(json_str_at(q->old, "status.phase")) : BOOKING_NEW;
    if (q->internal || q->causes.n || q->denied.n) {
        return;
    }
    if (q->old && (p >= BOOKING_PHASES || !booking_holds(p) || json_mpath(q->obj, "spec.cancel") ||
                   (same_at(q, "spec.start") && same_at(q, "spec.end") &&
                    same_at(q, "spec.lines") && same_at(q, "spec.flexible")))) {
        return;
    }
    yyjson_val *status = ask_planner(c, q, json_mstr_at(q->obj, "metadata.name"));
    if (status && (q->old ? !json_bool_at(status, "fits", true)
                          : str_is(json_str_at(status, "phase"), "Rejected"))) {
        conflict(q, status);
    }
}

static int validate(const struct admission_context *c, struct admission_ask *q, struct err *err) {
    if (q->subresource.n) {
        return 0;
    }
    if (q->op == ADMISSION_DELETE) {
        if (!q->internal && q->old && !is_owner(q) && !cleans_up(q) && !may(q, "manage", q->ns)) {
            deny(q, STR("this is somebody else's booking: to delete it needs update of "
                        "reservations/manage"));
        }
        return 0;
    }
    check_beneficiary(q, "spec");
    check_approval(q);
    if (q->old) {
        check_others(q);
        check_fixed(q);
    }
    check_room(c, q);
    return 0;
}

/* ---- series and feeds: whose they are ---- */

static int mutate_owned(const struct admission_context *c, struct admission_ask *q,
                        struct err *err) {
    return q->subresource.n == 0 && q->op == ADMISSION_CREATE && !q->internal
               ? admission_set_annotation(q, RESERVATION_USER_ANNOTATION, q->user, err)
               : 0;
}

/* What a series books, Berth itself writes: whether its maker may have that is asked here. */
static int validate_owned(const struct admission_context *c, struct admission_ask *q,
                          struct err *err) {
    struct str by = json_str(
        json_get(json_path(q->old, "metadata.annotations"), STR(RESERVATION_USER_ANNOTATION)));
    if (q->subresource.n || q->internal || cleans_up(q)) {
        return 0;
    }
    if (q->obj) {
        check_beneficiary(q, "spec.template");
    }
    if (q->old && by.n && !str_eq(by, q->user) && !may(q, "manage", q->ns)) {
        deny(q, STR("this is somebody else's: to change it needs update of reservations/manage"));
    }
    if (q->old && q->obj) {
        check_maker(q, by);
    }
    return 0;
}

const struct admission_row admission_reservation_rows[] = {
    {"berth.dev", "Reservation", mutate, validate},
    {"berth.dev", "ReservationSeries", mutate_owned, validate_owned},
    {"berth.dev", "CalendarFeed", mutate_owned, validate_owned},
    {0},
};
