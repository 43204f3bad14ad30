/*
 * leader: see leader.h.
 *
 * One request is under way at a time. What a try does:
 *
 *     a record of our own, by what we last saw    write it anew at once; on any trouble, read before the next try
 *     else                                        read; none there: create; a live one of another: wait; else write
 *
 * Every write is conditional on the resourceVersion that was read, so two candidates cannot both win.
 */
#include "kube/leader.h"

#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/prng.h"
#include "kube/client_private.h"
#include "kube/lease.h"
#include "kube/path.h"
#include "net/tls.h"
#include "wire/text/time.h"

enum {
    RECORD_MAX = 256 << 10,
    RELEASE_MS = 2000, /* for each of the two requests of a clean end */
    WATCH_S = 300,     /* how long a candidate's watch is asked for */
    SOON_MS = 50,      /* between a sign that the Lease is free and the try */
    IDENTITY_MAX = 253,
};

enum state { CANDIDATE, LEADER, LEAVING, RELEASED };

struct leader {
    struct kube_client *client;
    struct clock *clock;
    struct log *log;
    struct buf ns, name, me;
    const char *who;
    int64_t lease_ns, renew_ns, retry_ns;
    void (*started)(void *ctx);
    void (*stopped)(void *ctx, const char *why);
    void *ctx;
    int64_t (*boot_ns)(void *ctx);
    int64_t (*wall_ns)(void *ctx);
    void *time_ctx;

    enum state state;
    struct kube_call *call; /* read or write of the Lease */
    struct kube_call *watch, *event;
    struct timer *tick, *deadline;
    struct prng prng;
    uint64_t serial; /* of Events */

    struct arena seen_arena; /* of seen */
    struct lease_record seen;
    struct buf body;   /* the object that seen is of */
    bool known, fresh; /* there is a seen; its rv is good for a write without reading first */
    int64_t seen_boot; /* when it was first seen */
    struct lease_record sent; /* views of sent_text */
    char sent_text[2 * TIME_TEXT_MAX];
    int64_t sent_boot, sent_wall;   /* when the write under way went out */
    int64_t since_boot, since_wall; /* when the last renewal that succeeded went out */
    bool trouble;                   /* told of once */
    bool told_end;
    int64_t first_failure; /* boot ns; of renewals; 0: none */

    void (*done)(void *ctx); /* of leader_release */
    void *done_ctx;
};

static int64_t system_boot(void *ctx) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static int64_t system_wall(void *ctx) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static int64_t boot_now(const struct leader *l) {
    return l->boot_ns(l->time_ctx);
}

static int64_t wall_now(const struct leader *l) {
    return l->wall_ns(l->time_ctx);
}

/* ---- the fence ---- */

/* By the clock that went further: the wall may know of a sleep that boot time does not. */
static int64_t age(const struct leader *l) {
    int64_t boot = boot_now(l) - l->since_boot, wall = wall_now(l) - l->since_wall;
    return boot > wall ? boot : wall;
}

static bool may_write(const struct leader *l) {
    return (l->state == LEADER || l->state == LEAVING) && age(l) < l->renew_ns;
}

bool leader_may_write(void *ctx) {
    struct leader *l = ctx;
    bool open = may_write(l);
    if (!open && l->state == LEADER) {
        l->clock->timer_start(l->deadline, 0); /* on_deadline sorts out what it means */
    }
    return open;
}

/* A leap of the wall clock is what a renewal is to clear up. */
static bool may_renew(void *ctx) {
    const struct leader *l = ctx;
    return l->state >= LEADER && boot_now(l) - l->since_boot < l->renew_ns;
}

/* ---- Events ---- */

static void event_done(void *ctx, const struct kube_reply *r) {
    struct leader *l = ctx;
    l->event = NULL;
}

