/* podtalk: see podtalk.h. A codec: bytes in, frames out, no socket. */
#include "wire/podtalk.h"

#include "base/limits.h"

enum {
    OPEN_FIXED = 9, /* what, with, rows, cols, port, length of the container's name */
    EXIT_FIXED = 2,
    KEEP_BYTES = 1024, /* a buffer up to this size is kept between frames */
    SIGNAL_MAX = 64,
    STREAM_CALLER = 1u << PODTALK_STDIN,
    STREAM_SHIM = 1u << PODTALK_STDOUT | 1u << PODTALK_STDERR,
    WITH_ALL = PODTALK_WITH_STDIN | PODTALK_WITH_STDOUT | PODTALK_WITH_STDERR | PODTALK_TTY,
};

void podtalk_init(struct podtalk *t, bool from_caller) {
    *t = (struct podtalk){.from_caller = from_caller, .streams = from_caller ? 0 : STREAM_SHIM};
    buf_init(&t->part, PODTALK_BYTES_MAX);
}

void podtalk_release(struct podtalk *t) {
    buf_release(&t->part);
}

static uint16_t u16_at(const char *p) {
    return (uint16_t)((uint8_t)p[0] << 8 | (uint8_t)p[1]);
}

static bool has_nul(struct str s) {
    return s.n > 0 && memchr(s.p, 0, s.n) != NULL;
}

static int broken(struct err *err, const char *why) {
    return err_set(err, ERR_SYNTAX, "a session's peer breaks the protocol: %s", why);
}

/* ---- what is in a frame ---- */

bool podtalk_arg(const struct podtalk_open *o, size_t *at, struct str *ret) {
    struct str rest = str_skip(o->argv, *at), tail;

    if (!str_cut(rest, 0, ret, &tail)) {
        return false;
    }
    *at += ret->n + 1;
    return true;
}

static int check_open(const struct podtalk_open *o, struct err *err) {
    bool connect = o->what == PODTALK_CONNECT, exec = o->what == PODTALK_EXEC;

    if (o->what < PODTALK_EXEC || o->what > PODTALK_CONNECT) {
        return broken(err, "OPEN of an unknown kind");
    }
    if ((o->with & ~(unsigned)WITH_ALL) != 0 || (connect && o->with != 0) ||
        ((o->with & PODTALK_TTY) && (o->with & PODTALK_WITH_STDERR))) {
        return broken(err, "OPEN with streams that do not go together");
    }
    if (connect != (o->port != 0) || connect != (o->container.n == 0)) {
        return broken(err, "OPEN takes a port, or the name of a container");
    }
    if (o->container.n > LIMIT_LABEL || has_nul(o->container)) {
        return broken(err, "OPEN with an impossible name of a container");
    }
    if (exec != (o->argc > 0) || o->argc > LIMIT_EXEC_ARGS || o->argv.n > LIMIT_EXEC_ARGS_BYTES) {
        return broken(err, "OPEN with no command, or one that is too long");
    }
    return 0;
}

static int read_open(struct str b, struct podtalk_open *ret, struct err *err) {
    struct podtalk_open o = {0};
    struct str arg;

    if (b.n < OPEN_FIXED || b.n - OPEN_FIXED < (uint8_t)b.p[8]) {
        return broken(err, "OPEN is cut short");
    }
    o.what = (enum podtalk_what)(uint8_t)b.p[0];
    o.with = (uint8_t)b.p[1];
    o.rows = u16_at(b.p + 2);
    o.cols = u16_at(b.p + 4);
    o.port = u16_at(b.p + 6);
    o.container = str_from(b.p + OPEN_FIXED, (uint8_t)b.p[8]);
    o.argv = str_skip(b, OPEN_FIXED + o.container.n);
    if (o.argv.n > 0 && o.argv.p[o.argv.n - 1] != 0) {
        return broken(err, "OPEN with an argument that does not end");
    }
    for (size_t at = 0; podtalk_arg(&o, &at, &arg);) {
        o.argc++;
    }
    int r = check_open(&o, err);
    if (r == 0) {
        *ret = o;
    }
    return r;
}

static int read_exit(struct str b, struct podtalk_exit *ret, struct err *err) {
    static const int most[] = {[PODTALK_CODE] = 255,
                               [PODTALK_SIGNAL] = SIGNAL_MAX,
                               [PODTALK_FAILED] = PODTALK_UNSUPPORTED};

    if (b.n < EXIT_FIXED || b.n > EXIT_FIXED + PODTALK_TEXT_MAX) {
        return broken(err, "EXIT is cut short, or too long");
    }
    unsigned end = (uint8_t)b.p[0];
    int value = (uint8_t)b.p[1];
    if (end > PODTALK_FAILED || value > most[end] || (end != PODTALK_CODE && value == 0) ||
        (end != PODTALK_FAILED && b.n > EXIT_FIXED)) {
        return broken(err, "EXIT says what cannot be");
    }
    *ret = (struct podtalk_exit){(enum podtalk_end)end, value, str_skip(b, EXIT_FIXED)};
    return 0;
}

