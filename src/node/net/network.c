/*
 * network: see network.h.
 *
 *     connect -> (nobody there: start the router, wait for its word, connect) -> hello -> records -> ready
 */
#include "node/net/network.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "node/net/model.h"
#include "node/net/pod_net.h"
#include "node/net/router.h"
#include "node/net/rtnl.h"

enum { AGAIN_MS = 1000, LINE_BYTES = 64 << 10, OUT_BYTES = 256 << 20 };

struct network_pod {
    char uid[64], ns[64], ip[16], netns[48];
    uint32_t address;
    network_attached *done; /* an answer is due */
    void *ctx;
};

struct network_record {
    char *key, *json;
};

struct network {
    struct network_options o;
    uint32_t base, size, next; /* of the range; where the search for a free address begins */
    int fd, report;
    struct loop_fd *watch, *report_watch;
    struct loop_child *child;
    struct timer *again;
    struct buf in, out;
    bool greeted, uplink, failed;
    char userns[48], overlap[32];
    struct map pods;    /* uid -> struct network_pod */
    struct map records; /* key -> struct network_record */
    uint8_t *used;      /* a bit an address */
};

static void dial(struct network *n);

/* ---- addresses ---- */

static bool is_used(const struct network *n, uint32_t i) {
    return n->used[i / 8] >> (i % 8) & 1;
}

static void set_used(struct network *n, uint32_t address, bool on) {
    uint32_t i = address - n->base;

    if (address < n->base || i >= n->size) {
        return;
    }
    n->used[i / 8] =
        (uint8_t)(on ? n->used[i / 8] | 1 << (i % 8) : n->used[i / 8] & ~(1 << (i % 8)));
}

/* The next one in turn, so that an address is not another pod's right after its pod has gone. 0: none is free. */
static uint32_t take_address(struct network *n) {
    for (uint32_t k = 0; k < n->size; k++) {
        uint32_t i = (n->next + k) % n->size;
        if (i >= 2 && i < n->size - 1 && !is_used(n, i)) {
            n->next = i + 1;
            set_used(n, n->base + i, true);
            return n->base + i;
        }
    }
    return 0;
}

/* ---- talking ---- */

static void on_bytes(void *ctx, int events);

static bool wait_for(struct network *n, int events) {
    loop_fd_free(n->watch);
    n->watch = loop_fd(n->o.loop, n->fd, events, on_bytes, n, NULL);
    return n->watch != NULL;
}

static void flush(struct network *n) {
    while (n->out.n) {
        ssize_t k = send(n->fd, n->out.p, n->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k == -1) {
            break; /* full, or gone: reading tells which */
        }
        buf_consume(&n->out, (size_t)k);
    }
    wait_for(n, LOOP_READABLE | (n->out.n ? LOOP_WRITABLE : 0));
}

static void say(struct network *n, struct str line) {
    bool idle = n->out.n == 0;

    if (n->fd == -1) {
        return; /* said again when there is a router */
    }
    buf_str(&n->out, line);
    buf_ch(&n->out, '\n');
    if (idle) {
        flush(n);
    }
}

static void say_pod(struct network *n, const char *op, const struct network_pod *p) {
    char line[300];
    static const char format[] = "{\"op\":\"%s\",\"uid\":\"%s\",\"ip\":\"%s\",\"ns\":\"%s\"}";
    int k = snprintf(line, sizeof(line), format, op, p->uid, p->ip, p->ns);

    say(n, str_from(line, (size_t)k));
}

static void say_detach(struct network *n, const struct network_pod *p, bool ended) {
    char line[160];
    int k = snprintf(line, sizeof(line), "{\"op\":\"detach\",\"uid\":\"%s\",\"ended\":%s}", p->uid,
                     ended ? "true" : "false");

    say(n, str_from(line, (size_t)k));
}

static void say_all(struct network *n) {
    const struct map_entry *e;
    char line[80];

    int k = snprintf(line, sizeof(line), "{\"op\":\"api\",\"to\":\"%s\"}", n->o.api);
    say(n, str_from(line, (size_t)k));
    say(n, STR("{\"op\":\"begin\"}"));
    for (size_t i = 0; (e = map_next(&n->records, &i));) {
        say(n, str_of(((struct network_record *)e->value)->json));
    }
    say(n, STR("{\"op\":\"end\"}"));
}

/* ---- pods ---- */

static struct network_pod *add_pod(struct network *n, struct str uid) {
    struct network_pod *p = mem_zalloc(sizeof(*p));

