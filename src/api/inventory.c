/*
 * inventory: the two GPU annotations, to and from JSON.
 *
 * berth.dev/gpus is one object: {"simulated":bool,"gpus":[card...]}. The profiles of eight equal
 * cards are equal, so a card whose profiles are those of an earlier one says "profilesOf": N (its
 * position) instead of repeating them. Telemetry that the hardware does not give is left out and
 * reads as -1. berth.dev/devices is an array of devices.
 *
 * Decoding is strict about numbers that index or size something (a hostile annotation must not make
 * a start of 90), and lenient about members it does not know.
 */
#include "api/inventory.h"

#include "api/schema/codec_encode.h"
#include "api/tables/table.h"
#include "base/limits.h"
#include "wire/json/json.h"

static void member(struct buf *b, const char *name, struct str value) {
    if (!str_empty(value)) {
        buf_f(b, ",\"%s\":", name);
        buf_json(b, value);
    }
}

static void member_known(struct buf *b, const char *name, int32_t value) {
    if (value >= 0) {
        buf_f(b, ",\"%s\":%d", name, value);
    }
}

static void encode_profiles(const struct gpu_card *c, struct buf *b) {
    buf_c(b, ",\"profiles\":[");
    for (size_t i = 0; i < c->n_profiles; i++) {
        const struct gpu_profile *p = &c->profiles[i];

        buf_f(b, "%s{\"id\":%d", i ? "," : "", p->id);
        member(b, "name", p->name);
        member(b, "resource", p->resource);
        buf_f(b, ",\"size\":%d,\"compute\":%d,\"memoryMiB\":%d,\"max\":%d,\"starts\":%u", p->size,
              p->compute_slices, p->memory_mib, p->max_instances, p->starts);
        buf_c(b, p->media ? ",\"media\":true}" : "}");
    }
    buf_ch(b, ']');
}

static bool same_profiles(const struct gpu_card *a, const struct gpu_card *b) {
    if (a->n_profiles != b->n_profiles) {
        return false;
    }
    for (size_t i = 0; i < a->n_profiles; i++) {
        const struct gpu_profile *p = &a->profiles[i], *q = &b->profiles[i];

        if (p->id != q->id || p->size != q->size || p->compute_slices != q->compute_slices ||
            p->memory_mib != q->memory_mib || p->max_instances != q->max_instances ||
            p->starts != q->starts || p->media != q->media || !str_eq(p->name, q->name) ||
            !str_eq(p->resource, q->resource)) {
            return false;
        }
    }
    return true;
}

static void encode_card(const struct inventory *inv, size_t at, struct buf *b) {
    const struct gpu_card *c = &inv->gpus[at];

    buf_f(b, "%s{\"index\":%d", at ? "," : "", c->index);
    member(b, "uuid", c->uuid);
    member(b, "model", c->model);
    member(b, "board", c->board);
    buf_f(b, ",\"memoryMiB\":%d,\"slices\":%d,\"mig\":%s,\"managed\":%s,\"healthy\":%s",
          c->memory_mib, c->slices, c->mig_enabled ? "true" : "false",
          c->mig_managed ? "true" : "false", c->healthy ? "true" : "false");
    member(b, "trouble", c->trouble);
    member(b, "pod", c->pod_uid);
    if (c->n_profiles) {
        size_t like = 0;
        while (like < at && !same_profiles(&inv->gpus[like], c)) {
            like++;
        }
        if (like < at) {
            buf_f(b, ",\"profilesOf\":%zu", like);
        } else {
            encode_profiles(c, b);
        }
    }
    buf_c(b, ",\"instances\":[");
    for (size_t i = 0; i < c->n_instances; i++) {
        const struct gpu_instance *g = &c->instances[i];
        buf_f(b, "%s{\"profile\":%d,\"start\":%d,\"size\":%d", i ? "," : "", g->profile_id,
              g->start, g->size);
        member(b, "uuid", g->uuid);
        member(b, "pod", g->pod_uid);
        member_known(b, "utilizationPct", g->utilization_pct);
        buf_ch(b, '}');
    }
    buf_ch(b, ']');
    member_known(b, "utilizationPct", c->utilization_pct);
    member_known(b, "temperatureC", c->temperature_c);
    member_known(b, "powerMW", c->power_mw);
    member_known(b, "memoryUsedMiB", c->memory_used_mib);
    buf_ch(b, '}');
}

