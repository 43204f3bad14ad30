/* calendar_feed: keys are feeds; an index of bookings and of addresses. See calendar_feed.h. */
#include "control/series/calendar_feed.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "base/hash/sha256.h"
#include "base/keyed_hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/prng.h"
#include "control/kit/edit.h"
#include "control/series/calendar_feed_private.h"
#include "wire/text/base64.h"

enum { TOKEN_BYTES = 24, SCRATCH_BYTES = 64 << 20 };
static const struct str path_head = {"/calendar/", 10}, path_tail = {".ics", 4};

/* ---- bookings ---- */

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t seconds(int64_t ns) {
    return ns / NS_PER_SEC;
}

static uint64_t user_hash(struct str user) {
    uint64_t h = user.n > 0 ? keyed_hash(user) : 0;
    return user.n > 0 && h == 0 ? 1 : h;
}

static void read_booking(struct feed_booking *b, const struct reservation *r, int64_t now) {
    const struct reservation_status *s = r->status;
    const struct reservation_beneficiary *f = r->spec->beneficiary;
    enum booking_phase p = s ? booking_phase_of(s->phase) : BOOKING_NEW;
    bool over = p == BOOKING_CANCELLED || p == BOOKING_REJECTED || p == BOOKING_EXPIRED;
    b->start = seconds(s && s->start_ns ? s->start_ns : r->spec->start_ns);
    b->end = seconds(s && s->end_ns ? s->end_ns : r->spec->end_ns);
    b->modified = seconds(b->obj->created_ns);
    for (size_t i = 0; s && i < s->conditions.n; i++) {
        b->modified = later(b->modified, seconds(s->conditions.v[i].last_transition_ns));
    }
    if (s) {
        b->modified = later(b->modified, seconds(s->decided_ns));
        b->modified = later(b->modified, later(seconds(s->active_ns), seconds(s->ended_ns)));
    }
    int64_t since = s && s->ended_ns ? seconds(s->ended_ns) : b->over ? b->over : now;
    b->over = over ? since : 0;
    b->phase = p;
    b->resources = 0;
    for (size_t i = 0; i < r->spec->lines.n; i++) {
        b->resources |= feed_resource_bit(r->spec->lines.v[i].resource);
    }
    b->users[0] = user_hash(meta_annotation(r->metadata, RESERVATION_USER_ANNOTATION));
    b->users[1] = f && !str_is(f->kind, "Group") ? user_hash(f->name) : 0;
}

static void booking_drop(struct calendar_feed_controller *c, struct feed_booking *b) {
    map_del(&c->bookings, b->obj->uid);
    c->n_gone -= b->gone;
    object_unref(b->obj);
    mem_free(b);
}

/* Of what was deleted, as much is remembered as there is room for. */
static void booking_gone(struct calendar_feed_controller *c, struct feed_booking *b, int64_t now) {
    if (c->n_gone >= LIMIT_ICAL_EVENTS || b->end < now - FEED_KEEP) {
        booking_drop(c, b);
        return;
    }
    b->over = b->over ? b->over : now;
    b->modified = later(b->modified, b->over);
    b->gone = true;
    c->n_gone++;
}

static void booking_put(struct calendar_feed_controller *c, const struct object *o) {
    struct arena *a = &c->scratch;
    struct reservation r = {0};
    struct feed_booking *b = map_get(&c->bookings, o->uid);
    yyjson_doc *d;
    arena_reset(a);
    if (object_tree(o, a, &d, NULL) != 0 ||
        codec_decode(&schema_reservation, yyjson_doc_get_root(d), a, &r, NULL) != 0 ||
        r.spec == NULL) {
        return;
    }
    if (b == NULL) {
        b = mem_zalloc(sizeof(*b));
    } else { /* its key lies in the object */
        map_del(&c->bookings, o->uid);
        object_unref(b->obj);
    }
    if (b == NULL) {
        return;
    }
    b->obj = object_ref(o);
    read_booking(b, &r, seconds(clock_wall(c->base.env.clock)));
    if (map_put(&c->bookings, b->obj->uid, b, NULL) != 0) {
        object_unref(b->obj);
        mem_free(b);
    }
}

/* Once in a while what is long over is forgotten. */
static void forget_old(struct calendar_feed_controller *c) {
    int64_t before = seconds(clock_wall(c->base.env.clock)) - FEED_KEEP;
    const struct map_entry *e;
    for (size_t i = 0; c->n_gone > 0 && (e = map_next(&c->bookings, &i));) {
        struct feed_booking *b = e->value;
        if (b->gone && b->over < before) {
            booking_drop(c, b);
        }
    }
}

