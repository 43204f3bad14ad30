/*
 * talk: see talk.h.
 *
 * A session is one socket. What cannot be sent at once waits in `out` and the
 * socket is watched for room; while the user has paused, it is not watched for
 * bytes, and what was read already waits in `in`. One read of 64 KiB a turn.
 */
#include "node/streams/talk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/files/files.h"

enum { READ_BYTES = 64 << 10, SENT_KEEP = 256 << 10 };

struct talks {
    struct pod_sessions sessions;
    struct loop *loop;
    char data_dir[PATH_LEN];
    char chunk[READ_BYTES];
};

struct pod_session {
    struct talks *talks;
    int fd;
    struct loop_fd *watch;
    int watched; /* LOOP_... */
    struct podtalk parse;
    struct buf in;  /* read, and not yet handed on: the user has paused */
    struct buf out; /* to be sent, from out_at on */
    size_t out_at;
    const struct pod_session_events *ev;
    void *ctx;
    bool paused, wants_drain, deaf,
        over;          /* deaf: the shim takes nothing any more; over: `exit` was called */
    bool busy, closed; /* an event is being called; it closed the session */
};

static void on_event(void *ctx, int events);

static size_t waiting(const struct pod_session *p) {
    return p->out.n - p->out_at;
}

/* Watches for what matters now. A socket that cannot be watched is found to be
 * so by its next use. */
static void watch(struct pod_session *p) {
    int want = (p->paused ? 0 : LOOP_READABLE) | (waiting(p) > 0 ? LOOP_WRITABLE : 0);

    if (!p->paused && p->in.n > 0) {
        want |= LOOP_WRITABLE; /* there is room, so that this comes at once */
    }
    if (p->over) {
        want = 0;
    }
    if (want == p->watched && (p->watch || !want)) {
        return;
    }
    loop_fd_free(p->watch);
    p->watched = want;
    p->watch = want ? loop_fd(p->talks->loop, p->fd, want, on_event, p, NULL) : NULL;
}

/* ---- out ---- */

static void send_waiting(struct pod_session *p) {
    while (waiting(p) > 0 && !p->deaf) {
        ssize_t n = send(p->fd, p->out.p + p->out_at, waiting(p), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n == -1) {
            p->deaf = errno != EAGAIN;
            break;
        }
        p->out_at += (size_t)n;
    }
    if (p->deaf || waiting(p) == 0) {
        buf_reset(&p->out);
        p->out_at = 0;
    } else if (p->out_at > SENT_KEEP) {
        buf_consume(&p->out, p->out_at);
        p->out_at = 0;
    }
    if (buf_ok(&p->out) != 0) { /* a frame is missing: nothing after it would be understood */
        shutdown(p->fd, SHUT_RDWR);
        p->deaf = true;
    }
}

static size_t talk_write(struct pod_session *p, struct str bytes) {
    if (!p->deaf) {
        podtalk_data(&p->out, PODTALK_STDIN, bytes);
        send_waiting(p);
        p->wants_drain |= waiting(p) > 0;
        watch(p);
    }
    return waiting(p);
}

static void talk_end(struct pod_session *p) {
    podtalk_end(&p->out, PODTALK_STDIN);
    send_waiting(p);
    watch(p);
}

static void talk_resize(struct pod_session *p, uint16_t rows, uint16_t cols) {
    podtalk_resize(&p->out, rows, cols);
    send_waiting(p);
    watch(p);
}

/* ---- in ---- */

static void session_free(struct pod_session *p) {
    loop_fd_free(p->watch);
    if (p->fd >= 0) {
        close(p->fd);
    }
    podtalk_release(&p->parse);
    buf_release(&p->in);
    buf_release(&p->out);
    mem_free(p);
}

static void end_failed(struct pod_session *p, const char *text) {
    struct podtalk_exit e = {
        .end = PODTALK_FAILED, .value = PODTALK_INTERNAL, .text = str_of(text)};

    if (!p->over) {
        p->over = true;
        p->ev->exit(p->ctx, &e);
    }
}

static void hand_on(struct pod_session *p, const struct podtalk_frame *f) {
    switch (f->type) {
    case PODTALK_OPENED:
        p->ev->opened(p->ctx);
        break;
    case PODTALK_DATA:
        p->paused = !p->ev->data(p->ctx, f->stream, f->data);
        break;
    case PODTALK_END:
        p->ev->end(p->ctx, f->stream);
        break;
    case PODTALK_EXIT:
        p->over = true;
        p->ev->exit(p->ctx, &f->exit);
        break;
    case PODTALK_OPEN:
    case PODTALK_RESIZE:
        break; /* the parser refuses them from a shim */
    }
}

