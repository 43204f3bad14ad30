/*
 * log_source: where the API server gets a pod's log from, by interface.
 *
 * In the embedded world node/streams/logread reads the files on this machine; tests have their own. Loop thread only.
 */
#ifndef BERTH_PORT_LOG_SOURCE_H
#define BERTH_PORT_LOG_SOURCE_H

#include "mirror/object.h"

struct log_reader;

struct log_options {
    struct str container; /* never empty */
    bool follow, previous, timestamps;
    int64_t since_ns;    /* wall time; 0: from the start */
    int64_t tail_lines;  /* -1: all */
    int64_t limit_bytes; /* -1: no limit */
    bool stdout_only, stderr_only;
};

struct log_source {
    /* data(ctx, bytes) brings whole lines; false pauses until resume. end(ctx, err) comes once, err NULL at a clean end
     * (with follow: when the container ended). Neither is called inside open. ERR_NOT_FOUND: no log (yet). */
    int (*open)(struct log_source *s, const struct object *pod, const struct log_options *o,
                bool (*data)(void *ctx, struct str bytes),
                void (*end)(void *ctx, const struct err *err), void *ctx, struct log_reader **ret,
                struct err *err);
    void (*resume)(struct log_reader *r);
    void (*close)(struct log_reader *r); /* end is not called any more */
};

#endif
