/*
 * env: what a world gives its controllers. The same controllers run in `berth up`, on a cluster and in the simulator;
 * only what stands behind these pointers differs.
 *
 * Everything is borrowed and outlives the controllers; all calls are made on the loop thread. A controller reads the
 * mirror, writes through the writer (by patch, never by putting back what it decoded), takes time from the clock, and
 * makes its random choices from `seed`, so that a simulated run can be repeated.
 *
 * A new controller (kit/controller.h) subscribes to the mirror's feeds and looks at what is already there, so that one
 * that was stopped at any point and made anew goes on where the objects say it was. It may be freed at any time: writes
 * under way are forgotten (kit/round.h), not waited for.
 */
#ifndef BERTH_CONTROL_ENV_H
#define BERTH_CONTROL_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/offload.h"
#include "base/str.h"
#include "mirror/mirror.h"
#include "mirror/writer.h"
#include "port/virtual.h"

struct calendar_seat; /* port/calendar_source.h */
struct err;
struct prom;
struct zones;          /* wire/text/zone.h */
struct queue_settings; /* control/load/queue_settings.h */
struct gpu_inventory;  /* control/load/gpu_inventory.h */

/* Where clients reach the API. */
struct api_address {
    struct str host;
    uint16_t port;         /* 0: not known yet */
    struct str cluster_ip; /* of Service default/kubernetes; empty: it is headless */
};

/* What is over, and how much of it stays; 0: all, for ever. */
struct retention {
    size_t pods;     /* finished ones, the newest */
    size_t events;   /* the newest; none is kept longer than an hour in any case */
    int64_t jobs_ns; /* how long finished Jobs are kept whose spec has no ttlSecondsAfterFinished */
};

struct control_env {
    struct mirror *mirror;
    struct writer *writer;
    struct clock *clock;
    struct log *log;
    uint64_t seed;
    const struct queue_settings *settings; /* NULL: the defaults */
    struct prom *prom; /* registry of metrics (wire/prometheus.h); NULL: none are kept */
    /* PEM for each namespace's ConfigMap kube-root-ca.crt; empty: none is made */
    struct str root_ca;
    /* Where controllers register what they answer; NULL: nowhere */
    struct virtual_registry *virtuals;
    /* Who writes: unlike that of all controllers before, here or elsewhere, of whose writes some may yet land. Empty:
     * nobody's writes outlive him. */
    struct str term;
    const char *role;        /* static; of this replica, in metrics; NULL: "standalone" */
    size_t events_waiting;   /* Events that may wait to be written, of each recorder; 0: 98,304 */
    struct offload *offload; /* for what-if runs; NULL: on the loop thread */
    struct gpu_inventory *gpus; /* of nodes that others run; NULL: not kept */
    struct zones *zones;        /* time zones of bookings; NULL: UTC alone */
    /* How many queued objects, and heads of queues, are looked at before others have their turn; 0: few, as suits a
     * loop that serves requests. Where time stands still, many: what comes at one moment is decided at once. */
    size_t turn;
    /* The machine's randomness, for what nobody may guess; NULL: from the seed, for simulations and tests. */
    int (*random)(void *p, size_t n, struct err *err);
    const struct api_address *api; /* NULL: nobody is told where the API is */
    struct retention kept;
    bool claims; /* claims are bound here: pods wait for theirs before they are placed */
    /* Where calendars are answered from; NULL: nobody serves them */
    struct calendar_seat *calendar;
};

#endif
