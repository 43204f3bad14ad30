/* router_serve: what the node says to the router, line by line, and what it hears. See router.h. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/net/api_way.h"
#include "node/net/router.h"

enum { LINE_BYTES = 64 << 10, ANSWER_BYTES = 16 << 20 };

struct router_client {
    struct router_serve *serve;
    struct router_client *next;
    int fd;
    struct loop_fd *watch;
    struct buf in, out;
    bool node; /* said hello: it is a node, and not somebody who wants a socket */
};

struct router_serve {
    struct router *r;
    int fd;
    struct loop_fd *watch;
    struct router_client *clients;
    size_t n;
};

static void on_ready(void *ctx, int events);

/* Readable always, writable while something waits: a node that is busy with many pods reads late. */
static bool watch(struct router_client *c) {
    loop_fd_free(c->watch);
    c->watch = loop_fd(c->serve->r->loop, c->fd, LOOP_READABLE | (c->out.n ? LOOP_WRITABLE : 0),
                       on_ready, c, NULL);
    return c->watch != NULL;
}

static void flush(struct router_client *c) {
    bool waited = c->out.n > 0;

    while (c->out.n) {
        ssize_t n = send(c->fd, c->out.p, c->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n == -1) {
            break; /* full, or gone: reading tells which */
        }
        buf_consume(&c->out, (size_t)n);
    }
    if (waited) {
        watch(c);
    }
}

static void say(struct router_client *c, const struct buf *line) {
    ssize_t n = c->out.n ? 0 : send(c->fd, line->p, line->n, MSG_NOSIGNAL | MSG_DONTWAIT);
    size_t sent = n > 0 ? (size_t)n : 0;

    if (sent < line->n) {
        buf_add(&c->out, line->p + sent, line->n - sent);
        watch(c);
    }
}

/* To who has been told nothing yet: there is room. */
static void hand_over(const struct router_client *c, int fd) {
    char byte = fd == -1 ? '-' : '+',
         room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

    if (fd != -1) {
        m.msg_control = room;
        m.msg_controllen = sizeof(room);
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(h), &fd, sizeof(int));
    }
    (void)!sendmsg(c->fd, &m, MSG_NOSIGNAL);
}

static void say_error(struct router_client *c, struct str uid, const struct err *err) {
    struct buf b;

    buf_init(&b, 4096);
    buf_c(&b, "{\"uid\":");
    buf_json(&b, uid);
    buf_c(&b, ",\"error\":");
    buf_json(&b, str_of(err->text));
    buf_c(&b, "}\n");
    say(c, &b);
    buf_release(&b);
}

static void attach(struct router_client *c, yyjson_val *v) {
    struct router *r = c->serve->r;
    struct str uid = json_str_at(v, "uid");
    struct router_pod *p;
    struct err err;
    struct buf b;
    uint32_t ip;

    if (!model_ip(json_str_at(v, "ip"), &ip, NULL)) {
        err_set(&err, ERR_INVALID, "not an address");
        say_error(c, uid, &err);
        return;
    }
    if (router_attach(r, uid, json_str_at(v, "ns"), ip, &p, &err)) {
        say_error(c, uid, &err);
        return;
    }
    buf_init(&b, 4096);
    buf_c(&b, "{\"uid\":");
    buf_json(&b, uid);
    buf_f(&b, ",\"netns\":\"/proc/%d/fd/%d\"}\n", (int)getpid(), p->link ? p->link->ns_fd : -1);
    say(c, &b);
    buf_release(&b);
}

static void hello(struct router_client *c) {
    struct router *r = c->serve->r;
    const struct map_entry *e;
    struct buf b;
    char ip[16];
    bool first = true;

    c->node = true;
    buf_init(&b, ANSWER_BYTES);
    buf_c(&b, "{\"pods\":[");
    for (size_t i = 0; (e = map_next(&r->pods, &i)); first = false) {
        const struct router_pod *p = e->value;
        model_ip_text(p->ip, ip);
        buf_f(&b, "%s{\"uid\":\"%s\",\"ip\":\"%s\",\"netns\":\"/proc/%d/fd/%d\"}", first ? "" : ",",
              p->uid, ip, (int)getpid(), p->link ? p->link->ns_fd : -1);
    }
    buf_c(&b, "],\"userns\":\"");
    if (r->own_user) {
        buf_f(&b, "/proc/%d/ns/user", (int)getpid());
    }
    buf_f(&b, "\",\"uplink\":%s}\n", r->uplink ? "true" : "false");
    say(c, &b);
    buf_release(&b);
}

