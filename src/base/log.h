/*
 * log: where a shell writes its lines, by interface.
 *
 * Only shells log (world, node, controllers' drivers), once per event, with the object's name. Libraries return errors.
 * A line is one text without newline; control bytes are replaced on the way out. Secrets never go in.
 */
#ifndef BERTH_BASE_LOG_H
#define BERTH_BASE_LOG_H

#include <stdarg.h>

#include "base/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log {
    enum log_level level; /* lines above it are dropped */
    void (*write)(struct log *l, enum log_level level, struct str line);
};

void log_at(struct log *l, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(l, ...) log_at((l), LOG_ERROR, __VA_ARGS__)
#define log_warn(l, ...) log_at((l), LOG_WARN, __VA_ARGS__)
#define log_info(l, ...) log_at((l), LOG_INFO, __VA_ARGS__)
#define log_debug(l, ...) log_at((l), LOG_DEBUG, __VA_ARGS__)

/* Writes "LEVEL text" lines with a UTC time to file descriptor `fd`. One per process, in world. */
struct log_fd {
    struct log log;
    int fd;
};
void log_fd_init(struct log_fd *l, enum log_level level, int fd);

#endif
