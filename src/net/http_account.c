/*
 * http_account: what one user, or an address that no user vouches for, holds of a server: connections, streams of those
 * of HTTP/2, bodies that are on their way, and answers that wait to be taken. See http_int.h.
 *
 * An account lives as long as a connection counts for it. Without memory for one a connection counts for nobody, and
 * only the bounds of all together hold.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "net/http_private.h"

struct http_account {
    size_t conns, bytes; /* conns: streams count as well */
    struct http_line line;
    size_t waiting;  /* for all of them to take, as of each one's last flush */
    struct str name; /* behind it: "user NAME" or "from ADDRESS" */
};

#define GREEDY_NS (2 * NS_PER_SEC) /* without progress, when all together wait for too much */

enum {
    NAME_MAX_BYTES = 1024,
    LOOKED_AT = 64,
    SHARES = 8 /* who has less than one of so many makes no room for others */
};

static void line_remove(struct http_conn *c) {
    if (c->line == NULL) {
        return;
    }
    *c->line_prev = c->line_next;
    if (c->line_next) {
        c->line_next->line_prev = c->line_prev;
    } else {
        c->line->end = c->line_prev;
    }
    c->line = NULL;
}

static void line_add(struct http_line *l, struct http_conn *c) {
    l->end = l->first ? l->end : &l->first;
    c->line = l;
    c->line_next = NULL;
    c->line_prev = l->end;
    *l->end = c;
    l->end = &c->line_next;
}

void http_account_begin(struct http_conn *c) {
    line_add(&c->server->strangers, c);
}

void http_account_leave(struct http_request *r) {
    struct http_server *s = r->conn->server;
    struct http_account *a = r->account;
    s->bodies -= r->body;
    if (a) {
        a->bytes -= r->body;
        a->waiting -= r->counted;
        if (--a->conns == 0) {
            map_del(&s->accounts, a->name);
            mem_free(a);
        }
    }
    r->account = NULL;
    r->body = 0;
}

void http_account_end(struct http_conn *c) {
    line_remove(c);
    http_account_leave(&c->request);
}

static struct http_account *account_of(struct http_server *s, const char *what, struct str who) {
    char text[NAME_MAX_BYTES];
    int n = snprintf(text, sizeof(text), "%s%.*s", what, STR_ARG(who));
    if (n < 0 || (size_t)n >= sizeof(text)) {
        return NULL;
    }
    struct str name = str_from(text, (size_t)n);
    struct http_account *a = map_get(&s->accounts, name);
    if (a) {
        return a;
    }
    a = mem_zalloc(sizeof(*a) + name.n);
    if (a == NULL) {
        return NULL;
    }
    memcpy((char *)(a + 1), name.p, name.n);
    a->name = str_from((char *)(a + 1), name.n);
    if (map_put(&s->accounts, a->name, a, NULL) != 0) {
        mem_free(a);
        return NULL;
    }
    return a;
}

static void join(struct http_request *r, const char *what, struct str who) {
    struct http_server *s = r->conn->server;
    struct http_account *a = account_of(s, what, who);
    size_t body = r->body;
    if (a) {
        a->conns++; /* before it leaves: it may be the same one */
        a->bytes += body;
        a->waiting += r->counted;
    }
    http_account_leave(r);
    r->account = a;
    r->body = a ? body : 0;
    s->bodies += r->body;
}

static bool is_of(const struct http_request *r, struct str user) {
    const struct str prefix = STR("user ");
    return r->known && r->account && str_eq(str_skip(r->account->name, prefix.n), user);
}

bool http_account_full(const struct http_conn *c) {
    const struct http_account *a = c->request.account;
    return a && c->request.known && a->conns >= c->server->o.connections_account_max;
}

bool http_account_join(struct http_request *r, struct str user) {
    struct http_conn *c = r->conn;
    if (r->gone) {
        return true;
    }
    if (!is_of(&c->request, user)) {
        line_remove(c); /* before its account may go */
        join(&c->request, "user ", user);
        c->request.known = true;
        if (c->request.account) {
            line_add(&c->request.account->line, c);
        }
    }
    if (r != &c->request && !is_of(r, user)) {
        join(r, "user ", user);
        r->known = true;
    }
    return r->account == NULL || r->account->conns <= c->server->o.connections_account_max;
}

