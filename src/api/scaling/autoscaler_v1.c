/*
 * autoscaler_v1: autoscaling/v1 to v2, which is stored, and back, in place.
 *
 * v1 has one target, the use of CPU in percent. Further metrics, the behavior, conditions and what metrics are now
 * stand in annotations, in v1's own words for a metric. So nothing is lost for a client of v1 that writes back what
 * it read.
 */
#include "api/scaling/autoscaler.h"

#define NOTE(name) "autoscaling.alpha.kubernetes.io/" name
#define NOTE_METRICS NOTE("metrics")
#define NOTE_CURRENT NOTE("current-metrics")
#define NOTE_CONDITIONS NOTE("conditions")
#define NOTE_BEHAVIOR NOTE("behavior")
#define NOTE_TOLERANCE_UP NOTE("scale-up-tolerance")
#define NOTE_TOLERANCE_DOWN NOTE("scale-down-tolerance")
static const char *const notes[] = {NOTE_METRICS,  NOTE_CURRENT,      NOTE_CONDITIONS,
                                    NOTE_BEHAVIOR, NOTE_TOLERANCE_UP, NOTE_TOLERANCE_DOWN};

/* A member of a metric's source: where it stands in v1, and in v2 (a path). */
struct autoscaler_move {
    const char *type, *source; /* "Pods", "pods" */
    const char *v1, *v2;
};
static const struct autoscaler_move of_both[] = {
    {"Resource", "resource", "name", "name"},
    {"ContainerResource", "containerResource", "name", "name"},
    {"ContainerResource", "containerResource", "container", "container"},
    {"Pods", "pods", "metricName", "metric.name"},
    {"Pods", "pods", "selector", "metric.selector"},
    {"Object", "object", "target", "describedObject"},
    {"Object", "object", "metricName", "metric.name"},
    {"Object", "object", "selector", "metric.selector"},
    {"External", "external", "metricName", "metric.name"},
    {"External", "external", "metricSelector", "metric.selector"},
};
static const struct autoscaler_move of_spec[] = {
    {"Resource", "resource", "targetAverageUtilization", "target.averageUtilization"},
    {"Resource", "resource", "targetAverageValue", "target.averageValue"},
    {"ContainerResource", "containerResource", "targetAverageUtilization",
     "target.averageUtilization"},
    {"ContainerResource", "containerResource", "targetAverageValue", "target.averageValue"},
    {"Pods", "pods", "targetAverageValue", "target.averageValue"},
    {"Object", "object", "targetValue", "target.value"},
    {"Object", "object", "averageValue", "target.averageValue"},
    {"External", "external", "targetValue", "target.value"},
    {"External", "external", "targetAverageValue", "target.averageValue"},
};
static const struct autoscaler_move of_status[] = {
    {"Resource", "resource", "currentAverageUtilization", "current.averageUtilization"},
    {"Resource", "resource", "currentAverageValue", "current.averageValue"},
    {"ContainerResource", "containerResource", "currentAverageUtilization",
     "current.averageUtilization"},
    {"ContainerResource", "containerResource", "currentAverageValue", "current.averageValue"},
    {"Pods", "pods", "currentAverageValue", "current.averageValue"},
    {"Object", "object", "currentValue", "current.value"},
    {"Object", "object", "averageValue", "current.averageValue"},
    {"External", "external", "currentValue", "current.value"},
    {"External", "external", "currentAverageValue", "current.averageValue"},
};

static int no_memory(struct err *err) {
    return err_set(err, ERR_NOMEM, "out of memory");
}

static int put_at(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *dotted, yyjson_mut_val *v) {
    const char *dot = strchr(dotted, '.');
    char parent[32];
    if (dot == NULL) {
        return json_mset(d, obj, str_of(dotted), v);
    }
    if (!str_copy(str_from(dotted, (size_t)(dot - dotted)), parent, sizeof(parent))) {
        return ERR_NOMEM;
    }
    return json_mset(d, json_mensure(d, obj, parent), str_of(dot + 1), v);
}

/* The type of a target that v1 does not name. */
static const char *target_type(yyjson_mut_val *target) {
    return json_mget(target, STR("averageUtilization")) ? "Utilization"
           : json_mget(target, STR("averageValue"))     ? "AverageValue"
                                                        : "Value";
}

/* Members of a metric that are there. */
static int move(yyjson_mut_doc *d, yyjson_mut_val *metric, yyjson_mut_val *out,
                const struct autoscaler_move *rows, size_t n, bool up) {
    struct str type = json_mstr_at(metric, "type");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct autoscaler_move *m = &rows[i];
        yyjson_mut_val *source = json_mget(metric, str_of(m->source));
        yyjson_mut_val *v = json_mpath(source, up ? m->v1 : m->v2);
        if (str_is(type, m->type) && v != NULL) {
            rc = put_at(d, json_mensure(d, out, m->source), up ? m->v2 : m->v1,
                        yyjson_mut_val_mut_copy(d, v));
        }
    }
    return rc;
}

