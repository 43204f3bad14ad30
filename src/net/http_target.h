/* http_target: the rules for request targets and Host values; see http_parse.h for what they are for. */
#ifndef BERTH_NET_HTTP_TARGET_H
#define BERTH_NET_HTTP_TARGET_H

#include "base/str.h"

/* "host", "host:port", "[::1]:port"; no user, no path. */
bool http_host_ok(struct str host);
/* True for "http://authority..." and "https://...", with where the authority ends. */
bool http_target_absolute(struct str target, size_t *ret_end);
/* What is wrong with a target in origin form, as a sentence; NULL when nothing is. */
const char *http_target_trouble(struct str target);

#endif
