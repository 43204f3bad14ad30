/* shim_talk: see shim_talk.h. */
#include "node/sandbox/shim_talk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "node/life/reach.h"
#include "node/sandbox/terminal.h"
#include "wire/podtalk.h"

/* After a command's end its output has so long to come; after a caller's end a command has so long to follow; and so
 * long may a caller leave unread what a container wrote. */
enum { LINGER_MS = 250, HANG_UP_MS = 1000, STALL_MS = 30000, CONNECT_MS = 10000 };

struct shim_session {
    struct shim_talk *talk;
    int fd; /* the caller; -1: the session is free */
    struct podtalk in;
    struct buf out; /* frames for the caller */
    struct buf to;  /* bytes for stdin or the port */
    struct podtalk_open open;
    struct shim_container *c; /* exec and attach */
    pid_t pid;                /* of the command; 0: ended */
    int write_fd, read_fd[2]; /* to it; of it, -1: none */
    bool opened, connecting, ipv6;
    bool in_ended; /* no more comes from the caller for stdin */
    bool caller_gone;
    bool exited; /* EXIT is written: the rest of `out` goes, then all is over */
    int status;  /* of the command */
    bool reaped;
    int64_t until_mono; /* LINGER, HANG_UP or CONNECT; 0: none */
    int64_t moved_mono; /* when the caller last took something */
};

struct shim_talk {
    struct shim *shim;
    int listen_fd;
    struct shim_session *v; /* n of them: none before somebody has connected, then TALK_SESSIONS */
    int n;
};

static int sessions(const struct shim *s) {
    return s->talk ? s->talk->n : 0;
}

static void close_fd(int *fd) {
    if (*fd != -1) {
        close(*fd);
        *fd = -1;
    }
}

static void end_command(struct shim_session *t, int sig) {
    if (t->pid) {
        kill(-t->pid, sig);
    }
}

static void over(struct shim_session *t) {
    end_command(t, SIGKILL);
    close_fd(&t->fd);
    close_fd(&t->write_fd);
    close_fd(&t->read_fd[0]);
    close_fd(&t->read_fd[1]);
    podtalk_release(&t->in);
    buf_release(&t->out);
    buf_release(&t->to);
    *t = (struct shim_session){.talk = t->talk, .fd = -1, .write_fd = -1, .read_fd = {-1, -1}};
}

static void say_exit(struct shim_session *t, enum podtalk_end end, int value, struct str text) {
    if (!t->exited) {
        podtalk_exit(&t->out, end, value, text);
        t->exited = true;
        t->until_mono = 0;
    }
}

static void fail(struct shim_session *t, enum podtalk_why why, const char *text) {
    say_exit(t, PODTALK_FAILED, why, str_of(text));
}

static void say_status(struct shim_session *t, int status) {
    if (WIFSIGNALED(status)) {
        say_exit(t, PODTALK_SIGNAL, WTERMSIG(status), STR(""));
    } else {
        say_exit(t, PODTALK_CODE, WEXITSTATUS(status), STR(""));
    }
}

/* ---- to the process ---- */

static int *stdin_of(struct shim_session *t) {
    return t->open.what == PODTALK_ATTACH ? &t->c->stdin_fd : &t->write_fd;
}

/* All that was for stdin is written: its end, if it came. */
static void end_stdin(struct shim_session *t) {
    if (t->open.what == PODTALK_CONNECT) {
        shutdown(t->write_fd, SHUT_WR);
        close_fd(&t->write_fd);
    } else if (t->open.what == PODTALK_EXEC && t->open.with & PODTALK_TTY) {
        (void)!write(t->write_fd, "\004", 1); /* as a person ends it */
    } else if (t->open.what == PODTALK_EXEC) {
        close_fd(&t->write_fd);
    } else if (t->c->stdin_once) {
        close_fd(&t->c->stdin_fd);
    }
}

static void feed_stdin(struct shim_session *t) {
    int *fd = stdin_of(t);

    while (t->to.n && *fd != -1) {
        ssize_t n = write(*fd, t->to.p, t->to.n);
        if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n <= 0) { /* nobody reads it any more */
            buf_reset(&t->to);
            close_fd(fd);
            return;
        }
        buf_consume(&t->to, (size_t)n);
    }
    if (*fd == -1) {
        buf_reset(&t->to);
    } else if (t->in_ended) {
        end_stdin(t);
        t->in_ended = false;
    }
}

/* ---- opening ---- */

static struct shim_container *container_named(struct shim *s, struct str name) {
    for (size_t i = 0; i < s->n; i++) {
        if (str_eq(s->v[i].name, name)) {
            return s->v[i].state == CONTAINER_RUNNING ? &s->v[i] : NULL;
        }
    }
    return NULL;
}

