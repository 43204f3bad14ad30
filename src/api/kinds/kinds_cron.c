/* kinds_cron: the row of CronJob: its schedule, what its template may say, its cells. */
#include "api/tables/view_batch.h"

#include "api/kinds/kinds.h"
#include "wire/text/cron.h"

/* The Jobs' names end in "-" and the minutes since 1970. */
enum { NAME_MAX_CRON = 52 };

static void cron_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    (void)err;
    pod_spec_defaults(d, json_mpath(obj, "spec.jobTemplate.spec.template.spec"));
}

static void check_schedule(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path here = path_member(at, "schedule");
    struct str text = json_mstr_at(spec, "schedule");
    struct cron cron;
    struct err err = {0};
    if (text.n == 0) {
        return; /* it is required */
    }
    if (str_contains(text, STR("TZ"))) {
        cause_invalid(c, &here, text,
                      "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    } else if (cron_parse(text, &cron, &err) != 0) {
        cause_invalid(c, &here, text, "%s", err.text);
    }
}

/* Whether this machine knows the zone is asked by admission, which has them. */
static void check_zone(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path here = path_member(at, "timeZone");
    yyjson_mut_val *v = json_mget(spec, STR("timeZone"));
    struct str zone = json_mstr(v);
    if (!yyjson_mut_is_str(v)) {
        return;
    }
    if (zone.n == 0) {
        cause_invalid(c, &here, zone, "timeZone must be nil or non-empty string");
    } else if (str_eq_nocase(zone, STR("Local"))) {
        cause_invalid(c, &here, zone,
                      "timeZone must be an explicit time zone as defined in "
                      "https://www.iana.org/time-zones");
    } else if (!zone_name_ok(zone)) {
        cause_invalid(c, &here, zone, "unknown time zone %.*s", STR_ARG(str_head(zone, 64)));
    }
}

static void check_template(yyjson_mut_val *template, const struct path *at, struct causes *c) {
    struct path meta = path_member(at, "metadata"), spec_at = path_member(at, "spec");
    struct path labels = path_member(&meta, "labels"), notes = path_member(&meta, "annotations");
    struct path selector = path_member(&spec_at, "selector");
    struct path manual = path_member(&spec_at, "manualSelector");
    yyjson_mut_val *spec = json_mget(template, STR("spec"));
    if (json_mget(spec, STR("selector")) != NULL) {
        cause_invalid_json(c, &selector, json_mget(spec, STR("selector")),
                           "`selector` will be auto-generated");
    }
    if (yyjson_mut_is_true(json_mget(spec, STR("manualSelector")))) {
        static const char *const values[] = {"nil", "false", NULL};
        cause_unsupported(c, &manual, STR("true"), values);
    }
    check_labels(c, &labels, json_mpath(template, "metadata.labels"));
    check_annotations(c, &notes, json_mpath(template, "metadata.annotations"));
    job_spec_check(spec, &spec_at, c);
}

static void cron_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), template = path_member(&at, "jobTemplate");
    struct path meta = path_member(NULL, "metadata"), name_at = path_member(&meta, "name");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    struct str name = json_mstr_at(obj, "metadata.name");
    check_schedule(spec, &at, c);
    check_zone(spec, &at, c);
    check_template(json_mget(spec, STR("jobTemplate")), &template, c);
    if (old == NULL && name.n > NAME_MAX_CRON) {
        cause_invalid(c, &name_at, name, "must be no more than %d characters", NAME_MAX_CRON);
    }
}

static void cron_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    yyjson_val *job = json_path(obj, "spec.jobTemplate.spec");
    struct str zone = json_str_at(obj, "spec.timeZone");
    struct str last = json_str_at(obj, "status.lastScheduleTime");
    switch (i) {
    case 2:
        cell_str(out, zone);
        break;
    case 3:
        buf_c(out, json_bool_at(obj, "spec.suspend", false) ? "true" : "false");
        break;
    case 4:
        buf_u64(out, yyjson_arr_size(json_path(obj, "status.active")));
        break;
    case 5:
        if (last.n == 0) {
            cell_str(out, last);
        } else {
            cell_age(out, last, now);
        }
        break;
    case 7:
        cell_containers(out, json_path(job, "template.spec"), "name");
        break;
    case 8:
        cell_containers(out, json_path(job, "template.spec"), "image");
        break;
    default:
        cell_labels(out, json_path(job, "selector.matchLabels"));
        break;
    }
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Schedule", "string", 0, "spec.schedule", "When jobs start."),
    COLUMN("Timezone", "string", 0, "Time zone of the schedule."),
    COLUMN("Suspend", "boolean", 0, "Whether no more jobs start."),
    COLUMN("Active", "integer", 0, "Jobs that run."),
    COLUMN("Last Schedule", "string", 0, "How long ago a job was last started."),
    COLUMN_AGE,
    COLUMN("Containers", "string", 1, "Names of the containers."),
    COLUMN("Images", "string", 1, "Images of the containers."),
    COLUMN("Selector", "string", 1, "Label selector of the jobs' pods."),
};
const struct kind kind_cron_job = {
    .group = "batch",
    .kind = "CronJob",
    .plural = "cronjobs",
    .singular = "cronjob",
    .short_names = (const char *const[]){"cj", NULL},
    .categories = (const char *const[]){"all", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION | KIND_STATUS_NOTES,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_cron_job},
    .n_versions = 1,
    .columns = columns,
    .n_columns = COUNT(columns),
    .set_defaults = cron_defaults,
    .prepare = prepare_status,
    .check = cron_check,
    .cell = cron_cell,
};
