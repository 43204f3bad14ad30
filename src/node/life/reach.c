/*
 * reach: see reach.h. A socket belongs for ever to the network that it was made in: one of the pod's network reaches
 * the pod's own address and 127.0.0.1 alike, whoever holds it. Root goes there and back for it. Without root, or as
 * root of a user namespace, there is no way back into the machine's network, so that a child goes and hands the socket
 * over.
 */
#include "node/life/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int own = -1, theirs = -1;

int reach_inside(int pid) {
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
    if (theirs != -1) {
        close(theirs);
    }
    own = own == -1 ? open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) : own;
    theirs = pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    return pid && (theirs == -1 || own == -1) ? errno : 0;
}

static int plain_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* A message with one byte and, to be sent, a descriptor. */
struct socket_parcel {
    char byte;
    struct iovec v;
    struct msghdr head;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } u;
};

static struct msghdr *parcel(struct socket_parcel *p) {
    *p = (struct socket_parcel){.v = {&p->byte, 1}};
    p->head = (struct msghdr){.msg_iov = &p->v,
                              .msg_iovlen = 1,
                              .msg_control = p->u.bytes,
                              .msg_controllen = sizeof(p->u.bytes)};
    return &p->head;
}

static void hand_over(int to, int fd) {
    struct socket_parcel p;

    parcel(&p);
    struct cmsghdr *c = CMSG_FIRSTHDR(&p.head);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(int));
    (void)!sendmsg(to, &p.head, MSG_NOSIGNAL);
}

static int by_child(int family) {
    struct socket_parcel p;
    struct cmsghdr *c;
    int pair[2], fd = -1;

    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == -1) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        int made = setns(theirs, CLONE_NEWNET) == 0 ? plain_socket(family) : -1;
        if (made != -1) {
            hand_over(pair[1], made);
        }
        _exit(0);
    }
    close(pair[1]);
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }
    if (pid > 0 && recvmsg(pair[0], parcel(&p), MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == 1 &&
        (c = CMSG_FIRSTHDR(&p.head)) && c->cmsg_type == SCM_RIGHTS) {
        memcpy(&fd, CMSG_DATA(c), sizeof(int));
    }
    close(pair[0]);
    errno = fd == -1 ? EPERM : 0;
    return fd;
}

/* Whether this process may enter its own network again: tried by entering it now, when it is there. Root of a user
 * namespace has the user id 0 and may not, since the machine's network belongs to another. */
static bool may_return(void) {
    return setns(own, CLONE_NEWNET) == 0;
}

static int make_socket(int family) {
    if (theirs == -1) {
        return plain_socket(family);
    }
    if (!may_return()) {
        return by_child(family);
    }
    if (setns(theirs, CLONE_NEWNET) == -1) {
        return -1;
    }
    int fd = plain_socket(family), e = errno;
    if (setns(own, CLONE_NEWNET) == -1) {
        _exit(70); /* never go on in the pod's network */
    }
    errno = e;
    return fd;
}

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
    int fd = make_socket(a.ss_family);
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
