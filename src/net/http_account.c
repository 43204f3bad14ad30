/*
 * http_account: what one user, or an address that no user vouches for, holds of a server: connections, and bodies that
 * are on their way. See http_int.h.
 *
 * An account lives as long as a connection counts for it. Without memory for one a connection counts for nobody, and
 * only the bounds of all together hold.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "net/http_int.h"

struct http_account {
    size_t conns, bytes;
    struct http_line line;
    size_t waiting;  /* for all of them to take, as of each one's last flush */
    struct str name; /* behind it: "user NAME" or "from ADDRESS" */
};

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

static void leave(struct http_conn *c) {
    struct http_account *a = c->account;
    c->server->bodies -= c->body;
    if (a) {
        a->bytes -= c->body;
        a->waiting -= c->counted;
        if (--a->conns == 0) {
            map_del(&c->server->accounts, a->name);
            mem_free(a);
        }
    }
    c->account = NULL;
    c->body = 0;
}

void http_account_end(struct http_conn *c) {
    line_remove(c);
    leave(c);
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

static void join(struct http_conn *c, const char *what, struct str who) {
    struct http_account *a = account_of(c->server, what, who);
    size_t body = c->body;
    if (a) {
        a->conns++; /* before it leaves: it may be the same one */
        a->bytes += body;
        a->waiting += c->counted;
    }
    leave(c);
    c->account = a;
    c->body = a ? body : 0;
    c->server->bodies += c->body;
}

bool http_account_join(struct http_conn *c, struct str user) {
    const struct str prefix = STR("user ");
    bool same = c->known && c->account && str_eq(str_skip(c->account->name, prefix.n), user);
    if (!same) {
        line_remove(c); /* before its account may go */
        join(c, "user ", user);
        c->known = true;
        if (c->account) {
            line_add(&c->account->line, c);
        }
    }
    return c->account == NULL || c->account->conns <= LIMIT_HTTP_CONNECTIONS_ACCOUNT;
}

int http_account_body(struct http_conn *c, size_t bytes) {
    struct http_server *s = c->server;
    bool stranger = !c->known && s->o.head;
    if (bytes == c->body) {
        return 0;
    }
    if (bytes > 0 && c->account == NULL) {
        struct str peer = http_peer(&c->request);
        ptrdiff_t end = str_find_last(peer, ':');
        join(c, "from ", str_head(peer, end > 0 ? (size_t)end : peer.n));
    }
    size_t others = c->account ? c->account->bytes - c->body : 0;
    /* Where nobody is asked for a credential, as an API server's webhooks, one address may be all there is. */
    size_t most = stranger   ? LIMIT_HTTP_BODY_STRANGERS
                  : c->known ? LIMIT_HTTP_BODY_ACCOUNT
                             : LIMIT_HTTP_BODY_TOTAL;
    if (stranger && bytes > LIMIT_HTTP_BODY_STRANGER) {
        return 413;
    }
    if (bytes > c->body &&
        (others + bytes > most || s->bodies - c->body + bytes > LIMIT_HTTP_BODY_TOTAL)) {
        return 429;
    }
    if (c->account) {
        c->account->bytes = others + bytes;
    }
    s->bodies = s->bodies - c->body + bytes;
    c->body = bytes;
    return 0;
}

void http_account_waiting(struct http_conn *c, size_t bytes) {
    if (c->account) {
        c->account->waiting = c->account->waiting - c->counted + bytes;
    }
}

size_t http_waiting_for_account(const struct http_request *r) {
    return r->conn->account ? r->conn->account->waiting : 0;
}

/* It was answered, and has asked again already: it may do so for ever, and is never idle. */
static bool is_insatiable(const struct http_conn *c) {
    return c->phase == PHASE_BUSY && c->request.state == REQUEST_ANSWERED && c->pending.n > 0;
}

/* The first that is not being answered, else the first that never is done. Those that are answered go to the end, so
 * that the next time others are looked at. */
static struct http_conn *first_idle(struct http_line *l) {
    struct http_conn *other = NULL;
    for (int i = 0; l->first && i < LOOKED_AT; i++) {
        struct http_conn *c = l->first;
        if (c->phase != PHASE_BUSY && c->phase != PHASE_CLOSED) {
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
