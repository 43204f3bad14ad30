/*
 * scale_metricsapi: the number that a metrics-api trigger finds in an answer.
 */
#include <math.h>

#include "core/scale/keda_poll.h"
#include "core/scale/source_value.h"
#include "scale_case.h"

bool scale_metricsapi(yyjson_val *c, struct arena *a, struct buf *difference) {
    yyjson_val *want = json_get(c, STR("value"));
    struct quantity metric;
    struct err err = {0};
    double value = 0;
    int rc = source_value(json_str_at(c, "format"), json_str_at(c, "body"),
                          json_str_at(c, "valueLocation"), a, &value, &err);
    if (rc != 0 || json_bool_at(c, "error", false)) {
        return (rc != 0) == json_bool_at(c, "error", false) ||
               scale_differs(difference, "%g, %s", value, err.text);
    }
    bool ok = want != NULL ? fabs(value - yyjson_get_num(want)) <= 1e-12 * fabs(value)
                           : isinf(value) || isnan(value);
    ok = ok && quantity_parse(json_str_at(c, "metricValue"), &metric, NULL) == 0 &&
         quantity_cmp(metric, keda_quantity(value)) == 0;
    return ok || scale_differs(difference, "value %.17g", value);
}
