/*
 * reservation_limits: what each user and each project has booked, by time; and whether the policy's limits allow more.
 *
 * A booking that counts stands in two trees, of its user and of its project, by start: a question looks at the bookings
 * near it, however many there are. A tenant is the projects of one label. Those that wait, and those that lack places,
 * are in lists of their own, so that nobody walks over all bookings to find them.
 */
#include "control/book/reservation_private.h"

static int64_t sec(int64_t ns) {
    return ns / NS_PER_SEC;
}

/* ---- who counts where ---- */

static int by_start(const void *key, const void *item) {
    const struct booking *a = key, *b = item;
    return a->counted_at != b->counted_at ? (a->counted_at < b->counted_at ? -1 : 1)
                                          : str_cmp(a->uid, b->uid);
}

static bool counts(const struct booking *b) {
    return b->phase != BOOKING_NEW && b->phase != BOOKING_REJECTED && b->phase != BOOKING_EXPIRED &&
           (b->phase != BOOKING_CANCELLED || b->active != 0);
}

static struct plan_scope *scope_of(struct map *m, struct str name) {
    struct plan_scope *s = map_get(m, name);
    if (s) {
        return s;
    }
    s = mem_zalloc(sizeof *s + name.n + 1);
    if (s == NULL) {
        return NULL;
    }
    if (name.n > 0) {
        memcpy(s->text, name.p, name.n);
    }
    s->name = str_from(s->text, name.n);
    tree_init(&s->by_start, by_start);
    if (map_put(m, s->name, s, NULL) != 0) {
        mem_free(s);
        return NULL;
    }
    return s;
}

static void scope_trim(struct map *m, struct plan_scope *s) {
    if (s && s->by_start.n == 0) {
        map_del(m, s->name);
        tree_release(&s->by_start);
        mem_free(s);
    }
}

static int scope_add(struct map *m, struct str name, struct booking *b, struct plan_scope **ret) {
    struct plan_scope *s = scope_of(m, name);
    if (s == NULL || tree_put(&s->by_start, b, b, NULL) != 0) {
        scope_trim(m, s);
        return ERR_NOMEM;
    }
    s->open += b->counted_open;
    s->longest = b->end - b->start > s->longest ? b->end - b->start : s->longest;
    *ret = s;
    return 0;
}

static void scope_drop(struct map *m, struct booking *b, struct plan_scope **at) {
    if (*at) {
        tree_del(&(*at)->by_start, b);
        (*at)->open -= b->counted_open;
        scope_trim(m, *at);
        *at = NULL;
    }
}

static void uncount(struct reservation_controller *c, struct booking *b) {
    scope_drop(&c->users, b, &b->of_user);
    scope_drop(&c->projects, b, &b->of_project);
}

static void list_put(struct plan_link **head, struct plan_link *l, struct booking *b) {
    if (l->here == NULL) {
        *l = (struct plan_link){.next = *head, .here = head, .booking = b};
        if (l->next) {
            l->next->here = &l->next;
        }
        *head = l;
    }
}

static void list_drop(struct plan_link *l) {
    if (l->here) {
        *l->here = l->next;
        if (l->next) {
            l->next->here = l->here;
        }
        *l = (struct plan_link){0};
    }
}

void booking_broken(struct reservation_controller *c, struct booking *b, bool yes) {
    b->broken = yes;
    if (yes) {
        list_put(&c->lacking, &b->lacks, b);
    } else {
        list_drop(&b->lacks);
    }
}

void plan_count(struct reservation_controller *c, struct booking *b) {
    bool yes = counts(b), open = !booking_final(b->phase) && b->phase != BOOKING_ENDING;
    int64_t length = b->end - b->start;
    if (b->phase == BOOKING_WAITLISTED) {
        list_put(&c->waiting, &b->waits, b);
    } else {
        list_drop(&b->waits);
    }
    if (yes && b->of_user && b->of_project && b->counted_at == b->start &&
        b->counted_open == open && str_eq(b->of_user->name, b->user) &&
        length <= b->of_user->longest && length <= b->of_project->longest) {
        return;
    }
    uncount(c, b);
    if (yes) {
        b->counted_at = b->start;
        b->counted_open = open;
        if (scope_add(&c->users, b->user, b, &b->of_user) != 0 ||
            scope_add(&c->projects, b->ns, b, &b->of_project) != 0) {
            c->uncounted = true; /* no limit is judged before it is counted */
        }
    }
}