/* ---- the order of frames ---- */

static bool expected(const struct podtalk *t, enum podtalk_type type) {
    if (t->exited) {
        return false;
    }
    switch (type) {
    case PODTALK_OPEN:
        return t->from_caller && !t->begun;
    case PODTALK_OPENED:
        return !t->from_caller && !t->begun;
    case PODTALK_DATA:
    case PODTALK_END:
        return t->begun;
    case PODTALK_RESIZE:
        return t->from_caller && t->begun && t->tty;
    case PODTALK_EXIT:
        return !t->from_caller;
    }
    return false;
}

static int take_end(struct podtalk *t, struct str b, struct podtalk_frame *ret, struct err *err) {
    unsigned stream = b.n == 1 ? (uint8_t)b.p[0] : UINT8_MAX;

    if (stream > PODTALK_STDERR || !(t->streams & 1u << stream)) {
        return broken(err, "END of a stream that is not open");
    }
    t->streams &= ~(1u << stream);
    ret->stream = (enum podtalk_stream)stream;
    return 0;
}

static int take_open(struct podtalk *t, struct str b, struct podtalk_frame *ret, struct err *err) {
    int r = read_open(b, &ret->open, err);

    if (r == 0) {
        bool in = ret->open.what == PODTALK_CONNECT || (ret->open.with & PODTALK_WITH_STDIN);
        t->begun = true;
        t->tty = ret->open.with & PODTALK_TTY;
        t->streams = in ? STREAM_CALLER : 0;
    }
    return r;
}

static int take_resize(struct str b, struct podtalk_frame *ret, struct err *err) {
    ret->rows = b.n == 4 ? u16_at(b.p) : 0;
    ret->cols = b.n == 4 ? u16_at(b.p + 2) : 0;
    return ret->rows && ret->cols ? 0 : broken(err, "RESIZE to nothing");
}

/* A whole frame that is no DATA. */
static int take(struct podtalk *t, struct podtalk_frame *ret, struct err *err) {
    struct str b = buf_view(&t->part);
    struct podtalk_frame f = {.type = (enum podtalk_type)t->head[0]};
    int r = 0;

    switch (f.type) {
    case PODTALK_OPEN:
        r = take_open(t, b, &f, err);
        break;
    case PODTALK_OPENED:
        r = b.n == 0 ? 0 : broken(err, "OPENED with something in it");
        t->begun = true;
        break;
    case PODTALK_END:
        r = take_end(t, b, &f, err);
        break;
    case PODTALK_RESIZE:
        r = take_resize(b, &f, err);
        break;
    case PODTALK_EXIT:
        r = read_exit(b, &f.exit, err);
        t->exited = true;
        break;
    case PODTALK_DATA:
        break; /* is not gathered */
    }
    if (r == 0) {
        *ret = f;
    }
    return r;
}

/* ---- bytes ---- */

/* Takes the head of a frame, and the stream of DATA. ERR_AGAIN: not all of it is there. */
static int read_head(struct podtalk *t, struct str *in, struct err *err) {
    size_t want = t->head[0] == PODTALK_DATA && t->head_n > 0 ? PODTALK_HEAD + 1 : PODTALK_HEAD;

    while (t->head_n < want) {
        if (in->n == 0) {
            return ERR_AGAIN;
        }
        t->head[t->head_n++] = (uint8_t)in->p[0];
        *in = str_skip(*in, 1);
        want = t->head[0] == PODTALK_DATA ? PODTALK_HEAD + 1 : PODTALK_HEAD;
    }
    t->left = (size_t)t->head[1] << 16 | (size_t)t->head[2] << 8 | t->head[3];
    if (t->left > PODTALK_BYTES_MAX) {
        return broken(err, "a frame is too long");
    }
    if (!expected(t, (enum podtalk_type)t->head[0])) {
        return broken(err, "a frame that cannot come now");
    }
    if (t->head[0] == PODTALK_DATA) {
        unsigned stream = t->head[PODTALK_HEAD];
        if (stream > PODTALK_STDERR || !(t->streams & 1u << stream) || t->left < 2) {
            return broken(err, "DATA of a stream that is not open, or empty");
        }
        t->left--;
    }
    return 0;
}

