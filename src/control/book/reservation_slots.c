/*
 * reservation_slots: Availability: what is free when, and what is taken. Whose it is, is told of those projects whose
 * Reservations the asker may list.
 */
#include "control/book/reservation_private.h"

#include "api/schema/codec_encode.h"
#include "wire/text/time.h"

enum { SLOTS_MAX = 4096, SLOTS_USUAL = 168, STEP_USUAL = 3600, STEP_LEAST = 60 };
enum { STEP_MOST = 31 * 86400, YEARS_MOST = 20 };
enum { ANSWER_MAX = 64 << 20 };

struct slots {
    struct reservation_controller *c;
    const struct virtual_ask *q;
    struct arena a;
    int64_t from, to, step;
    size_t n;
    struct map seen; /* namespace -> (void *)1: yes, 2: no */
    struct buf *out;
};

/* A time or a duration of the query. */
static int read_query(struct slots *k, struct err *err) {
    struct str from = virtual_param(k->q, "from"), to = virtual_param(k->q, "to");
    struct str step = virtual_param(k->q, "step");
    int64_t ns, now = plan_now(k->c);
    k->step = STEP_USUAL;
    if (step.n) {
        if (duration_parse(step, &ns, NULL) != 0 || ns < STEP_LEAST * NS_PER_SEC ||
            ns > STEP_MOST * NS_PER_SEC) {
            return err_set(err, ERR_BAD_REQUEST, "step: expected a duration of 1m to 744h");
        }
        k->step = ns / NS_PER_SEC;
    }
    k->from = now - now % k->step;
    if (from.n && time_parse(from, &ns, err) != 0) {
        return err_wrap(err, "from");
    }
    k->from = from.n ? ns / NS_PER_SEC : k->from;
    k->to = k->from + SLOTS_USUAL * k->step;
    if (to.n && time_parse(to, &ns, err) != 0) {
        return err_wrap(err, "to");
    }
    k->to = to.n ? ns / NS_PER_SEC : k->to;
    if (k->to <= k->from || (k->to - k->from) / k->step > SLOTS_MAX) {
        return err_set(err, ERR_BAD_REQUEST,
                       "to: expected a time after from, at most %d steps later", SLOTS_MAX);
    }
    if (k->to > now + YEARS_MOST * INT64_C(366) * 86400) { /* far from where 64 bits of ns end */
        return err_set(err, ERR_BAD_REQUEST, "to: expected a time in the next %d years",
                       YEARS_MOST);
    }
    k->n = (size_t)((k->to - k->from + k->step - 1) / k->step);
    return 0;
}

static bool may_see(struct slots *k, struct str ns) {
    void *known = map_get(&k->seen, ns);
    if (known == NULL) {
        bool yes = k->q->may(k->q, "list", "berth.dev", "reservations", ns, (struct str){0});
        known = yes ? (void *)1 : (void *)2;
        (void)map_put(&k->seen, ns, known, NULL);
    }
    return known == (void *)1;
}

static void tell_owner(struct slots *k, const struct booking *b, struct availability_busy *to) {
    struct reservation *r = booking_view(k->c, b, &k->a, NULL);
    to->namespace = b->ns;
    to->name = b->name;
    to->owner = b->user;
    to->purpose = r ? r->spec->purpose : (struct str){0};
}

static void set_busy(struct slots *k, const struct calendar_type *t, struct availability *ret) {
    struct calendar_busy *v = NULL;
    size_t n = 0;
    (void)calendar_busy_list(k->c->calendar, t->flavor, t->resource, k->from, k->to, &k->a, &v, &n);
    ret->busy.v = ARENA_ARRAY(&k->a, struct availability_busy, n + 1);
    for (size_t i = 0; ret->busy.v && i < n; i++) {
        const struct booking *b = booking_by_uid(k->c, v[i].id);
        /* A queue's quota, or what is kept for those without a booking: in pieces, where there is less of it. */
        bool standing = v[i].end == CALENDAR_FOREVER || map_get(&k->c->floors_in, v[i].id) != NULL;
        struct availability_busy *to = &ret->busy.v[ret->busy.n++];
        to->start_ns = plan_ns(standing && v[i].start < k->from ? k->from : v[i].start);
        to->end_ns = plan_ns(standing && v[i].end > k->to ? k->to : v[i].end);
        to->count = v[i].count;
        to->phase = b          ? str_of(booking_phase_name(b->phase))
                    : standing ? STR("Standing")
                               : STR("Confirmed");
        if (b && may_see(k, b->ns)) {
            tell_owner(k, b, to);
        }
    }
}

/* "NVIDIA H200" of a flavor: the model of its cards. */
struct model {
    struct str name;
    int32_t memory_mib;
    int32_t slices;
};

struct model_search {
    struct reservation_controller *c;
    struct arena *a;
    struct str node, uuid, profile;
    struct model found;
};