void plan_uncount(struct reservation_controller *c, struct booking *b) {
    uncount(c, b);
    list_drop(&b->waits);
    booking_broken(c, b, false);
}

static int count_all(struct reservation_controller *c) {
    const struct map_entry *e;
    if (c->uncounted) {
        c->uncounted = false;
        for (size_t i = 0; (e = map_next(&c->by_uid, &i));) {
            plan_count(c, e->value);
        }
    }
    return c->uncounted ? ERR_NOMEM : 0;
}

struct booking *plan_scope_first(const struct plan_scope *s, int64_t from, struct tree_pos *at) {
    struct booking key = {.counted_at = from - s->longest};
    *at = tree_seek(&s->by_start, &key);
    return tree_next(&s->by_start, at);
}

/* ---- what is near ---- */

static struct booking_caps caps_of(const struct reservation_limits *l) {
    return l ? (struct booking_caps){
                   .concurrent_units = l->concurrent_units.set ? l->concurrent_units.v : 0,
                   .future = l->future_bookings.set ? l->future_bookings.v : 0,
                   .max_duration_s = sec(l->max_duration_ns),
                   .gpu_ms_week = l->gpu_hours_per_week.set
                                      ? l->gpu_hours_per_week.v * INT64_C(3600000)
                                      : 0,
                   .gpu_ms_month = l->gpu_hours_per_month.set
                                       ? l->gpu_hours_per_month.v * INT64_C(3600000)
                                       : 0,
               }
             : (struct booking_caps){0};
}

static bool has_caps(const struct booking_caps *k) {
    return k->concurrent_units || k->future || k->max_duration_s || k->gpu_ms_week ||
           k->gpu_ms_month;
}

/* How far from a booking another one of the scope may be and still matter. */
static int64_t reach(const struct booking_request *q, enum booking_scope scope) {
    const struct booking_caps *k = &q->caps[scope];
    int64_t far = k->gpu_ms_month ? 30 * PLAN_DAY : k->gpu_ms_week ? 7 * PLAN_DAY : 0;
    int64_t longest = scope == BOOKING_USER && q->max_duration_s > k->max_duration_s
                          ? q->max_duration_s
                          : k->max_duration_s;
    return (longest > far ? longest : far) + q->grid_s;
}

static struct str tenant_of(const struct reservation_controller *c, struct str ns) {
    const struct object *o = mirror_get(c->base.env.mirror, c->namespaces, STR(""), ns);
    return o ? object_label(o, STR("berth.dev/tenant")) : (struct str){0};
}

/* Those of one user or project that matter for bookings in [from, to]. */
static int uses_add(struct plan_limits *l, enum booking_scope scope, const struct plan_scope *s,
                    struct str user) {
    struct plan_uses *to = &l->uses[scope];
    int64_t far = reach(&l->q, scope), from = l->from - far, until = l->to + far;
    struct tree_pos at;
    int r = 0;
    if (s == NULL) {
        return 0;
    }
    l->q.open[scope] += s->open;
    if (l->instead && l->instead->counted_open &&
        (s == l->instead->of_user || s == l->instead->of_project)) {
        l->q.open[scope]--;
    }
    for (const struct booking *b = plan_scope_first(s, from, &at);
         b && b->counted_at <= until && r == 0; b = tree_next(&s->by_start, &at)) {
        if (b != l->instead && b->end >= from) {
            r = plan_uses_push(to, (struct booking_use){.start = b->start,
                                                        .end = b->end,
                                                        .units = b->units,
                                                        .share = b->share,
                                                        .same_owner = str_eq(b->user, user)});
        }
    }
    return r;
}

