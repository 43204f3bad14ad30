/* line: see line.h. */
#include "server/talk/line.h"

#include "base/limits.h"
#include "server/kit/handlers.h"

#define IDLE_LOOK_NS (60 * NS_PER_SEC)

/* ---- how many there are ---- */

/* Sessions of all lines, and of the lines of one account. */
static void count_sessions(const struct server *s, struct str account, size_t *ret_all,
                           size_t *ret_own) {
    *ret_all = *ret_own = 0;
    for (const struct talk_line *l = s->lines; l != NULL; l = l->next) {
        size_t n = l->sessions > 0 ? l->sessions : 1; /* a line alone counts, too */
        *ret_all += n;
        *ret_own += str_eq(user_account(&l->call->req.user), account) ? n : 0;
    }
}

static bool may_have_more(const struct call *c) {
    size_t all, own;
    count_sessions(c->s, user_account(&c->req.user), &all, &own);
    return all < LIMIT_SESSIONS && own < LIMIT_SESSIONS_USER;
}

bool line_take_session(struct talk_line *l) {
    if (l->sessions > 0 && !may_have_more(l->call)) {
        return false;
    }
    l->sessions++;
    return true;
}

void line_release_session(struct talk_line *l) {
    l->sessions--;
}

static void line_unlink(struct talk_line *l) {
    if (l->prev != NULL) {
        *l->prev = l->next;
        if (l->next != NULL) {
            l->next->prev = l->prev;
        }
        l->prev = NULL;
    }
    websocket_release(&l->socket);
}

int line_open(struct talk_line *l, struct call *c, const struct line_user *user, bool raw) {
    if (!may_have_more(c)) {
        return failure_set(&c->failure, c->arena, ERR_TOO_MANY,
                           "too many sessions with pods are open (at most %d of one user, %d in "
                           "all): end some of them",
                           LIMIT_SESSIONS_USER, LIMIT_SESSIONS);
    }
    *l = (struct talk_line){.call = c, .user = user, .raw = raw, .active = clock_mono(c->s->clock)};
    websocket_init(&l->socket);
    l->next = c->s->lines;
    l->prev = &c->s->lines;
    if (l->next != NULL) {
        l->next->prev = &l->next;
    }
    if (c->s->lines == NULL) {
        c->s->clock->timer_start(c->s->lines_timer, IDLE_LOOK_NS);
    }
    c->s->lines = l;
    return 0;
}

void line_drop(struct talk_line *l) {
    line_unlink(l);
}

/* ---- out ---- */

static void send_bytes(struct talk_line *l, struct str bytes) {
    (void)http_stream_write(l->call->http, bytes); /* fails only when the peer is gone, or is cut */
}

void line_write(struct talk_line *l, enum websocket_op op, struct str head, struct str rest) {
    if (l->ended) {
        return;
    }
    l->active = op == WEBSOCKET_PONG ? l->active : clock_mono(l->call->s->clock);
    if (!l->raw) {
        struct buf b;
        buf_init(&b, 0);
        websocket_head(&b, op, head.n + rest.n);
        buf_str(&b, head);
        if (buf_ok(&b) != 0) {
            http_stream_cut(l->call->http); /* a message is missing */
        }
        send_bytes(l, buf_view(&b));
        buf_release(&b);
    } else {
        send_bytes(l, head);
    }
    send_bytes(l, rest);
}

size_t line_waiting(const struct talk_line *l) {
    return http_stream_waiting(l->call->http);
}

static void say_goodbye(struct talk_line *l, uint16_t code, struct str reason) {
    if (!l->raw && !l->ended) {
        struct buf b;
        buf_init(&b, 0);
        websocket_close(&b, code, reason);
        send_bytes(l, buf_view(&b));
        buf_release(&b);
    }
    l->ended = true;
    line_unlink(l);
}

void line_end(struct talk_line *l, uint16_t code, struct str reason) {
    if (l->ended) {
        return;
    }
    say_goodbye(l, code, reason);
    l->call->detach = NULL;
    call_stream_end(l->call);
}

/* ---- in ---- */

