/*
 * kinds_autoscaler: the row of HorizontalPodAutoscaler, its defaults and its columns; autoscaling/v2 is stored.
 */
#include "api/scaling/autoscaler.h"

#include "api/scaling/view_scaling.h"

/* ---- defaults ---- */

static const char DEFAULT_METRICS[] =
    "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\","
    "\"averageUtilization\":80}}}]";
/* clang-format off */
static const char DEFAULT_UP[] =
    "{\"stabilizationWindowSeconds\":0,\"selectPolicy\":\"Max\",\"policies\":["
    "{\"type\":\"Pods\",\"value\":4,\"periodSeconds\":15},"
    "{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]}";
static const char DEFAULT_DOWN[] =
    "{\"selectPolicy\":\"Max\",\"policies\":["
    "{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]}";
/* clang-format on */

static yyjson_mut_val *text_value(yyjson_mut_doc *d, const char *text) {
    yyjson_mut_doc *parsed;
    return json_parse_mut(json_arena(d), str_of(text), &parsed, NULL) == 0
               ? yyjson_mut_val_mut_copy(d, yyjson_mut_doc_get_root(parsed))
               : NULL;
}

/* What is not said of one direction. */
static void default_rules(yyjson_mut_doc *d, yyjson_mut_val *behavior, const char *direction,
                          const char *rules) {
    yyjson_mut_val *all = text_value(d, rules), *here = json_mget(behavior, str_of(direction));
    size_t i, max;
    yyjson_mut_val *key, *value;
    if (all == NULL) {
        return; /* no memory: the arena tells */
    }
    if (!yyjson_mut_is_obj(here)) {
        if (here == NULL || yyjson_mut_is_null(here)) {
            json_mset(d, behavior, str_of(direction), all);
        }
        return;
    }
    yyjson_mut_obj_foreach(all, i, max, key, value) {
        yyjson_mut_val *there = json_mget(here, json_mstr(key));
        if (there == NULL || yyjson_mut_is_null(there)) {
            json_mset(d, here, json_mstr(key), yyjson_mut_val_mut_copy(d, value));
        }
    }
}

static void autoscaler_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_mut_val *behavior = json_mget(spec, STR("behavior"));
    (void)err;
    if (!yyjson_mut_is_obj(spec)) {
        return;
    }
    if (json_mget(spec, STR("minReplicas")) == NULL) {
        json_mset_i64(d, spec, "minReplicas", 1);
    }
    yyjson_mut_val *metrics = json_mget(spec, STR("metrics"));
    if (metrics == NULL || (yyjson_mut_is_arr(metrics) && yyjson_mut_arr_size(metrics) == 0)) {
        json_mset(d, spec, STR("metrics"), text_value(d, DEFAULT_METRICS));
    }
    if (yyjson_mut_is_obj(behavior)) {
        default_rules(d, behavior, "scaleUp", DEFAULT_UP);
        default_rules(d, behavior, "scaleDown", DEFAULT_DOWN);
    }
}

/* ---- columns ---- */

enum { METRICS_SHOWN = 2 };

static struct str amount_text(yyjson_val *v, char out[static QUANTITY_TEXT_MAX]) {
    struct quantity q;
    return v != NULL && quantity_parse(json_str(v), &q, NULL) == 0 ? quantity_text(q, out)
                                                                   : STR("<unknown>");
}

static void percent(struct buf *b, yyjson_val *v, const char *otherwise) {
    if (yyjson_is_int(v)) {
        buf_f(b, "%lld%%", (long long)yyjson_get_sint(v));
    } else {
        buf_c(b, otherwise);
    }
}

