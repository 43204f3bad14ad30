/*
 * life_scene: a fake world with the controllers of Jobs and queues, and short words for objects in it. For tests of
 * what happens to Workloads.
 */
#ifndef BERTH_CONTROL_LIFE_SCENE_H
#define BERTH_CONTROL_LIFE_SCENE_H

#include "base/test.h"

#include "control/hold/job_queue.h"
#include "control/hold/workload_life.h"
#include "control/kit/controller.h"
#include "control/kube/gc.h"
#include "control/kube/job.h"
#include "control/load/priority_class.h"
#include "control/load/queue_settings.h"
#include "control/queue/queue_controller.h"
#include "control/test/fake_world.h"
#include "wire/text/time.h"

struct scene {
    struct fake_world w;
    struct queue_settings settings;
    struct queue_controller *queues;
    struct controller *jobs;
    struct controller *job_queue;
    struct controller *life;
    struct controller *classes;
    struct controller *gc;
    int outcome; /* of pods: -1 runs on */
};

void scene_controllers(struct scene *s);
void scene_stop(struct scene *s);
/* An empty world with the default settings; change s->settings before scene_controllers. */
void scene_start(struct scene *s);
void scene_end(struct scene *s);
/* Five seconds without a kubelet. */
void scene_settle(struct scene *s);
void scene_flavor(struct scene *s, const char *name);
/* A ClusterQueue over flavor f and its LocalQueue of the same name; `more` is added to the spec. */
void scene_queue(struct scene *s, const char *name, int cpu, const char *more);
void scene_job(struct scene *s, const char *name, const char *q, int pods, const char *meta);
/* A Workload without a Job; `meta` and `spec` are added. */
void scene_workload(struct scene *s, const char *name, const char *q, int cpu, const char *meta,
                    const char *spec);
/* An AdmissionCheck, made where it is not there, and its condition Active. */
void scene_check(struct scene *s, const char *name, bool active);
/* A Workload by the beginning of its name: "a", "job-a-". */
const struct object *scene_get(struct scene *s, const char *prefix);
/* What a check says of a Workload; after > 0: requeueAfterSeconds. */
void scene_decide(struct scene *s, const char *wl, const char *name, const char *state, int after);
/* A merge patch of a Workload, and of another object. */
void scene_edit(struct scene *s, const char *wl, const char *json);
void scene_spec(struct scene *s, const char *kind, const char *name, const char *json);

#define KUEUE "\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","
#define WITH_CHECK ",\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\"}]}"
#define PREEMPTS ",\"preemption\":{\"withinClusterQueue\":\"LowerPriority\"}"

#define IS(wl, type, status, reason, message)                                                      \
    do {                                                                                           \
        const struct object *o_ = scene_get(&s, wl);                                               \
        assert_string_equal(fake_world_condition(o_, type), status);                               \
        assert_string_equal(fake_world_condition_reason(o_, type), reason);                        \
        if (*(message)) {                                                                          \
            assert_string_equal(fake_world_condition_message(o_, type), message);                  \
        }                                                                                          \
    } while (0)
#define TEXT(wl, path, want) assert_string_equal(fake_world_text(scene_get(&s, wl), path), want)
#define NONE(wl, type) assert_string_equal(fake_world_condition(scene_get(&s, wl), type), "")
#define EVENTS(reason, n) assert_int_equal(fake_world_events(&s.w, reason), n)

#endif
