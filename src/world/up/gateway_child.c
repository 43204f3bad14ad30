/* gateway_child: see gateway_child.h. */
#include "world/up/gateway_child.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/origin.h"
#include "world/kit/paths.h"
#include "world/up/verb_child.h"

enum { ARGS_MAX = 16 + 2 * ORIGINS_MAX };

struct gateway_child {
    struct verb_child *child;
    int claim; /* of the address */
    char program[PATH_BYTES], listen[96], url[112];
    const char *argv[ARGS_MAX];
};

/* Claims an address among all Berths of this network namespace, for as long as the descriptor is open; -1: another one
 * has it. The workers of gateways share their port (SO_REUSEPORT), so that the kernel would let the children of two
 * `berth up` that start at the same time share it as well. */
static int claim(const char *host, uint16_t port) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "berth-gateway/%s/%u", host, port);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    if (fd != -1 && bind(fd, (struct sockaddr *)&at, size) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* A port of the host that nobody listens on, claimed: `port`, or any when it is 0. */
static int free_port(const char *host, uint16_t port, uint16_t *ret, int *ret_claim,
                     struct err *err) {
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
    *ret = ntohs(v6 ? six.sin6_port : four.sin_port);
    *ret_claim = claim(host, *ret);
    close(fd);
    return *ret_claim != -1
               ? 0
               : err_sys(err, EADDRINUSE, "--gateway: listen on %s, port %u", host, *ret);
}

int gateway_child_start(const struct gateway_child_options *o, struct gateway_child **ret,
                        struct err *err) {
    const char *host = o->address->host;
    bool v6 = strchr(host, ':') != NULL;
    uint16_t port = 0;
    int claimed = -1, r = free_port(host, o->address->port, &port, &claimed, err);
    if (r != 0 && !o->chosen) {
        r = free_port(host, 0, &port, &claimed, err);
    }
    struct gateway_child *c = r == 0 ? mem_zalloc(sizeof *c) : NULL;
    if (c == NULL) {
        if (claimed != -1) {
            close(claimed);
        }
        return r ? r : err_set(err, ERR_NOMEM, "no memory for the gateway");
    }
    c->claim = claimed;
    ssize_t len = readlink("/proc/self/exe", c->program, sizeof c->program - 1);
    if (len <= 0) {
        r = err_sys(err, errno, "find this program");
        close(c->claim);
        mem_free(c);
        return r;
    }
    (void)snprintf(c->listen, sizeof c->listen, "%s%s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "",
                   port);
    (void)snprintf(c->url, sizeof c->url, "http://%s", c->listen);
    const char *const argv[ARGS_MAX] = {
        "berth",       "gateway",   "--with-parent", "--listen", c->listen, "--kubeconfig",
        o->kubeconfig, "--pods-of", o->data,         "--drain",  "5s",      NULL};
    size_t n = 0;
    memcpy(c->argv, argv, sizeof argv);
    while (c->argv[n] != NULL) {
        n++;
    }
    for (size_t i = 0; i < o->n_origins && i < ORIGINS_MAX; i++) {
        c->argv[n++] = "--allow-origin";
        c->argv[n++] = o->origins[i];
    }
    r = verb_child_start(o->loop, o->log, c->program, c->argv, &c->child, err);
    if (r != 0) {
        close(c->claim);
        mem_free(c);
        return r;
    }
    *ret = c;
    return 0;
}

void gateway_child_stop(struct gateway_child *c, void (*stopped)(void *ctx), void *ctx) {
    verb_child_stop(c->child, stopped, ctx);
}

void gateway_child_free(struct gateway_child *c) {
    if (c != NULL) {
        verb_child_free(c->child);
        close(c->claim);
        mem_free(c);
    }
}

const char *gateway_child_url(const struct gateway_child *c) {
    return c->url;
}