static void give_socket(struct router_client *c, yyjson_val *v) {
    int type = str_is(json_str_at(v, "type"), "udp") ? SOCK_DGRAM : SOCK_STREAM;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    hand_over(c, fd);
    if (fd != -1) {
        close(fd);
    }
}

static void obey(struct router_client *c, struct str line) {
    struct router *r = c->serve->r;
    struct arena a;
    yyjson_doc *doc;
    struct err err;

    arena_init(&a, 8 * (size_t)ROUTER_LINE_MAX);
    if (json_parse(&a, line, &doc, &err) == 0) {
        yyjson_val *v = yyjson_doc_get_root(doc);
        struct str op = json_str_at(v, "op");
        if (str_is(op, "put")) {
            if (model_put(&r->model, v, &err)) {
                fprintf(stderr, "berth router: %s\n", err.text);
            }
        } else if (str_is(op, "drop")) {
            model_drop(&r->model, json_str_at(v, "key"));
        } else if (str_is(op, "attach")) {
            attach(c, v);
        } else if (str_is(op, "adopt")) {
            uint32_t ip;
            if (model_ip(json_str_at(v, "ip"), &ip, NULL)) {
                router_adopt(r, json_str_at(v, "uid"), ip);
            }
        } else if (str_is(op, "detach")) {
            router_detach(r, json_str_at(v, "uid"), json_bool_at(v, "ended", false));
        } else if (str_is(op, "socket")) {
            give_socket(c, v);
        } else if (str_is(op, "hello")) {
            hello(c);
        } else if (str_is(op, "api")) {
            if (api_way_open(r->api, json_str_at(v, "to"), &err)) {
                fprintf(stderr, "berth router: %s\n", err.text);
            }
        } else if (str_is(op, "begin")) {
            model_begin(&r->model);
        } else if (str_is(op, "end")) {
            model_end(&r->model);
        } else if (str_is(op, "stop")) {
            loop_stop(r->loop);
        }
    }
    arena_release(&a);
}

static void free_client(struct router_client *c) {
    struct router_serve *s = c->serve;
    struct router_client **at = &s->clients;

    while (*at != c) {
        at = &(*at)->next;
    }
    *at = c->next;
    s->n--;
    loop_fd_free(c->watch);
    close(c->fd);
    buf_release(&c->in);
    buf_release(&c->out);
    mem_free(c);
}

static void read_lines(struct router_client *c) {
    char *room = buf_room(&c->in, LINE_BYTES);
    ssize_t n = room ? recv(c->fd, room, LINE_BYTES, MSG_DONTWAIT) : -1;
    size_t from = c->in.n;
    const char *end;

    if (n == -1 && room && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        free_client(c);
        return;
    }
    c->in.n += (size_t)n;
    size_t used = 0;
    while ((end = memchr(c->in.p + from, '\n', c->in.n - from))) {
        size_t at = (size_t)(end - c->in.p);
        obey(c, str_from(c->in.p + used, at - used));
        used = from = at + 1;
    }
    buf_consume(&c->in, used);
}

static void on_ready(void *ctx, int events) {
    struct router_client *c = ctx;

    if (events & LOOP_WRITABLE) {
        flush(c);
    }
    if (events & LOOP_READABLE) {
        read_lines(c);
    }
}

static void on_client(void *ctx, int events) {
    struct router_serve *s = ctx;
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
    struct router_client *c = fd != -1 && s->n < ROUTER_CLIENTS_MAX ? mem_zalloc(sizeof(*c)) : NULL;

    (void)events;
    if (c) {
        *c = (struct router_client){.serve = s, .fd = fd};
        buf_init(&c->in, ROUTER_LINE_MAX);
        buf_init(&c->out, 2 * ANSWER_BYTES);
    }
    if (c == NULL || !watch(c)) {
        mem_free(c);
        if (fd != -1) {
            close(fd);
        }
        return;
    }
    c->next = s->clients;
    s->clients = c;
    s->n++;
}

int router_serve_start(struct router *r, int listen_fd, struct err *err) {
    struct router_serve *s = mem_zalloc(sizeof(*s));

    if (s == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    s->r = r;
    s->fd = listen_fd;
    r->serve = s;
    s->watch = loop_fd(r->loop, listen_fd, LOOP_READABLE, on_client, s, err);
    return s->watch ? 0 : ERR_NOMEM;
}

bool router_serve_busy(const struct router *r) {
    for (const struct router_client *c = r->serve->clients; c; c = c->next) {
        if (c->node) {
            return true;
        }
    }
    return false;
}

void router_serve_free(struct router_serve *s) {
    if (s == NULL) {
        return;
    }
    while (s->clients) {
        free_client(s->clients);
    }
    loop_fd_free(s->watch);
    close(s->fd);
    mem_free(s);
}
