/*
 * auth (kube): the credentials of a connection, worked out anew for each request.
 *
 * A token file is looked at for each request and read again when it changed, or after a minute at the latest. A program
 * (user.exec) runs when its credential is first needed, when that expires, and after a 401; meanwhile requests wait.
 */
#ifndef BERTH_KUBE_AUTH_H
#define BERTH_KUBE_AUTH_H

#include "kube/config.h"
#include "net/loop.h"

struct auth;

/* `identity` is told a client certificate that a program gave (empty: none any more). c must outlive it. */
struct auth *auth_new(struct loop *l, const struct kube_config *c,
                      void (*identity)(void *ctx, struct str cert_pem, struct str key_pem),
                      void *ctx, struct err *err);
void auth_free(struct auth *a); /* those who wait are not called */

/* The lines to send, appended to lines[] (with room for auth_lines_max); they live in the arena. *ret_generation says
 * which credential this is. ERR_AGAIN: a program is being asked, wait for it (auth_wait). */
size_t auth_lines_max(const struct auth *a);
int auth_lines(struct auth *a, struct arena *arena, struct str *lines, size_t *n,
               uint64_t *ret_generation, struct err *err);
/* Somebody who waits; embedded. Called once, on the loop, never inside auth_wait. */
struct auth_waiter {
    struct auth_waiter *next, **prev;
    void (*ready)(void *ctx, int code, const struct err *err);
    void *ctx;
};
void auth_wait(struct auth *a, struct auth_waiter *w);
void auth_wait_cancel(struct auth_waiter *w); /* no-op when it does not wait */
/* The server answered 401 to this credential. True when another one may be had: ask again for lines. */
bool auth_refused(struct auth *a, uint64_t generation);

#endif