static char **argv_of(const struct podtalk_open *o) {
    char **v = mem_zalloc((o->argc + 1) * sizeof(*v));
    struct str arg;
    size_t at = 0;

    for (size_t i = 0; v && i < o->argc && podtalk_arg(o, &at, &arg); i++) {
        v[i] = (char *)(uintptr_t)arg.p; /* a NUL follows each */
    }
    return v;
}

/* Ours are [0], the command's [1]. */
static int make_ends(struct shim *s, const struct podtalk_open *o, int in[2], int out[2],
                     int err[2]) {
    if (o->with & PODTALK_TTY) {
        int e = terminal_open(s->cell.init, &in[0], &in[1], s->sandbox.uid, s->sandbox.gid);
        if (e == 0 && o->rows) {
            terminal_size(in[0], o->rows, o->cols);
        }
        out[0] = e ? -1 : fcntl(in[0], F_DUPFD_CLOEXEC, 0);
        return e;
    }
    int pair[2];
    if ((o->with & PODTALK_WITH_STDIN) && pipe2(pair, O_CLOEXEC) == 0) {
        in[0] = pair[1];
        in[1] = pair[0];
    }
    if ((o->with & PODTALK_WITH_STDOUT) && pipe2(out, O_CLOEXEC) == -1) {
        return errno;
    }
    if ((o->with & PODTALK_WITH_STDERR) && pipe2(err, O_CLOEXEC) == -1) {
        return errno;
    }
    return (o->with & PODTALK_WITH_STDIN) && in[0] == -1 ? errno : 0;
}

static void keep(int *into, int fd) {
    *into = fd;
    if (fd != -1) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
}

static void open_exec(struct shim *s, struct shim_session *t) {
    const struct podtalk_open *o = &t->open;
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
    bool tty = o->with & PODTALK_TTY;
    char what[64] = "open its ends", text[256];
    char **argv = argv_of(o);
    int e = argv ? make_ends(s, o, in, out, err) : ENOMEM;

    if (e == 0) {
        const struct shim_inside how = {.argv = argv,
                                        .in = in[1],
                                        .out = tty ? in[1] : out[1],
                                        .err = tty ? in[1] : err[1],
                                        .terminal = tty};
        e = shim_inside(s, t->c, &how, &t->pid, what);
    }
    close_fd(&in[1]);
    close_fd(&out[1]);
    close_fd(&err[1]);
    keep(&t->write_fd, in[0]);
    keep(&t->read_fd[0], out[0]);
    keep(&t->read_fd[1], err[0]);
    if (e) {
        snprintf(text, sizeof(text), "cannot %s \"%.120s\": %s", what, argv ? argv[0] : "",
                 strerror(e));
        bool missing = !strcmp(what, "execute");
        fail(t, missing ? PODTALK_NO_COMMAND : PODTALK_INTERNAL, text);
    } else {
        t->opened = true;
        podtalk_opened(&t->out);
    }
    mem_free(argv);
}

static void open_attach(struct shim_session *t) {
    if (!t->c->tty != !(t->open.with & PODTALK_TTY)) {
        fail(t, PODTALK_UNSUPPORTED,
             t->c->tty ? "the container has a terminal: attach with one"
                       : "the container has no terminal (tty: true)");
        return;
    }
    if ((t->open.with & PODTALK_WITH_STDIN) && t->c->stdin_fd == -1) {
        t->open.with &=
            ~(unsigned)PODTALK_WITH_STDIN; /* it has none (stdin: true), as if it were at its end */
        t->in_ended = true;
    }
    t->opened = true;
    podtalk_opened(&t->out);
    if (t->c->tty && t->open.rows) {
        terminal_size(t->c->fd[0], t->open.rows, t->open.cols);
    }
}

/* 127.0.0.1, then [::1]. */
static void open_port(struct shim_session *t, bool ipv6) {
    t->ipv6 = ipv6;
    t->write_fd = reach_connect(ipv6 ? "::1" : "127.0.0.1", t->open.port);
    t->connecting = t->write_fd != -1;
    t->until_mono = shim_mono() + CONNECT_MS * NS_PER_MS;
    if (t->connecting) {
        return;
    }
    if (!ipv6) {
        open_port(t, true);
    } else {
        fail(t, PODTALK_NO_LISTENER, "connection refused");
    }
}

