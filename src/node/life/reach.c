/* reach: see reach.h. A shim lives in its pod's network, where there is one, so that a plain socket of the shim reaches
 * the pod's own address and 127.0.0.1 alike. */
#include "node/life/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static socklen_t address(const char *host, uint16_t port, struct sockaddr_storage *a) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)a;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)a;

    memset(a, 0, sizeof(*a));
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return sizeof(*v4);
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        return sizeof(*v6);
    }
    return 0;
}

bool reach_is_address(const char *host) {
    struct sockaddr_storage a;

    return address(host, 1, &a) > 0;
}

int reach_connect(const char *host, uint16_t port) {
    struct sockaddr_storage a;
    socklen_t n = address(host, port, &a);
    int one = 1;

    if (n == 0) {
        errno = EINVAL;
        return -1;
    }
    int fd = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd == -1) {
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (struct sockaddr *)&a, n) == -1 && errno != EINPROGRESS) {
        int e = errno;
        close(fd);
        errno = e;
        return -1;
    }
    return fd;
}

int reach_error(int fd) {
    int e = 0;
    socklen_t n = sizeof(e);

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n) == -1 ? errno : e;
}
