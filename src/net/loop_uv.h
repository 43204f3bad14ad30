/* loop_uv: libuv's loop behind a struct loop, for the other files of net only. */
#ifndef BERTH_NET_LOOP_UV_H
#define BERTH_NET_LOOP_UV_H

#include <uv.h>

#include "net/loop.h"

uv_loop_t *loop_uv(struct loop *l);

/* Sets ERR_IO with libuv's text and returns it. */
int loop_uv_err(struct err *err, int uv_code, const char *what);

/* Reaping of children, in loop_child.c. */
struct loop_children {
    struct loop_child *first;
    uv_signal_t sigchld;
    bool watching;
};
struct loop_children *loop_children(struct loop *l);
void loop_children_release(struct loop_children *c);

#endif
