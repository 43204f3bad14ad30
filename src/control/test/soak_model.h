/*
 * soak_model: what a watcher of every committed change knows of pods, admissions and Jobs, kept apart from what the
 * controllers keep, and the rules that no change may break:
 *
 *     a pod is bound          its devices are legal places, nobody else's, and of its Workload's plan; the node
 *                             has the cpu and memory
 *     quota is reserved       once; limits of the queue and its cohort are kept; nobody else's places are planned
 *     a Job is complete       as many pods succeeded as it asked for
 *
 * A broken rule fails the test with the line that repeats the run.
 */
#ifndef BERTH_CONTROL_SOAK_MODEL_H
#define BERTH_CONTROL_SOAK_MODEL_H

#include "api/inventory.h"
#include "base/prng.h"
#include "control/test/fake_world.h"

enum {
    SOAK_NODES = 3,
    SOAK_GPUS = 2, /* of a node */
    SOAK_FLAVORS = 2,
    SOAK_QUEUES = 3,
    SOAK_PROFILES = 7,
    SOAK_RESOURCES = 3 + SOAK_PROFILES, /* cpu, memory, whole GPUs */
    SOAK_DEVICES = 4,
    SOAK_PODS = 512,
    SOAK_WORKLOADS = 128,
    SOAK_JOBS = 128,
    SOAK_NODE_CPU = 8000,  /* milli */
    SOAK_NODE_MEMORY = 16, /* Gi */
};

struct soak_device {
    int node, gpu, profile, start; /* profile -1: the whole GPU */
};

struct soak_pod {
    char uid[40], owner[40], ns[40], name[128];
    bool running, over, deleting;
    int64_t grace;
    int node; /* -1: not bound */
    int64_t cpu, memory;
    struct soak_device dev[SOAK_DEVICES];
    int devices;
};

struct soak_workload {
    char uid[40], owner[40], admission[2048];
    int queue;  /* of its admission */
    bool loose; /* a place of its plan was out of service, or pods of it are over for good */
    int64_t held[SOAK_FLAVORS][SOAK_RESOURCES];
    struct soak_device plan[SOAK_DEVICES * 4];
    int devices;
};

struct soak_job {
    char uid[40], ns[40], name[64];
    int completions, succeeded;
};

struct soak_quota {
    int64_t nominal, borrowing, lending; /* limits: -1: none */
};

struct soak_queue {
    bool stopped, strict, cohort, preempts, checks;
    struct soak_quota quota[SOAK_FLAVORS][SOAK_RESOURCES];
};

struct soak {
    struct fake_world w;
    struct prng r;
    uint64_t seed;
    struct feed *feed;
    struct arena arena;
    struct soak_queue queues[SOAK_QUEUES]; /* as last written */
    int64_t edited_ns; /* when quota was last edited: admissions under way are not called back */
    bool up[SOAK_NODES][SOAK_GPUS], away[SOAK_NODES]; /* away: not ready */
    bool there[SOAK_NODES], ready[SOAK_NODES];
    bool ends; /* pods come to their end by themselves */
    bool calm; /* and nothing breaks any more */
    /* Quota moves by itself: queues are not of the run, and their limits are not looked at */
    bool bookings;
    struct soak_pod pods[SOAK_PODS];
    struct soak_workload works[SOAK_WORKLOADS]; /* those that hold quota */
    struct soak_job jobs[SOAK_JOBS];
    int n_pods, n_works, n_jobs;
};

extern const struct gpu_profile soak_profiles[SOAK_PROFILES];
extern const char *const soak_resources[SOAK_RESOURCES];

void soak_watch(struct soak *s); /* from now on */
/* What is planned on this GPU is the plan's no more, once it went out of service. */
void soak_gpu_lost(struct soak *s, int node, int gpu);
__attribute__((noreturn, format(printf, 2, 3))) void soak_fail(const struct soak *s,
                                                               const char *fmt, ...);

#endif