static int uses_of(struct plan_limits *l, enum booking_scope scope, struct str user,
                   struct str ns) {
    struct reservation_controller *c = l->c;
    struct str tenant = scope == BOOKING_TENANT ? tenant_of(c, ns) : (struct str){0};
    const struct map_entry *e;
    int r = 0;
    if (scope == BOOKING_USER) {
        r = uses_add(l, scope, map_get(&c->users, user), user);
    } else if (tenant.n == 0) {
        r = uses_add(l, scope, map_get(&c->projects, ns), user);
    }
    for (size_t i = 0; tenant.n > 0 && r == 0 && (e = map_next(&c->projects, &i));) {
        if (str_eq(tenant_of(c, e->key), tenant)) {
            r = uses_add(l, scope, e->value, user);
        }
    }
    r = r ? r : plan_uses_room(&l->uses[scope], 1); /* for the other part of one in two */
    l->q.uses[scope] = l->uses[scope].v;
    l->q.n_uses[scope] = l->uses[scope].n;
    return r;
}

int plan_limits_begin(struct reservation_controller *c, const struct reservation *r, struct str ns,
                      const struct booking *instead, int64_t from, int64_t to,
                      struct plan_limits *ret) {
    const struct reservation_policy_spec *p = c->policy.spec;
    const struct reservation_scopes *scopes = p->limits;
    int64_t grid = sec(p->granularity_ns), created = sec(r->metadata->creation_ns);
    int code = count_all(c);
    *ret = (struct plan_limits){
        .c = c,
        .instead = instead,
        .q = {
            /* Judged by the time at which it was asked for. */
            .now = created > 0 && instead == NULL ? created : plan_now(c),
            .use = {.same_owner = true},
            .caps = {[BOOKING_USER] = caps_of(scopes ? scopes->user : NULL),
                     [BOOKING_PROJECT] = caps_of(scopes ? scopes->project : NULL),
                     [BOOKING_TENANT] = caps_of(scopes ? scopes->tenant : NULL)},
            .min_duration_s = sec(p->min_duration_ns),
            .max_duration_s = sec(p->max_duration_ns),
            .ahead_s = (int64_t)p->days_ahead * PLAN_DAY,
            .grid_s = grid,
            .past_s = grid,
            .old_start = instead ? instead->start : 0,
        }};
    ret->from = from;
    ret->to = to;
    for (enum booking_scope s = 0; s < BOOKING_SCOPES && code == 0; s++) {
        if (has_caps(&ret->q.caps[s]) || (s == BOOKING_USER && ret->q.max_duration_s > 0)) {
            code = uses_of(ret, s, plan_user(r), ns);
        }
    }
    if (code != 0) {
        plan_limits_end(ret);
    }
    return code;
}

void plan_limits_end(struct plan_limits *l) {
    for (int s = 0; s < BOOKING_SCOPES; s++) {
        plan_uses_release(&l->uses[s]);
    }
}

int plan_limits_ask(struct plan_limits *l, int64_t start, int64_t end, int64_t units, int64_t share,
                    struct booking_refusal *ret) {
    l->q.use.start = start;
    l->q.use.end = end;
    l->q.use.units = units;
    l->q.use.share = share;
    l->q.grid_base = plan_grid_base(l->c, start);
    for (int s = 0; s < BOOKING_SCOPES; s++) {
        l->looked += l->q.n_uses[s] + 1;
    }
    return booking_limits_check(&l->q, ret);
}

int plan_limits_check(struct reservation_controller *c, const struct reservation *r, struct str ns,
                      const struct plan_want *w, const struct booking *instead,
                      struct plan_outcome *ret) {
    struct plan_limits l;
    int n = plan_limits_begin(c, r, ns, instead, w->ask.start, w->ask.end, &l);
    if (n == 0) {
        n = plan_limits_ask(&l, w->ask.start, w->ask.end, w->units, w->share, ret->refusals);
        plan_limits_end(&l);
    }
    ret->n_refusals = n;
    return n < 0 ? n : 0;
}

void plan_limits_release(struct reservation_controller *c) {
    map_release(&c->users); /* the scopes went with their last bookings */
    map_release(&c->projects);
}
