/*
 * ask_grpc: grpc.health.v1.Health/Check over a bare HTTP/2 connection (RFC 9113): one request on stream 1, whose head
 * needs no compression tables; of the answer only the message is looked at.
 */
#include "node/life/ask.h"

enum { FRAME_DATA = 0, FRAME_HEADERS = 1, FRAME_RESET = 3, FRAME_SETTINGS = 4, FRAME_PING = 6 };
enum { FRAME_GOAWAY = 7, FLAG_END = 1, FLAG_ACK = 1, FLAG_HEAD_WHOLE = 4, FLAG_PADDED = 8 };
enum { SERVING = 1 };

static void frame(struct buf *b, size_t n, int type, int flags, unsigned stream) {
    const unsigned char head[9] = {(unsigned char)(n >> 16),
                                   (unsigned char)(n >> 8),
                                   (unsigned char)n,
                                   (unsigned char)type,
                                   (unsigned char)flags,
                                   0,
                                   0,
                                   0,
                                   (unsigned char)stream};
    buf_add(b, head, sizeof(head));
}

/* A literal of at most 126 bytes. */
static void literal(struct buf *b, const char *text) {
    size_t n = strlen(text);

    n = n > 126 ? 126 : n;
    buf_ch(b, (char)n);
    buf_add(b, text, n);
}

void ask_grpc_request(const struct handler *h, struct buf *out) {
    size_t n = strlen(h->service);
    struct buf head;
    char authority[127];

    n = n > 126 ? 126 : n;
    buf_init(&head, 1024);
    snprintf(authority, sizeof(authority), "%.110s:%u", h->host, h->port);
    buf_c(&head, "\x83\x86\x04"); /* POST, http, :path */
    literal(&head, "/grpc.health.v1.Health/Check");
    buf_ch(&head, 0x01); /* :authority */
    literal(&head, authority);
    buf_c(&head, "\x0f\x10"); /* content-type */
    literal(&head, "application/grpc");
    buf_ch(&head, 0);
    literal(&head, "te");
    literal(&head, "trailers");
    buf_c(&head, "\x0f\x2b"); /* user-agent */
    literal(&head, "kube-probe/1.34");
    buf_c(out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    frame(out, 0, FRAME_SETTINGS, 0, 0);
    frame(out, head.n, FRAME_HEADERS, FLAG_HEAD_WHOLE, 1);
    buf_str(out, buf_view(&head));
    frame(out, 5 + (n ? n + 2 : 0), FRAME_DATA, FLAG_END, 1);
    buf_add(out, (const char[]){0, 0, 0, 0, (char)(n ? n + 2 : 0)}, 5);
    if (n) {
        buf_ch(out, 0x0a); /* field 1: the service */
        literal(out, h->service);
    }
    buf_release(&head);
}

static bool over(struct inquiry *a, bool ok, const char *before, const char *word,
                 const char *after) {
    a->ok = ok;
    snprintf(a->text, sizeof(a->text), "%s%s%s", before, word, after);
    return true;
}

static bool failed(struct inquiry *a, const char *why) {
    return over(a, false, "error: health rpc probe failed: ", why, "");
}

/* HealthCheckResponse: field 1 is the status, and absent when it is 0. */
static bool judge(struct inquiry *a) {
    static const char *const words[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
    const unsigned char *p = (const unsigned char *)a->grpc.p;

    if (a->grpc.n < 5) {
        return false;
    }
    size_t n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (p[0] != 0 || n > 1024) {
        return failed(a, "the answer is not understood");
    }
    if (a->grpc.n < 5 + n) {
        return false;
    }
    unsigned status = n >= 2 && p[5] == 0x08 ? p[6] : 0;
    if (status == SERVING) {
        return over(a, true, "", "service healthy", "");
    }
    return over(a, false, "service unhealthy (responded with \"", words[status < 4 ? status : 0],
                "\")");
}

static bool one_frame(struct inquiry *a, int type, int flags, struct str body) {
    if (type == FRAME_SETTINGS && !(flags & FLAG_ACK)) {
        frame(&a->out, 0, FRAME_SETTINGS, FLAG_ACK, 0);
    } else if (type == FRAME_PING && !(flags & FLAG_ACK) && body.n == 8) {
        frame(&a->out, 8, FRAME_PING, FLAG_ACK, 0);
        buf_str(&a->out, body);
    } else if (type == FRAME_RESET || type == FRAME_GOAWAY) {
        return failed(a, "the server closed the stream");
    } else if (type == FRAME_DATA) {
        size_t pad = (flags & FLAG_PADDED) && body.n ? (unsigned char)body.p[0] : 0;
        body = flags & FLAG_PADDED ? str_skip(body, 1) : body;
        buf_str(&a->grpc, str_head(body, body.n > pad ? body.n - pad : 0));
        if (judge(a)) {
            return true;
        }
    }
    return (type == FRAME_DATA || type == FRAME_HEADERS) && (flags & FLAG_END) &&
           over(a, false,
                "error: this server does not implement the grpc health protocol "
                "(grpc.health.v1.Health): ",
                "it answered without a status", "");
}

bool ask_grpc_frames(struct inquiry *a) {
    while (a->in.n >= 9) {
        const unsigned char *p = (const unsigned char *)a->in.p;
        size_t n = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];
        if (n > 16384) {
            return failed(a, "this is not HTTP/2");
        }
        if (a->in.n < 9 + n) {
            return false;
        }
        if (one_frame(a, p[3], p[4], str_from(a->in.p + 9, n))) {
            return true;
        }
        buf_consume(&a->in, 9 + n);
    }
    return (buf_ok(&a->in) || buf_ok(&a->out) || buf_ok(&a->grpc)) &&
           failed(a, "the answer is too long");
}
