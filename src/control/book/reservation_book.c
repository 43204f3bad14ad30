/* reservation_book: what is remembered of bookings: taken in from their status, put back into the calendar. */
#include "control/book/reservation_private.h"

#include "api/schema/codec.h"

enum { SCRATCH_MAX = 256 << 20 };

int64_t plan_now(const struct reservation_controller *c) {
    return clock_wall(c->base.env.clock) / NS_PER_SEC;
}

void plan_look_at(struct reservation_controller *c, enum plan_key what, int64_t delay_ns) {
    workqueue_look(c->base.queue, (struct work_key){what}, delay_ns);
}

void plan_kick(struct reservation_controller *c) {
    plan_look_at(c, PLAN_ITSELF, 0);
}

/* ---- records ---- */

static struct str join(char *buf, size_t cap, struct str ns, struct str name) {
    int n = snprintf(buf, cap, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
    return str_from(buf, n > 0 && (size_t)n < cap ? (size_t)n : 0);
}

struct booking *booking_find(const struct reservation_controller *c, struct str ns,
                             struct str name) {
    char buf[600];
    return map_get(&c->by_key, join(buf, sizeof buf, ns, name));
}

struct booking *booking_by_uid(const struct reservation_controller *c, struct str uid) {
    return map_get(&c->by_uid, uid);
}

/* In order of creation, then uid. */
int plan_booking_order(const void *key, const void *item) {
    const struct booking *a = key, *b = item;
    return a->created != b->created ? (a->created < b->created ? -1 : 1) : str_cmp(a->uid, b->uid);
}

void plan_again(struct reservation_controller *c) {
    c->given = true;
    plan_look_at(c, PLAN_ITSELF, NS_PER_SEC);
}

void plan_undecided_drop(struct reservation_controller *c, struct booking *b) {
    if (b->undecided) {
        tree_del(&c->undecided, b);
        b->undecided = false;
    }
}

void plan_moved_clear(struct reservation_controller *c, struct booking *b) {
    if (b->moved) {
        b->moved = false;
        c->n_moved--;
    }
}

void plan_booking_free(struct reservation_controller *c, struct booking *b) {
    char buf[600];
    plan_undecided_drop(c, b);
    plan_moved_clear(c, b);
    plan_uncount(c, b);
    if (b->held) {
        c->given = calendar_remove(c->calendar, b->uid) || c->given;
    }
    map_del(&c->by_uid, b->uid);
    map_del(&c->by_key, join(buf, sizeof buf, b->ns, b->name));
    mem_free(b->user_text);
    mem_free(b->message);
    mem_free(b->extra);
    mem_free(b);
}

/* The key of by_key lies in text as "ns/name". */
struct booking *plan_booking_new(struct reservation_controller *c, const struct object *o) {
    size_t n = o->ns.n + 1 + o->name.n;
    struct booking *b = mem_zalloc(sizeof *b + n + o->uid.n + 1);
    if (b == NULL) {
        return NULL;
    }
    memcpy(b->text, o->ns.p, o->ns.n);
    b->text[o->ns.n] = '/';
    memcpy(b->text + o->ns.n + 1, o->name.p, o->name.n);
    memcpy(b->text + n, o->uid.p, o->uid.n);
    b->ns = str_from(b->text, o->ns.n);
    b->name = str_from(b->text + o->ns.n + 1, o->name.n);
    b->uid = str_from(b->text + n, o->uid.n);
    b->created = o->created_ns / NS_PER_SEC;
    if (map_put(&c->by_key, str_from(b->text, n), b, NULL) != 0) {
        mem_free(b);
        return NULL;
    }
    b->undecided = tree_put(&c->undecided, b, b, NULL) == 0;
    if (!b->undecided || map_put(&c->by_uid, b->uid, b, NULL) != 0) {
        plan_undecided_drop(c, b);
        map_del(&c->by_key, str_from(b->text, n));
        mem_free(b);
        return NULL;
    }
    return b;
}

struct reservation *booking_view(const struct reservation_controller *c, const struct booking *b,
                                 struct arena *a, const struct object **ret_object) {
    const struct object *o = mirror_get(c->base.env.mirror, c->reservations, b->ns, b->name);
    struct reservation *r = ARENA_NEW(a, struct reservation);
    yyjson_doc *d;
    if (o == NULL || !str_eq(o->uid, b->uid) || r == NULL || object_tree(o, a, &d, NULL) != 0 ||
        codec_decode(&schema_reservation, yyjson_doc_get_root(d), a, r, NULL) != 0 ||
        r->spec == NULL || r->metadata == NULL) {
        return NULL;
    }
    if (ret_object) {
        *ret_object = o;
    }
    return r;
}

void booking_touch(struct reservation_controller *c, struct booking *b) {
    b->version++;
    plan_count(c, b);
    workqueue_add(c->base.queue, b->ns, b->name);
}

void booking_say(struct booking *b, const char *reason, const char *fmt, ...) {
    struct buf t;
    va_list ap;
    (void)str_copy(str_of(reason ? reason : ""), b->reason, sizeof b->reason);
    mem_free(b->message);
    b->message = NULL;
    if (fmt) {
        buf_init(&t, 4096);
        va_start(ap, fmt);
        buf_vf(&t, fmt, ap);
        va_end(ap);
        b->message = mem_cstr(buf_view(&t));
        buf_release(&t);
    }
}

void booking_extra(struct booking *b, struct str json) {
    mem_free(b->extra);
    b->extra = json.n ? mem_cstr(json) : NULL;
}

/* ---- what the status says, taken in ---- */

static int64_t sec(int64_t ns) {
    return ns / NS_PER_SEC;
}

void plan_user_set(struct reservation_controller *c, struct booking *b,
                   const struct reservation *r) {
    struct str user = plan_user(r);
    if (!str_eq(user, b->user)) {
        char *copy = mem_cstr(user);
        if (copy) {
            mem_free(b->user_text);
            b->user_text = copy;
            b->user = str_of(copy);
            plan_count(c, b);
        }
    }
}

static void line_like(struct calendar_line *line, const struct reservation_line *spec) {
    line->flavors = spec->flavor.n ? &spec->flavor : spec->any_of.v;
    line->n_flavors = spec->flavor.n ? 1 : spec->any_of.n;
    line->same_node = spec->same_node;
}

/* No plan has what is lost: the spec says how much it was. Returns how many lines there are. */
static size_t add_lost(const struct reservation_spec *spec, struct calendar_line *lines, size_t n) {
    for (size_t i = 0; i < spec->lines.n && i < RESERVATION_LINES; i++) {
        const struct reservation_line *l = &spec->lines.v[i];
        if (lines[i].count < l->count &&
            (lines[i].count == 0 || str_eq(lines[i].resource, l->resource))) {
            lines[i].resource = l->resource;
            lines[i].count = l->count;
            line_like(&lines[i], l);
            n = i + 1 > n ? i + 1 : n;
        }
    }
    return n;
}

/* Its place as it was written down; `lacks`: that is not all it booked. */
static int restore(struct reservation_controller *c, struct booking *b, const struct reservation *r,
                   bool lacks, struct arena *a) {
    const struct reservation_place_list *plan = &r->status->plan;
    struct calendar_line *lines = ARENA_ARRAY(a, struct calendar_line, RESERVATION_LINES);
    struct calendar_place *places = ARENA_ARRAY(a, struct calendar_place, plan->n + 1);
    struct calendar_ask ask = {.id = b->uid,
                               .start = b->start,
                               .end = b->end,
                               .lines = lines,
                               .rank = b->rank,
                               .order = b->created,
                               .fixed = booking_begun(b->phase)};
    if (lines == NULL || places == NULL || plan->n == 0) {
        return lines && places ? ERR_CONFLICT : ERR_NOMEM;
    }
    for (size_t i = 0; i < plan->n; i++) {
        const struct reservation_place *p = &plan->v[i];
        int64_t count = p->count > 0 ? p->count : 1;
        if (p->line < 0 || p->line >= RESERVATION_LINES || p->resource.n == 0) {
            return ERR_CONFLICT;
        }
        struct calendar_line *line = &lines[p->line];
        const struct reservation_line *spec =
            (size_t)p->line < r->spec->lines.n ? &r->spec->lines.v[p->line] : NULL;
        line->resource = p->resource;
        line->count += count;
        if (spec && str_eq(spec->resource, p->resource)) {
            line_like(line, spec);
        }
        ask.n_lines = (size_t)p->line + 1 > ask.n_lines ? (size_t)p->line + 1 : ask.n_lines;
        places[i] = (struct calendar_place){.line = (uint32_t)p->line,
                                            .flavor = p->flavor,
                                            .node = p->node,
                                            .gpu = p->gpu,
                                            .gpu_index = p->gpu_index.v,
                                            .profile = p->profile,
                                            .start = p->start.v,
                                            .size = p->size,
                                            .count = count};
    }
    ask.n_lines = lacks ? add_lost(r->spec, lines, ask.n_lines) : ask.n_lines;
    for (size_t i = 0; i < ask.n_lines; i++) {
        if (lines[i].count == 0) {
            return ERR_CONFLICT;
        }
    }
    return calendar_restore(c->calendar, &ask, places, plan->n);
}

static bool told(const struct reservation *r, const char *type) {
    for (size_t i = 0; i < r->status->conditions.n; i++) {
        const struct condition *k = &r->status->conditions.v[i];
        if (str_is(k->type, type) && str_is(k->status, "True")) {
            return true;
        }
    }
    return false;
}

/* When it began to lack what it booked. */
static int64_t lacks_since(const struct booking *b, const struct reservation *r) {
    for (size_t i = 0; i < r->status->conditions.n; i++) {
        const struct condition *k = &r->status->conditions.v[i];
        if (str_is(k->type, "Ready") && str_is(k->status, "False")) {
            int64_t at = sec(k->last_transition_ns);
            return at > b->start ? at : b->start;
        }
    }
    return b->start;
}

static void take_times(struct booking *b, const struct reservation_status *s) {
    b->start = sec(s->start_ns);
    b->end = sec(s->end_ns);
    b->decided = sec(s->decided_ns);
    b->deadline = sec(s->deadline_ns);
    b->active = sec(s->active_ns);
    b->ended = sec(s->ended_ns);
    b->used = sec(s->used_ns);
    b->warned = sec(s->warned_ns);
    b->extended = sec(s->extended_ns);
    b->lost = sec(s->lost_ns);
    b->since = s->waitlist ? sec(s->waitlist->since_ns) : 0;
    b->position = s->waitlist ? s->waitlist->position : 0;
    b->warned_at = b->warned > 0 ? b->end - b->warned : 0;
    b->sequence = s->sequence;
    b->generation = s->observed_generation;
}

/* What it holds, by its plan: its spec may say something else by now. */
static void held_amounts(struct reservation_controller *c, struct booking *b,
                         const struct reservation_place_list *plan) {
    b->units = b->share = 0;
    for (size_t i = 0; i < plan->n; i++) {
        const struct reservation_place *p = &plan->v[i];
        struct calendar_line line = {.resource = p->resource,
                                     .count = p->count > 0 ? p->count : 1,
                                     .flavors = &p->flavor,
                                     .n_flavors = p->flavor.n > 0};
        b->units += line.count;
        b->share += line.count * plan_share(c, &line);
    }
}

/*
 * The state of a booking that was decided before this controller began.
 *
 * Who edited it meanwhile asked for a change, as at any other time: it is put back as it was decided, and the change is
 * judged after that, by limits, the calendar and who must approve (plan_change). So what it had is not read from the
 * spec: amounts are those of its plan. Its class stands nowhere else; it counts where it cannot have changed, or is
 * approved.
 */
static void take_in(struct reservation_controller *c, struct booking *b, const struct object *o,
                    const struct reservation *r) {
    enum booking_phase p = r->status ? booking_phase_of(r->status->phase) : BOOKING_NEW;
    b->read = true;
    b->phase = p == BOOKING_PHASES ? BOOKING_NEW : p;
    bool edited = b->phase != BOOKING_NEW && r->status->observed_generation != o->generation;
    b->rank = edited && !booking_begun(b->phase) && r->spec->approval == NULL
                  ? plan_rank(STR(""))
                  : plan_rank(r->spec->class_name);
    b->want = plan_want_hash(r->spec);
    plan_user_set(c, b, r);
    if (b->phase == BOOKING_NEW) {
        return;
    }
    plan_undecided_drop(c, b);
    take_times(b, r->status);
    (void)str_copy(r->status->reason, b->reason, sizeof b->reason);
    b->message = r->status->message.n ? mem_cstr(r->status->message) : NULL;
    b->unused_told = told(r, "Unused");
    b->lost_from = b->phase == BOOKING_DEGRADED ? lacks_since(b, r) : 0;
    if (edited) {
        b->want = ~b->want; /* the change has not been looked at */
    }
    if (booking_holds(b->phase) && b->end > plan_now(c)) {
        bool lacks = b->generation == o->generation && !told(r, "Planned");
        int code = restore(c, b, r, lacks, &c->scratch);
        b->held = code == 0;
        booking_broken(c, b, code != 0 || lacks);
        b->durable = code == 0;
    }
    struct plan_want w;
    if (edited && r->status->plan.n > 0) {
        held_amounts(c, b, &r->status->plan);
    } else if (plan_want_of(c, r->spec, b->uid, b->created, &c->scratch, &w) == 0) {
        b->units = w.units;
        b->share = w.share;
    }
    if (booking_begun(b->phase) || b->phase == BOOKING_CONFIRMED || b->active) {
        b->committed_ms = plan_gpu_ms(c, b, b->start, b->end);
    }
    plan_count(c, b);
}

/* What did not find its place again gets another, if there is one. */
static void place_broken(struct reservation_controller *c) {
    for (struct plan_link *l = c->lacking, *next; l; l = next) {
        struct booking *b = l->booking;
        struct plan_want w;
        struct reservation *r;
        next = l->next;
        if (b->held || !booking_holds(b->phase) || b->end <= plan_now(c)) {
            continue;
        }
        r = booking_view(c, b, &c->scratch, NULL);
        if (r == NULL || plan_want_of(c, r->spec, b->uid, b->created, &c->scratch, &w) != 0) {
            continue;
        }
        w.ask.start = b->start;
        w.ask.end = b->end;
        w.ask.fixed = booking_begun(b->phase);
        if (calendar_insert(c->calendar, &w.ask, NULL) == 0) {
            b->held = true;
            booking_broken(c, b, false);
            booking_touch(c, b);
        }
    }
}

/* ERR_NOMEM: some are not read, and nothing may be decided before they are. */
static int read_new(struct reservation_controller *c) {
    const struct map_entry *e;
    int code = 0;
    for (size_t i = 0; (e = map_next(&c->by_uid, &i));) {
        struct booking *b = e->value;
        const struct object *o;
        struct reservation *r = b->read ? NULL : booking_view(c, b, &c->scratch, &o);
        if (r) {
            take_in(c, b, o, r);
            if (b->phase != BOOKING_NEW) {
                workqueue_add(c->base.queue, b->ns, b->name);
            }
        }
        if (code == 0) {
            code = arena_ok(&c->scratch);
        }
        arena_reset(&c->scratch);
    }
    return code;
}

void plan_moved(struct reservation_controller *c) {
    struct str id;
    while (calendar_moved_next(c->calendar, &id)) {
        struct booking *b = booking_by_uid(c, id);
        if (b == NULL) {
            continue;
        }
        if (b->durable && !b->moved) {
            b->moved = true;
            c->n_moved++;
        }
        booking_touch(c, b);
    }
}

/* Who lacks places now, and who does not any more. */
static void broken_look(struct reservation_controller *c) {
    struct map now = {0};
    struct str id;
    bool lost = false;
    for (size_t pos = 0; calendar_broken_next(c->calendar, &pos, &id);) {
        struct booking *b = booking_by_uid(c, id);
        lost = lost || (b && map_put(&now, b->uid, b, NULL) != 0);
        if (b && !b->broken) {
            booking_broken(c, b, true);
            booking_touch(c, b);
        }
    }
    if (lost) { /* who lacks nothing any more is not known */
        plan_again(c);
    }
    for (struct plan_link *l = lost ? NULL : c->lacking, *next; l; l = next) {
        struct booking *b = l->booking;
        next = l->next;
        if (b->held && map_get(&now, b->uid) == NULL) {
            booking_broken(c, b, false);
            booking_touch(c, b);
        }
    }
    map_release(&now);
}

/* The booking whose queue it is, and whether work runs in it. */
struct booking *plan_queue_use(struct reservation_controller *c, const struct object *o, bool gone,
                               bool *ret) {
    struct booking *b = NULL;
    yyjson_doc *d;
    struct arena a;
    arena_init(&a, 16 << 20);
    if (object_tree(o, &a, &d, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(d);
        yyjson_val *notes = json_path(root, "metadata.annotations");
        b = booking_by_uid(c, json_str(json_get(notes, STR("berth.dev/reservation-uid"))));
        *ret = !gone && (json_i64_at(root, "status.reservingWorkloads", 0) > 0 ||
                         json_i64_at(root, "status.admittedWorkloads", 0) > 0);
    }
    arena_release(&a);
    return b;
}

static bool use_look(void *ctx, const struct object *o) {
    struct reservation_controller *c = ctx;
    bool used;
    struct booking *b =
        object_label(o, STR(RESERVATION_LABEL)).n ? plan_queue_use(c, o, false, &used) : NULL;
    if (b) {
        b->in_use = used;
    }
    return true;
}

static int supply_changed(struct reservation_controller *c) {
    bool looked = c->supply_dirty || (c->supply_at && c->supply_at <= plan_now(c));
    int r = plan_supply(c);
    if (r == 0 && looked && c->loaded) {
        place_broken(c);
        (void)calendar_heal(c->calendar);
        broken_look(c);
        plan_moved(c);
    }
    return r;
}

/* Who lost a place is placed before anybody else is; of many, so many a turn. True: there are more. */
static bool heal_on(struct reservation_controller *c) {
    if (calendar_heal_due(c->calendar)) {
        (void)calendar_heal_on(c->calendar);
        broken_look(c);
        plan_moved(c);
    }
    if (calendar_heal_due(c->calendar)) {
        plan_kick(c);
        return true;
    }
    return false;
}

int plan_refresh(struct reservation_controller *c) {
    calendar_now(c->calendar, plan_now(c));
    int r = supply_changed(c);
    if (r == 0 && c->loaded && heal_on(c)) {
        arena_reset(&c->scratch);
        return 0;
    }
    if (c->undecided.n == 0 && c->tentatives) {
        size_t before = calendar_entries(c->calendar);
        plan_tentatives_trim(c);
        c->given = c->given || calendar_entries(c->calendar) < before; /* nobody came for it */
    }
    r = r == 0 && !c->loaded ? read_new(c) : r;
    if (r == 0 && !c->loaded) {
        mirror_scan(c->base.env.mirror, c->queues, STR(""), use_look, c);
        c->loaded = true;
        c->supply_dirty = true;
        place_broken(c);
        r = supply_changed(c);
    }
    if (r == 0 && c->undecided.n > 0) {
        plan_decide_all(c);
        plan_moved(c);
    }
    if (r == 0 && c->given) {
        c->given = false;
        if (c->floors_short) {
            struct arena a;
            arena_init(&a, SCRATCH_MAX);
            if (plan_floors(c, &a) != 0) {
                plan_again(c);
            }
            arena_release(&a);
        }
        (void)calendar_heal(c->calendar);
        place_broken(c);
        broken_look(c);
        plan_waitlist(c);
        plan_moved(c);
    }
    arena_reset(&c->scratch);
    return r;
}