int http_account_body(struct http_request *r, size_t bytes) {
    struct http_server *s = r->conn->server;
    bool stranger = !r->known && s->o.head;
    if (bytes == r->body) {
        return 0;
    }
    if (bytes > 0 && r->account == NULL) {
        struct str peer = http_peer(r);
        ptrdiff_t end = str_find_last(peer, ':');
        join(r, "from ", str_head(peer, end > 0 ? (size_t)end : peer.n));
    }
    size_t others = r->account ? r->account->bytes - r->body : 0;
    /* Where nobody is asked for a credential, as an API server's webhooks, one address may be all there is. */
    size_t most = stranger   ? LIMIT_HTTP_BODY_STRANGERS
                  : r->known ? s->o.bodies_account_max
                             : s->o.bodies_max;
    if (stranger && bytes > LIMIT_HTTP_BODY_STRANGER) {
        return 413;
    }
    if (bytes > r->body &&
        (others + bytes > most || s->bodies - r->body + bytes > s->o.bodies_max)) {
        return 429;
    }
    if (r->account) {
        r->account->bytes = others + bytes;
    }
    s->bodies = s->bodies - r->body + bytes;
    r->body = bytes;
    return 0;
}

const char *http_account_refusal(int status) {
    return status == 413 ? "a body of this length takes a credential"
                         : "too many bytes of bodies of this sender are on their way";
}

void http_account_waiting(struct http_request *r, size_t bytes) {
    struct http_server *s = r->conn->server;
    s->waiting = s->waiting - r->counted + bytes;
    if (r->account) {
        r->account->waiting = r->account->waiting - r->counted + bytes;
    }
    r->counted = bytes;
}

bool http_account_greedy(const struct http_request *r, int64_t progress) {
    const struct http_server *s = r->conn->server;
    size_t part = s->o.out_total / (s->stats.connections + s->streams + 1);
    if (s->waiting <= s->o.out_total || r->counted <= part) {
        return false;
    }
    return s->waiting - s->o.out_total > s->o.out_total ||
           clock_mono(s->clock) - progress > GREEDY_NS;
}

size_t http_waiting_for_account(const struct http_request *r) {
    return r->account ? r->account->waiting : 0;
}

/* It was answered, and has asked again already: it may do so for ever, and is never idle. */
static bool is_insatiable(const struct http_conn *c) {
    return c->phase == PHASE_BUSY && !c->session && c->request.state == REQUEST_ANSWERED &&
           c->pending.n > 0;
}

/* The first that is not being answered, else the first that never is done. Those that are answered go to the end, so
 * that the next time others are looked at. */
static struct http_conn *first_idle(struct http_line *l) {
    struct http_conn *other = NULL;
    for (int i = 0; l->first && i < LOOKED_AT; i++) {
        struct http_conn *c = l->first;
        bool busy = c->session ? http2_conn_busy(c) : c->phase == PHASE_BUSY;
        if (!busy && c->phase != PHASE_CLOSED) {
            return c;
        }
        other = other == NULL && is_insatiable(c) ? c : other;
        line_remove(c);
        line_add(l, c);
    }
    return other;
}

static struct http_account *largest(struct http_server *s) {
    struct http_account *most = NULL;
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&s->accounts, &i)) != NULL;) {
        struct http_account *a = e->value;
        most = a->line.first && (most == NULL || a->conns > most->conns) ? a : most;
    }
    return most && most->conns > 1 && most->conns * SHARES > s->o.connections_max ? most : NULL;
}

struct http_conn *http_account_oldest(struct http_server *s) {
    struct http_conn *c = first_idle(&s->strangers);
    struct http_account *a = c ? NULL : largest(s);
    return a ? first_idle(&a->line) : c;
}