/* One metric in the other version's words; rows: of_spec or of_status. */
static yyjson_mut_val *convert_metric(yyjson_mut_doc *d, yyjson_mut_val *metric,
                                      const struct autoscaler_move *rows, size_t n, bool up) {
    yyjson_mut_val *out = yyjson_mut_obj(d);
    int rc = out == NULL ? ERR_NOMEM : json_mset_str(d, out, "type", json_mstr_at(metric, "type"));
    rc = rc ? rc : move(d, metric, out, of_both, COUNT(of_both), up);
    rc = rc ? rc : move(d, metric, out, rows, n, up);
    for (size_t i = 0; rc == 0 && up && rows == of_spec && i < n; i++) {
        yyjson_mut_val *target = json_mpath(json_mget(out, str_of(rows[i].source)), "target");
        if (yyjson_mut_is_obj(target) && json_mget(target, STR("type")) == NULL) {
            rc = json_mset_str(d, target, "type", str_of(target_type(target)));
        }
    }
    return rc == 0 ? out : NULL;
}

static bool is_cpu_percent(yyjson_mut_val *metric) {
    return str_is(json_mstr_at(metric, "type"), "Resource") &&
           str_is(json_mstr_at(metric, "resource.name"), "cpu") &&
           json_mpath(metric, "resource.target.averageUtilization") != NULL;
}

/* ---- annotations ---- */

static int write_note(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, yyjson_mut_val *v) {
    struct buf b;
    buf_init(&b, 0);
    json_write_mut(&b, v);
    int rc = buf_ok(&b);
    rc =
        rc ? rc : json_mset_str(d, json_mensure(d, obj, "metadata.annotations"), key, buf_view(&b));
    buf_release(&b);
    return rc;
}

/* What an annotation says; NULL: it is not there, or no JSON. */
static yyjson_mut_val *read_note(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key) {
    yyjson_mut_val *text = json_mget(json_mpath(obj, "metadata.annotations"), str_of(key));
    yyjson_mut_doc *parsed;
    if (text == NULL || json_parse_mut(json_arena(d), json_mstr(text), &parsed, NULL) != 0) {
        return NULL;
    }
    return yyjson_mut_val_mut_copy(d, yyjson_mut_doc_get_root(parsed));
}

static void drop_notes(yyjson_mut_val *obj) {
    yyjson_mut_val *meta = json_mget(obj, STR("metadata"));
    yyjson_mut_val *annotations = json_mget(meta, STR("annotations"));
    bool any = false;
    for (size_t i = 0; yyjson_mut_is_obj(annotations) && i < COUNT(notes); i++) {
        any = any || json_mget(annotations, str_of(notes[i])) != NULL;
        json_mdel(annotations, str_of(notes[i]));
    }
    if (any && yyjson_mut_obj_size(annotations) == 0) {
        json_mdel(meta, STR("annotations"));
    }
}