static void model_of(struct slots *k, const struct calendar_type *t, struct model *ret) {
    struct calendar_card card;
    *ret = (struct model){0};
    for (size_t pos = 0; t->cards && calendar_card_next(k->c->calendar, &pos, &card);) {
        if (!str_eq(card.flavor, t->flavor)) {
            continue;
        }
        const struct object *o = mirror_get(k->c->base.env.mirror, k->c->nodes, STR(""), card.node);
        struct inventory inv = {0};
        yyjson_doc *d;
        if (o == NULL || object_tree(o, &k->a, &d, NULL) != 0) {
            return;
        }
        yyjson_val *notes = json_path(yyjson_doc_get_root(d), "metadata.annotations");
        if (inventory_decode(json_str(json_get(notes, STR(INVENTORY_ANNOTATION))), &k->a, &inv,
                             NULL) != 0) {
            return;
        }
        for (size_t i = 0; i < inv.n; i++) {
            const struct gpu_card *g = &inv.gpus[i];
            if (!str_eq(g->uuid, card.uuid)) {
                continue;
            }
            *ret = (struct model){g->model, g->memory_mib, g->slices};
            for (size_t p = 0; p < g->n_profiles; p++) {
                if (str_eq(g->profiles[p].name, t->profile)) {
                    ret->memory_mib = g->profiles[p].memory_mib;
                }
            }
            return;
        }
        return;
    }
}

/* Rounded, as people read it. */
static double round_to(double v, double parts) {
    return (double)(int64_t)(v * parts + 0.5) / parts;
}

static void set_slots(struct slots *k, const struct calendar_type *t, struct availability *ret) {
    struct calendar_free *free = ARENA_ARRAY(&k->a, struct calendar_free, k->n);
    struct availability_slot *v = ARENA_ARRAY(&k->a, struct availability_slot, k->n);
    if (free == NULL || v == NULL ||
        calendar_slots(k->c->calendar, t->flavor, t->resource, k->from, k->step, k->n, free) != 0) {
        return;
    }
    for (size_t i = 0; i < k->n; i++) {
        int64_t from = k->from + (int64_t)i * k->step;
        v[i] = (struct availability_slot){plan_ns(from), plan_ns(from + k->step), free[i].free,
                                          free[i].total};
    }
    ret->slots.v = v;
    ret->slots.n = k->n;
}

static void add_type(struct slots *k, const struct calendar_type *t, struct str name, bool alone) {
    struct calendar_line line = {
        .resource = t->resource, .count = 1, .flavors = &t->flavor, .n_flavors = 1};
    struct model m;
    model_of(k, t, &m);
    struct str last = str_skip(t->resource, (size_t)(str_find_last(t->resource, '/') + 1));
    struct str what = t->profile.n ? t->profile : str_is(last, "gpu") ? STR("whole GPU") : last;
    struct meta meta = {.name = name};
    struct availability v = {
        .metadata = &meta,
        .flavor = t->flavor,
        .resource = t->resource,
        .display_name =
            arena_f(&k->a, "%.*s, %.*s", STR_ARG(m.name.n ? m.name : t->flavor), STR_ARG(what)),
        .memory_gib = round_to((double)m.memory_mib / 1024, 100),
        .gpu_share = round_to((double)plan_share(k->c, &line) / (double)BOOKING_GPU, 1000),
        .total = t->total};
    set_slots(k, t, &v);
    set_busy(k, t, &v);
    const struct kind *kind = kind_by_name(STR("berth.dev"), STR("Availability"));
    if (alone) {
        codec_encode_object(kind, &v, k->out);
    } else {
        codec_list_object(kind, &v, k->out);
    }
}

int plan_slots_ask(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                   void *ctx, struct virtual_call **ret, struct err *err) {
    struct reservation_controller *c =
        (struct reservation_controller *)((char *)s -
                                          offsetof(struct reservation_controller, slots_source));
    struct slots k = {.c = c, .q = q};
    struct calendar_type t;
    struct buf out;
    size_t n = 0;
    (void)ret;
    arena_init(&k.a, ANSWER_MAX);
    buf_init(&out, ANSWER_MAX);
    k.out = &out;
    int r = plan_refresh(c) != 0 ? err_set(err, ERR_UNAVAILABLE, "out of memory") : 0;
    r = r ? r : read_query(&k, err);
    if (r == 0) {
        if (!q->name.n) {
            codec_list_begin_at("AvailabilityList", STR("berth.dev"), STR("v1alpha1"),
                                mirror_revision(c->base.env.mirror), 0, &out);
        }
        for (size_t pos = 0; calendar_type_next(c->calendar, &pos, &t);) {
            struct str last = str_skip(t.resource, (size_t)(str_find_last(t.resource, '/') + 1));
            struct str name = arena_f(&k.a, "%.*s.%.*s", STR_ARG(t.flavor), STR_ARG(last));
            if (q->name.n == 0 || str_eq(q->name, name)) {
                if (q->name.n) {
                    buf_reset(&out);
                }
                add_type(&k, &t, name, q->name.n > 0);
                n++;
            }
        }
        if (!q->name.n) {
            codec_list_end(&out);
        }
        r = q->name.n && n == 0 ? err_set(err, ERR_NOT_FOUND, "there is nothing like this to book")
            : buf_ok(&out)      ? err_set(err, ERR_NOMEM, "out of memory")
                                : 0;
    }
    if (r == 0) {
        done(ctx, 0, buf_view(&out), NULL);
    }
    map_release(&k.seen);
    buf_release(&out);
    arena_release(&k.a);
    return r;
}
