/* pods_quota: see pods_quota.h. */
#include "node/pods/pods_quota.h"

#include <stdio.h>

#include "base/mem.h"
#include "node/files/files.h"
#include "wire/text/quantity.h"

static bool bytes_of(struct str text, uint64_t *ret) {
    struct quantity q;

    if (str_empty(text) || quantity_parse(text, &q, NULL) || quantity_value(q) < 0) {
        return false;
    }
    *ret = (uint64_t)quantity_value(q);
    return true;
}

/* The sum of the containers' limits; false when one has none. */
static bool limit_of_pod(yyjson_val *pod, uint64_t *ret) {
    yyjson_arr_iter it;
    yyjson_val *c;
    uint64_t sum = 0, one;

    yyjson_arr_iter_init(json_path(pod, "spec.containers"), &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        if (!bytes_of(
                json_str(json_get(json_path(c, "resources.limits"), STR("ephemeral-storage"))),
                &one) ||
            __builtin_add_overflow(sum, one, &sum)) {
            return false;
        }
    }
    *ret = sum;
    return sum > 0;
}

struct pod_quota *pod_quota_new(yyjson_val *pod) {
    yyjson_val *volumes = json_path(pod, "spec.volumes"), *v;
    struct pod_quota *q =
        mem_zalloc(sizeof(*q) + (POD_QUOTA_VOLUMES + 1) * sizeof(struct pod_quota_part));
    yyjson_arr_iter it;

    if (q == NULL) {
        return NULL;
    }
    q->n += limit_of_pod(pod, &q->v[0].most);
    yyjson_arr_iter_init(volumes, &it);
    while (q->n <= POD_QUOTA_VOLUMES && (v = yyjson_arr_iter_next(&it))) {
        yyjson_val *dir = json_get(v, STR("emptyDir"));
        struct pod_quota_part *part = &q->v[q->n];
        if (dir && !str_is(json_str_at(dir, "medium"), "Memory") &&
            bytes_of(json_str_at(dir, "sizeLimit"), &part->most) && part->most &&
            str_copy(json_str_at(v, "name"), part->volume, sizeof(part->volume))) {
            q->n++;
        }
    }
    if (q->n == 0) {
        mem_free(q);
        return NULL;
    }
    return q;
}

void pod_quota_free(struct pod_quota *q) {
    if (q) {
        disk_walk_end(&q->walk);
        mem_free(q);
    }
}

static void begin(struct pod_quota *q, const char *dir) {
    char path[PATH_LEN];
    const char *volume = q->v[q->at].volume;
    int n = volume[0] ? snprintf(path, sizeof(path), "%s/root/volumes/%s", dir, volume)
                      : snprintf(path, sizeof(path), "%s", dir);

    if (n < (int)sizeof(path)) {
        disk_walk_begin(&q->walk, path);
    }
}

const struct pod_quota_part *pod_quota_on(struct pod_quota *q, const char *dir, unsigned steps,
                                          uint64_t *ret_bytes) {
    for (size_t parts = 0; parts < q->n && steps; parts++) {
        if (q->walk.at == NULL) {
            begin(q, dir);
        }
        unsigned used = disk_walk_on(&q->walk, steps);
        steps -= used < steps ? used : steps;
        const struct pod_quota_part *part = &q->v[q->at];
        if (q->walk.bytes > part->most) {
            *ret_bytes = q->walk.bytes;
            return part;
        }
        if (q->walk.at == NULL) {
            q->at = (q->at + 1) % q->n;
        }
    }
    return NULL;
}
