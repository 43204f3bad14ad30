/* session: see session.h. */
#include "site/session.h"

#include <stdio.h>

#include "base/map.h"
#include "base/mem.h"
#include "net/tls.h"
#include "wire/text/base64.h"

enum { ID_BYTES = 32, COOKIE_NAME_MAX = 64 };

struct code {
    char key[65];
    int64_t until; /* mono */
    struct session *one;
};

struct sessions {
    struct clock *clock;
    struct map map; /* struct session by key */
    struct code codes[CODES_MAX];
    uint64_t last;
    char cookie[COOKIE_NAME_MAX], cookie_tls[COOKIE_NAME_MAX];
    const struct str *proxies;
    size_t n_proxies;
};

/* It holds a token, of which nothing is left behind. */
static void session_free(struct session *one) {
    if (one) {
        mem_free_secret(one, one->size);
    }
}

struct sessions *sessions_new(struct clock *c, struct str instance) {
    struct sessions *s = mem_zalloc(sizeof(*s));
    char hash[65];
    if (s) {
        s->clock = c;
        map_init(&s->map);
        tls_sha256_text(instance, hash);
        snprintf(s->cookie, sizeof(s->cookie), "berth-%.8s", hash);
        snprintf(s->cookie_tls, sizeof(s->cookie_tls), "__Host-berth-%.8s", hash);
    }
    return s;
}

void sessions_free(struct sessions *s) {
    if (s == NULL) {
        return;
    }
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&s->map, &i));) {
        session_free(e->value);
    }
    map_release(&s->map);
    for (size_t i = 0; i < CODES_MAX; i++) {
        session_free(s->codes[i].one);
    }
    mem_free(s);
}

void sessions_proxies(struct sessions *s, const struct str *names, size_t n) {
    s->proxies = names;
    s->n_proxies = n;
}

size_t sessions_count(const struct sessions *s) {
    return map_count(&s->map);
}

/* ---- one ---- */

static char *put(char *at, struct str from, struct str *to) {
    if (from.n) {
        memcpy(at, from.p, from.n);
    }
    *to = str_from(at, from.n);
    return at + from.n;
}

static struct session *copy(const struct session_who *w, struct err *err) {
    size_t bytes = w->user.n;
    for (size_t i = 0; i < w->n_groups && i < SESSION_GROUPS_MAX; i++) {
        bytes += w->groups[i].n;
    }
    if (w->n_groups > SESSION_GROUPS_MAX || bytes > SESSION_TEXT_MAX ||
        w->token.n > SESSION_TOKEN_MAX) {
        err_set(err, ERR_TOO_LARGE, "the token, the user's name or its groups are too long");
        return NULL;
    }
    size_t size = sizeof(struct session) + w->n_groups * sizeof(struct str) + bytes + w->token.n;
    struct session *one = mem_zalloc(size);
    if (one == NULL) {
        err_set(err, ERR_NOMEM, "no memory for a session");
        return NULL;
    }
    char *at = (char *)&one->groups[w->n_groups];
    one->size = size;
    one->who = *w;
    one->who.groups = one->groups;
    for (size_t i = 0; i < w->n_groups; i++) {
        at = put(at, w->groups[i], &one->groups[i]);
    }
    at = put(at, w->user, &one->who.user);
    put(at, w->token, &one->who.token);
    return one;
}

/* A new secret for people to show, and what it is known by here. */
static int make_id(char id[SESSION_ID_MAX], char key[65], struct err *err) {
    unsigned char random[ID_BYTES];
    struct buf b;
    int r = tls_random(random, sizeof(random), err);
    if (r != 0) {
        return r;
    }
    buf_init(&b, SESSION_ID_MAX);
    base64url_encode(&b, str_from((const char *)random, sizeof(random)));
    bool fits = buf_ok(&b) == 0 && str_copy(buf_view(&b), id, SESSION_ID_MAX);
    buf_release_secret(&b);
    explicit_bzero(random, sizeof(random));
    if (!fits) {
        return err_set(err, ERR_NOMEM, "no memory for a session");
    }
    tls_sha256_text(str_of(id), key);
    return 0;
}