static void on_connected(struct shim *s, struct shim_session *t) {
    int e = reach_error(t->write_fd);

    if (e) {
        close_fd(&t->write_fd);
        if (!t->ipv6) {
            open_port(t, true);
        } else {
            t->connecting = false;
            fail(t, PODTALK_NO_LISTENER, "connection refused");
        }
        return;
    }
    t->connecting = false;
    t->opened = true;
    t->until_mono = 0;
    t->read_fd[0] = fcntl(t->write_fd, F_DUPFD_CLOEXEC, 0);
    podtalk_opened(&t->out);
    feed_stdin(t);
}

static void begin(struct shim *s, struct shim_session *t, const struct podtalk_open *o) {
    t->open = *o;
    if (o->what == PODTALK_CONNECT) {
        open_port(t, false);
        return;
    }
    t->c = container_named(s, o->container);
    if (t->c == NULL) {
        fail(t, PODTALK_NO_CONTAINER, "no container of that name runs");
    } else if (o->what == PODTALK_EXEC) {
        open_exec(s, t);
    } else {
        open_attach(t);
    }
    t->open.container = t->open.argv = STR(""); /* views of a frame */
}

/* ---- from the caller ---- */

static void on_frame(struct shim *s, struct shim_session *t, const struct podtalk_frame *f) {
    if (f->type == PODTALK_OPEN) {
        begin(s, t, &f->open);
    } else if (f->type == PODTALK_DATA) { /* it may come before the port has answered */
        buf_str(&t->to, f->data);
    } else if (f->type == PODTALK_END) {
        t->in_ended = true;
    } else if (f->type == PODTALK_RESIZE && t->opened && t->open.with & PODTALK_TTY) {
        terminal_size(t->open.what == PODTALK_ATTACH ? t->c->fd[0] : t->write_fd, f->rows, f->cols);
    }
    if (t->opened && !t->exited) {
        feed_stdin(t);
    }
}