static int next(struct podtalk *t, struct str *in, struct podtalk_frame *ret, struct err *err) {
    bool within = t->left > 0; /* bytes of the frame's own are missing */
    int r = within ? 0 : read_head(t, in, err);

    if (r != 0) {
        return r;
    }
    struct str piece = str_head(*in, t->left);
    bool data = t->head[0] == PODTALK_DATA;
    if (!data) {
        buf_str(&t->part, piece);
        if (buf_ok(&t->part) != 0) {
            return err_set(err, ERR_NOMEM, "no memory for a session's frame");
        }
    }
    *in = str_skip(*in, piece.n);
    t->left -= piece.n;
    if (data && piece.n > 0) {
        *ret = (struct podtalk_frame){.type = PODTALK_DATA,
                                      .stream = (enum podtalk_stream)t->head[PODTALK_HEAD],
                                      .data = piece};
        t->head_n = t->left > 0 ? t->head_n : 0;
        return 0;
    }
    if (t->left > 0) {
        return ERR_AGAIN;
    }
    t->head_n = 0;
    return take(t, ret, err);
}

int podtalk_next(struct podtalk *t, struct str *in, struct podtalk_frame *ret, struct err *err) {
    if (t->failed != 0) {
        return err_set(err, t->failed, "the session has failed");
    }
    if (t->head_n == 0 && t->part.cap > KEEP_BYTES) {
        buf_release(&t->part);
        buf_init(&t->part, PODTALK_BYTES_MAX);
    } else if (t->head_n == 0) {
        buf_reset(&t->part);
    }
    int r = next(t, in, ret, err);
    t->failed = r == ERR_AGAIN ? 0 : r;
    return r;
}

int podtalk_closed(const struct podtalk *t, struct err *err) {
    return t->exited ? 0 : err_set(err, ERR_GONE, "the session's peer went away");
}

/* ---- writing ---- */

static void add_u16(struct buf *b, uint16_t v) {
    buf_ch(b, (char)(v >> 8));
    buf_ch(b, (char)(v & 0xff));
}

static void add_head(struct buf *b, enum podtalk_type type, size_t n) {
    buf_ch(b, (char)type);
    buf_ch(b, (char)(n >> 16));
    add_u16(b, (uint16_t)(n & 0xffff));
}

int podtalk_open(struct buf *b, const struct podtalk_open *o, const struct str *args, size_t n,
                 struct err *err) {
    struct podtalk_open whole = *o;

    whole.argc = n;
    whole.argv = (struct str){0};
    for (size_t i = 0; i < n; i++) {
        if (args[i].n > LIMIT_EXEC_ARGS_BYTES || whole.argv.n > LIMIT_EXEC_ARGS_BYTES) {
            return err_set(err, ERR_TOO_LARGE, "the command has more than %d bytes",
                           LIMIT_EXEC_ARGS_BYTES);
        }
        if (has_nul(args[i])) {
            return err_set(err, ERR_INVALID, "an argument of the command contains a NUL");
        }
        whole.argv.n += args[i].n + 1;
    }
    int r = check_open(&whole, err);
    if (r != 0) {
        return err_set(err, ERR_INVALID, "not a session that can be opened");
    }
    add_head(b, PODTALK_OPEN, OPEN_FIXED + o->container.n + whole.argv.n);
    buf_ch(b, (char)o->what);
    buf_ch(b, (char)o->with);
    add_u16(b, o->rows);
    add_u16(b, o->cols);
    add_u16(b, o->port);
    buf_ch(b, (char)o->container.n);
    buf_str(b, o->container);
    for (size_t i = 0; i < n; i++) {
        buf_str(b, args[i]);
        buf_ch(b, 0);
    }
    return 0;
}

void podtalk_opened(struct buf *b) {
    add_head(b, PODTALK_OPENED, 0);
}

void podtalk_data(struct buf *b, enum podtalk_stream s, struct str bytes) {
    while (bytes.n > 0) {
        struct str piece = str_head(bytes, PODTALK_BYTES_MAX - 1);
        add_head(b, PODTALK_DATA, piece.n + 1);
        buf_ch(b, (char)s);
        buf_str(b, piece);
        bytes = str_skip(bytes, piece.n);
    }
}

void podtalk_end(struct buf *b, enum podtalk_stream s) {
    add_head(b, PODTALK_END, 1);
    buf_ch(b, (char)s);
}

void podtalk_resize(struct buf *b, uint16_t rows, uint16_t cols) {
    add_head(b, PODTALK_RESIZE, 4);
    add_u16(b, rows);
    add_u16(b, cols);
}

void podtalk_exit(struct buf *b, enum podtalk_end end, int value, struct str text) {
    text = str_head(text, end == PODTALK_FAILED ? PODTALK_TEXT_MAX : 0);
    add_head(b, PODTALK_EXIT, EXIT_FIXED + text.n);
    buf_ch(b, (char)end);
    buf_ch(b, (char)value);
    buf_str(b, text);
}
