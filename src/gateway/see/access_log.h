/*
 * access_log: one line of JSON for each request: who asked which model, what came of it, how long it took and how many
 * tokens it was. Never a prompt, an answer, a header or a secret.
 *
 * Lines go to a file by a thread of their own, so that no worker waits for a disk; at most ACCESS_LOG_BYTES wait, and
 * what does not fit is dropped and counted.
 */
#ifndef BERTH_GATEWAY_ACCESS_LOG_H
#define BERTH_GATEWAY_ACCESS_LOG_H

#include "gateway/observe.h"

enum { ACCESS_LOG_BYTES = 4 << 20 };

struct access_log;

/* fd: where lines are appended; borrowed. ERR_NOMEM. */
int access_log_new(int fd, struct access_log **ret, struct err *err);
void access_log_free(struct access_log *l); /* writes what waits; NULL is a no-op */
/* Any thread. */
void access_log_add(struct access_log *l, const struct gateway_seen *s);
uint64_t access_log_dropped(struct access_log *l);

/* The line, with its line break; for tests. */
void access_log_line(const struct gateway_seen *s, struct buf *out);

#endif