/* ---- addresses ---- */

static struct str hash_of(const struct feed_token *t) {
    return str_from((const char *)t->hash, sizeof(t->hash));
}

static void token_free(struct feed_token *t) {
    if (t) {
        mem_free(t->token);
        mem_free(t->key);
        mem_free(t);
    }
}

static void token_drop(struct calendar_feed_controller *c, struct feed_token *t) {
    map_del(&c->by_feed, str_of(t->key));
    map_del(&c->tokens, hash_of(t));
    token_free(t);
}

static struct feed_token *token_new(struct str token, struct str key, size_t ns_length) {
    struct feed_token *t = mem_zalloc(sizeof(*t));
    if (t == NULL) {
        return NULL;
    }
    t->token = mem_cstr(token);
    t->key = mem_cstr(key);
    if (t->token == NULL || t->key == NULL) {
        token_free(t);
        return NULL;
    }
    t->ns = str_from(t->key, ns_length);
    t->name = str_skip(str_of(t->key), ns_length + 1);
    sha256(token, t->hash);
    return t;
}

/* "/calendar/TOKEN.ics" */
static struct str token_in(struct str path) {
    if (!str_starts(path, path_head) || !str_ends(path, path_tail) ||
        path.n <= path_head.n + path_tail.n) {
        return (struct str){0};
    }
    return str_head(str_skip(path, path_head.n), path.n - path_head.n - path_tail.n);
}

/* The feed's address as its object says; only that of its present revision counts. */
static void token_read(struct calendar_feed_controller *c, const struct object *o, bool there) {
    char key[2 * LIMIT_NAME + 2];
    struct calendar_feed f = {0};
    yyjson_doc *d;
    (void)snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
    struct feed_token *t = map_get(&c->by_feed, str_of(key));
    arena_reset(&c->scratch);
    bool ok =
        there && !o->deleting_ns && object_tree(o, &c->scratch, &d, NULL) == 0 &&
        codec_decode(&schema_calendar_feed, yyjson_doc_get_root(d), &c->scratch, &f, NULL) == 0 &&
        f.spec && f.status && f.status->revision == f.spec->revision;
    struct str token = ok ? token_in(f.status->path) : (struct str){0};
    if (t && str_is(token, t->token)) {
        return;
    }
    if (t) {
        token_drop(c, t);
    }
    t = token.n > 0 ? token_new(token, str_of(key), o->ns.n) : NULL;
    /* An address that somebody wrote into two feeds is the first one's. */
    if (t == NULL || map_get(&c->tokens, hash_of(t)) ||
        map_put(&c->tokens, hash_of(t), t, NULL) != 0) {
        token_free(t);
    } else if (map_put(&c->by_feed, str_of(t->key), t, NULL) != 0) {
        token_drop(c, t);
    }
}

/* ---- making an address ---- */

/* 0, or ERR_IO. */
static int random_bytes(struct calendar_feed_controller *c, uint8_t *p, size_t n, struct err *err) {
    if (c->base.env.random) {
        return c->base.env.random(p, n, err);
    }
    struct prng r; /* nobody from outside reaches a simulation */
    prng_seed(&r, c->base.env.seed ^ (uint64_t)clock_wall(c->base.env.clock) ^ c->version << 32);
    c->version++;
    for (size_t i = 0; i < n; i++) {
        p[i] = (uint8_t)prng_u64(&r);
    }
    return 0;
}

static bool is_current(const struct calendar_feed *f) {
    return f->status && f->status->revision == f->spec->revision && token_in(f->status->path).n > 0;
}

static enum work give_address(struct calendar_feed_controller *c, const struct object *o,
                              const struct calendar_feed *f) {
    uint8_t bytes[TOKEN_BYTES];
    struct err err = {0};
    struct calendar_feed want = *f;
    struct calendar_feed_status status = {0};
    struct buf token;
    struct round *r = controller_begin(&c->base);
    if (r == NULL || random_bytes(c, bytes, sizeof(bytes), &err) != 0) {
        round_fail(r, ERR_IO);
        return round_end(r);
    }
    buf_init(&token, 0);
    base64url_encode(&token, str_from((const char *)bytes, sizeof(bytes)));
    if (f->status) {
        status = *f->status;
    }
    status.user = meta_annotation(f->metadata, RESERVATION_USER_ANNOTATION);
    status.path = arena_f(&c->base.arena, "%.*s%.*s%.*s", STR_ARG(path_head),
                          STR_ARG(buf_view(&token)), STR_ARG(path_tail));
    status.revision = f->spec->revision;
    status.message = status.user.n == 0 && str_is(f->spec->scope, "own")
                         ? STR("nobody can say who made this feed, so it is empty: Berth's "
                               "admission was not asked when it was made")
                         : STR("");
    want.status = &status;
    if (buf_ok(&token) == 0 && status.path.p) {
        (void)edit_send(r, o, "status", EDIT_VERSION, f, &want);
    } else {
        round_fail(r, ERR_NOMEM);
    }
    buf_release(&token);
    return round_end(r);
}