static bool is_over(const struct sessions *s, const struct session *one) {
    return one->who.expires_ns <= clock_wall(s->clock) || one->end_mono <= clock_mono(s->clock);
}

static void drop(struct sessions *s, struct session *one) {
    map_del(&s->map, str_of(one->key));
    session_free(one);
}

/* Makes room: what has ended goes, and the user's oldest beyond its number. */
static void tidy(struct sessions *s, struct str user) {
    size_t n = 0;
    struct session *oldest = NULL;
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&s->map, &i));) {
        struct session *one = e->value;
        if (is_over(s, one)) {
            drop(s, one);
        } else if (str_eq(one->who.user, user)) {
            n++;
            oldest = oldest ? oldest : one; /* in order of opening */
        }
    }
    if (n >= SESSIONS_OF_USER) {
        drop(s, oldest);
    }
}

static int add(struct sessions *s, struct session *one, char ret_id[SESSION_ID_MAX],
               struct err *err) {
    char id[SESSION_ID_MAX];
    int64_t now = clock_wall(s->clock), end = one->who.expires_ns;
    int r = 0;
    if (end != 0 && end <= now) {
        r = err_set(err, ERR_UNAUTHORIZED, "the token has expired");
    }
    one->who.expires_ns = end == 0 || end > now + SESSION_MAX_NS ? now + SESSION_MAX_NS : end;
    one->end_mono = clock_mono(s->clock) + (one->who.expires_ns - now);
    one->number = ++s->last;
    tidy(s, one->who.user);
    if (r == 0 && map_count(&s->map) >= SESSIONS_MAX) {
        r = err_set(err, ERR_TOO_MANY, "too many people are signed in");
    }
    r = r ? r : make_id(id, one->key, err);
    if (r == 0 && map_put(&s->map, str_of(one->key), one, NULL) != 0) {
        r = err_set(err, ERR_NOMEM, "no memory for a session");
    }
    if (r != 0) {
        session_free(one);
        return r;
    }
    memcpy(ret_id, id, sizeof(id));
    return 0;
}

int sessions_open(struct sessions *s, const struct session_who *who, char ret_id[SESSION_ID_MAX],
                  struct err *err) {
    struct session *one = copy(who, err);
    return one ? add(s, one, ret_id, err) : err ? err->code : ERR_NOMEM;
}

const struct session *sessions_find(struct sessions *s, struct str id) {
    char key[65];
    if (id.n == 0 || id.n >= SESSION_ID_MAX) {
        return NULL;
    }
    tls_sha256_text(id, key);
    struct session *one = map_get(&s->map, str_of(key));
    if (one && is_over(s, one)) {
        drop(s, one);
        one = NULL;
    }
    return one;
}

const struct session *sessions_numbered(const struct sessions *s, uint64_t number) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&s->map, &i));) {
        const struct session *one = e->value;
        if (one->number == number && !is_over(s, one)) {
            return one;
        }
    }
    return NULL;
}

void sessions_close(struct sessions *s, const struct session *one) {
    struct session *mine = one ? map_get(&s->map, str_of(one->key)) : NULL;
    if (mine) {
        drop(s, mine);
    }
}

/* ---- codes ---- */

int sessions_mint(struct sessions *s, const struct session_who *who, char ret_code[SESSION_ID_MAX],
                  struct err *err) {
    struct code *c = &s->codes[0];
    char id[SESSION_ID_MAX], key[65];
    for (size_t i = 0; i < CODES_MAX; i++) { /* a free one, or the oldest */
        struct code *x = &s->codes[i];
        bool better = c->one && (x->one == NULL || x->until < c->until);
        c = better ? x : c;
    }
    int r = make_id(id, key, err);
    struct session *one = r == 0 ? copy(who, err) : NULL;
    if (one == NULL) {
        return r ? r : err ? err->code : ERR_NOMEM;
    }
    session_free(c->one);
    *c = (struct code){.until = clock_mono(s->clock) + CODE_NS, .one = one};
    memcpy(c->key, key, sizeof(key));
    memcpy(ret_code, id, sizeof(id));
    return 0;
}

