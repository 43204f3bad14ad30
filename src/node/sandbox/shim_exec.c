/*
 * shim_exec: one process of one container. Parent and child share a pipe that closes at exec: what
 * the child could not do comes back through it as an errno and the name of the step.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/sandbox/shim.h"

extern char **environ;

enum { CLEANUP_MS = 10000, CLEANUP_STEP_MS = 10 };

struct exec_failure {
    int error;
    char what[60];
};

static _Noreturn void run_child(const struct shim *s, const struct shim_container *c,
                                const int out[2], int report) {
    struct exec_failure f = {0};
    const char *what = "start";
    sigset_t none;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    setsid();
    if (null == -1 || dup2(null, 0) == -1 || dup2(out[0], 1) == -1 || dup2(out[1], 2) == -1) {
        f.error = errno;
    }
    for (int i = 1; i < NSIG; i++) {
        signal(i, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    syscall(SYS_close_range, 3u, ~0u, 4u /* close on exec */);
    if (f.error == 0) {
        f.error = sandbox_enter(&s->sandbox, c->mounts, c->n_mounts, c->cwd, &what);
    }
    if (f.error == 0) {
        environ = c->envp;
        what = "execute";
        execvp(c->argv[0], c->argv);
        f.error = errno;
    }
    snprintf(f.what, sizeof(f.what), "%s", what);
    (void)!write(report, &f, sizeof(f));
    _exit(127);
}

static void not_started(struct shim_container *c, const struct exec_failure *f) {
    bool missing = !strcmp(f->what, "execute") && (f->error == ENOENT || f->error == EACCES);

    c->state = CONTAINER_DONE;
    c->pid = 0;
    c->end = (struct shim_ended){.set = true,
                                 .exit_code = missing ? 127 : 128,
                                 .started_ns = shim_wall(),
                                 .finished_ns = shim_wall(),
                                 .reason = "StartError"};
    snprintf(c->end.message, sizeof(c->end.message), "cannot %s \"%s\": %s", f->what, c->argv[0],
             strerror(f->error));
}

void shim_exec(struct shim *s, struct shim_container *c) {
    struct exec_failure f = {0};
    int out[2] = {-1, -1}, err[2] = {-1, -1}, report[2] = {-1, -1};

    shim_log_open(s, c);
    c->started_ns = shim_wall();
    if (pipe2(out, O_CLOEXEC) == -1 || pipe2(err, O_CLOEXEC) == -1 ||
        pipe2(report, O_CLOEXEC) == -1 || (c->pid = fork()) == -1) {
        f = (struct exec_failure){errno, "fork"};
        c->pid = 0;
    } else if (c->pid == 0) {
        int ends[2] = {out[1], err[1]};
        run_child(s, c, ends, report[1]);
    }
    close(out[1]);
    close(err[1]);
    close(report[1]);
    if (f.error == 0 && read(report[0], &f, sizeof(f)) != (ssize_t)sizeof(f)) {
        f.error = 0;
    }
    close(report[0]);
    c->fd[0] = out[0];
    c->fd[1] = err[0];
    if (f.error) {
        not_started(c, &f); /* the child, if any, is reaped as a stranger */
        close(out[0]);
        close(err[0]);
        c->fd[0] = c->fd[1] = -1;
        shim_log_close(c);
        return;
    }
    fcntl(c->fd[0], F_SETFL, O_NONBLOCK);
    fcntl(c->fd[1], F_SETFL, O_NONBLOCK);
    c->state = CONTAINER_RUNNING;
}

/* What a container leaves behind when it is killed is taken away, within CLEANUP_MS. */
void shim_cleanup(const struct shim_container *c) {
    if (!c->cleanup || !c->cleanup[0] || c->started_ns == 0) {
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t none;
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        syscall(SYS_close_range, 3u, ~0u, 4u /* close on exec */);
        environ = c->envp;
        execvp(c->cleanup[0], c->cleanup);
        _exit(127);
    }
    for (int waited = 0; pid > 0 && waitpid(pid, NULL, WNOHANG) == 0; waited += CLEANUP_STEP_MS) {
        if (waited >= CLEANUP_MS) {
            kill(pid, SIGKILL);
        }
        usleep(CLEANUP_STEP_MS * 1000);
    }
}