void inventory_encode(const struct inventory *inv, struct buf *out) {
    buf_f(out, "{\"simulated\":%s,\"gpus\":[", inv->simulated ? "true" : "false");
    for (size_t i = 0; i < inv->n; i++) {
        encode_card(inv, i, out);
    }
    buf_c(out, "]}");
}

/* ---- decoding ---- */

struct inventory_reader {
    struct arena *arena;
    struct err *err;
    int code; /* sticky */
};

/* A number between min and max; `otherwise` when absent. */
static int32_t number(struct inventory_reader *r, yyjson_val *obj, const char *name, int64_t min,
                      int64_t max, int64_t otherwise) {
    yyjson_val *v = json_get(obj, str_of(name));

    if (v == NULL) {
        return (int32_t)otherwise;
    }
    int64_t n = yyjson_is_int(v) ? yyjson_get_sint(v) : max;
    if (!yyjson_is_int(v) || n < min || n > max) {
        if (r->code == 0) {
            r->code = err_set(r->err, ERR_INVALID, "%s: must be a number from %lld to %lld", name,
                              (long long)min, (long long)max);
        }
        return (int32_t)otherwise;
    }
    return (int32_t)n;
}

static bool truth(yyjson_val *obj, const char *name) {
    return yyjson_is_true(json_get(obj, str_of(name)));
}

/* The string, copied: the annotation's text is usually gone sooner than the inventory. */
static struct str text(struct inventory_reader *r, yyjson_val *obj, const char *name) {
    struct str s = json_str(json_get(obj, str_of(name)));
    return str_empty(s) ? (struct str){NULL, 0} : arena_str(r->arena, s);
}

/* The elements of an array member, at most max; NULL and 0 when absent. */
static void *list(struct inventory_reader *r, yyjson_val *obj, const char *name, size_t max,
                  size_t size, yyjson_arr_iter *it, size_t *ret_n) {
    yyjson_val *v = obj && yyjson_is_arr(obj) ? obj : json_get(obj, str_of(name));
    size_t n = yyjson_arr_size(v);

    if (n > max) {
        r->code = r->code ? r->code
                          : err_set(r->err, ERR_TOO_LARGE, "%s: more than %zu elements", name, max);
        n = 0;
    }
    yyjson_arr_iter_init(n ? v : NULL, it);
    *ret_n = 0;
    if (n == 0) {
        return NULL;
    }
    void *p = arena_array(r->arena, n, size);
    *ret_n = p ? n : 0;
    return p;
}

static void read_profiles(struct inventory_reader *r, yyjson_val *v, struct gpu_card *c) {
    yyjson_arr_iter it;

    c->profiles =
        list(r, v, "profiles", INVENTORY_PROFILES_MAX, sizeof(*c->profiles), &it, &c->n_profiles);
    for (size_t i = 0; i < c->n_profiles; i++) {
        yyjson_val *e = yyjson_arr_iter_next(&it);
        struct gpu_profile *p = &c->profiles[i];

        p->id = number(r, e, "id", 0, 1023, -1);
        p->name = text(r, e, "name");
        p->resource = text(r, e, "resource");
        p->size = number(r, e, "size", 1, INVENTORY_SLICES_MAX, 1);
        p->compute_slices = number(r, e, "compute", 0, INVENTORY_SLICES_MAX, 0);
        p->memory_mib = number(r, e, "memoryMiB", 0, INT32_MAX, 0);
        p->max_instances = number(r, e, "max", 0, INVENTORY_SLICES_MAX, 0);
        p->starts = (uint32_t)number(r, e, "starts", 0, (1 << INVENTORY_SLICES_MAX) - 1, 0);
        p->media = truth(e, "media");
    }
}

