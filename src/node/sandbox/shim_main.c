/* shim_main: the hidden verb `berth shim`: one pod, or the server that forks a shim per pod. See
 * shim.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/files/files.h"
#include "node/node.h"
#include "node/sandbox/shim.h"

/* The child's descriptors: input and output are nobody's, errors still go where the node's go. */
static _Noreturn void become_shim(const char *dir) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    signal(SIGCHLD, SIG_DFL);
    setsid();
    if (null != -1) {
        dup2(null, 0);
        dup2(null, 1);
    }
    syscall(SYS_close_range, (unsigned)CELL_VIEW_FD + 1, ~0u, 0u);
    _exit(shim_run(dir));
}

/* Only wakes poll: children are reaped in the loop. */
static void on_child(int signum) {
}

static bool view_failed; /* told once */

static void serve_line(char *line) {
    struct err err;

    /* A pod that wants a cell and finds no view fails by itself, with a reason. */
    if (cell_prepare(&err) && !view_failed) {
        fprintf(stderr, "berth shim: %s\n", err.text);
        view_failed = true;
    }
    pid_t pid = *line ? fork() : -1;

    if (pid == 0) {
        become_shim(line);
    }
    /* A fork that failed is seen by the node: no state appears, no lock is held, and it asks again.
     */
}

static int serve(void) {
    struct sigaction wake = {.sa_handler = on_child};
    static char in[65536];
    size_t n = 0;
    bool open_input = true;

    sigaction(SIGCHLD, &wake, NULL);
    signal(SIGTERM, SIG_IGN); /* ends with its input, when its shims have gone */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_NAME, "berth-shims", 0, 0, 0);
    fcntl(0, F_SETFL, O_NONBLOCK);
    for (;;) {
        struct pollfd p = {.fd = 0, .events = POLLIN};
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        }
        if (!open_input && pid == -1 && errno == ECHILD) {
            return 0;
        }
        if (poll(&p, open_input ? 1 : 0, 1000) <= 0) {
            continue;
        }
        ssize_t k = read(0, in + n, sizeof(in) - n);
        if (k == -1 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        open_input = k > 0;
        n += k > 0 ? (size_t)k : 0;
        char *end;
        while ((end = memchr(in, '\n', n))) {
            *end = 0;
            serve_line(in);
            size_t used = (size_t)(end - in) + 1;
            memmove(in, end + 1, n - used);
            n -= used;
        }
        n = n == sizeof(in) ? 0 : n;
    }
}

int shim_main(int argc, char **argv) {
    bool joins = argc == 4 && !strcmp(argv[2], "--userns");

    if (argc != 2 && !joins) {
        return 2;
    }
    sandbox_prepare(NULL); /* once, for all that are forked from here */
    int e = cell_user(joins ? argv[3] : NULL);
    if (e) {
        fprintf(stderr, "berth shim: no user namespace: %s\n", strerror(e));
    }
    sandbox_drop_bounds(); /* here for all; where it fails, each process of a pod tells */
    if (!strcmp(argv[1], "--serve")) {
        return serve();
    }
    cell_prepare(NULL);
    return shim_run(argv[1]);
}
