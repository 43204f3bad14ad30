/* podman: see podman.h. */
#include "node/images/podman.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 32, LINE_MOST = 8192 };

static const char missing[] = "podman, which fetches images, is not installed: apt install podman";

const char *podman_program(void) {
    static const char *const places[] = {"/usr/bin/podman", "/usr/local/bin/podman"};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (access(places[i], X_OK) == 0) {
            return places[i];
        }
    }
    return NULL;
}

/* With nothing to read, and the two ends given; dies with us. */
static pid_t start(const char *program, const char *const *argv, int in, int out, int error) {
    pid_t pid = fork();

    if (pid == 0) {
        sigset_t none;
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        prctl(PR_SET_PDEATHSIG, SIGTERM);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        dup2(in == -1 ? null : in, 0);
        dup2(out == -1 ? null : out, 1);
        dup2(error == -1 ? null : error, 2);
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

static int ended(pid_t pid) {
    int status;

    while (waitpid(pid, &status, 0) == -1) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- what it says ---- */

struct hearing {
    const struct podman_call *call;
    struct buf *out;
    struct buf part; /* a line that has not ended */
    char last[sizeof(((struct err *)0)->text)];
};

static void hear_line(struct hearing *h, struct str line) {
    line = str_trim(line);
    if (line.n == 0) {
        return;
    }
    if (h->call->line) {
        h->call->line(h->call->ctx, line);
    }
    /* "time=... level=warning" goes by; an error is the last thing that it says. */
    if (str_starts(line, STR("Error: ")) || h->last[0] == 0) {
        line = str_starts(line, STR("Error: ")) ? str_skip(line, STR("Error: ").n) : line;
        str_copy(str_head(line, sizeof(h->last) - 1), h->last, sizeof(h->last));
    }
}

static void hear(struct hearing *h, struct str bytes) {
    struct str rest;
    ptrdiff_t end;

    buf_str(&h->part, bytes);
    while ((end = str_find(buf_view(&h->part), '\n')) >= 0 || h->part.n >= LINE_MOST) {
        size_t n = end >= 0 ? (size_t)end : h->part.n;
        rest = str_head(buf_view(&h->part), n);
        hear_line(h, rest);
        buf_consume(&h->part, end >= 0 ? n + 1 : n);
    }
}

/* Both ends until they are closed. */
static void listen_to(struct hearing *h, int out, int error) {
    struct pollfd p[2] = {{.fd = out, .events = POLLIN}, {.fd = error, .events = POLLIN}};
    char bytes[8192];

    while (p[0].fd != -1 || p[1].fd != -1) {
        if (poll(p, 2, -1) == -1 && errno != EINTR) {
            return;
        }
        for (int i = 0; i < 2; i++) {
            if (p[i].fd == -1 || p[i].revents == 0) {
                continue;
            }
            ssize_t n = read(p[i].fd, bytes, sizeof(bytes));
            if (n <= 0) {
                p[i].fd = -1;
            } else if (i == 0) {
                buf_add(h->out, bytes, (size_t)n);
            } else {
                hear(h, str_from(bytes, (size_t)n));
            }
        }
    }
}

static int open_ends(int out[2], int error[2], struct err *err) {
    if (pipe2(out, O_CLOEXEC) == -1) {
        return err_sys(err, errno, "pipe");
    }
    if (pipe2(error, O_CLOEXEC) == -1) {
        int e = errno;
        close(out[0]);
        close(out[1]);
        return err_sys(err, e, "pipe");
    }
    return 0;
}

int podman_run(const struct podman_call *c, struct buf *out, struct err *err) {
    const char *program = podman_program(), *argv[ARGS_MAX] = {"podman"};
    struct hearing h = {.call = c, .out = out};
    int ends[2], error[2];

    for (size_t i = 0; c->argv[i] && i + 2 < ARGS_MAX; i++) {
        argv[i + 1] = c->argv[i];
    }
    int code = program ? open_ends(ends, error, err) : err_set(err, ERR_UNSUPPORTED, "%s", missing);
    if (code) {
        return code;
    }
    buf_init(&h.part, 2 * LINE_MOST + sizeof(char[8192]));
    pid_t pid = start(program, argv, -1, ends[1], error[1]);
    close(ends[1]);
    close(error[1]);
    if (pid > 0) {
        listen_to(&h, ends[0], error[0]);
    }
    close(ends[0]);
    close(error[0]);
    hear_line(&h, buf_view(&h.part));
    buf_release(&h.part);
    int status = pid > 0 ? ended(pid) : -1;
    return status == 0 ? 0
                       : err_set(err, ERR_IO, "%s",
                                 h.last[0] ? h.last : "podman failed and did not say why");
}

/* ---- files ---- */

int podman_export(const char *name, const char *into, struct err *err) {
    static const char *const tars[] = {"/bin/tar", "/usr/bin/tar"};
    const char *program = podman_program(), *tar = access(tars[0], X_OK) == 0 ? tars[0] : tars[1];
    const char *give[] = {"podman", "export", name, NULL};
    const char *take[] = {"tar",
                          "-x",
                          "-C",
                          into,
                          "--numeric-owner",
                          geteuid() == 0 ? "--same-owner" : "--no-same-owner",
                          "--anchored",
                          "--exclude=dev/*",
                          NULL};
    int pipes[2];

    if (program == NULL) {
        return err_set(err, ERR_UNSUPPORTED, "%s", missing);
    }
    if (pipe2(pipes, O_CLOEXEC) == -1) {
        return err_sys(err, errno, "pipe");
    }
    pid_t giver = start(program, give, -1, pipes[1], 2), taker = start(tar, take, pipes[0], -1, 2);
    close(pipes[0]);
    close(pipes[1]);
    int taken = taker > 0 ? ended(taker) : -1, given = giver > 0 ? ended(giver) : -1;
    return taken == 0 && given == 0
               ? 0
               : err_set(err, ERR_IO, "the image cannot be unpacked (podman export: %d, tar: %d)",
                         given, taken);
}