/* Hands on what `bytes` say until the user pauses or closes; keeps the rest. */
static void take(struct pod_session *p, struct str bytes) {
    struct podtalk_frame f;
    struct err err = {0};
    int r = 0;

    while (!p->closed && !p->paused && !p->over && r == 0) {
        r = podtalk_next(&p->parse, &bytes, &f, &err);
        if (r == 0) {
            hand_on(p, &f);
        }
    }
    if (p->closed || p->over) {
        return;
    }
    if (r != 0 && r != ERR_AGAIN) {
        end_failed(p, err.text);
    } else if (bytes.n > 0) {
        buf_str(&p->in, bytes);
        if (buf_ok(&p->in) != 0) {
            end_failed(p, "no memory");
        }
    }
}

static void take_kept(struct pod_session *p) {
    struct buf kept = p->in;

    buf_init(&p->in, 0);
    take(p, buf_view(&kept));
    buf_release(&kept);
}

static void read_more(struct pod_session *p) {
    ssize_t n = recv(p->fd, p->talks->chunk, READ_BYTES, MSG_DONTWAIT);

    if (n > 0) {
        take(p, str_from(p->talks->chunk, (size_t)n));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        end_failed(p, "the pod has ended");
    }
}

static void on_event(void *ctx, int events) {
    struct pod_session *p = ctx;

    p->busy = true;
    send_waiting(p);
    if (p->wants_drain && waiting(p) == 0) {
        p->wants_drain = false;
        p->ev->drained(p->ctx);
    }
    if (!p->closed && !p->paused && p->in.n > 0) {
        take_kept(p);
    } else if (!p->closed && !p->paused && !p->over && (events & LOOP_READABLE)) {
        read_more(p);
    }
    p->busy = false;
    if (p->closed) {
        session_free(p);
    } else {
        watch(p);
    }
}

static void talk_resume(struct pod_session *p) {
    p->paused = false;
    if (!p->busy) {
        watch(p);
    }
}

static void talk_close(struct pod_session *p) {
    if (p == NULL) {
        return;
    }
    p->closed = true;
    if (!p->busy) {
        session_free(p);
    }
}

/* ---- opening ---- */

/* A socket's name holds some 100 bytes and a data folder may be deeper: it is
 * reached through the descriptor of its folder. */
static int connect_to(const struct talks *t, struct str uid, int *ret, struct err *err) {
    char id[128], pods[PATH_LEN], dir[PATH_LEN];
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (!path_plain(uid) || !str_copy(uid, id, sizeof(id)) ||
        path_join(pods, t->data_dir, "pods", NULL) != 0 || path_join(dir, pods, id, NULL) != 0) {
        return err_set(err, ERR_INVALID, "the pod has no folder here");
    }
    int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder == -1) {
        return err_set(err, ERR_NOT_FOUND, "the pod has no folder here");
    }
    snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/talk.sock", folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r = fd == -1 ? -1 : connect(fd, (const struct sockaddr *)&at, sizeof(at)), why = errno;
    close(folder);
    if (r == 0) {
        *ret = fd;
        return 0;
    }
    if (fd != -1) {
        close(fd);
    }
    if (why == ENOENT || why == ECONNREFUSED) {
        return err_set(err, ERR_NOT_FOUND, "nothing of the pod listens");
    }
    return why == EAGAIN
               ? err_set(err, ERR_TOO_MANY, "too many sessions with the pod begin at once")
               : err_sys(err, why, "connecting to the pod");
}

static int talk_open(struct pod_sessions *s, const struct object *pod, const struct podtalk_open *o,
                     const struct str *args, size_t n_args, const struct pod_session_events *ev,
                     void *ctx, struct pod_session **ret, struct err *err) {
    struct talks *t = (struct talks *)s;
    struct pod_session *p = mem_zalloc(sizeof(*p));

    if (p == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    *p = (struct pod_session){.talks = t, .fd = -1, .ev = ev, .ctx = ctx};
    podtalk_init(&p->parse, false);
    buf_init(&p->in, 0);
    buf_init(&p->out, 0);
    int r = podtalk_open(&p->out, o, args, n_args, err);
    r = r ? r : connect_to(t, pod->uid, &p->fd, err);
    if (r == 0) {
        send_waiting(p);
        watch(p);
        if (p->watch == NULL) {
            r = err_set(err, ERR_NOMEM, "no memory to watch a session");
        }
    }
    if (r != 0) {
        session_free(p);
        return r;
    }
    *ret = p;
    return 0;
}

struct pod_sessions *talk_new(const char *data_dir, struct loop *loop, struct err *err) {
    struct talks *t = mem_zalloc(sizeof(*t));

    if (t == NULL || !str_copy(str_of(data_dir), t->data_dir, sizeof(t->data_dir))) {
        mem_free(t);
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    t->loop = loop;
    t->sessions = (struct pod_sessions){.open = talk_open,
                                        .write = talk_write,
                                        .end = talk_end,
                                        .resize = talk_resize,
                                        .resume = talk_resume,
                                        .close = talk_close};
    return &t->sessions;
}

void talk_free(struct pod_sessions *s) {
    mem_free(s);
}