/* Best effort. */
static void tell(struct leader *l, const char *what, kube_done *done, int64_t timeout_ms) {
    struct buf path, b;
    char now[TIME_TEXT_MAX];
    struct str time = time_text(wall_now(l), now), ns = buf_view(&l->ns);
    kube_cancel(l->event);
    l->event = NULL;
    buf_init(&path, 1024);
    buf_init(&b, 16 << 10);
    kube_path(&path, STR("v1"), STR("events"), ns, (struct str){0}, (struct str){0});
    buf_c(&b, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"namespace\":");
    buf_json(&b, ns);
    buf_f(&b, ",\"name\":\"%.*s.%llx\"}", STR_ARG(buf_view(&l->name)),
          (unsigned long long)wall_now(l) + l->serial++);
    buf_c(&b, ",\"involvedObject\":{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\","
              "\"namespace\":");
    buf_json(&b, ns);
    buf_c(&b, ",\"name\":");
    buf_json(&b, buf_view(&l->name));
    buf_c(&b, ",\"uid\":");
    buf_json(&b, l->seen.uid);
    buf_c(&b, "},\"type\":\"Normal\",\"reason\":\"LeaderElection\",\"count\":1,\"message\":");
    struct buf text;
    buf_init(&text, 1024);
    buf_f(&text, "%.*s %s", STR_ARG(buf_view(&l->me)), what);
    buf_json(&b, buf_view(&text));
    buf_release(&text);
    buf_f(&b, ",\"firstTimestamp\":\"%.*s\",\"lastTimestamp\":\"%.*s\",", STR_ARG(time),
          STR_ARG(time));
    buf_f(&b, "\"source\":{\"component\":\"%s\"},\"reportingComponent\":\"%s\",", l->who, l->who);
    buf_c(&b, "\"reportingInstance\":\"\"}");
    struct kube_request q = {.method = "POST",
                             .path = buf_view(&path),
                             .body = buf_view(&b),
                             .timeout_ms = timeout_ms,
                             .may_send = leader_may_write,
                             .may_send_ctx = l,
                             .done = done,
                             .ctx = l};
    if (buf_ok(&b) != 0 || buf_ok(&path) != 0 || kube_send(l->client, &q, &l->event, NULL) != 0) {
        l->event = NULL;
    }
    buf_release(&b);
    buf_release(&path);
}

/* ---- states ---- */

static void try_in(struct leader *l, int64_t ns) {
    l->clock->timer_start(l->tick, ns);
}

/* The leader's own pace is steady; candidates are spread. */
static void try_later(struct leader *l) {
    double jitter = l->state == LEADER ? 0 : 1.2 * prng_unit(&l->prng);
    try_in(l, l->retry_ns + (int64_t)(jitter * (double)l->retry_ns));
}

static void become_leader(struct leader *l) {
    l->state = LEADER;
    kube_cancel(l->watch);
    l->watch = NULL;
    log_info(l->log, "lease %.*s/%.*s: %.*s became leader", STR_ARG(buf_view(&l->ns)),
             STR_ARG(buf_view(&l->name)), STR_ARG(buf_view(&l->me)));
    tell(l, "became leader", event_done, 0);
    l->started(l->ctx);
}

/* No word goes out any more: it would be a write. */
static void lose(struct leader *l, const char *why) {
    l->state = CANDIDATE;
    l->fresh = false;
    kube_cancel(l->call);
    kube_cancel(l->event);
    l->call = l->event = NULL;
    l->clock->timer_stop(l->deadline);
    log_error(l->log, "lease %.*s/%.*s: %.*s is no longer leader: %s", STR_ARG(buf_view(&l->ns)),
              STR_ARG(buf_view(&l->name)), STR_ARG(buf_view(&l->me)), why);
    l->stopped(l->ctx, why);
    try_in(l, 0);
}

