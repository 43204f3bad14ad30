/*
 * session: the sessions of users signed in to the dashboard, in memory.
 *
 * A session stands for a token (each request is made with it, so what revokes the token ends the session) or, when it
 * came from a one-time code, for a user that this machine's administrator named. Its id is 256 random bits; only the
 * SHA-256 of it is kept. It ends with the token, after SESSION_MAX_NS, when signed out, when the process ends, or when
 * its user opens more than SESSIONS_OF_USER others.
 *
 * A code opens one session, once, within CODE_NS.
 *
 * A request shows its session by a cookie, and a cookie is sent whether the page that asks is ours or not. So a
 * request with a session must not come from elsewhere (Origin and Sec-Fetch-Site, where the browser tells), and one
 * that changes anything needs the header `X-Berth-Dashboard: 1`, which no other site's page can add.
 *
 * Two cookies: over TLS "__Host-berth-ID" (Secure), else "berth-ID". ID tells instances on one host apart, since
 * cookies do not know ports.
 */
#ifndef BERTH_SITE_SESSION_H
#define BERTH_SITE_SESSION_H

#include "base/clock.h"
#include "net/http_server.h"

enum {
    SESSIONS_MAX = 4096,
    SESSIONS_OF_USER = 32,
    SESSION_GROUPS_MAX = 64,
    SESSION_TOKEN_MAX = 16 << 10,
    SESSION_TEXT_MAX = 8 << 10, /* user and groups */
    SESSION_ID_MAX = 48,
    CODES_MAX = 64,
};
#define SESSION_MAX_NS (INT64_C(12) * 3600 * NS_PER_SEC)
#define CODE_NS (INT64_C(600) * NS_PER_SEC)

struct session_who {
    struct str user;
    const struct str *groups;
    size_t n_groups;
    struct str token;   /* empty: nobody's token, the user itself */
    int64_t expires_ns; /* wall time; 0: SESSION_MAX_NS from now */
};

struct session {
    struct session_who who; /* expires_ns is when the session ends */
    int64_t end_mono; /* or when this is reached: setting the wall clock back makes it no longer */
    uint64_t number;  /* tells sessions apart, also after they ended */
    char key[65];
    size_t size;
    struct str groups[]; /* and the texts */
};

struct sessions;

/* instance: what this one is told from others on the host by, for the names of cookies. */
struct sessions *sessions_new(struct clock *c, struct str instance);
void sessions_free(struct sessions *s); /* NULL is a no-op */
/* Names of proxies in front, which may end TLS: a page that they served over https is ours. Kept by the caller. */
void sessions_proxies(struct sessions *s, const struct str *names, size_t n);
size_t sessions_count(const struct sessions *s);

/* ret_id: what the cookie says. ERR_TOO_LARGE, ERR_TOO_MANY, ERR_UNAUTHORIZED (it has ended already), ERR_NOMEM. */
int sessions_open(struct sessions *s, const struct session_who *who, char ret_id[SESSION_ID_MAX],
                  struct err *err);
/* NULL: unknown, or it has ended. Valid until sessions change. */
const struct session *sessions_find(struct sessions *s, struct str id);
/* The one with that number, if it has not ended. */
const struct session *sessions_numbered(const struct sessions *s, uint64_t number);
void sessions_close(struct sessions *s, const struct session *one); /* NULL is a no-op */

int sessions_mint(struct sessions *s, const struct session_who *who, char ret_code[SESSION_ID_MAX],
                  struct err *err);
/* ERR_UNAUTHORIZED: never was one, it is used up, or too old. */
int sessions_redeem(struct sessions *s, struct str code, char ret_id[SESSION_ID_MAX],
                    struct err *err);

/* The session a request runs under. ERR_NOT_FOUND: it shows none, and is no page's request. ERR_UNAUTHORIZED: it shows
 * one that is not, or a page of ours asks without one. ERR_FORBIDDEN: it shows one but may come from elsewhere. */
int sessions_of(struct sessions *s, const struct http_request *r, const struct session **ret,
                struct err *err);
/* Whether a request may be a page's of ours, cookie or not: the rules above. ERR_FORBIDDEN. s NULL: no proxies. */
int session_same_origin(const struct sessions *s, const struct http_request *r, struct err *err);
/* The value of Set-Cookie; id empty: forget it. */
void sessions_cookie(const struct sessions *s, const struct http_request *r, struct str id,
                     int64_t expires_ns, struct buf *out);

/* ---- parts, for tests and fuzzing ---- */

/* The value of the nth cookie of that name in a Cookie header; false: there are no more. */
bool session_cookie_value(struct str header, struct str name, size_t nth, struct str *ret);
/* Is origin ("https://host:port") the one of a Host header, over TLS or not? */
bool session_origin_is(struct str origin, struct str host, bool tls);

#endif