static enum work step(void *self, struct work_key key) {
    struct calendar_feed_controller *c = self;
    struct arena *a = &c->base.arena;
    struct calendar_feed f = {0};
    yyjson_doc *d;
    const struct object *o = mirror_get(c->base.env.mirror, c->feeds, key.ns, key.name);
    if (o == NULL || o->deleting_ns) {
        return WORK_OK;
    }
    if (object_tree(o, a, &d, NULL) != 0) {
        return WORK_RETRY;
    }
    if (codec_decode(&schema_calendar_feed, yyjson_doc_get_root(d), a, &f, NULL) != 0 ||
        f.spec == NULL || is_current(&f)) {
        return WORK_OK;
    }
    return give_address(c, o, &f);
}

/* ---- answering ---- */

/* Without a hint, by the time it takes, of how much was right. */
static bool same_secret(struct str a, struct str b) {
    unsigned char differ = a.n != b.n;
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        differ |= (unsigned char)(a.p[i] ^ b.p[i]);
    }
    return differ == 0;
}

static int find_feed(struct feed_ask *q, struct str token, struct err *err) {
    struct calendar_feed_controller *c = q->c;
    uint8_t hash[SHA256_BYTES];
    yyjson_doc *d;
    sha256(token, hash);
    struct feed_token *t = map_get(&c->tokens, str_from((const char *)hash, sizeof(hash)));
    q->obj = t ? mirror_get(c->base.env.mirror, c->feeds, t->ns, t->name) : NULL;
    q->feed = q->obj ? ARENA_NEW(q->a, struct calendar_feed) : NULL;
    if (q->obj && (q->feed == NULL || object_tree(q->obj, q->a, &d, NULL) != 0)) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    if (q->obj == NULL || q->obj->deleting_ns || !same_secret(token, str_of(t->token)) ||
        codec_decode(&schema_calendar_feed, yyjson_doc_get_root(d), q->a, q->feed, NULL) != 0 ||
        q->feed->spec == NULL || !is_current(q->feed)) {
        return err_set(err, ERR_NOT_FOUND, "there is no such calendar");
    }
    q->user = meta_annotation(q->feed->metadata, RESERVATION_USER_ANNOTATION);
    return 0;
}

static bool is_fresh(const struct calendar_feed_controller *c, const struct feed_answer *w,
                     int64_t now) {
    int64_t age = now - w->built;
    return age >= 0 && ((w->version == c->version && age < FEED_FRESH) ||
                        (w->text.n > FEED_LARGE && age < FEED_LARGE_FRESH));
}

/* The answer of this token, or the place of the oldest. */
static struct feed_answer *answer_of(struct calendar_feed_controller *c, struct str token) {
    struct feed_answer *oldest = &c->answers[0];
    for (size_t i = 0; i < FEED_ANSWERS; i++) {
        struct feed_answer *w = &c->answers[i];
        if (w->token && str_is(token, w->token)) {
            return w;
        }
        oldest = w->built < oldest->built ? w : oldest;
    }
    return oldest;
}

static int make_answer(struct feed_ask *q, struct feed_answer *w, struct str token,
                       struct err *err) {
    uint8_t hash[SHA256_BYTES];
    char *copy = mem_cstr(token);
    mem_free(w->token);
    w->token = NULL;
    w->built = 0;
    q->out = &w->text;
    int code = copy ? calendar_body_write(q) : ERR_NOMEM;
    if (code != 0) {
        mem_free(copy);
        return err_set(err, code, "the calendar cannot be written: out of memory");
    }
    sha256(buf_view(&w->text), hash);
    int n = snprintf(w->etag, sizeof(w->etag), "\"");
    for (size_t i = 0; i < 16; i++) {
        n += snprintf(w->etag + n, sizeof(w->etag) - (size_t)n, "%02x", hash[i]);
    }
    (void)snprintf(w->etag + n, sizeof(w->etag) - (size_t)n, "\"");
    w->token = copy;
    w->modified = q->modified;
    w->built = q->now;
    w->version = q->c->version;
    return 0;
}

