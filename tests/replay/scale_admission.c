/*
 * scale_admission: whether KEDA's webhook takes a ScaledObject. It gives one of several reasons; ours must be among
 * them.
 */
#include "api/schema/codec.h"
#include "core/scale/keda_admit.h"
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

static bool positive(yyjson_val *v, const char *resource) {
    struct quantity q;
    yyjson_val *x = json_get(v, str_of(resource));
    return x != NULL && quantity_parse(json_str(x), &q, NULL) == 0 && quantity_sign(q) > 0;
}

static bool ranged(yyjson_val *ranges, const char *resource) {
    for (size_t i = 0; i < yyjson_arr_size(ranges); i++) {
        yyjson_val *limits = json_path(yyjson_arr_get(ranges, i), "spec.limits");
        for (size_t j = 0; j < yyjson_arr_size(limits); j++) {
            yyjson_val *l = yyjson_arr_get(limits, j);
            if (str_is(json_str_at(l, "type"), "Container") &&
                (positive(json_get(l, STR("default")), resource) ||
                 positive(json_get(l, STR("defaultRequest")), resource))) {
                return true;
            }
        }
    }
    return false;
}

static void read_containers(struct keda_admission *in, struct arena *a, yyjson_val *v) {
    struct keda_amounts *list = ARENA_ARRAY(a, struct keda_amounts, yyjson_obj_size(v) + 1);
    size_t i, max;
    yyjson_val *key, *value;
    in->containers = list;
    if (yyjson_is_obj(v)) {
        yyjson_obj_foreach(v, i, max, key, value) {
            list[in->n_containers++] =
                (struct keda_amounts){json_str(key), amounts(a, json_get(value, STR("requests"))),
                                      amounts(a, json_get(value, STR("limits")))};
        }
    }
}

static int read_others(struct keda_admission *in, struct arena *a, yyjson_val *c, struct err *err) {
    yyjson_val *others = json_get(c, STR("otherScaledObjects"));
    yyjson_val *hpas = json_get(c, STR("existingHPAs"));
    struct scaled_object *o = ARENA_ARRAY(a, struct scaled_object, yyjson_arr_size(others) + 1);
    struct keda_other_hpa *h = ARENA_ARRAY(a, struct keda_other_hpa, yyjson_arr_size(hpas) + 1);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < yyjson_arr_size(others); i++) {
        rc = codec_decode(&schema_scaled_object, yyjson_arr_get(others, i), a, &o[i], err);
        in->n_others++;
    }
    for (size_t i = 0; rc == 0 && i < yyjson_arr_size(hpas); i++) {
        struct hpa *hpa = ARENA_NEW(a, struct hpa);
        rc = codec_decode(&schema_hpa, yyjson_arr_get(hpas, i), a, hpa, err);
        if (rc == 0) {
            h[in->n_hpas++] = (struct keda_other_hpa){hpa->metadata, hpa->spec->scale_target_ref};
        }
    }
    in->others = o;
    in->hpas = h;
    return rc;
}

static bool listed(yyjson_val *list, const char *name) {
    for (size_t i = 0; i < yyjson_arr_size(list); i++) {
        if (str_is(json_str(yyjson_arr_get(list, i)), name)) {
            return true;
        }
    }
    return false;
}

static bool warnings_agree(unsigned got, yyjson_val *want) {
    size_t n = 0;
    for (unsigned w = KEDA_POLLING_IDLE; w <= KEDA_COOLDOWN_IDLE; w <<= 1) {
        bool is = (got & w) != 0;
        if (is != listed(want, keda_warning_name(w))) {
            return false;
        }
        n += is;
    }
    return n == yyjson_arr_size(want);
}

bool scale_admission(yyjson_val *c, struct arena *a, struct buf *difference) {
    yyjson_val *reasons = json_get(c, STR("reasons")), *ranges = json_get(c, STR("limitRanges"));
    struct scaled_object so;
    struct keda_admission in = {.object = &so,
                                .cpu_ranged = ranged(ranges, "cpu"),
                                .memory_ranged = ranged(ranges, "memory"),
                                .dry_run = json_bool_at(c, "dryRun", false)};
    struct keda_admitted got;
    struct err err = {0};
    int rc = codec_decode(&schema_scaled_object, json_get(c, STR("scaledObject")), a, &so, &err);
    rc = rc ? rc : read_others(&in, a, c, &err);
    read_containers(&in, a, json_get(c, STR("workloadContainers")));
    if (rc != 0 || keda_admit(&in, a, &got) != 0) {
        return scale_differs(difference, "%s", err.text);
    }
    bool valid = json_bool_at(c, "valid", false);
    bool ok = (got.refusals == 0) == valid;
    for (unsigned r = 1; r <= KEDA_BAD_TRIGGERS; r <<= 1) {
        if ((got.refusals & r) && !listed(reasons, keda_refusal_name(r))) {
            ok = scale_differs(difference, "refused for %s", keda_refusal_name(r));
        }
    }
    if (valid && !warnings_agree(got.warnings, json_get(c, STR("warnings")))) {
        ok = scale_differs(difference, "warnings %x", got.warnings);
    }
    return ok || scale_differs(difference, "refusals %x", got.refusals);
}
