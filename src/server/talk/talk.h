/*
 * talk (server): sessions with pods. talk.c looks at the request and chooses
 * the protocol:
 *
 *                      WebSocket       SPDY, after an upgrade or inside a
 * WebSocket (tunnel.c) exec, attach     channels.c      remote.c portforward
 * forward.c       ports.c
 */
#ifndef BERTH_SERVER_TALK_H
#define BERTH_SERVER_TALK_H

#include "server/talk/target.h"

enum { TALK_SIZE_TEXT = 1024 }; /* bytes of a terminal's size as text */

/* How a client and we speak; one row of the table in talk.c. */
struct talk_protocol {
    const char *name; /* "v5.channel.k8s.io"; as Sec-WebSocket-Protocol, or
                       X-Stream-Protocol-Version */
    bool base64;      /* messages are text: a digit, and base64 */
    bool half_close;  /* channel 255 ends a stream */
    bool status;      /* errors are a Status, with the exit code; else a text */
};

/* Each opens what it needs and answers with 101; or fills the failure. `raw`:
 * the connection carries SPDY itself. */
int channels_start(struct call *c, const struct talk_target *t, const struct talk_protocol *p);
int forward_start(struct call *c, const struct talk_target *t, const struct talk_protocol *p);
int remote_start(struct call *c, const struct talk_target *t, const struct talk_protocol *p);
int ports_start(struct call *c, const struct talk_target *t, bool raw);

/* The size of a terminal in {"Width":80,"Height":24}; false when that is none.
 */
bool talk_size(struct str text, uint16_t *ret_rows, uint16_t *ret_cols);
/* Appends how a session ended, as clients want to hear it: a Status, or a text.
 * Nothing, as text, for success. */
void talk_verdict(struct buf *b, const struct talk_protocol *p, enum podtalk_what what,
                  const struct podtalk_exit *e);

#endif