/* "cpu: 12%/80%", "250m/1 (avg)" */
static void metric_cell(struct buf *b, yyjson_val *metric, yyjson_val *status) {
    static const char *const rows[][2] = {{"External", "external"},
                                          {"Pods", "pods"},
                                          {"Object", "object"},
                                          {"Resource", "resource"},
                                          {"ContainerResource", "containerResource"}};
    char text[QUANTITY_TEXT_MAX];
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!str_is(json_str_at(metric, "type"), rows[i][0])) {
            continue;
        }
        yyjson_val *source = json_get(metric, str_of(rows[i][1]));
        yyjson_val *target = json_get(source, STR("target"));
        yyjson_val *current = json_path(json_get(status, str_of(rows[i][1])), "current");
        bool resource = i >= 3, average = json_get(target, STR("averageValue")) != NULL;
        struct str member = average ? STR("averageValue") : STR("value");
        if (resource) {
            buf_f(b, "%.*s: ", STR_ARG(json_str_at(source, "name")));
        }
        if (resource && !average) {
            percent(b, json_get(current, STR("averageUtilization")), "<unknown>");
            buf_ch(b, '/');
            percent(b, json_get(target, STR("averageUtilization")), "<auto>");
            return;
        }
        buf_str(b, amount_text(json_get(current, member), text));
        buf_ch(b, '/');
        buf_str(b, amount_text(json_get(target, member), text));
        buf_c(b, average && (i == 0 || i == 2) ? " (avg)" : "");
        return;
    }
    buf_c(b, "<unknown type>");
}

static void targets_cell(yyjson_val *obj, struct buf *out) {
    yyjson_val *specs = json_path(obj, "spec.metrics");
    yyjson_val *statuses = json_path(obj, "status.currentMetrics");
    size_t n = yyjson_arr_size(specs);
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < n && i < METRICS_SHOWN; i++) {
        buf_c(&b, i ? ", " : "");
        metric_cell(&b, yyjson_arr_get(specs, i), yyjson_arr_get(statuses, i));
    }
    if (n > METRICS_SHOWN) {
        buf_f(&b, " + %zu more...", n - METRICS_SHOWN);
    }
    cell_str(out, buf_view(&b));
    buf_release(&b);
}

static void autoscaler_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    yyjson_val *min = json_path(obj, "spec.minReplicas");
    if (i == 1) {
        struct str kind = json_str_at(obj, "spec.scaleTargetRef.kind");
        struct str name = json_str_at(obj, "spec.scaleTargetRef.name");
        cell_f(out, "%.*s/%.*s", STR_ARG(kind), STR_ARG(name));
    } else if (i == 2) {
        targets_cell(obj, out);
    } else if (i == 3 && min == NULL) {
        cell_str(out, STR("<unset>"));
    } else if (i == 3) {
        cell_f(out, "%lld", (long long)yyjson_get_sint(min));
    } else {
        buf_i64(out, json_i64_at(obj, i == 4 ? "spec.maxReplicas" : "status.currentReplicas", 0));
    }
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Reference", "string", 0, "Object that is scaled."),
    COLUMN("Targets", "string", 0, "What each metric is, and should be."),
    COLUMN("MinPods", "string", 0, "Fewest pods."),
    COLUMN("MaxPods", "string", 0, "Most pods."),
    COLUMN("Replicas", "string", 0, "Pods there are."),
    COLUMN_AGE,
};
const struct kind kind_pod_autoscaler = {
    .group = "autoscaling",
    .api_version = "autoscaling/v2",
    .kind = "HorizontalPodAutoscaler",
    .plural = "horizontalpodautoscalers",
    .singular = "horizontalpodautoscaler",
    .short_names = (const char *const[]){"hpa", NULL},
    .categories = (const char *const[]){"all", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION,
    .versions =
        (const struct kind_version[]){
            {.version = "v2", .schema = &schema_hpa},
            {.version = "v1",
             .schema = &schema_hpa_v1,
             .to_storage = autoscaler_up,
             .from_storage = autoscaler_down},
        },
    .n_versions = 2,
    .columns = columns,
    .n_columns = COUNT(columns),
    .set_defaults = autoscaler_defaults,
    .prepare = prepare_status,
    .check = autoscaler_check,
    .cell = autoscaler_cell,
};