static void on_deadline(void *ctx) {
    struct leader *l = ctx;
    if (l->state != LEADER) {
        return;
    }
    int64_t left = l->renew_ns - (boot_now(l) - l->since_boot);
    if (left <= 0) {
        lose(l, "the lease could not be renewed in time");
        return;
    }
    l->clock->timer_start(l->deadline, left);
    if (age(l) >= l->renew_ns && l->call == NULL) { /* the wall clock leapt: shut until renewed */
        log_warn(l->log, "the clock leapt ahead: nothing is written until the lease is renewed");
        try_in(l, 0);
    }
}

/* ---- what comes back ---- */

static void leave(struct leader *l);

static void on_failure(struct leader *l, const struct kube_reply *r, const char *what) {
    l->fresh = false;
    if (l->state == LEAVING) {
        leave(l);
        return;
    }
    if (!l->trouble && r->code != ERR_CONFLICT && r->code != ERR_EXISTS) {
        log_warn(l->log, "lease %.*s/%.*s: %s: %s", STR_ARG(buf_view(&l->ns)),
                 STR_ARG(buf_view(&l->name)), what, r->err.text);
        l->trouble = true;
    }
    if (l->state == LEADER && l->first_failure == 0) {
        l->first_failure = boot_now(l);
    }
    try_later(l);
}

/* Takes in what the server has. False: that was no Lease. */
static bool observe(struct leader *l, struct str body) {
    struct arena a;
    struct lease_record got;
    arena_init(&a, 4 * RECORD_MAX);
    buf_reset(&l->body);
    buf_str(&l->body, body);
    if (buf_ok(&l->body) != 0 || lease_read(&a, body, &got, NULL) != 0) {
        l->known = l->fresh = false;
        arena_release(&a);
        return false;
    }
    if (!l->known || !lease_same(&got, &l->seen)) {
        l->seen_boot = boot_now(l);
    }
    arena_release(&l->seen_arena);
    l->seen_arena = a;
    l->seen = got;
    l->known = true;
    return true;
}

static bool mine(const struct leader *l) {
    return l->known && str_eq(l->seen.holder, buf_view(&l->me));
}

static void written(void *ctx, const struct kube_reply *r) {
    struct leader *l = ctx;
    l->call = NULL;
    if (r->code != 0 || !observe(l, r->body) || !mine(l)) {
        on_failure(l, r, "cannot write it");
        return;
    }
    l->fresh = true;
    l->trouble = false;
    l->first_failure = 0;
    l->since_boot = l->sent_boot;
    l->since_wall = l->sent_wall;
    if (l->state == LEAVING) {
        leave(l);
        return;
    }
    int64_t left = l->renew_ns - (boot_now(l) - l->since_boot);
    if (left <= 0) { /* the answer took that long: what it says may be over */
        l->fresh = false;
        if (l->state == LEADER) {
            lose(l, "the lease could not be renewed in time");
        } else {
            try_later(l);
        }
        return;
    }
    l->clock->timer_start(l->deadline, left);
    if (l->state == CANDIDATE) {
        become_leader(l);
    }
    try_later(l);
}

static void lease_path(struct leader *l, struct buf *path, bool one) {
    kube_path(path, STR("coordination.k8s.io/v1"), STR("leases"), buf_view(&l->ns),
              one ? buf_view(&l->name) : (struct str){0}, (struct str){0});
}

static void ask(struct leader *l, const char *method, struct str body, int64_t timeout_ms,
                kube_done *done) {
    struct buf path;
    struct kube_reply failed = {0};
    buf_init(&path, 4096);
    lease_path(l, &path, strcmp(method, "POST") != 0);
    if (body.n) {
        kube_query(&path, "fieldManager", str_of(l->who));
    }
    struct kube_request q = {.method = method,
                             .path = buf_view(&path),
                             .body = body,
                             .timeout_ms = timeout_ms,
                             .done = done,
                             .ctx = l};
    if (body.n && l->state != CANDIDATE) { /* a candidate's write is conditional, and a try */
        q.may_send = may_renew;
        q.may_send_ctx = l;
    }
    failed.code = buf_ok(&path) ? err_set(&failed.err, buf_ok(&path), "no memory")
                                : kube_send(l->client, &q, &l->call, &failed.err);
    buf_release(&path);
    if (failed.code != 0) {
        l->call = NULL;
        done(l, &failed);
    }
}