static int get(struct calendar_source *s, struct str token, struct calendar_body *ret,
               struct err *err) {
    struct calendar_feed_controller *c =
        (struct calendar_feed_controller *)((char *)s -
                                            offsetof(struct calendar_feed_controller, source));
    arena_reset(&c->scratch);
    struct feed_ask q = {.c = c, .a = &c->scratch, .now = seconds(clock_wall(c->base.env.clock))};
    int code = find_feed(&q, token, err);
    if (code != 0) {
        return code;
    }
    struct feed_answer *w = answer_of(c, token);
    if (w->token == NULL || !str_is(token, w->token) || !is_fresh(c, w, q.now)) {
        forget_old(c);
        code = make_answer(&q, w, token, err);
    }
    if (code != 0) {
        return code;
    }
    *ret = (struct calendar_body){.text = buf_view(&w->text),
                                  .etag = str_of(w->etag),
                                  .modified_ns = w->modified * NS_PER_SEC};
    return 0;
}

/* ---- feeds ---- */

static void feed_changed(void *ctx, const struct change *ch) {
    struct calendar_feed_controller *c = ctx;
    c->version++;
    token_read(c, ch->obj, ch->type != CHANGE_DELETED);
    workqueue_add(c->base.queue, ch->obj->ns, ch->obj->name);
}

static void other_changed(void *ctx, const struct change *ch) {
    struct calendar_feed_controller *c = ctx;
    c->version++;
}

static void reservation_changed(void *ctx, const struct change *ch) {
    struct calendar_feed_controller *c = ctx;
    c->version++;
    if (ch->type != CHANGE_DELETED) {
        booking_put(c, ch->obj);
        return;
    }
    struct feed_booking *b = map_get(&c->bookings, ch->obj->uid);
    forget_old(c);
    if (b) {
        booking_gone(c, b, seconds(clock_wall(c->base.env.clock)));
    }
}

/* ---- life ---- */

enum { RESERVATIONS, FEEDS, SERIES, POLICIES }; /* of the row's kinds */

static int init(void *self, struct err *err) {
    struct calendar_feed_controller *c = self;
    const struct control_env *env = &c->base.env;
    c->reservations = c->base.kinds[RESERVATIONS];
    c->feeds = c->base.kinds[FEEDS];
    c->series = c->base.kinds[SERIES];
    c->policies = c->base.kinds[POLICIES];
    c->own_zones = env->zones ? NULL : zones_new(NULL);
    c->zones = env->zones ? env->zones : c->own_zones;
    arena_init(&c->scratch, SCRATCH_BYTES);
    arena_init(&c->item, SCRATCH_BYTES);
    for (size_t i = 0; i < FEED_ANSWERS; i++) {
        buf_init(&c->answers[i].text, 2 * LIMIT_ICAL_BYTES);
    }
    c->source.get = get;
    if (c->zones && env->calendar) {
        env->calendar->source = &c->source;
    }
    return c->zones ? 0 : ERR_NOMEM;
}

static void release(void *self) {
    struct calendar_feed_controller *c = self;
    const struct map_entry *e;
    if (c->base.env.calendar && c->base.env.calendar->source == &c->source) {
        c->base.env.calendar->source = NULL;
    }
    for (size_t i = 0; (e = map_next(&c->bookings, &i));) {
        object_unref(((struct feed_booking *)e->value)->obj);
        mem_free(e->value);
    }
    for (size_t i = 0; (e = map_next(&c->by_feed, &i));) {
        token_free(e->value);
    }
    map_release(&c->bookings);
    map_release(&c->tokens);
    map_release(&c->by_feed);
    for (size_t i = 0; i < FEED_ANSWERS; i++) {
        mem_free(c->answers[i].token);
        buf_release(&c->answers[i].text);
    }
    arena_release(&c->scratch);
    arena_release(&c->item);
    zones_free(c->own_zones);
}

const struct controller_row calendar_feed_controller = {
    .name = "reservations",
    .set = CONTROL_RESERVATIONS,
    .who = "berth-calendar-feeds",
    CONTROLLER_KINDS([RESERVATIONS] = {"berth.dev", "Reservation", reservation_changed,
                                       .first = true, .optional = true},
                     [FEEDS] = {"berth.dev", "CalendarFeed", feed_changed, .first = true,
                                .optional = true, .may = MAY_STATUS},
                     [SERIES] = {"berth.dev", "ReservationSeries", other_changed, .optional = true},
                     [POLICIES] = {"berth.dev", "ReservationPolicy", other_changed,
                                   .optional = true}),
    .step = step,
    .size = sizeof(struct calendar_feed_controller),
    .init = init,
    .release = release,
};
