/*
 * line (server): an upgraded connection under pods/exec, pods/attach or
 * pods/portforward, and its place among the sessions that are bounded. It
 * carries messages (WebSocket) or plain bytes (SPDY after an upgrade).
 *
 *     line_open          counts it in; the answer is not sent yet, an error
 * still can be line_start         sends 101; from then on events come
 *     line_write ...     to the peer
 *     line_end           says goodbye, and sends what waits; `gone` is not
 * called
 *
 * It lives in the call's arena. `gone` is called once when the peer has left,
 * and when the session's right or token has ended or the server stops: then
 * something can still be said (line_write), and the connection ends by itself.
 */
#ifndef BERTH_SERVER_LINE_H
#define BERTH_SERVER_LINE_H

#include "net/upgrade/websocket.h"
#include "server/kit/context.h"

enum {
    LINE_HIGH = 256 << 10, /* bytes that wait either way, after which the other
                            side is not read */
};

struct talk_line;
struct line_user {
    /* A piece of a message, or bytes. All of what was read at once, at most 64
   * KiB, is given before `full` counts. */
    void (*piece)(struct talk_line *l, const struct websocket_piece *p);
    bool (*full)(struct talk_line *l); /* nothing more may come before line_resume */
    void (*room)(struct talk_line *l); /* nothing waits for the peer any more */
    void (*gone)(struct talk_line *l);
};

struct talk_line {
    struct call *call;
    const struct line_user *user;
    bool raw;  /* plain bytes: no WebSocket */
    bool left; /* the peer has said goodbye */
    bool ended;
    struct websocket socket;
    int64_t controls_since; /* wall time of the second in which control frames are
                             counted */
    int64_t active;         /* monotonic: of the newest data, either way */
    size_t sessions;        /* with pods, of this line */
    struct talk_line *next, **prev;
};

/* 0, or the failure is filled: the user, or all together, have as many sessions
 * as they may. */
int line_open(struct talk_line *l, struct call *c, const struct line_user *user, bool raw);
/* Counts one more session in; false: too many. line_release_session counts it
 * out. */
bool line_take_session(struct talk_line *l);
void line_release_session(struct talk_line *l);
/* With the headers that were added to the answer. */
void line_start(struct talk_line *l, const char *protocol);
/* A line that was opened and not started. */
void line_drop(struct talk_line *l);
/* One message of both parts (one may be empty); of a raw line, just bytes.
 * Nothing once the peer is gone. */
void line_write(struct talk_line *l, enum websocket_op op, struct str head, struct str rest);
size_t line_waiting(const struct talk_line *l);
void line_resume(struct talk_line *l);
void line_end(struct talk_line *l, uint16_t code, struct str reason);

#endif
