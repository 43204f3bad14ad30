/* curl_lib: libcurl's functions, found at run time; for http_client.c only. */
#ifndef BERTH_NET_CURL_LIB_H
#define BERTH_NET_CURL_LIB_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct curl_lib {
    CURLcode (*global_init)(long flags);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *e);
    CURLcode (*easy_setopt)(CURL *e, CURLoption o, ...);
    CURLcode (*easy_getinfo)(CURL *e, CURLINFO i, ...);
    CURLcode (*easy_pause)(CURL *e, int bits);
    const char *(*easy_strerror)(CURLcode code);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_cleanup)(CURLM *m);
    CURLMcode (*multi_setopt)(CURLM *m, CURLMoption o, ...);
    CURLMcode (*multi_add_handle)(CURLM *m, CURL *e);
    CURLMcode (*multi_remove_handle)(CURLM *m, CURL *e);
    CURLMcode (*multi_socket_action)(CURLM *m, curl_socket_t s, int events, int *running);
    CURLMsg *(*multi_info_read)(CURLM *m, int *left);
    CURLMcode (*multi_assign)(CURLM *m, curl_socket_t s, void *p);
    struct curl_slist *(*slist_append)(struct curl_slist *l, const char *s);
    void (*slist_free_all)(struct curl_slist *l);
    curl_version_info_data *(*version_info)(CURLversion v);
};

/* Loads the library at the first call; NULL when it cannot be. */
const struct curl_lib *curl_lib_get(struct err *err);

#endif
