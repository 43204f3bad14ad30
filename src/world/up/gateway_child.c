/* gateway_child: see gateway_child.h. */
#include "world/up/gateway_child.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/origin.h"
#include "world/kit/paths.h"
#include "world/up/node_child.h"

enum { ARGS_MAX = 16 + 2 * ORIGINS_MAX };

struct gateway_child {
    struct node_child *child;
    char program[PATH_BYTES], listen[96], url[112];
    const char *argv[ARGS_MAX];
};

/* A port of the host that nobody listens on: `port`, or any when it is 0. */
static int free_port(const char *host, uint16_t port, uint16_t *ret, struct err *err) {
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    bool v6 = strchr(host, ':') != NULL;
    struct sockaddr *at = v6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    socklen_t n = v6 ? sizeof six : sizeof four;
    int one = 1, fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1 ||
        inet_pton(at->sa_family, host, v6 ? (void *)&six.sin6_addr : &four.sin_addr) != 1 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 || bind(fd, at, n) != 0 ||
        listen(fd, 1) != 0 || getsockname(fd, at, &n) != 0) {
        int e = errno;
        if (fd != -1) {
            close(fd);
        }
        return err_sys(err, e, "--gateway: listen on %s, port %u", host, port);
    }
    close(fd);
    *ret = ntohs(v6 ? six.sin6_port : four.sin_port);
    return 0;
}

int gateway_child_start(const struct gateway_child_options *o, struct gateway_child **ret,
                        struct err *err) {
    const char *host = o->address->host;
    bool v6 = strchr(host, ':') != NULL;
    uint16_t port = 0;
    int r = free_port(host, o->address->port, &port, err);
    if (r != 0 && !o->chosen) {
        r = free_port(host, 0, &port, err);
    }
    struct gateway_child *c = r == 0 ? mem_zalloc(sizeof *c) : NULL;
    if (c == NULL) {
        return r ? r : err_set(err, ERR_NOMEM, "no memory for the gateway");
    }
    ssize_t len = readlink("/proc/self/exe", c->program, sizeof c->program - 1);
    if (len <= 0) {
        r = err_sys(err, errno, "find this program");
        mem_free(c);
        return r;
    }
    (void)snprintf(c->listen, sizeof c->listen, "%s%s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "",
                   port);
    (void)snprintf(c->url, sizeof c->url, "http://%s", c->listen);
    const char *const argv[ARGS_MAX] = {
        "berth",       "gateway",   "--with-parent", "--listen", c->listen, "--kubeconfig",
        o->kubeconfig, "--pods-of", o->data,         "--drain",  "5s",      NULL};
    memcpy(c->argv, argv, sizeof argv);
    size_t n = 11;
    for (size_t i = 0; i < o->n_origins && i < ORIGINS_MAX; i++) {
        c->argv[n++] = "--allow-origin";
        c->argv[n++] = o->origins[i];
    }
    r = node_child_start(o->loop, o->log, c->program, c->argv, &c->child, err);
    if (r != 0) {
        mem_free(c);
        return r;
    }
    *ret = c;
    return 0;
}

void gateway_child_stop(struct gateway_child *c, void (*stopped)(void *ctx), void *ctx) {
    node_child_stop(c->child, stopped, ctx);
}

void gateway_child_free(struct gateway_child *c) {
    if (c != NULL) {
        node_child_free(c->child);
        mem_free(c);
    }
}

const char *gateway_child_url(const struct gateway_child *c) {
    return c->url;
}