    if (p == NULL || !str_copy(uid, p->uid, sizeof(p->uid)) ||
        map_put(&n->pods, str_of(p->uid), p, NULL)) {
        mem_free(p);
        return NULL;
    }
    return p;
}

static void drop_pod(struct network *n, struct network_pod *p) {
    set_used(n, p->address, false);
    map_del(&n->pods, str_of(p->uid));
    mem_free(p);
}

static void finish(struct network_pod *p, int code, const struct err *err) {
    network_attached *done = p->done;

    p->done = NULL;
    if (done) {
        done(p->ctx, code, str_of(p->ip), str_of(p->netns), err);
    }
}

static void refuse_later(struct network *n, struct network_pod *p, int code, const char *why) {
    struct err err;

    err_set(&err, code, "%s", why);
    finish(p, code, &err);
    drop_pod(n, p);
}

void network_attach(struct network *n, struct str uid, struct str ns, network_attached *done,
                    void *ctx) {
    struct network_pod *p = map_get(&n->pods, uid);
    struct err err;

    if (p && p->done == NULL && p->netns[0]) {
        done(ctx, 0, str_of(p->ip), str_of(p->netns), NULL);
        return;
    }
    p = p ? p : add_pod(n, uid);
    uint32_t address = p == NULL ? 0 : p->address ? p->address : take_address(n);
    if (!address || n->failed || !str_copy(ns, p->ns, sizeof(p->ns))) {
        int code = err_set(&err, ERR_TOO_MANY, p ? "no address is free in %s" : "no memory for %s",
                           n->o.pods);
        if (p) {
            drop_pod(n, p);
        }
        done(ctx, code, STR(""), STR(""), &err);
        return;
    }
    p->address = address;
    model_ip_text(address, p->ip);
    p->done = done;
    p->ctx = ctx;
    n->o.attaching(n->o.ctx, uid);
    if (n->greeted) {
        say_pod(n, "attach", p);
    }
}

void network_detach(struct network *n, struct str uid, bool ended) {
    struct network_pod *p = map_get(&n->pods, uid);

    if (p) {
        say_detach(n, p, ended);
        drop_pod(n, p);
    }
}

void network_keep(struct network *n, bool (*known)(void *ctx, struct str uid), void *ctx) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&n->pods, &i));) {
        struct network_pod *p = e->value;
        if (!known(ctx, str_of(p->uid))) {
            network_detach(n, str_of(p->uid), false);
        }
    }
}

struct str network_ip(const struct network *n, struct str uid) {
    const struct network_pod *p = map_get(&n->pods, uid);

    return p ? str_of(p->ip) : STR("");
}

static void on_attached(struct network *n, yyjson_val *v) {
    struct network_pod *p = map_get(&n->pods, json_str_at(v, "uid"));
    struct str why = json_str_at(v, "error");
    char text[300];

    if (p == NULL) {
        return; /* detached meanwhile */
    }
    if (why.n) {
        snprintf(text, sizeof(text), "%.*s", STR_ARG(why));
        refuse_later(n, p, ERR_UNAVAILABLE, text);
        return;
    }
    str_copy(json_str_at(v, "netns"), p->netns, sizeof(p->netns));
    finish(p, 0, NULL);
}

/* What the router has from before. */
static void on_hello(struct network *n, yyjson_val *v) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(v, STR("pods")));
    const struct map_entry *e;

    str_copy(json_str_at(v, "userns"), n->userns, sizeof(n->userns));
    n->uplink = json_bool_at(v, "uplink", false);
    for (yyjson_val *x; (x = yyjson_arr_iter_next(&it));) {
        struct str uid = json_str_at(x, "uid");
        struct network_pod *p = map_get(&n->pods, uid);
        uint32_t ip;
        if (p || !model_ip(json_str_at(x, "ip"), &ip, NULL) || (p = add_pod(n, uid)) == NULL) {
            continue;
        }
        p->address = ip;
        model_ip_text(ip, p->ip);
        str_copy(json_str_at(x, "netns"), p->netns, sizeof(p->netns));
        set_used(n, ip, true);
    }
    n->greeted = true;
    say_all(n);
    for (size_t i = 0; (e = map_next(&n->pods, &i));) {
        struct network_pod *p = e->value;
        if (p->done) {
            say_pod(n, "attach", p);
        } else if (!p->netns[0]) { /* of a worker before: its link is there still */
            say_pod(n, "adopt", p);
            snprintf(p->netns, sizeof(p->netns), "-");
        }
    }
    n->o.ready(n->o.ctx, NULL);
}

/* ---- the connection ---- */

