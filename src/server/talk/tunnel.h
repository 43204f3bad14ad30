/*
 * tunnel (server): SPDY's streams on a line, for ports.c and remote.c. Its user
 * embeds it first in a struct of the call's arena, and gets frames of streams;
 * pings, and a client that goes, are answered here.
 */
#ifndef BERTH_SERVER_TUNNEL_H
#define BERTH_SERVER_TUNNEL_H

#include "net/upgrade/spdy.h"
#include "server/talk/line.h"

struct tunnel;
struct tunnel_user {
    /* SYN_STREAM (of a number greater than all before), DATA, RST_STREAM. */
    void (*frame)(struct tunnel *t, const struct spdy_frame *f);
    bool (*full)(struct tunnel *t);
    void (*room)(struct tunnel *t);
    void (*gone)(struct tunnel *t); /* as line_user.gone */
};

struct tunnel {
    struct talk_line line;
    const struct tunnel_user *user;
    struct spdy *spdy;
    uint32_t last; /* the newest stream of the client */
};

int tunnel_open(struct tunnel *t, struct call *c, const struct tunnel_user *user, bool raw);
void tunnel_drop(struct tunnel *t); /* opened, and not started */
void tunnel_reply(struct tunnel *t, uint32_t stream);
void tunnel_send(struct tunnel *t, uint32_t stream, bool fin, struct str bytes);
void tunnel_reset(struct tunnel *t, uint32_t stream, uint32_t status);
void tunnel_end(struct tunnel *t); /* `gone` is not called */

#endif
