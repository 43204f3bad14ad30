/*
 * origin: which web pages may call the gateway (CORS). Before a browser sends a key for a page of another origin it
 * sends a preflight request; the gateway allows the origins that it was started with, such as the dashboard's.
 */
#ifndef BERTH_GATEWAY_ORIGIN_H
#define BERTH_GATEWAY_ORIGIN_H

#include "net/http_server.h"

enum { ORIGINS_MAX = 40 };

/* "https://berth.example:8090", as browsers write it: no path. */
struct gateway_origins {
    struct str v[ORIGINS_MAX];
    size_t n;
};

/* A gateway without keys has nothing else to tell its clients from any page that somebody's browser shows: such a page
 * can send requests that need no question first, and one whose name was made to point here can read the answers, too.
 * Browsers name the origin with whatever posts. False: the request is from a page that is not of these. Programs name
 * none, and may. */
bool origin_may_ask(const struct gateway_origins *o, const struct http_request *r);
/* For a page of one of these, adds the headers that let it read the answer. True: the request was the browser's
 * question whether it may ask, and was answered. */
bool origin_answer(const struct gateway_origins *o, struct http_request *r);
/* ERR_INVALID: it is no origin; ERR_TOO_LARGE: there are ORIGINS_MAX. The text is the caller's. */
int origin_add(struct gateway_origins *o, struct str text, struct err *err);

#endif