static void read_instances(struct inventory_reader *r, yyjson_val *v, struct gpu_card *c) {
    yyjson_arr_iter it;

    c->instances = list(r, v, "instances", INVENTORY_INSTANCES_MAX, sizeof(*c->instances), &it,
                        &c->n_instances);
    for (size_t i = 0; i < c->n_instances; i++) {
        yyjson_val *e = yyjson_arr_iter_next(&it);
        struct gpu_instance *g = &c->instances[i];

        g->profile_id = number(r, e, "profile", 0, 1023, -1);
        g->start = number(r, e, "start", 0, INVENTORY_SLICES_MAX - 1, 0);
        g->size = number(r, e, "size", 1, INVENTORY_SLICES_MAX, 1);
        g->uuid = text(r, e, "uuid");
        g->pod_uid = text(r, e, "pod");
        g->utilization_pct = number(r, e, "utilizationPct", 0, 100, -1);
    }
}

static void read_card(struct inventory_reader *r, yyjson_val *v, struct inventory *inv, size_t at) {
    struct gpu_card *c = &inv->gpus[at];

    c->index = number(r, v, "index", 0, INT32_MAX, (int64_t)at);
    c->uuid = text(r, v, "uuid");
    c->model = text(r, v, "model");
    c->board = text(r, v, "board");
    c->memory_mib = number(r, v, "memoryMiB", 0, INT32_MAX, 0);
    c->slices = number(r, v, "slices", 0, INVENTORY_SLICES_MAX, 0);
    c->mig_enabled = truth(v, "mig");
    c->mig_managed = truth(v, "managed");
    c->healthy = truth(v, "healthy");
    c->trouble = text(r, v, "trouble");
    c->pod_uid = text(r, v, "pod");
    int32_t like = number(r, v, "profilesOf", 0, (int64_t)at - 1, -1);
    if (like >= 0) {
        c->profiles = inv->gpus[like].profiles;
        c->n_profiles = inv->gpus[like].n_profiles;
    } else {
        read_profiles(r, v, c);
    }
    read_instances(r, v, c);
    c->utilization_pct = number(r, v, "utilizationPct", 0, 100, -1);
    c->temperature_c = number(r, v, "temperatureC", 0, 1000, -1);
    c->power_mw = number(r, v, "powerMW", 0, INT32_MAX, -1);
    c->memory_used_mib = number(r, v, "memoryUsedMiB", 0, INT32_MAX, -1);
}

static int finish(struct inventory_reader *r) {
    if (r->code) {
        return r->code;
    }
    return arena_ok(r->arena) ? err_set(r->err, ERR_NOMEM, "no memory for the inventory") : 0;
}

int inventory_decode(struct str json, struct arena *a, struct inventory *ret, struct err *err) {
    struct inventory_reader r = {.arena = a, .err = err};
    struct inventory inv = {0};
    yyjson_arr_iter it;
    yyjson_doc *doc;
    int code = json_parse(a, json, &doc, err);

    if (code) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root)) {
        return err_set(err, ERR_SYNTAX, "the inventory is not an object");
    }
    inv.simulated = truth(root, "simulated");
    inv.gpus = list(&r, root, "gpus", INVENTORY_GPUS_MAX, sizeof(*inv.gpus), &it, &inv.n);
    for (size_t i = 0; i < inv.n; i++) {
        read_card(&r, yyjson_arr_iter_next(&it), &inv, i);
    }
    code = finish(&r);
    if (code) {
        return code;
    }
    *ret = inv;
    return 0;
}

