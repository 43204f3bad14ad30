/*
 * scale_prometheus: the request that a prometheus trigger makes, and the value in an answer.
 */
#include "core/scale/keda_poll.h"
#include "core/scale/source_prometheus.h"
#include "scale_case.h"
#include "wire/text/time.h"

static bool headers_agree(const struct str_map *got, yyjson_val *want) {
    bool ok = got->n == yyjson_obj_size(want);
    size_t i, max;
    yyjson_val *key, *value;
    if (yyjson_is_obj(want)) {
        yyjson_obj_foreach(want, i, max, key, value) {
            bool found = false;
            for (size_t j = 0; j < got->n; j++) {
                found = found || (str_eq_nocase(got->v[j].key, json_str(key)) &&
                                  str_eq(got->v[j].value, json_str(value)));
            }
            ok = ok && found;
        }
    }
    return ok;
}

bool scale_prometheus(yyjson_val *c, struct arena *a, struct buf *difference) {
    struct str_map metadata = scale_texts(a, json_get(c, STR("metadata")));
    yyjson_val *params = json_get(c, STR("authParams"));
    struct str_map auth = params != NULL ? scale_texts(a, params) : (struct str_map){NULL, 0};
    struct trigger_input in = {.type = STR("prometheus"), .metadata = &metadata, .auth = &auth};
    struct trigger *t = ARENA_NEW(a, struct trigger);
    struct prometheus_request q;
    struct quantity want;
    struct err err = {0};
    double value = 0;
    int64_t now = 0;
    if (trigger_parse(&in, a, t) != 0 || t->n_faults > 0 ||
        time_parse(json_str_at(c, "now"), &now, NULL) != 0 ||
        prometheus_request(t, now, a, &q) != 0) {
        return scale_differs(difference, "the trigger is not valid");
    }
    bool ok = str_eq(q.url, json_str_at(c, "expectRequest")) ||
              scale_differs(difference, "%.*s", STR_ARG(q.url));
    ok = (headers_agree(&q.headers, json_get(c, STR("expectHeaders"))) ||
          scale_differs(difference, "headers")) &&
         ok;
    int rc = prometheus_value(t, (int)json_i64_at(c, "httpStatus", 0), json_str_at(c, "body"), a,
                              &value, &err);
    bool fails = json_bool_at(c, "error", false) || json_bool_at(c, "upstreamCrash", false);
    bool active = rc == 0 && value > trigger_number(t, "activationThreshold");
    if ((rc != 0) != fails || active != json_bool_at(c, "active", false)) {
        ok = scale_differs(difference, "%g, active %d, %s", value, active, err.text);
    }
    if (rc == 0 && (quantity_parse(json_str_at(c, "value"), &want, NULL) != 0 ||
                    quantity_cmp(want, keda_quantity(value)) != 0)) {
        ok = scale_differs(difference, "value %g", value);
    }
    return ok;
}