/* Half of what there is before work must stop, so that a second try has a chance. */
static int64_t request_ms(const struct leader *l) {
    int64_t ms = l->renew_ns / 2 / NS_PER_MS;
    return ms < 1000 ? 1000 : ms;
}

/* The record that says that we hold it now. */
static void write_record(struct leader *l, bool create, struct str holder, int64_t duration_s,
                         int64_t timeout_ms, kube_done *done) {
    struct buf b;
    struct kube_reply failed = {0};
    bool was_mine = !create && mine(l);
    struct str now = time_text_micro(wall_now(l), l->sent_text);
    struct str acquired = now;
    if (was_mine && l->seen.acquired.n && str_eq(holder, buf_view(&l->me))) {
        acquired = l->seen.acquired;
    }
    l->sent = (struct lease_record){
        .holder = holder,
        .duration_s = duration_s,
        .transitions = create ? 0 : l->seen.transitions + !was_mine,
        .acquired = acquired,
        .renewed = now,
        .rv = create ? (struct str){0} : l->seen.rv,
    };
    buf_init(&b, RECORD_MAX);
    failed.code = lease_write(create ? (struct str){0} : buf_view(&l->body), buf_view(&l->ns),
                              buf_view(&l->name), &l->sent, &b, &failed.err);
    l->sent_boot = boot_now(l);
    l->sent_wall = wall_now(l);
    if (failed.code != 0) {
        done(l, &failed);
    } else {
        ask(l, create ? "POST" : "PUT", buf_view(&b), timeout_ms, done);
    }
    buf_release(&b);
}

static void take(struct leader *l, bool create) {
    write_record(l, create, buf_view(&l->me), l->lease_ns / NS_PER_SEC, request_ms(l), written);
}

/* ---- waiting for a release ---- */

static bool watch_data(void *ctx, struct str bytes) {
    struct leader *l = ctx;
    bool is_free = str_contains(bytes, STR("\"holderIdentity\":\"\"")) ||
                   str_contains(bytes, STR("\"DELETED\""));
    if (l->state == CANDIDATE && is_free) {
        try_in(l, (int64_t)(prng_unit(&l->prng) * SOON_MS) * NS_PER_MS);
    }
    return true;
}

static void watch_done(void *ctx, const struct kube_reply *r) {
    struct leader *l = ctx;
    l->watch =
        NULL; /* the next try opens another; where it is not allowed the tries alone must do */
}

static void watch_lease(struct leader *l) {
    struct buf path, field;
    if (l->watch || !l->known) {
        return;
    }
    buf_init(&path, 4096);
    buf_init(&field, 1024);
    lease_path(l, &path, false);
    buf_f(&field, "metadata.name=%.*s", STR_ARG(buf_view(&l->name)));
    kube_query(&path, "watch", STR("true"));
    kube_query(&path, "fieldSelector", buf_view(&field));
    kube_query(&path, "resourceVersion", l->seen.rv);
    kube_query(&path, "timeoutSeconds", STR("300"));
    struct kube_request q = {.method = "GET",
                             .path = buf_view(&path),
                             .timeout_ms = (WATCH_S + 30) * 1000,
                             .data = watch_data,
                             .done = watch_done,
                             .ctx = l};
    if (buf_ok(&path) == 0 && buf_ok(&field) == 0) {
        (void)kube_send(l->client, &q, &l->watch, NULL);
    }
    buf_release(&field);
    buf_release(&path);
}

/* ---- a try ---- */