/* The caller has gone, or talks nonsense. */
static void hang_up(struct shim_session *t) {
    if (t->pid && !t->caller_gone) {
        end_command(t, SIGHUP);
        t->caller_gone = true;
        t->until_mono = shim_mono() + HANG_UP_MS * NS_PER_MS;
        close_fd(&t->write_fd);
        return;
    }
    if (t->open.what == PODTALK_CONNECT && t->write_fd != -1) {
        struct linger reset = {.l_onoff = 1, .l_linger = 0};
        setsockopt(t->write_fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    } else if (t->open.what == PODTALK_ATTACH && t->opened && t->c && t->c->stdin_once &&
               t->open.with & PODTALK_WITH_STDIN) {
        close_fd(&t->c->stdin_fd);
    }
    over(t);
}

static void on_caller(struct shim *s, void *who) {
    struct shim_session *t = who;
    static char bytes[16384];
    struct podtalk_frame f;

    if (t->fd == -1 || t->caller_gone) {
        return;
    }
    ssize_t n = read(t->fd, bytes, sizeof(bytes));
    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    struct str in = str_from(bytes, n > 0 ? (size_t)n : 0);
    int code = n > 0 ? 0 : ERR_GONE;
    while (code == 0 && (code = podtalk_next(&t->in, &in, &f, NULL)) == 0) {
        on_frame(s, t, &f);
        if (t->fd == -1) {
            return;
        }
    }
    if (code != ERR_AGAIN) {
        hang_up(t);
    }
}

static void on_caller_writable(struct shim_session *t) {
    while (t->out.n) {
        ssize_t n = send(t->fd, t->out.p, t->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n <= 0) {
            hang_up(t);
            return;
        }
        buf_consume(&t->out, (size_t)n);
        t->moved_mono = shim_mono();
    }
}

/* ---- from the process ---- */

static void pump(struct shim_session *t, int k) {
    static char bytes[16384];
    ssize_t n = t->read_fd[k] == -1 ? -1 : read(t->read_fd[k], bytes, sizeof(bytes));

    if (t->read_fd[k] == -1 || (n == -1 && (errno == EAGAIN || errno == EINTR))) {
        return;
    }
    if (n > 0) {
        podtalk_data(&t->out, k ? PODTALK_STDERR : PODTALK_STDOUT, str_from(bytes, (size_t)n));
        return;
    }
    close_fd(&t->read_fd[k]);
    podtalk_end(&t->out, k ? PODTALK_STDERR : PODTALK_STDOUT);
}

static void pump_out(struct shim *s, void *who) {
    pump(who, 0);
}

static void pump_err(struct shim *s, void *who) {
    pump(who, 1);
}

static void on_writable(struct shim *s, void *who) {
    struct shim_session *t = who;

    if (t->fd != -1 && t->connecting) {
        on_connected(s, t);
    } else if (t->fd != -1) {
        feed_stdin(t);
    }
}

bool shim_talk_reaped(struct shim *s, pid_t pid, int status) {
    for (int i = 0; i < sessions(s); i++) {
        struct shim_session *t = &s->talk->v[i];
        if (t->fd != -1 && t->pid == pid) {
            t->pid = 0;
            t->reaped = true;
            t->status = status;
            t->until_mono = shim_mono() + LINGER_MS * NS_PER_MS;
            return true;
        }
    }
    return false;
}

void shim_talk_wrote(struct shim *s, const struct shim_container *c, int stream, struct str bytes) {
    unsigned want = stream ? PODTALK_WITH_STDERR : PODTALK_WITH_STDOUT;

    for (int i = 0; i < sessions(s); i++) {
        struct shim_session *t = &s->talk->v[i];
        if (t->fd != -1 && t->c == c && t->opened && !t->exited && t->open.what == PODTALK_ATTACH &&
            t->open.with & want) {
            podtalk_data(&t->out, stream ? PODTALK_STDERR : PODTALK_STDOUT, bytes);
        }
    }
}

bool shim_talk_full(const struct shim *s, const struct shim_container *c) {
    for (int i = 0; i < sessions(s); i++) {
        const struct shim_session *t = &s->talk->v[i];
        if (t->fd != -1 && t->c == c && t->open.what == PODTALK_ATTACH &&
            t->out.n >= TALK_WAITING) {
            return true;
        }
    }
    return false;
}

void shim_talk_ended(struct shim *s, const struct shim_container *c) {
    for (int i = 0; i < sessions(s); i++) {
        struct shim_session *t = &s->talk->v[i];
        if (t->fd == -1 || t->c != c || t->exited) {
            continue;
        }
        if (t->open.what == PODTALK_ATTACH && c->end.signal) {
            say_exit(t, PODTALK_SIGNAL, c->end.signal, STR(""));
        } else if (t->open.what == PODTALK_ATTACH) {
            say_exit(t, PODTALK_CODE, c->end.exit_code & 255, STR(""));
        } else {
            end_command(t, SIGKILL);
            pump(t, 0);
            pump(t, 1);
            say_exit(t, PODTALK_SIGNAL, SIGKILL, STR(""));
        }
    }
}

/* ---- sessions ---- */

static bool is_own_user(int fd) {
    struct ucred who;
    socklen_t n = sizeof(who);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

static bool make_sessions(struct shim_talk *k) {
    k->v = k->v ? k->v : mem_zalloc(TALK_SESSIONS * sizeof(*k->v));
    while (k->v && k->n < TALK_SESSIONS) {
        k->v[k->n++] =
            (struct shim_session){.talk = k, .fd = -1, .write_fd = -1, .read_fd = {-1, -1}};
    }
    return k->v != NULL;
}

static void on_listen(struct shim *s, void *who) {
    struct shim_talk *k = who;
    int fd = accept4(k->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct buf busy;

    if (fd == -1) {
        return;
    }
    bool may = is_own_user(fd) && make_sessions(k);
    for (int i = 0; may && i < TALK_SESSIONS; i++) {
        struct shim_session *t = &k->v[i];
        if (t->fd == -1) {
            t->fd = fd;
            t->moved_mono = shim_mono();
            podtalk_init(&t->in, true);
            buf_init(&t->out, 4 * TALK_WAITING + (256 << 10));
            buf_init(&t->to, 4 * TALK_WAITING);
            return;
        }
    }
    buf_init(&busy, PODTALK_TEXT_MAX + 64);
    podtalk_exit(&busy, PODTALK_FAILED, PODTALK_BUSY,
                 STR("the pod has as many sessions as it may"));
    (void)!send(fd, busy.p, busy.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    buf_release(&busy);
    close(fd);
}

void shim_talk_open(struct shim *s) {
    struct shim_talk *k = s->talk ? NULL : mem_zalloc(sizeof(*k));
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int dir = k ? open(s->dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

    if (dir == -1) {
        mem_free(k);
        return;
    }
    k->shim = s;
    /* The folder's path may be longer than an address of a socket. */
    snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/talk.sock", dir);
    k->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t was = umask(0177);
    bool up = k->listen_fd != -1 && bind(k->listen_fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
              listen(k->listen_fd, TALK_SESSIONS) == 0;
    umask(was);
    close(dir);
    if (!up) {
        close_fd(&k->listen_fd);
        mem_free(k);
        return;
    }
    s->talk = k;
}

/* The pod is over: what is left goes, if the caller takes it soon. */
static void last_words(struct shim_session *t) {
    int64_t until = shim_mono() + LINGER_MS * NS_PER_MS;

    while (t->fd != -1 && t->out.n && shim_mono() < until) {
        struct pollfd p = {.fd = t->fd, .events = POLLOUT};
        poll(&p, 1, LINGER_MS);
        on_caller_writable(t);
    }
    if (t->fd != -1) {
        over(t);
    }
}

void shim_talk_close(struct shim *s) {
    for (int i = 0; i < sessions(s); i++) {
        if (s->talk->v[i].fd != -1) {
            last_words(&s->talk->v[i]);
        }
    }
    if (s->talk) {
        close_fd(&s->talk->listen_fd);
        mem_free(s->talk->v);
        mem_free(s->talk);
        s->talk = NULL;
    }
}

static bool output_ended(const struct shim_session *t) {
    return t->read_fd[0] == -1 && t->read_fd[1] == -1;
}

/* While the process reads nothing, the caller is not read either: whether it is still there is asked. */
static bool has_left(const struct shim_session *t) {
    struct pollfd p = {.fd = t->fd};

    return t->to.n >= TALK_WAITING && poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR);
}

static void step(struct shim *s, struct shim_session *t, int64_t now) {
    bool late = t->until_mono && now >= t->until_mono;

    if (t->caller_gone) {
        if (late || !t->pid) {
            over(t);
        }
        return;
    }
    if (t->reaped && !t->exited && (output_ended(t) || late)) {
        pump(t, 0);
        pump(t, 1);
        say_status(t, t->status);
    } else if (t->connecting && late) {
        t->connecting = false;
        fail(t, PODTALK_NO_LISTENER, "connection timed out");
    } else if (t->open.what == PODTALK_CONNECT && t->opened && t->read_fd[0] == -1 &&
               t->write_fd == -1) {
        say_exit(t, PODTALK_CODE, 0, STR(""));
    } else if (has_left(t) || (t->open.what == PODTALK_ATTACH && t->out.n >= TALK_WAITING &&
                               now - t->moved_mono > STALL_MS * NS_PER_MS)) {
        hang_up(t);
        return;
    }
    if (buf_ok(&t->out) || buf_ok(&t->to)) {
        over(t);
        return;
    }
    if (t->out.n) {
        on_caller_writable(t);
    }
    if (t->fd != -1 && t->exited && t->out.n == 0) {
        over(t);
    }
}

void shim_talk_step(struct shim *s) {
    int64_t now = s->talk ? shim_mono() : 0;

    for (int i = 0; i < sessions(s); i++) {
        if (s->talk->v[i].fd != -1) {
            step(s, &s->talk->v[i], now);
        }
    }
}

static void on_caller_events(struct shim *s, void *who) {
    struct shim_session *t = who;

    if (t->fd != -1 && t->out.n) {
        on_caller_writable(t);
    }
    if (t->fd != -1 && t->to.n < TALK_WAITING) {
        on_caller(s, t);
    }
}

void shim_talk_poll(struct shim *s, struct shim_poll *p) {
    if (s->talk == NULL) {
        return;
    }
    shim_poll_add(p, s->talk->listen_fd, POLLIN, on_listen, s->talk);
    for (int i = 0; i < s->talk->n; i++) {
        struct shim_session *t = &s->talk->v[i];
        if (t->fd == -1 || t->caller_gone) {
            continue;
        }
        short events = (short)((t->out.n ? POLLOUT : 0) | (t->to.n < TALK_WAITING ? POLLIN : 0));
        if (events) { /* a caller that is gone would wake us again and again */
            shim_poll_add(p, t->fd, events, on_caller_events, t);
        }
        int *in = t->opened ? stdin_of(t) : &t->write_fd;
        if (*in != -1 && (t->connecting || t->to.n)) {
            shim_poll_add(p, *in, POLLOUT, on_writable, t);
        }
        for (int k = 0; k < 2 && t->out.n < TALK_WAITING; k++) {
            if (t->read_fd[k] != -1) {
                shim_poll_add(p, t->read_fd[k], POLLIN, k ? pump_err : pump_out, t);
            }
        }
    }
}

int64_t shim_talk_due(const struct shim *s) {
    int64_t next = INT64_MAX;

    for (int i = 0; i < sessions(s); i++) {
        const struct shim_session *t = &s->talk->v[i];
        if (t->fd != -1 && t->reaped && !t->exited && output_ended(t)) {
            return 0;
        }
        bool stuck = t->fd != -1 && (t->to.n >= TALK_WAITING || t->out.n >= TALK_WAITING);
        int64_t due = t->until_mono ? t->until_mono : stuck ? shim_mono() + NS_PER_SEC : INT64_MAX;
        next = t->fd != -1 && due < next ? due : next;
    }
    return next;
}