static void hear(struct network *n, struct str line) {
    struct arena a;
    yyjson_doc *doc;

    arena_init(&a, 64 << 20);
    if (json_parse(&a, line, &doc, NULL) == 0) {
        yyjson_val *v = yyjson_doc_get_root(doc);
        if (json_get(v, STR("pods"))) {
            on_hello(n, v);
        } else {
            on_attached(n, v);
        }
    }
    arena_release(&a);
}

static void try_later(struct network *n) {
    struct clock *c = loop_clock(n->o.loop);

    c->timer_start(n->again, AGAIN_MS * NS_PER_MS);
}

static void hang_up(struct network *n) {
    const struct map_entry *e;

    log_warn(n->o.log, "the router of the pods' network has ended; waiting for another one");
    loop_fd_free(n->watch);
    n->watch = NULL;
    close(n->fd);
    n->fd = -1;
    n->greeted = false;
    buf_reset(&n->in);
    buf_reset(&n->out);
    for (size_t i = 0; (e = map_next(&n->pods, &i));) { /* their links went with it */
        struct network_pod *p = e->value;
        p->netns[0] = 0;
    }
    try_later(n);
}

static void on_bytes(void *ctx, int events) {
    struct network *n = ctx;

    if (events & LOOP_WRITABLE) {
        flush(n);
    }
    if (!(events & LOOP_READABLE)) {
        return;
    }
    char *room = buf_room(&n->in, LINE_BYTES);
    ssize_t k = room ? recv(n->fd, room, LINE_BYTES, MSG_DONTWAIT) : -1;
    if (k == -1 && room && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (k <= 0) {
        hang_up(n);
        return;
    }
    size_t from = n->in.n, used = 0;
    const char *end;
    n->in.n += (size_t)k;
    while ((end = memchr(n->in.p + from, '\n', n->in.n - from))) {
        size_t at = (size_t)(end - n->in.p);
        hear(n, str_from(n->in.p + used, at - used));
        used = from = at + 1;
    }
    buf_consume(&n->in, used);
}

static bool greet(struct network *n) {
    n->fd = pod_net_dial(n->o.data_dir, NULL);
    if (n->fd == -1) {
        return false;
    }
    fcntl(n->fd, F_SETFL, O_NONBLOCK);
    say(n, STR("{\"op\":\"hello\"}"));
    return true;
}

/* ---- starting the router ---- */

static void give_up(struct network *n, const char *why) {
    const struct map_entry *e;
    struct err err;

    n->failed = true;
    err_set(&err, ERR_UNSUPPORTED, "%s", why);
    for (size_t i = 0; (e = map_next(&n->pods, &i));) {
        refuse_later(n, e->value, ERR_UNSUPPORTED, why);
        i = 0;
    }
    n->o.ready(n->o.ctx, &err);
}

static void on_report(void *ctx, int events) {
    struct network *n = ctx;
    char line[600];
    ssize_t k = read(n->report, line, sizeof(line) - 1);

    (void)events;
    loop_fd_free(n->report_watch);
    n->report_watch = NULL;
    close(n->report);
    n->report = -1;
    struct str said = str_trim(str_from(line, k > 0 ? (size_t)k : 0));
    line[said.n] = 0;
    if (str_is(said, "ok")) {
        if (!greet(n)) {
            try_later(n);
        }
    } else {
        give_up(n, said.n ? line : "the router of the pods' network did not start");
    }
}

static void on_exit_(void *ctx, int pid, int64_t status, int signum) {
    struct network *n = ctx;

    (void)pid;
    (void)status;
    (void)signum;
    loop_child_free(n->child);
    n->child = NULL;
}

static int spawn(struct network *n, struct err *err) {
    const char *argv[] = {n->o.program, "router",    "--data",     n->o.data_dir,
                          "--pods",     n->o.pods,   "--services", n->o.services,
                          "--uplink",   n->o.uplink, NULL};
    int pipe_[2];

    if (n->child) {
        return err_set(err, ERR_AGAIN, "the one before has not ended yet");
    }
    if (pipe2(pipe_, O_CLOEXEC) == -1) {
        return err_sys(err, errno, "pipe");
    }
    struct child_options o = {.file = n->o.program,
                              .argv = argv,
                              .fds = {-1, -1, STDERR_FILENO, pipe_[1]},
                              .n_fds = 4,
                              .detached = true};
    int code = loop_spawn(n->o.loop, &o, on_exit_, n, &n->child, err);
    close(pipe_[1]);
    n->report = pipe_[0];
    if (code == 0) {
        n->report_watch = loop_fd(n->o.loop, n->report, LOOP_READABLE, on_report, n, err);
        code = n->report_watch ? 0 : ERR_NOMEM;
    }
    return code;
}

static void dial(struct network *n) {
    struct err err;

    if (!greet(n) && spawn(n, &err)) {
        try_later(n);
    }
}

static void on_again(void *ctx) {
    dial(ctx);
}

/* ---- life ---- */

static void look_at_route(void *ctx, uint32_t dst, int bits) {
    struct network *n = ctx;
    uint32_t size = bits == 0 ? 0 : bits == 32 ? 1 : (uint32_t)1 << (32 - bits);
    uint32_t end = dst + (size - 1), last = n->base + (n->size - 1);
    char ip[16];

    if (dst <= last && n->base <= end && !n->overlap[0]) {
        model_ip_text(dst, ip);
        snprintf(n->overlap, sizeof(n->overlap), "%s/%d", ip, bits);
    }
}

int network_start(const struct network_options *o, struct network **ret, struct err *err) {
    struct network *n = mem_zalloc(sizeof(*n));
    struct clock *c = loop_clock(o->loop);
    int bits;

    if (n == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    n->o = *o;
    n->fd = n->report = -1;
    buf_init(&n->in, ROUTER_LINE_MAX);
    buf_init(&n->out, OUT_BYTES);
    if (!model_ip(str_of(o->pods), &n->base, &bits) || bits < 8 || bits > 28 ||
        (n->base & (((uint32_t)1 << (32 - bits)) - 1))) {
        network_free(n);
        return err_set(err, ERR_INVALID,
                       "range of pods \"%s\": expected an IPv4 network of /8 to /28, like "
                       "10.42.0.0/16",
                       o->pods);
    }
    n->size = (uint32_t)1 << (32 - bits);
    n->next = 2;
    n->used = mem_zalloc(n->size / 8 + 1);
    n->again = c->timer_new(c, on_again, n);
    if (n->used == NULL || n->again == NULL) {
        network_free(n);
        return err_set(err, ERR_NOMEM, "no memory");
    }
    int fd = rtnl_open(NULL);
    if (fd != -1) {
        rtnl_routes(fd, look_at_route, n, NULL);
        close(fd);
    }
    *ret = n;
    dial(n);
    return 0;
}

static void free_record(struct network_record *r) {
    mem_free(r->key);
    mem_free(r->json);
    mem_free(r);
}

void network_free(struct network *n) {
    const struct map_entry *e;

    if (n == NULL) {
        return;
    }
    loop_fd_free(n->watch);
    loop_fd_free(n->report_watch);
    if (n->fd != -1) {
        close(n->fd);
    }
    if (n->report != -1) {
        close(n->report);
    }
    loop_child_free(n->child);
    for (size_t i = 0; (e = map_next(&n->pods, &i));) {
        mem_free(e->value);
    }
    for (size_t i = 0; (e = map_next(&n->records, &i));) {
        free_record(e->value);
    }
    map_release(&n->pods);
    map_release(&n->records);
    buf_release(&n->in);
    buf_release(&n->out);
    loop_clock(n->o.loop)->timer_free(n->again);
    mem_free(n->used);
    mem_free(n);
}

/* ---- records ---- */

void network_put(struct network *n, struct str key, struct str json) {
    struct network_record *r = map_get(&n->records, key);

    if (r && str_is(json, r->json)) {
        return;
    }
    char *copy = mem_cstr(json);
    if (r && copy) {
        mem_free(r->json);
        r->json = copy;
    } else if ((r = copy ? mem_zalloc(sizeof(*r)) : NULL)) {
        *r = (struct network_record){mem_cstr(key), copy};
        if (r->key == NULL || map_put(&n->records, str_of(r->key), r, NULL)) {
            free_record(r);
            return;
        }
    } else {
        mem_free(copy);
        return;
    }
    if (n->greeted) {
        say(n, json);
    }
}

void network_drop(struct network *n, struct str key) {
    struct network_record *r = map_del(&n->records, key);
    char line[700];

    if (r == NULL) {
        return;
    }
    int k = snprintf(line, sizeof(line), "{\"op\":\"drop\",\"key\":\"%s\"}", r->key);
    if (n->greeted && k < (int)sizeof(line)) {
        say(n, str_from(line, (size_t)k));
    }
    free_record(r);
}

struct str network_userns(const struct network *n) {
    return str_of(n->userns);
}

bool network_uplink(const struct network *n) {
    return n->uplink;
}

bool network_overlap(const struct network *n, char out[32]) {
    memcpy(out, n->overlap, sizeof(n->overlap));
    return n->overlap[0] != 0;
}
