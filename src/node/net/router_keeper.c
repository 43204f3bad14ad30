/*
 * router_keeper: the half of the router that stays in the machine's network. It does five things, each when the worker
 * asks: makes a listener on loopback, makes a socket for questions to name servers, connects to the API server, starts
 * pasta, holds the worker's namespaces. See router.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/net/router.h"

enum { BACKLOG = 128, UPLINK_MS = 3000, STEP_MS = 10 };
enum keeper_wish { KEEPER_STREAM, KEEPER_DATAGRAM, KEEPER_CONNECT, KEEPER_UPLINK, KEEPER_HOLD };

struct keeper_request {
    enum keeper_wish wish;
    uint16_t port;
    bool own_user;     /* the worker has a user namespace of its own */
    uint32_t ip, from; /* of a connection; from 0: any */
};

struct keeper_answer {
    int error; /* errno */
};

/* ---- the keeper's side ---- */

static int make_socket(const struct keeper_request *q) {
    const struct sockaddr_in a = {.sin_family = AF_INET,
                                  .sin_port = htons(q->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool stream = q->wish == KEEPER_STREAM;
    int on = 1, fd = socket(AF_INET, (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);

    if (fd == -1) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (stream &&
        (bind(fd, (const struct sockaddr *)&a, sizeof(a)) == -1 || listen(fd, BACKLOG) == -1)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Does not wait: whoever gets it sees whether it comes about. */
static int make_connection(const struct keeper_request *q) {
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons(q->port),
                                   .sin_addr.s_addr = htonl(q->ip)},
                             from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(q->from)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd == -1) {
        return -1;
    }
    if ((q->from && bind(fd, (const struct sockaddr *)&from, sizeof(from)) == -1) ||
        (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == -1 && errno != EINPROGRESS)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Ends with the keeper; what it says is nobody's. */
static pid_t start_pasta(int worker, bool own_user) {
    char net[48], user[48];
    const char *argv[] = {"pasta",    "--config-net", "-q",          "-f",         "-4",      "-t",
                          "none",     "-u",           "none",        "-T",         "none",    "-U",
                          "none",     "--no-map-gw",  "--ns-ifname", RULES_UPLINK, "--netns", net,
                          "--userns", user,           "--runas",     "0:0",        NULL};
    snprintf(net, sizeof(net), "/proc/%d/ns/net", worker);
    snprintf(user, sizeof(user), "/proc/%d/ns/user", worker);
    if (!own_user) {
        errno = ENOSYS;
        return -1;
    }
    if (geteuid() != 0) {
        argv[20] = NULL;
    }
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        for (int i = 0; i < 3; i++) {
            dup2(null, i);
        }
        execvp(argv[0], (char **)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

/* The namespaces of the worker, which last as long as somebody holds them. */
static void hold(pid_t worker, bool own_user, struct router_spaces *spaces) {
    char path[48];

    if (spaces->net != -1) {
        return;
    }
    snprintf(path, sizeof(path), "/proc/%d/ns/net", worker);
    spaces->net = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/%d/ns/user", worker);
    spaces->user = own_user ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static void answer(int fd, int error, int give) {
    struct keeper_answer a = {.error = error};
    struct iovec v = {&a, sizeof(a)};
    char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

    if (give != -1) {
        m.msg_control = room;
        m.msg_controllen = sizeof(room);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &give, sizeof(int));
    }
    (void)!sendmsg(fd, &m, MSG_NOSIGNAL);
}

static volatile sig_atomic_t ending;

static void on_end(int signum) {
    (void)signum;
    ending = 1;
}

/* Serves one worker until it has ended. */
static void serve(int fd, pid_t worker, pid_t *pasta, struct router_spaces *spaces) {
    struct keeper_request q;

    while (!ending) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, -1) == -1) {
            continue;
        }
        if (recv(fd, &q, sizeof(q), 0) != (ssize_t)sizeof(q)) {
            return;
        }
        int made = -1, error = 0;
        if (q.wish == KEEPER_UPLINK) {
            *pasta = *pasta > 0 ? *pasta : start_pasta(worker, q.own_user);
            error = *pasta > 0 ? 0 : errno;
        } else if (q.wish == KEEPER_HOLD) {
            hold(worker, q.own_user, spaces);
        } else {
            made = q.wish == KEEPER_CONNECT ? make_connection(&q) : make_socket(&q);
            error = made == -1 ? errno : 0;
        }
        answer(fd, error, made);
        if (made != -1) {
            close(made);
        }
    }
}

int router_keep(void (*start)(void *ctx, int line, const struct router_spaces *in), void *ctx) {
    const struct sigaction end = {.sa_handler = on_end};
    struct router_spaces spaces = {-1, -1};
    pid_t pasta = -1;
    bool again = true;

    sigaction(SIGTERM, &end, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    while (again && !ending) {
        int pair[2], status = 0;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1) {
            break;
        }
        pid_t worker = fork();
        if (worker == 0) {
            close(pair[0]);
            signal(SIGTERM, SIG_DFL);
            start(ctx, pair[1], &spaces);
            _exit(1);
        }
        close(pair[1]);
        prctl(PR_SET_NAME, "berth-keeper", 0, 0, 0);
        serve(pair[0], worker, &pasta, &spaces);
        close(pair[0]);
        if (ending) {
            kill(worker, SIGTERM);
        }
        while (waitpid(worker, &status, 0) == -1 && errno == EINTR) {
        }
        again = WIFSIGNALED(status) && spaces.net != -1;
    }
    if (pasta > 0) {
        kill(pasta, SIGTERM);
    }
    return 0;
}

/* ---- the worker's side ---- */

static int ask(struct outside *o, const struct keeper_request *q, int *ret_fd) {
    struct keeper_answer a = {.error = EPIPE};
    struct iovec v = {&a, sizeof(a)};
    char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    ssize_t n;

    if (send(o->fd, q, sizeof(*q), MSG_NOSIGNAL) != (ssize_t)sizeof(*q)) {
        return EPIPE;
    }
    while ((n = recvmsg(o->fd, &m, MSG_CMSG_CLOEXEC)) == -1 && errno == EINTR) {
    }
    if (n != (ssize_t)sizeof(a)) {
        return EPIPE;
    }
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (a.error == 0 && ret_fd) {
        if (c == NULL || c->cmsg_type != SCM_RIGHTS) {
            return EPROTO;
        }
        memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
    }
    return a.error;
}

int outside_socket(struct outside *o, int type, uint16_t port, struct err *err) {
    const struct keeper_request q = {.wish = type == SOCK_STREAM ? KEEPER_STREAM : KEEPER_DATAGRAM,
                                     .port = port};
    int fd = -1, error = ask(o, &q, &fd);

    if (error) {
        err_sys(err, error, "port %u on 127.0.0.1", port);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

int outside_connect(struct outside *o, const struct model_endpoint *to, uint32_t from,
                    struct err *err) {
    const struct keeper_request q = {
        .wish = KEEPER_CONNECT, .port = to->port, .ip = to->ip, .from = from};
    int fd = -1, error = ask(o, &q, &fd);

    if (error) {
        err_sys(err, error, "connect to the API server");
        return -1;
    }
    return fd;
}

void outside_hold(struct outside *o, bool own_user) {
    ask(o, &(struct keeper_request){.wish = KEEPER_HOLD, .own_user = own_user}, NULL);
}

int outside_uplink(struct outside *o, bool own_user, struct err *err) {
    int error = ask(o, &(struct keeper_request){.wish = KEEPER_UPLINK, .own_user = own_user}, NULL);

    for (int waited = 0; error == 0 && waited < UPLINK_MS; waited += STEP_MS) {
        if (if_nametoindex(RULES_UPLINK)) {
            return 0;
        }
        poll(NULL, 0, STEP_MS);
    }
    return err_set(err, ERR_UNSUPPORTED,
                   "there is no way out for pods: pasta (package passt) does not start%s%s",
                   error ? ": " : "", error ? strerror(error) : "");
}
