/*
 * policy: NetworkPolicies as walls (model.h): which pods are closed, and whom they let through. Pure.
 *
 * Pods to which the same policies apply share a wall, so that there are as many walls as there are sets of policies,
 * not as there are pods. Everything is worked out anew when something changed; what comes out the same is not told.
 */
#ifndef BERTH_NODE_NET_POLICY_H
#define BERTH_NODE_NET_POLICY_H

#include "api/selector.h"
#include "base/arena.h"
#include "base/buf.h"
#include "wire/json/json.h"

struct policy_pod {
    struct str ns, ip;
    const struct str_map *labels;
};
struct policy_space {
    struct str name;
    const struct str_map *labels;
};
struct policy_text {
    struct str ns, name;
    yyjson_val *spec;
};

struct policy_in {
    const struct policy_pod *pods;
    const struct policy_space *spaces;
    const struct policy_text *policies;
    size_t n_pods, n_spaces, n_policies;
    struct arena *arena;
    /* Gets each record, a wall before the pods that have it. */
    void (*put)(void *ctx, struct str key, struct str json);
    void *ctx;
};

/* 0 or ERR_NOMEM. */
int policy_records(const struct policy_in *in);

#endif
