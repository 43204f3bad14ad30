/*
 * podtalk: what is said on pods/<uid>/talk.sock, a unix stream socket on which the shim of a pod
 * takes sessions: exec, attach, and connections to a port inside the pod. One connection is one
 * session. The caller is any process of the same user on this machine (the API server, the node,
 * a probe); nothing of it can be reached from inside the pod.
 *
 * Both sides send frames: a byte that says what it is, three bytes for the length of what follows
 * (big-endian, at most PODTALK_BYTES_MAX), and that many bytes. Numbers are big-endian.
 *
 *     from the caller                               from the shim
 *     OPEN    once, first                           OPENED  once, first: the process has started,
 *     DATA    for stdin                                     is attached to, or the port answered
 *     END     of stdin                              DATA    of stdout or stderr
 *     RESIZE  of the terminal                       END     of stdout or stderr
 *                                                   EXIT    once, last; instead of OPENED when
 *                                                           nothing could be opened
 *
 * A connection to a port uses stdin for bytes into the pod and stdout for bytes out of it; END is
 * each direction's half-close (FIN), and EXIT with code 0 follows when both have ended. The shim
 * connects to 127.0.0.1, then to [::1], in the pod's network namespace.
 *
 * How it ends. The shim sends EXIT once the process has ended and what it had written has been
 * sent (that is, at the end of its output, or a moment after its end when a child of it holds the
 * pipe), then closes. When an attached container ends, EXIT says how. When the caller closes, or
 * breaks these rules, the session is over: a process that exec started is ended (SIGHUP, and
 * SIGKILL a second later), a connection is reset, an attached container goes on with its stdin
 * ended where its spec says stdinOnce.
 *
 * Back-pressure is the socket's: who cannot pass on what it reads stops reading, and nobody keeps
 * more than a few frames. So a caller that stops reading stops the process's writes, and a process
 * that does not read its stdin stops the caller's.
 *
 * The parser takes bytes as they come. Data is handed on in pieces as it arrives, never gathered;
 * only the other frames are, in a buffer of at most PODTALK_BYTES_MAX that is empty between them.
 */
#ifndef BERTH_WIRE_PODTALK_H
#define BERTH_WIRE_PODTALK_H

#include "base/buf.h"
#include "base/err.h"

enum {
    PODTALK_BYTES_MAX = 64 << 10, /* after the four bytes of a frame's head */
    PODTALK_HEAD = 4,
    PODTALK_TEXT_MAX = 1024, /* of an error; longer ones are cut */
};

enum podtalk_type {
    PODTALK_OPEN = 1,
    PODTALK_OPENED,
    PODTALK_DATA,
    PODTALK_END,
    PODTALK_RESIZE,
    PODTALK_EXIT,
};

enum podtalk_what { PODTALK_EXEC = 1, PODTALK_ATTACH, PODTALK_CONNECT };

enum podtalk_stream { PODTALK_STDIN, PODTALK_STDOUT, PODTALK_STDERR };

/* What the session uses. Without STDIN the process has an empty one; without STDOUT or STDERR what
 * it writes there is dropped by the shim. With TTY there is no STDERR. Attaching, TTY is what the
 * container's spec says, and the shim refuses another. */
enum { PODTALK_WITH_STDIN = 1, PODTALK_WITH_STDOUT = 2, PODTALK_WITH_STDERR = 4, PODTALK_TTY = 8 };

struct podtalk_open {
    enum podtalk_what what;
    unsigned with;        /* PODTALK_WITH_..., PODTALK_TTY; a connection has none */
    uint16_t rows, cols;  /* of the terminal; 0: not known yet, RESIZE may follow */
    uint16_t port;        /* of a connection, never 0 */
    struct str container; /* 1 to LIMIT_LABEL bytes; empty for a connection */
    struct str argv;      /* of exec: each followed by a NUL; see podtalk_arg */
    size_t argc;          /* 1 to LIMIT_EXEC_ARGS; 0 but for exec */
};

/* How a session ended. */
enum podtalk_end { PODTALK_CODE, PODTALK_SIGNAL, PODTALK_FAILED };

/* Why one FAILED. */
enum podtalk_why {
    PODTALK_INTERNAL = 1, /* something went wrong; the text says what */
    PODTALK_NO_CONTAINER, /* none of that name, or it does not run now */
    PODTALK_NO_COMMAND,   /* it could not be executed */
    PODTALK_NO_LISTENER,  /* nothing listens on the port */
    PODTALK_BUSY,         /* the pod has as many sessions as it may */
    PODTALK_UNSUPPORTED,  /* what was asked for does not go together */
};

struct podtalk_exit {
    enum podtalk_end end;
    int value;       /* the exit code (0 to 255), the signal (1 to 64), or enum podtalk_why */
    struct str text; /* of FAILED, for a person; else empty */
};

struct podtalk_frame {
    enum podtalk_type type;
    enum podtalk_stream stream; /* of DATA and END */
    struct str data;            /* of DATA, never empty; a view of the bytes fed */
    struct podtalk_open open;   /* views until the next call */
    uint16_t rows, cols;        /* of RESIZE, never 0 */
    struct podtalk_exit exit;   /* its text is a view until the next call */
};

/* One direction of a session. */
struct podtalk {
    bool from_caller;               /* whose frames these are */
    bool begun, exited;             /* OPEN or OPENED came; EXIT came */
    bool tty;                       /* OPEN said so */
    unsigned streams;               /* bits of those on which DATA may still come */
    uint8_t head[PODTALK_HEAD + 1]; /* with the stream of DATA */
    size_t head_n;
    size_t left;     /* bytes of the frame that have not come */
    struct buf part; /* a frame that is no DATA */
    int failed;      /* ERR_SYNTAX or ERR_NOMEM */
};

void podtalk_init(struct podtalk *t, bool from_caller);
void podtalk_release(struct podtalk *t);

/* Takes bytes off *in up to the end of the next frame or piece of DATA. 0: *ret is it. ERR_AGAIN:
 * *in is used up, feed more. ERR_SYNTAX: the peer breaks the rules above; ERR_NOMEM. Both stick. */
int podtalk_next(struct podtalk *t, struct str *in, struct podtalk_frame *ret, struct err *err);
/* The peer closed. 0 when that is no surprise: after EXIT; or ERR_GONE, in the middle. */
int podtalk_closed(const struct podtalk *t, struct err *err);

/* The arguments one by one: start with *at = 0. */
bool podtalk_arg(const struct podtalk_open *o, size_t *at, struct str *ret);

/* Writing: each appends a whole frame (data: as many as it takes). A failure of the buffer sticks there. */
/* argv is taken from `args`, not from o->argv. ERR_TOO_LARGE, ERR_INVALID (a NUL or nothing in it),
 * and nothing was written. */
int podtalk_open(struct buf *b, const struct podtalk_open *o, const struct str *args, size_t n,
                 struct err *err);
void podtalk_opened(struct buf *b);
void podtalk_data(struct buf *b, enum podtalk_stream s, struct str bytes); /* none: nothing */
void podtalk_end(struct buf *b, enum podtalk_stream s);
void podtalk_resize(struct buf *b, uint16_t rows, uint16_t cols);
void podtalk_exit(struct buf *b, enum podtalk_end end, int value, struct str text);

#endif
