/*
 * podlog: one line of a container's log file, as Kubernetes' runtimes write them:
 *
 *     2026-01-02T03:04:05.123456789Z stdout F hello
 *
 * Time in RFC 3339 with nanoseconds, the stream, F (a full line) or P (a part of a line, more
 * follows), the text. The text itself never holds a newline.
 */
#ifndef BERTH_WIRE_PODLOG_H
#define BERTH_WIRE_PODLOG_H

#include "base/buf.h"
#include "base/err.h"

enum podlog_stream { PODLOG_STDOUT, PODLOG_STDERR };

struct podlog_line {
    int64_t time_ns;
    enum podlog_stream stream;
    bool full;
    struct str stamp; /* the time as it was written */
    struct str text;
};

/* Appends one line. */
void podlog_write(struct buf *b, int64_t time_ns, enum podlog_stream stream, bool full,
                  struct str text);

/* Takes the first line off *rest into *ret (views of *rest). ERR_AGAIN: no whole line yet, *rest as
 * it was. ERR_SYNTAX: the line was not one of ours and has been taken off. */
int podlog_next(struct str *rest, struct podlog_line *ret);

#endif
