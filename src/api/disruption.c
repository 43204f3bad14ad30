/* disruption: see disruption.h. */
#include "api/disruption.h"

#include "api/conditions.h"

bool disruption_pod_ready(yyjson_val *pod) {
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(json_path(pod, "status.conditions"), i, n, c) {
        if (str_is(json_str_at(c, "type"), "Ready")) {
            return str_is(json_str_at(c, "status"), "True");
        }
    }
    return false;
}

int disruption_set_condition(struct disruption_status *s, struct arena *a, int64_t now_ns) {
    bool any = s->disruptions_allowed > 0;
    struct condition_list list;
    int r = conditions_copy(&s->conditions, a, &list);
    r = r ? r
          : conditions_set(&list, a, DISRUPTION_ALLOWED, any,
                           any ? "SufficientPods" : "InsufficientPods", STR(""), now_ns,
                           s->observed_generation, NULL);
    if (r == 0) {
        s->conditions = list;
    }
    return r;
}

int disruption_add_pod(struct disruption_status *s, struct arena *a, struct str pod,
                       int64_t now_ns) {
    size_t n = s->disrupted_pods.n, at = n;
    struct time_pair *v = ARENA_ARRAY(a, struct time_pair, n + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = s->disrupted_pods.v[i];
        at = str_eq(v[i].key, pod) ? i : at;
    }
    v[at] = (struct time_pair){pod, now_ns};
    s->disrupted_pods.v = v;
    s->disrupted_pods.n = at == n ? n + 1 : n;
    return 0;
}

int64_t disruption_of_pod(const struct disruption_status *s, struct str pod) {
    for (size_t i = 0; i < s->disrupted_pods.n; i++) {
        if (str_eq(s->disrupted_pods.v[i].key, pod)) {
            return s->disrupted_pods.v[i].value;
        }
    }
    return 0;
}
