/*
 * admin_socket: a Unix socket in the data folder through which verbs on the same machine ask a running `berth up`.
 *
 * Whoever may open the socket (0600, in a 0700 folder) may ask. One request a connection, one line each way:
 *
 *     "backup /absolute/path\n"              ->   "ok\n" or "error TEXT\n"
 *     "dashboard[\tUSER[\tGROUP]...]\n"      ->   "ok ADDRESS\n" or "error TEXT\n"
 */
#ifndef BERTH_WORLD_ADMIN_SOCKET_H
#define BERTH_WORLD_ADMIN_SOCKET_H

#include "base/buf.h"
#include "net/loop.h"

struct admin_socket;
struct admin_call; /* one connection that waits for its answer */

/* handle(ctx, call, line) answers now or later with admin_reply, exactly once. */
int admin_socket_open(struct loop *l, const char *path,
                      void (*handle)(void *ctx, struct admin_call *call, struct str line),
                      void *ctx, struct admin_socket **ret, struct err *err);
void admin_reply(struct admin_call *call, int code, const struct err *why); /* 0: ok */
void admin_reply_text(struct admin_call *call,
                      struct str text);          /* ok, and a text of at most 2000 bytes */
void admin_socket_close(struct admin_socket *s); /* NULL is a no-op; calls not answered are cut */

/* The other side, blocking: sends the line, waits for the answer. ERR_GONE when nobody listens. */
int admin_ask(const char *path, struct str line, struct err *err);
/* The same, where the answer has a text: appended to ret. */
int admin_ask_text(const char *path, struct str line, struct buf *ret, struct err *err);

#endif