/* Pings are cheap for whoever sends them: so many a second, and no more. */
static bool controls_allowed(struct talk_line *l) {
    int64_t now = server_now(l->call->s);
    if (now - l->controls_since >= NS_PER_SEC || now < l->controls_since) {
        l->controls_since = now;
        l->socket.controls = 0;
    }
    return l->socket.controls <= LIMIT_WEBSOCKET_CONTROLS;
}

static void fail(struct talk_line *l, uint16_t code, struct str why) {
    void (*gone)(struct talk_line *) = l->user->gone;
    if (!l->ended) {
        gone(l);
        line_end(l, code, why);
    }
}

static void control(struct talk_line *l, const struct websocket_piece *p) {
    if (p->op == WEBSOCKET_PING) {
        line_write(l, WEBSOCKET_PONG, p->bytes, (struct str){0});
    } else if (p->op == WEBSOCKET_CLOSE) {
        l->left = true;
        fail(l, p->code == WEBSOCKET_NO_CODE ? WEBSOCKET_NORMAL : p->code, (struct str){0});
    }
}

static void read_messages(struct talk_line *l, struct str bytes) {
    struct websocket_piece p;
    struct err err = {0};
    int r = 0;
    while (!l->ended && (r = websocket_next(&l->socket, &bytes, &p, &err)) == 0) {
        if (!controls_allowed(l)) {
            fail(l, WEBSOCKET_POLICY, STR("too many control frames"));
        } else if (p.op >= WEBSOCKET_CLOSE) {
            control(l, &p);
        } else {
            l->active = clock_mono(l->call->s->clock);
            l->user->piece(l, &p);
        }
    }
    if (!l->ended && r != ERR_AGAIN) {
        fail(l, (uint16_t)l->socket.code, str_of(err.text));
    }
}

static bool received(void *user, struct str bytes) {
    struct call *c = user;
    struct talk_line *l = c->detach != NULL ? c->detach_ctx : NULL;
    if (l == NULL || l->ended) {
        return true;
    }
    if (l->raw) {
        struct websocket_piece p = {WEBSOCKET_BINARY, true, true, bytes, 0};
        l->active = clock_mono(c->s->clock);
        l->user->piece(l, &p);
    } else {
        read_messages(l, bytes);
    }
    return l->ended || !l->user->full(l);
}

static void drained(void *user) {
    struct call *c = user;
    struct talk_line *l = c->detach != NULL ? c->detach_ctx : NULL;
    if (l != NULL && !l->ended) {
        l->user->room(l);
    }
}

void line_resume(struct talk_line *l) {
    if (!l->ended) {
        http_upgrade_resume(l->call->http);
    }
}

/* ---- the beginning, and an end that is not ours ---- */

static void gone(struct call *c, void *ctx) {
    struct talk_line *l = ctx;
    c->s->long_running--;
    if (!l->ended) {
        l->user->gone(l);
        say_goodbye(l, WEBSOCKET_NORMAL,
                    STR("the session has ended")); /* kubectl reads why only then */
    }
}

void line_start(struct talk_line *l, const char *protocol) {
    struct call *c = l->call;
    c->detach = gone;
    c->detach_ctx = l;
    call_upgrade(c, protocol, received);
    http_stream_on_drain(c->http, drained);
}

/* ---- all of them ---- */

static void end_idle(void *ctx) {
    struct server *s = ctx;
    int64_t since = clock_mono(s->clock) - LIMIT_SESSION_IDLE_MS * NS_PER_MS;
    for (struct talk_line *l = s->lines, *next; l != NULL; l = next) {
        next = l->next;
        if (l->active < since) {
            fail(l, WEBSOCKET_NORMAL, STR("the session was idle for too long"));
        }
    }
    if (s->lines != NULL) {
        s->clock->timer_start(s->lines_timer, IDLE_LOOK_NS);
    }
}

int talk_init(struct server *s, struct err *err) {
    s->lines_timer = s->clock->timer_new(s->clock, end_idle, s);
    return s->lines_timer != NULL ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

void talk_release(struct server *s) {
    if (s->lines_timer != NULL) {
        s->clock->timer_free(s->lines_timer);
        s->lines_timer = NULL;
    }
}

void talk_stop_all(struct server *s) {
    for (struct talk_line *l = s->lines, *next; l != NULL; l = next) {
        next = l->next;
        fail(l, WEBSOCKET_GOING, STR("the server stops"));
    }
}
