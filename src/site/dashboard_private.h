/* dashboard_private: what dashboard.c (pages, feeds) and dashboard_session.c (signing in and out) share. */
#ifndef BERTH_SITE_DASHBOARD_PRIVATE_H
#define BERTH_SITE_DASHBOARD_PRIVATE_H

#include "site/dashboard.h"

enum { PEERS_MAX = 256, GATEWAY_URL_MAX = 256 };

/* How often a peer may still be wrong; each is refilled over time. */
struct peer {
    char key[56];    /* the kind of what it tries, and its address */
    int64_t left_ns; /* tries, in time */
    int64_t at;      /* mono */
};

struct dashboard {
    struct dashboard_options o;
    struct dashboard_asking *asking;
    struct dashboard_login *logins;
    struct peer peers[PEERS_MAX];
    struct str gateway; /* empty: there is none */
};

/* dashboard_session.c */
void dashboard_session(struct dashboard *d, struct http_request *r);
void dashboard_asking_free(struct dashboard_asking *k);
/* Whose token an issuer gave, and then to the pages, signed in or not. */
void dashboard_identify_page(struct dashboard *d, struct http_request *r, struct str token);
/* dashboard_login.c: false: it is not about that. */
bool dashboard_login(struct dashboard *d, struct http_request *r);
void dashboard_login_failed(struct dashboard *d, struct http_request *r, const char *why,
                            const char *text);
void dashboard_login_free(struct dashboard_login *l);

#endif
