/* pod_net: see pod_net.h. */
#include "node/net/pod_net.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "node/files/files.h"
#include "node/net/router.h"

enum { STOP_MS = 5000, STEP_MS = 10 };

/* The path may be longer than an address of a socket can be: it is reached through its folder. */
int pod_net_dial(const char *data_dir, struct err *err) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char dir[PATH_LEN];

    if (path_join(dir, data_dir, "node", err)) {
        return -1;
    }
    int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/" ROUTER_SOCKET, folder);
    bool good = folder != -1 && fd != -1 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
    if (!good) {
        err_set(err, ERR_NOT_FOUND, "pods have no network of their own here: no router runs (%s)",
                strerror(errno));
        if (fd != -1) {
            close(fd);
        }
    }
    if (folder != -1) {
        close(folder);
    }
    return good ? fd : -1;
}

static int receive(int fd, struct err *err) {
    char byte = 0, room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
    struct iovec v = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int got = -1;

    if (poll(&p, 1, POD_NET_WAIT_MS) != 1 || recvmsg(fd, &m, MSG_CMSG_CLOEXEC) != 1) {
        err_set(err, ERR_TIMEOUT, "the router does not answer");
        return -1;
    }
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c == NULL || c->cmsg_type != SCM_RIGHTS) {
        err_set(err, ERR_TOO_MANY, "the router has no socket to give");
        return -1;
    }
    memcpy(&got, CMSG_DATA(c), sizeof(got));
    return got;
}

int pod_net_socket(const char *data_dir, enum pod_net_type type, struct err *err) {
    const char *ask = type == POD_NET_UDP ? "{\"op\":\"socket\",\"type\":\"udp\"}\n"
                                          : "{\"op\":\"socket\",\"type\":\"tcp\"}\n";
    int fd = pod_net_dial(data_dir, err), got = -1;

    if (fd == -1) {
        return -1;
    }
    if (send(fd, ask, strlen(ask), MSG_NOSIGNAL) == (ssize_t)strlen(ask)) {
        got = receive(fd, err);
    } else {
        err_sys(err, errno, "the router");
    }
    close(fd);
    return got;
}

static bool held(const char *data_dir) {
    char path[PATH_LEN];
    int n = snprintf(path, sizeof(path), "%s/node/" ROUTER_LOCK, data_dir);
    int fd = n < (int)sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool is = fd != -1 && flock(fd, LOCK_SH | LOCK_NB) == -1 && errno == EWOULDBLOCK;

    if (fd != -1) {
        close(fd);
    }
    return is;
}

int pod_net_stop(const char *data_dir, struct err *err) {
    static const char ask[] = "{\"op\":\"stop\"}\n";
    int fd = pod_net_dial(data_dir, NULL);

    if (fd != -1) {
        (void)!send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL);
        close(fd);
    }
    for (int waited = 0; held(data_dir); waited += STEP_MS) {
        if (waited >= STOP_MS) {
            return err_set(err, ERR_TIMEOUT, "the router of the pods' network does not end");
        }
        usleep(STEP_MS * 1000);
    }
    return 0;
}