static void was_read(void *ctx, const struct kube_reply *r) {
    struct leader *l = ctx;
    l->call = NULL;
    if (l->state == LEAVING) {
        l->fresh = r->code == 0 && observe(l, r->body);
        leave(l);
        return;
    }
    if (r->code == ERR_NOT_FOUND && l->state == CANDIDATE) {
        l->known = false;
        take(l, true);
        return;
    }
    if (r->code != 0 || !observe(l, r->body)) {
        on_failure(l, r, "cannot read it");
        return;
    }
    int64_t theirs = l->seen.duration_s * NS_PER_SEC;
    bool live = l->seen.holder.n && !mine(l) && boot_now(l) - l->seen_boot < theirs;
    if (l->state == LEADER && !mine(l)) {
        lose(l, "another holds the lease");
    } else if (live) {
        l->trouble = false;
        watch_lease(l);
        try_later(l);
    } else {
        take(l, false);
    }
}

static void try_now(struct leader *l) {
    if (l->call || l->state >= LEAVING) {
        return;
    }
    if (l->state == LEADER && boot_now(l) - l->since_boot >= l->renew_ns) {
        lose(l, "the lease could not be renewed in time");
    } else if (l->state == LEADER && l->fresh && mine(l)) {
        take(l, false);
    } else {
        ask(l, "GET", (struct str){0}, request_ms(l), was_read);
    }
}

/* ---- handing over ---- */

static void on_tick(void *ctx) {
    struct leader *l = ctx;
    void (*done)(void *) = l->done;
    if (l->state != RELEASED) {
        try_now(l);
    } else if (done) {
        l->done = NULL;
        done(l->done_ctx);
    }
}

static void gone(struct leader *l) {
    l->state = RELEASED;
    kube_cancel(l->call);
    l->call = NULL;
    try_in(l, 0); /* done comes from there, never inside leader_release */
}

static void released(void *ctx, const struct kube_reply *r) {
    struct leader *l = ctx;
    l->call = NULL;
    if (r->code != 0) {
        log_warn(l->log, "lease %.*s/%.*s: could not be handed over: %s", STR_ARG(buf_view(&l->ns)),
                 STR_ARG(buf_view(&l->name)), r->err.text);
    }
    gone(l);
}

static void read_to_leave(void *ctx, const struct kube_reply *r) {
    struct leader *l = ctx;
    l->call = NULL;
    l->fresh = r->code == 0 && observe(l, r->body);
    if (l->fresh) {
        leave(l);
    } else {
        released(l, r);
    }
}

static void said(void *ctx, const struct kube_reply *r) {
    struct leader *l = ctx;
    l->event = NULL;
    leave(l);
}

/* The next step of a clean end: the answer of a renewal that was under way, an Event, the last write. */
static void leave(struct leader *l) {
    if (!may_write(l) || !mine(l)) {
        gone(l);
    } else if (l->call || l->event) {
        return; /* its answer comes here */
    } else if (!l->told_end) {
        l->told_end = true;
        tell(l, "stopped leading", said, RELEASE_MS);
        if (l->event == NULL) {
            leave(l);
        }
    } else if (!l->fresh) {
        ask(l, "GET", (struct str){0}, RELEASE_MS, read_to_leave);
    } else {
        write_record(l, false, (struct str){0}, 1, RELEASE_MS, released);
    }
}

void leader_release(struct leader *l, void (*done)(void *ctx), void *ctx) {
    l->done = done;
    l->done_ctx = ctx;
    kube_cancel(l->watch);
    kube_cancel(l->event);
    l->watch = l->event = NULL;
    l->clock->timer_stop(l->deadline);
    if (l->state == LEADER) {
        l->state = LEAVING;
        l->clock->timer_stop(l->tick);
        leave(l);
    } else {
        gone(l);
    }
}

/* ---- life ---- */

