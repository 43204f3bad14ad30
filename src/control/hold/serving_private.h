/* serving_private: declarations shared by the files of serving. */
#ifndef BERTH_CONTROL_SERVING_PRIVATE_H
#define BERTH_CONTROL_SERVING_PRIVATE_H

#include "control/hold/hold.h"
#include "control/hold/serving.h"
#include "control/load/integration.h"

#define SERVING_STATEFULSET "statefulset"
#define SERVING_LWS "leaderworkerset.x-k8s.io/leaderworkerset"
#define LWS_NAME_LABEL "leaderworkerset.sigs.k8s.io/name"
#define LWS_INDEX_LABEL "leaderworkerset.sigs.k8s.io/group-index"
#define LWS_LEADER_ANNOTATION "leaderworkerset.sigs.k8s.io/leader-name"

/* Sorts of keys. */
enum { SERVING_SET, SERVING_LEADERS, SERVING_POD }; /* StatefulSets, LeaderWorkerSets, pods */

struct serving_controller {
    struct controller base;
    const struct queue_settings *settings;
    const struct kind *pods, *workloads, *namespaces; /* of base.kinds */
};

/* One look at a set that serves. */
struct set_look {
    struct serving_controller *c;
    const struct object *obj;
    struct hold_look h; /* its Workload, where it has one for all of its pods */
    yyjson_val *tree;
    int32_t replicas;
    struct str queue_name;
};

/* The kinds, as they are served now; NULL: nobody serves them. */
const struct kind *serving_kind(const char *framework);
/* 0 and *ret_ours: it is queued here. */
int serving_look(struct set_look *l, const char *framework, bool *ret_ours, struct err *err);
/* The Workload of a set, or of one of its replicas (index >= 0). */
struct str serving_workload_name(const struct object *o, int64_t index, struct arena *a);
/* Priority of what is made for it, as hold_priority. */
int serving_priority(struct set_look *l, const struct group_set *sets, size_t n,
                     struct workload_priority *ret);

/* serving_set.c, serving_leader.c: the work on a key. */
enum work serving_stateful_work(struct serving_controller *c, struct str ns, struct str name);
enum work serving_leader_work(struct serving_controller *c, struct str ns, struct str name);

#endif