/* A list of metrics, each in v2's words. */
static int noted_metrics(yyjson_mut_doc *d, yyjson_mut_val *list,
                         const struct autoscaler_move *rows, size_t n, yyjson_mut_val *out) {
    EACH(list, i, m) {
        yyjson_mut_val *metric = convert_metric(d, m, rows, n, true);
        (void)i;
        if (metric == NULL || !yyjson_mut_arr_append(out, metric)) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

/* ---- v1 to v2 ---- */

static int spec_up(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_mut_val *spec) {
    yyjson_mut_val *percent = json_mget(spec, STR("targetCPUUtilizationPercentage"));
    yyjson_mut_val *metrics = yyjson_mut_arr(d), *behavior = read_note(d, obj, NOTE_BEHAVIOR);
    int rc = metrics == NULL ? ERR_NOMEM : 0;
    rc = rc ? rc
            : noted_metrics(d, read_note(d, obj, NOTE_METRICS), of_spec, COUNT(of_spec), metrics);
    if (rc == 0 && percent != NULL) {
        yyjson_mut_val *m = yyjson_mut_arr_add_obj(d, metrics);
        rc = json_mset_str(d, m, "type", STR("Resource"));
        rc = rc ? rc : json_mset_str(d, json_mensure(d, m, "resource"), "name", STR("cpu"));
        yyjson_mut_val *target = json_mensure(d, m, "resource.target");
        rc = rc ? rc : json_mset_str(d, target, "type", STR("Utilization"));
        rc = rc ? rc
                : json_mset(d, target, STR("averageUtilization"),
                            yyjson_mut_val_mut_copy(d, percent));
        json_mdel(spec, STR("targetCPUUtilizationPercentage"));
    }
    if (rc == 0 && yyjson_mut_arr_size(metrics) > 0) {
        rc = json_mset(d, spec, STR("metrics"), metrics);
    }
    if (rc == 0 && yyjson_mut_is_obj(behavior)) {
        rc = json_mset(d, spec, STR("behavior"), behavior);
    }
    return rc;
}

static int status_up(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_mut_val *status) {
    yyjson_mut_val *conditions = read_note(d, obj, NOTE_CONDITIONS);
    yyjson_mut_val *current = read_note(d, obj, NOTE_CURRENT), *metrics = yyjson_mut_arr(d);
    int rc = metrics == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && yyjson_mut_is_arr(current)) {
        rc = noted_metrics(d, current, of_status, COUNT(of_status), metrics);
        rc = rc ? rc : json_mset(d, status, STR("currentMetrics"), metrics);
    }
    if (rc == 0 && yyjson_mut_is_arr(conditions)) {
        rc = json_mset(d, status, STR("conditions"), conditions);
    }
    json_mdel(status, STR("currentCPUUtilizationPercentage"));
    return rc;
}

int autoscaler_up(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *spec = json_mget(obj, STR("spec")), *status = json_mget(obj, STR("status"));
    int rc = yyjson_mut_is_obj(spec) ? spec_up(d, obj, spec) : 0;
    rc = rc == 0 && yyjson_mut_is_obj(status) ? status_up(d, obj, status) : rc;
    drop_notes(obj);
    return rc == 0 ? 0 : no_memory(err);
}

/* ---- v2 to v1 ---- */

static int spec_down(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_mut_val *spec) {
    yyjson_mut_val *behavior = json_mget(spec, STR("behavior")), *others = yyjson_mut_arr(d);
    int rc = others == NULL ? ERR_NOMEM : 0;
    EACH(json_mget(spec, STR("metrics")), i, m) {
        (void)i;
        if (rc == 0 && is_cpu_percent(m)) {
            yyjson_mut_val *v = json_mpath(m, "resource.target.averageUtilization");
            rc = json_mset(d, spec, STR("targetCPUUtilizationPercentage"),
                           yyjson_mut_val_mut_copy(d, v));
        } else if (rc == 0) {
            yyjson_mut_val *other = convert_metric(d, m, of_spec, COUNT(of_spec), false);
            rc = other != NULL && yyjson_mut_arr_append(others, other) ? 0 : ERR_NOMEM;
        }
    }
    if (rc == 0 && yyjson_mut_arr_size(others) > 0) {
        rc = write_note(d, obj, NOTE_METRICS, others);
    }
    if (rc == 0 && behavior != NULL) {
        rc = write_note(d, obj, NOTE_BEHAVIOR, behavior);
    }
    json_mdel(spec, STR("metrics"));
    json_mdel(spec, STR("behavior"));
    return rc;
}

static int status_down(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_mut_val *status) {
    yyjson_mut_val *conditions = json_mget(status, STR("conditions")), *all = yyjson_mut_arr(d);
    int rc = all == NULL ? ERR_NOMEM : 0;
    EACH(json_mget(status, STR("currentMetrics")), i, m) {
        yyjson_mut_val *one = convert_metric(d, m, of_status, COUNT(of_status), false);
        yyjson_mut_val *v = json_mpath(m, "resource.current.averageUtilization");
        (void)i;
        rc = rc ? rc : one != NULL && yyjson_mut_arr_append(all, one) ? 0 : ERR_NOMEM;
        if (rc == 0 && v != NULL && str_is(json_mstr_at(m, "resource.name"), "cpu")) {
            rc = json_mset(d, status, STR("currentCPUUtilizationPercentage"),
                           yyjson_mut_val_mut_copy(d, v));
        }
    }
    if (rc == 0 && yyjson_mut_arr_size(all) > 0) {
        rc = write_note(d, obj, NOTE_CURRENT, all);
    }
    if (rc == 0 && yyjson_mut_arr_size(conditions) > 0) {
        rc = write_note(d, obj, NOTE_CONDITIONS, conditions);
    }
    json_mdel(status, STR("currentMetrics"));
    json_mdel(status, STR("conditions"));
    return rc;
}

int autoscaler_down(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *spec = json_mget(obj, STR("spec")), *status = json_mget(obj, STR("status"));
    drop_notes(obj);
    int rc = yyjson_mut_is_obj(spec) ? spec_down(d, obj, spec) : 0;
    rc = rc == 0 && yyjson_mut_is_obj(status) ? status_down(d, obj, status) : rc;
    return rc == 0 ? 0 : no_memory(err);
}
