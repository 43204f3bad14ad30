/*
 * scale_pack: how many nodes of each group pending pods need, and which groups the expanders keep.
 */
#include "core/scale/pack.h"
#include "scale_case.h"

static struct quantity_map amounts(struct arena *a, yyjson_val *v) {
    struct quantity_map m = {ARENA_ARRAY(a, struct quantity_pair, yyjson_obj_size(v) + 1), 0};
    size_t i, max;
    yyjson_val *key, *value;
    if (yyjson_is_obj(v)) {
        yyjson_obj_foreach(v, i, max, key, value) {
            m.v[m.n].key = json_str(key);
            m.n += quantity_parse(json_str(value), &m.v[m.n].value, NULL) == 0;
        }
    }
    return m;
}

static struct str_map labels(struct arena *a, yyjson_val *v) {
    return yyjson_is_obj(v) ? scale_texts(a, v) : (struct str_map){NULL, 0};
}

static struct pack_group read_group(struct arena *a, yyjson_val *v) {
    yyjson_val *taints = json_get(v, STR("taints")),
               *daemon = json_get(v, STR("daemonPodRequests"));
    struct pack_taint *t = ARENA_ARRAY(a, struct pack_taint, yyjson_arr_size(taints) + 1);
    struct pack_group g = {.name = json_str_at(v, "name"),
                           .max_size = json_i64_at(v, "maxSize", 0),
                           .target_size = json_i64_at(v, "targetSize", 0),
                           .capacity = amounts(a, json_get(v, STR("capacity"))),
                           .allocatable = amounts(a, json_get(v, STR("allocatable"))),
                           .labels = labels(a, json_get(v, STR("labels"))),
                           .taints = t};
    for (; g.n_taints < yyjson_arr_size(taints); g.n_taints++) {
        yyjson_val *x = yyjson_arr_get(taints, g.n_taints);
        t[g.n_taints] = (struct pack_taint){json_str_at(x, "key"), json_str_at(x, "value"),
                                            json_str_at(x, "effect")};
    }
    if (daemon != NULL) {
        struct quantity_map *m = ARENA_NEW(a, struct quantity_map);
        *m = amounts(a, daemon);
        g.daemon = m;
    }
    return g;
}

static struct pack_pods read_pods(struct arena *a, yyjson_val *v) {
    yyjson_val *list = json_get(v, STR("tolerations"));
    struct pack_toleration *t = ARENA_ARRAY(a, struct pack_toleration, yyjson_arr_size(list) + 1);
    struct pack_pods p = {.name = json_str_at(v, "name"),
                          .count = (size_t)json_i64_at(v, "count", 0),
                          .requests = amounts(a, json_get(v, STR("requests"))),
                          .selector = labels(a, json_get(v, STR("nodeSelector"))),
                          .tolerations = t,
                          .port = (int32_t)json_i64_at(v, "hostPort", 0),
                          .apart = json_bool_at(v, "hostnameAntiAffinity", false)};
    for (; p.n_tolerations < yyjson_arr_size(list); p.n_tolerations++) {
        yyjson_val *x = yyjson_arr_get(list, p.n_tolerations);
        t[p.n_tolerations] =
            (struct pack_toleration){json_str_at(x, "key"), json_str_at(x, "operator"),
                                     json_str_at(x, "value"), json_str_at(x, "effect")};
    }
    return p;
}

static bool listed(yyjson_val *list, struct str name) {
    for (size_t i = 0; i < yyjson_arr_size(list); i++) {
        if (str_eq(json_str(yyjson_arr_get(list, i)), name)) {
            return true;
        }
    }
    return false;
}

static bool option_agrees(const struct pack_option *o, const struct pack_pods *pods, size_t n,
                          yyjson_val *want, struct buf *difference) {
    yyjson_val *fit = json_get(want, STR("schedulableGroups"));
    yyjson_val *packed = json_get(want, STR("podsScheduled"));
    size_t fitting = 0, some = 0;
    bool ok = str_eq(o->group->name, json_str_at(want, "nodeGroup")) &&
              (int64_t)o->nodes == json_i64_at(want, "nodes", -1);
    for (size_t i = 0; i < n; i++) {
        yyjson_val *v = json_get(packed, pods[i].name);
        fitting += o->fits[i];
        some += o->packed[i] > 0;
        ok = ok && o->fits[i] == listed(fit, pods[i].name) &&
             o->packed[i] == (size_t)yyjson_get_sint(v);
    }
    ok = ok && fitting == yyjson_arr_size(fit) && some == yyjson_obj_size(packed);
    return ok || scale_differs(difference, "%.*s: %zu nodes for %zu pods", STR_ARG(o->group->name),
                               o->nodes, o->pods);
}

static bool expanders_agree(const struct pack_option *options, size_t n,
                            const struct pack_pods *pods, size_t n_pods, struct arena *a,
                            yyjson_val *want, struct buf *difference) {
    static const char *const names[] = {"least-nodes", "least-waste", "most-pods"};
    bool *keep = ARENA_ARRAY(a, bool, n + 1), ok = true;
    for (size_t e = PACK_LEAST_NODES; e <= PACK_MOST_PODS; e++) {
        yyjson_val *list = json_get(want, str_of(names[e]));
        size_t kept = 0;
        bool same = true;
        pack_expand((enum pack_expander)e, options, n, pods, n_pods, keep);
        for (size_t i = 0; i < n; i++) {
            same = same && keep[i] == listed(list, options[i].group->name);
            kept += keep[i];
        }
        if (!same || kept != yyjson_arr_size(list)) {
            ok = scale_differs(difference, "%s keeps %zu", names[e], kept);
        }
    }
    return ok;
}

bool scale_pack(yyjson_val *c, struct arena *a, struct buf *difference) {
    yyjson_val *groups = json_get(c, STR("nodeGroups")), *list = json_get(c, STR("podGroups"));
    yyjson_val *want = json_get(c, STR("options"));
    size_t n = yyjson_arr_size(groups), n_pods = yyjson_arr_size(list);
    struct pack_group *g = ARENA_ARRAY(a, struct pack_group, n + 1);
    struct pack_pods *pods = ARENA_ARRAY(a, struct pack_pods, n_pods + 1);
    struct pack_option *options = ARENA_ARRAY(a, struct pack_option, n + 1);
    const struct pack_limits limits = {.per_scale_up = json_i64_at(c, "maxNodesPerScaleUp", 0),
                                       .total = json_i64_at(c, "maxNodesTotal", 0),
                                       .current = json_i64_at(c, "currentNodes", 0),
                                       .fast = json_bool_at(c, "fastpath", false)};
    bool ok = n == yyjson_arr_size(want) && n > 0;
    for (size_t i = 0; i < n_pods; i++) {
        pods[i] = read_pods(a, yyjson_arr_get(list, i));
    }
    for (size_t i = 0; i < n; i++) {
        struct err err = {0};
        g[i] = read_group(a, yyjson_arr_get(groups, i));
        if (pack_estimate(&limits, &g[i], pods, n_pods, a, &options[i], &err) != 0) {
            return scale_differs(difference, "%s", err.text);
        }
        ok = option_agrees(&options[i], pods, n_pods, yyjson_arr_get(want, i), difference) && ok;
    }
    return expanders_agree(options, n, pods, n_pods, a, json_get(c, STR("expanders")),
                           difference) &&
           ok;
}
