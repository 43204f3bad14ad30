/* owned_pods: reads and sorts. See owned_pods.h. */
#include "control/apps/owned_pods.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

static enum owned_phase phase_of(struct str s) {
    return str_is(s, "Running")     ? OWNED_RUNNING
           : str_is(s, "Succeeded") ? OWNED_SUCCEEDED
           : str_is(s, "Failed")    ? OWNED_FAILED
           : str_is(s, "Unknown")   ? OWNED_UNKNOWN
                                    : OWNED_PENDING;
}

static void read_ready(struct owned_pod *p, yyjson_val *conditions) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(conditions, i, n, v) {
        if (str_is(json_str_at(v, "type"), "Ready")) {
            p->ready = str_is(json_str_at(v, "status"), "True");
            (void)time_parse(json_str_at(v, "lastTransitionTime"), &p->ready_ns, NULL);
        }
    }
}

static int32_t read_restarts(yyjson_val *list) {
    size_t i, n;
    int64_t most = 0;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v) {
        int64_t x = json_i64_at(v, "restartCount", 0);
        most = x > most ? x : most;
    }
    return most > INT32_MAX ? INT32_MAX : (int32_t)most;
}

int owned_pod_read(const struct object *o, struct arena *scratch, struct arena *a,
                   struct owned_pod *ret) {
    yyjson_doc *d;
    int64_t cost;
    arena_reset(scratch);
    int r = object_tree(o, scratch, &d, NULL);
    if (r != 0) {
        return r;
    }
    yyjson_val *root = yyjson_doc_get_root(d), *status = json_get(root, STR("status"));
    struct owned_pod p = {.obj = o, .phase = phase_of(json_str_at(status, "phase"))};
    read_ready(&p, json_get(status, STR("conditions")));
    p.node = arena_str(a, json_str_at(root, "spec.nodeName"));
    p.restarts = read_restarts(json_get(status, STR("containerStatuses")));
    struct str text =
        json_str(json_get(json_path(root, "metadata.annotations"), STR(POD_DELETION_COST)));
    if (str_to_i64(text, &cost) && cost >= INT32_MIN && cost <= INT32_MAX) {
        p.cost = (int32_t)cost;
    }
    *ret = p;
    return arena_ok(a);
}

bool owned_pod_available(const struct owned_pod *p, int32_t min_ready_s, int64_t now_ns,
                         int64_t *ret_left) {
    if (!p->ready || min_ready_s == 0) {
        return p->ready;
    }
    int64_t left = p->ready_ns + min_ready_s * NS_PER_SEC - now_ns;
    if (left > 0 && ret_left && (*ret_left == 0 || left < *ret_left)) {
        *ret_left = left;
    }
    return left <= 0;
}

/* ---- ranks ---- */

/* How long ago, as a power of two; -1: not ago at all. */
static int age_log(int64_t then_ns, int64_t now_ns) {
    int64_t age = now_ns - then_ns;
    return age > 0 ? 63 - __builtin_clzll((unsigned long long)age) : -1;
}

static int first(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

/* Younger before older, those of about one age in the order of their uids. */
static int by_age(int64_t a, int64_t b, const struct object *x, const struct object *y,
                  int64_t now_ns) {
    int c = first(age_log(a, now_ns), age_log(b, now_ns));
    return c ? c : str_cmp(x->uid, y->uid);
}

static int goes_first(const void *va, const void *vb, void *ctx) {
    const struct owned_pod *a = va, *b = vb;
    int64_t now = *(const int64_t *)ctx;
    int c = first(!str_empty(a->node), !str_empty(b->node));
    c = c ? c : first(a->phase, b->phase);
    c = c ? c : first(a->ready, b->ready);
    c = c ? c : first(a->cost, b->cost);
    c = c ? c : first(b->together, a->together);
    if (c == 0 && a->ready && b->ready && a->ready_ns != b->ready_ns) {
        return by_age(a->ready_ns, b->ready_ns, a->obj, b->obj, now);
    }
    c = c ? c : first(b->restarts, a->restarts);
    if (c == 0 && a->obj->created_ns != b->obj->created_ns) {
        return by_age(a->obj->created_ns, b->obj->created_ns, a->obj, b->obj, now);
    }
    return c ? c : str_cmp(a->obj->name, b->obj->name);
}

/* The first pod on each node counts for all of them. */
static int count_together(struct owned_pods *pods) {
    struct map nodes;
    int r = 0;
    map_init(&nodes);
    for (size_t i = 0; r == 0 && i < pods->n; i++) {
        struct owned_pod *p = &pods->v[i], *one = map_get(&nodes, p->node);
        p->together = 0;
        if (one) {
            one->together++;
        } else if (!str_empty(p->node)) {
            r = map_put(&nodes, p->node, p, NULL);
            p->together = 1;
        }
    }
    for (size_t i = 0; r == 0 && i < pods->n; i++) {
        const struct owned_pod *one = map_get(&nodes, pods->v[i].node);
        pods->v[i].together = one ? one->together : 0;
    }
    map_release(&nodes);
    return r;
}

int owned_pods_rank(struct owned_pods *pods, int64_t now_ns) {
    int r = count_together(pods);
    if (r == 0) {
        qsort_r(pods->v, pods->n, sizeof *pods->v, goes_first, &now_ns);
    }
    return r;
}