static const struct field pod_device_fields[] = {
    M(pod_device, profile_id, INT32, ONE, "profileId", 0, .flags = FIELD_F_KEEP_EMPTY),
    M(pod_device, container, STRING, ONE, "container", 0),
    M(pod_device, gpu, STRING, ONE, "gpu", 0),
    M(pod_device, profile, STRING, ONE, "profile", 0),
    M(pod_device, start, INT32, ONE, "start", 0, .flags = FIELD_F_KEEP_EMPTY),
    M(pod_device, size, INT32, ONE, "size", 0, .flags = FIELD_F_KEEP_EMPTY),
};
static const struct schema schema_pod_device =
    SCHEMA("dev.berth.PodDevice", pod_device_fields, sizeof(struct pod_device), NULL);
static const struct field pod_place_fields[] = {
    M(pod_place, pod_set, STRING, ONE, "podSet", 0, .flags = FIELD_F_KEEP_EMPTY),
    M(pod_place, index, INT32, ONE, "index", 0, .flags = FIELD_F_KEEP_EMPTY),
    M(pod_place, count, INT32, ONE, "count", 0),
    M(pod_place, node, STRING, ONE, "node", 0, .flags = FIELD_F_KEEP_EMPTY),
    M(pod_place, devices, OBJECT, LIST, "devices", 0, .of = &schema_pod_device),
};
const struct schema schema_pod_place =
    SCHEMA("dev.berth.PodPlace", pod_place_fields, sizeof(struct pod_place), NULL);

static const struct field gpu_place_fields[] = {
    M(gpu_place, node, STRING, ONE, "node", 0, .flags = FIELD_F_KEEP_EMPTY),
    M(gpu_place, gpu, STRING, ONE, "gpu", 0, .flags = FIELD_F_KEEP_EMPTY),
    M(gpu_place, profile, STRING, ONE, "profile", 0, .flags = FIELD_F_KEEP_EMPTY),
    M(gpu_place, start, INT32, ONE, "start", 0, .flags = FIELD_F_KEEP_EMPTY),
    M(gpu_place, size, INT32, ONE, "size", 0, .flags = FIELD_F_KEEP_EMPTY),
};
const struct schema schema_gpu_place =
    SCHEMA("dev.berth.GpuPlace", gpu_place_fields, sizeof(struct gpu_place), NULL);

void pod_devices_encode(const struct pod_devices *d, struct buf *out) {
    codec_encode_list(&schema_pod_device, d->v, d->n, out);
}

int pod_devices_decode(struct str json, struct arena *a, struct pod_devices *ret, struct err *err) {
    struct inventory_reader r = {.arena = a, .err = err};
    struct pod_devices d = {0};
    yyjson_arr_iter it;
    yyjson_doc *doc;
    int code = json_parse(a, json, &doc, err);

    if (code) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_arr(root)) {
        return err_set(err, ERR_SYNTAX, "the devices are not an array");
    }
    d.v = list(&r, root, "devices", (size_t)INVENTORY_GPUS_MAX * INVENTORY_INSTANCES_MAX,
               sizeof(*d.v), &it, &d.n);
    for (size_t i = 0; i < d.n; i++) {
        yyjson_val *e = yyjson_arr_iter_next(&it);
        struct pod_device *p = &d.v[i];

        p->container = text(&r, e, "container");
        p->gpu = text(&r, e, "gpu");
        p->profile_id = number(&r, e, "profileId", -1, 1023, -1);
        p->profile = text(&r, e, "profile");
        p->start = number(&r, e, "start", 0, INVENTORY_SLICES_MAX - 1, 0);
        p->size = number(&r, e, "size", 0, INVENTORY_SLICES_MAX, 0);
    }
    code = finish(&r);
    if (code) {
        return code;
    }
    *ret = d;
    return 0;
}

struct str gpu_flavor_name(struct arena *a, struct str model) {
    struct str s = arena_str(a, str_head(model, LIMIT_LABEL));
    char *p = (char *)s.p;
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char ch = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] + 32) : p[i];
        bool plain = (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9');
        if (plain || (n > 0 && p[n - 1] != '-')) {
            p[n++] = plain ? ch : '-';
        }
    }
    while (n > 0 && p[n - 1] == '-') {
        n--;
    }
    return n > 0 ? str_from(p, n) : STR("gpu");
}