int leader_check(int64_t lease_ns, int64_t renew_ns, int64_t retry_ns, struct err *err) {
    if (lease_ns < NS_PER_SEC || lease_ns % NS_PER_SEC != 0) {
        return err_set(err, ERR_INVALID, "the lease duration must be a number of whole seconds");
    }
    if (retry_ns <= 0) {
        return err_set(err, ERR_INVALID, "the retry period must be more than nothing");
    }
    if (renew_ns >= lease_ns) {
        return err_set(err, ERR_INVALID,
                       "the lease duration must be longer than the renew deadline");
    }
    if ((double)renew_ns <= 1.2 * (double)retry_ns) {
        return err_set(err, ERR_INVALID,
                       "the renew deadline must be longer than 1.2 times the retry period");
    }
    return 0;
}

int leader_identity(struct buf *out, struct err *err) {
    unsigned char id[16];
    char host[64] = "";
    int r = tls_random(id, sizeof(id), err);
    if (r != 0) {
        return r;
    }
    bool named = gethostname(host, sizeof(host) - 1) == 0 && *host;
    buf_f(out, "%s_", named ? host : "berth");
    for (size_t i = 0; i < sizeof(id); i++) {
        buf_f(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
    }
    return buf_ok(out) ? err_set(err, buf_ok(out), "no memory") : 0;
}

struct leader *leader_new(const struct leader_options *o, struct err *err) {
    int64_t lease = o->lease_ns ? o->lease_ns : 15 * NS_PER_SEC;
    int64_t renew = o->renew_ns ? o->renew_ns : 10 * NS_PER_SEC;
    int64_t retry = o->retry_ns ? o->retry_ns : 2 * NS_PER_SEC;
    if (leader_check(lease, renew, retry, err) != 0) {
        return NULL;
    }
    struct leader *l = mem_zalloc(sizeof(*l));
    if (l == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    *l = (struct leader){
        .client = o->client,
        .log = o->log,
        .who = o->who,
        .lease_ns = lease,
        .renew_ns = renew,
        .retry_ns = retry,
        .started = o->started,
        .stopped = o->stopped,
        .ctx = o->ctx,
        .boot_ns = o->boot_ns ? o->boot_ns : system_boot,
        .wall_ns = o->wall_ns ? o->wall_ns : system_wall,
        .time_ctx = o->time_ctx,
    };
    l->clock = loop_clock(kube_client_loop(o->client));
    buf_init(&l->ns, IDENTITY_MAX);
    buf_init(&l->name, IDENTITY_MAX);
    buf_init(&l->me, IDENTITY_MAX);
    buf_init(&l->body, RECORD_MAX);
    buf_str(&l->ns, o->ns);
    buf_str(&l->name, o->name);
    buf_str(&l->me, o->identity);
    arena_init(&l->seen_arena, RECORD_MAX);
    prng_seed(&l->prng, str_hash(o->identity) ^ (uint64_t)boot_now(l));
    l->tick = l->clock->timer_new(l->clock, on_tick, l);
    l->deadline = l->clock->timer_new(l->clock, on_deadline, l);
    if (l->tick == NULL || l->deadline == NULL || buf_ok(&l->ns) || buf_ok(&l->name) ||
        buf_ok(&l->me)) {
        err_set(err, ERR_INVALID, "the lease's names are too long, or there is no memory");
        leader_free(l);
        return NULL;
    }
    try_in(l, 0);
    return l;
}

void leader_free(struct leader *l) {
    if (l == NULL) {
        return;
    }
    kube_cancel(l->call);
    kube_cancel(l->watch);
    kube_cancel(l->event);
    l->clock->timer_free(l->tick);
    l->clock->timer_free(l->deadline);
    buf_release(&l->ns);
    buf_release(&l->name);
    buf_release(&l->me);
    buf_release(&l->body);
    arena_release(&l->seen_arena);
    mem_free(l);
}

bool leader_is(const struct leader *l) {
    return l->state == LEADER;
}

int leader_well(const struct leader *l, struct err *err) {
    if (l->state == LEADER && l->first_failure != 0 &&
        boot_now(l) - l->first_failure > l->lease_ns) {
        return err_set(err, ERR_UNAVAILABLE, "the lease was not renewed for too long");
    }
    return 0;
}