int sessions_redeem(struct sessions *s, struct str code, char ret_id[SESSION_ID_MAX],
                    struct err *err) {
    char key[65];
    int64_t now = clock_mono(s->clock);
    if (code.n > 0 && code.n < SESSION_ID_MAX) {
        tls_sha256_text(code, key);
        for (size_t i = 0; i < CODES_MAX; i++) {
            struct code *c = &s->codes[i];
            if (c->one && memcmp(c->key, key, sizeof(key)) == 0) {
                struct session *one = TAKE(c->one);
                if (c->until > now) {
                    return add(s, one, ret_id, err);
                }
                session_free(one);
            }
        }
    }
    return err_set(err, ERR_UNAUTHORIZED,
                   "this sign-in link was used already, or is older than ten minutes");
}

/* ---- requests ---- */

static bool changes(struct str method) {
    return !str_is(method, "GET") && !str_is(method, "HEAD") && !str_is(method, "OPTIONS");
}

/* Is Host, with a port or without, what browsers call a proxy in front? */
static bool by_proxy(const struct sessions *s, struct str host) {
    struct str name, port;
    str_cut(host, ':', &name, &port);
    for (size_t i = 0; s && i < s->n_proxies; i++) {
        if (str_eq_nocase(name, s->proxies[i])) {
            return true;
        }
    }
    return false;
}

int session_same_origin(const struct sessions *s, const struct http_request *r, struct err *err) {
    struct str origin = http_header(r, "Origin"), from = http_header(r, "Sec-Fetch-Site");
    if (from.n && !str_is(from, "same-origin") && !str_is(from, "none")) {
        return err_set(err, ERR_FORBIDDEN, "a page of another site may not ask this");
    }
    struct str host = http_header(r, "Host");
    if (origin.n && !session_origin_is(origin, host, http_secure(r)) &&
        !(by_proxy(s, host) && session_origin_is(origin, host, true))) {
        return err_set(err, ERR_FORBIDDEN, "a page of %.*s may not ask this", STR_ARG(origin));
    }
    if (changes(http_method(r)) && !str_is(http_header(r, "X-Berth-Dashboard"), "1")) {
        return err_set(err, ERR_FORBIDDEN,
                       "a change in the name of a signed-in user needs the header "
                       "X-Berth-Dashboard: 1");
    }
    return 0;
}

int sessions_of(struct sessions *s, const struct http_request *r, const struct session **ret,
                struct err *err) {
    const char *name = http_secure(r) ? s->cookie_tls : s->cookie;
    struct str header, id;
    bool shown = http_header(r, "X-Berth-Dashboard").n > 0;
    for (size_t h = 0; http_header_nth(r, "Cookie", h, &header); h++) {
        for (size_t i = 0; session_cookie_value(header, str_of(name), i, &id); i++) {
            const struct session *one = sessions_find(s, id);
            shown = true;
            if (one) {
                int code = session_same_origin(s, r, err);
                *ret = code == 0 ? one : *ret;
                return code;
            }
        }
    }
    return shown ? err_set(err, ERR_UNAUTHORIZED, "not signed in, or not any more")
                 : err_set(err, ERR_NOT_FOUND, "no session");
}

void sessions_cookie(const struct sessions *s, const struct http_request *r, struct str id,
                     int64_t expires_ns, struct buf *out) {
    bool tls = http_secure(r);
    int64_t left = id.n ? (expires_ns - clock_wall(s->clock)) / NS_PER_SEC : 0;
    buf_f(out, "%s=%.*s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%lld%s",
          tls ? s->cookie_tls : s->cookie, STR_ARG(id), (long long)(left > 0 ? left : 0),
          tls ? "; Secure" : "");
}
