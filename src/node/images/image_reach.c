/* image_reach: see image_reach.h. */
#include "node/images/image_reach.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static bool by_proxy(void) {
    static const char *const names[] = {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *v = getenv(names[i]);
        if (v && *v) {
            return true;
        }
    }
    return false;
}

static int try_one(const struct addrinfo *a) {
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
        e = fd == -1 ? errno : 0;
    socklen_t n = sizeof(e);

    if (fd == -1) {
        return e;
    }
    if (connect(fd, a->ai_addr, a->ai_addrlen) == -1) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        e = errno;
        if (e == EINPROGRESS) {
            e = poll(&p, 1, IMAGE_REACH_S * 1000) == 1 &&
                        getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n) == 0
                    ? e
                    : ETIMEDOUT;
        }
    }
    close(fd);
    return e;
}

int image_reach(struct str host, struct err *err) {
    struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *all = NULL;
    struct str name, port;
    char node[256], service[16];
    int e = EHOSTUNREACH;

    if (by_proxy()) {
        return 0;
    }
    bool has_port = str_cut(host, ':', &name, &port);
    name = str_is(name, "docker.io") ? STR("registry-1.docker.io") : name;
    if (!str_copy(name, node, sizeof(node)) ||
        !str_copy(has_port ? port : STR("443"), service, sizeof(service))) {
        return err_set(err, ERR_UNAVAILABLE, "%.*s: no name of a host",
                       STR_ARG(str_head(host, 64)));
    }
    int r = getaddrinfo(node, service, &want, &all);
    if (r) {
        return err_set(err, ERR_UNAVAILABLE, "registry %.*s: %s", STR_ARG(host), gai_strerror(r));
    }
    for (const struct addrinfo *a = all; a && e && e != ETIMEDOUT; a = a->ai_next) {
        e = try_one(a);
    }
    freeaddrinfo(all);
    return e ? err_set(err, ERR_UNAVAILABLE, "registry %.*s: %s", STR_ARG(host), strerror(e)) : 0;
}
