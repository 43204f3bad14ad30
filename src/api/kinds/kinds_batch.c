/*
 * kinds_batch: the row of Job: its selector and labels, what may change while it runs, its cells.
 *
 * A job's pods carry its uid. Unless the selector is the user's own (manualSelector), creating the job writes the
 * selector and the same labels on the template; so prepare needs metadata.uid and metadata.name to be set.
 */
#include "api/tables/view_batch.h"

#include "api/kinds/kinds.h"
#include "api/schema/codec.h"
#include "wire/text/time.h"

static void set_i64_if_absent(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, int64_t v) {
    if (json_mget(obj, str_of(key)) == NULL) {
        json_mset_i64(d, obj, key, v);
    }
}

static void job_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    (void)err;
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    if (!yyjson_mut_is_obj(spec)) {
        return;
    }
    if (json_mget(spec, STR("completions")) == NULL &&
        json_mget(spec, STR("parallelism")) == NULL) {
        json_mset_i64(d, spec, "completions", 1);
    }
    set_i64_if_absent(d, spec, "parallelism", 1);
    bool per_index = json_mget(spec, STR("backoffLimitPerIndex")) != NULL;
    set_i64_if_absent(d, spec, "backoffLimit", per_index ? INT32_MAX : 6);
    if (json_mstr_at(spec, "podReplacementPolicy").n == 0) {
        bool policy = json_mget(spec, STR("podFailurePolicy")) != NULL;
        json_mset_str(d, spec, "podReplacementPolicy",
                      policy ? STR("Failed") : STR("TerminatingOrFailed"));
    }
    pod_spec_defaults(d, json_mpath(spec, "template.spec"));
    if (yyjson_mut_obj_size(json_mpath(obj, "metadata.labels")) == 0) {
        yyjson_mut_val *labels = json_mpath(spec, "template.metadata.labels");
        if (yyjson_mut_obj_size(labels) > 0) {
            json_mset(d, json_mensure(d, obj, "metadata"), STR("labels"),
                      yyjson_mut_val_mut_copy(d, labels));
        }
    }
}

static void job_prepare(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old, int64_t now) {
    prepare_status(d, obj, old, now);
    struct str uid = json_mstr_at(obj, "metadata.uid"), name = json_mstr_at(obj, "metadata.name");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    if (old != NULL || uid.n == 0 || yyjson_mut_get_bool(json_mget(spec, STR("manualSelector")))) {
        return;
    }
    static const char *const by_uid[] = {"batch.kubernetes.io/controller-uid", "controller-uid"};
    static const char *const by_name[] = {"batch.kubernetes.io/job-name", "job-name"};
    yyjson_mut_val *labels = json_mensure(d, spec, "template.metadata.labels");
    yyjson_mut_val *match = json_mensure(d, spec, "selector.matchLabels");
    if (labels == NULL || match == NULL) {
        return; /* the arena remembers */
    }
    for (size_t i = 0; i < COUNT(by_uid); i++) {
        json_mset_str(d, labels, by_uid[i], uid);
        json_mset_str(d, labels, by_name[i], name);
    }
    json_mset_str(d, match, by_uid[0], uid);
}

/* A suspended job that never started may still be steered: its placing, its labels, its resources. */
static bool template_same(yyjson_mut_val *now, yyjson_val *was, bool may_steer) {
    static const char *const steering[] = {"nodeSelector", "affinity", "tolerations",
                                           "schedulingGates", NULL};
    static const char *const marks[] = {"labels", "annotations", NULL};
    static const char *const parts[] = {"metadata", "spec", NULL};
    if (!may_steer) {
        return same_value(now, was);
    }
    return same_except(now, was, parts) &&
           same_except(json_mget(now, STR("metadata")), json_get(was, STR("metadata")), marks) &&
           same_except(json_mget(now, STR("spec")), json_get(was, STR("spec")), steering);
}

static void job_change(yyjson_mut_val *spec, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), template = path_member(&at, "template");
    struct path completions = path_member(&at, "completions");
    yyjson_val *was = json_get(old, STR("spec"));
    bool may_steer =
        json_bool_at(was, "suspend", false) && json_path(old, "status.startTime") == NULL;
    yyjson_mut_val *now = json_mget(spec, STR("template"));
    if (!template_same(now, json_get(was, STR("template")), may_steer)) {
        struct path pod = path_member(&template, "spec");
        yyjson_mut_val *spec_now = json_mget(now, STR("spec"));
        bool inside = !same_value(spec_now, json_path(was, "template.spec"));
        cause_invalid_json(c, inside ? &pod : &template, inside ? spec_now : now,
                           "field is immutable");
    }
    yyjson_mut_val *n = json_mget(spec, STR("completions"));
    bool elastic =
        str_is(json_mstr_at(spec, "completionMode"), "Indexed") && n != NULL &&
        yyjson_mut_get_sint(n) == yyjson_mut_get_sint(json_mget(spec, STR("parallelism")));
    if (!elastic) {
        check_immutable(c, &completions, n, json_get(was, STR("completions")));
    }
}

/* A rule goes by exit codes or by conditions. */
static void check_failure_rules(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path policy = path_member(at, "podFailurePolicy"), list = path_member(&policy, "rules");
    EACH(json_mpath(spec, "podFailurePolicy.rules"), i, rule) {
        struct path here = path_index(&list, i);
        bool codes = json_mget(rule, STR("onExitCodes")) != NULL;
        bool conditions = yyjson_mut_arr_size(json_mget(rule, STR("onPodConditions"))) > 0;
        if (!codes && !conditions) {
            causes_add(c, CAUSE_INVALID, path_text(&here, c->arena),
                       "Invalid value: specifying one of OnExitCodes and OnPodConditions is "
                       "required");
        } else if (codes && conditions) {
            causes_add(c, CAUSE_INVALID, path_text(&here, c->arena),
                       "Invalid value: specifying both OnExitCodes and OnPodConditions is not "
                       "supported");
        }
    }
}

void job_spec_check(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path template = path_member(at, "template");
    struct path completions = path_member(at, "completions");
    struct path pod = path_member(&template, "spec"), restart = path_member(&pod, "restartPolicy");
    struct str policy = json_mstr_at(spec, "template.spec.restartPolicy");
    if (policy.n == 0 || str_is(policy, "Always")) {
        causes_add(c, CAUSE_REQUIRED, path_text(&restart, c->arena),
                   "Required value: valid values: \"OnFailure\", \"Never\"");
    } else if (!str_is(policy, "Never") && !str_is(policy, "OnFailure")) {
        static const char *const values[] = {"OnFailure", "Never", NULL};
        cause_unsupported(c, &restart, policy, values);
    }
    if (str_is(json_mstr_at(spec, "completionMode"), "Indexed") &&
        json_mget(spec, STR("completions")) == NULL) {
        cause_required(c, &completions, "when completion mode is Indexed");
    }
    check_failure_rules(spec, at, c);
    pod_template_check(json_mget(spec, STR("template")), &template, c);
}

static void job_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), selector = path_member(&at, "selector");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    struct path template = path_member(&at, "template"), pod = path_member(&template, "spec");
    job_spec_check(spec, &at, c);
    if (old == NULL) {
        pod_refuse(json_mpath(spec, "template.spec"), &pod, c);
    }
    check_selector(c, &selector, json_mget(spec, STR("selector")));
    job_notes_check(obj, old, c);
    if (old != NULL) {
        job_change(spec, old, c);
    }
}

static const char *job_state(yyjson_val *obj) {
    static const struct {
        const char *condition, *text;
    } states[] = {
        {"Complete", "Complete"},
        {"Failed", "Failed"},
        {NULL, "Terminating"},
        {"Suspended", "Suspended"},
        {"FailureTarget", "FailureTarget"},
        {"SuccessCriteriaMet", "SuccessCriteriaMet"},
    };
    for (size_t i = 0; i < COUNT(states); i++) {
        bool is = states[i].condition == NULL
                      ? json_str_at(obj, "metadata.deletionTimestamp").n > 0
                      : str_is(condition_status(obj, states[i].condition), "True");
        if (is) {
            return states[i].text;
        }
    }
    return "Running";
}

static void completions_cell(yyjson_val *obj, struct buf *out) {
    int64_t done = json_i64_at(obj, "status.succeeded", 0);
    int64_t parallel = json_i64_at(obj, "spec.parallelism", 0);
    if (json_path(obj, "spec.completions") != NULL) {
        cell_f(out, "%lld/%lld", (long long)done,
               (long long)json_i64_at(obj, "spec.completions", 0));
    } else if (parallel > 1) {
        cell_f(out, "%lld/1 of %lld", (long long)done, (long long)parallel);
    } else {
        cell_f(out, "%lld/1", (long long)done);
    }
}

static void duration_cell(yyjson_val *obj, int64_t now, struct buf *out) {
    int64_t start, end = now;
    struct str done = json_str_at(obj, "status.completionTime");
    if (time_parse(json_str_at(obj, "status.startTime"), &start, NULL) < 0) {
        buf_c(out, "\"\"");
        return;
    }
    if (done.n > 0) {
        time_parse(done, &end, NULL);
    }
    buf_ch(out, '"');
    codec_age(start, end, out);
    buf_ch(out, '"');
}

static void job_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    switch (i) {
    case 1:
        buf_json(out, str_of(job_state(obj)));
        break;
    case 2:
        completions_cell(obj, out);
        break;
    case 3:
        duration_cell(obj, now, out);
        break;
    case 5:
        cell_containers(out, json_path(obj, "spec.template.spec"), "name");
        break;
    case 6:
        cell_containers(out, json_path(obj, "spec.template.spec"), "image");
        break;
    default:
        cell_labels(out, json_path(obj, "spec.selector.matchLabels"));
        break;
    }
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Status", "string", 0, "State of the job."),
    COLUMN("Completions", "string", 0, "Succeeded pods, out of the required completions."),
    COLUMN("Duration", "string", 0, "Time from the start to the end, or until now."),
    COLUMN_AGE,
    COLUMN("Containers", "string", 1, "Names of the containers."),
    COLUMN("Images", "string", 1, "Images of the containers."),
    COLUMN("Selector", "string", 1, "Label selector of the job's pods."),
};
static const struct kind_version versions[] = {{.version = "v1", .schema = &schema_job}};
const struct kind kind_job = {
    .group = "batch",
    .kind = "Job",
    .plural = "jobs",
    .singular = "job",
    .categories = (const char *const[]){"all", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION | KIND_ORPHANS,
    .versions = versions,
    .n_versions = COUNT(versions),
    .columns = columns,
    .n_columns = COUNT(columns),
    .selectable = (const char *const[]){"status.successful", NULL},
    .set_defaults = job_defaults,
    .prepare = job_prepare,
    .check = job_check,
    .cell = job_cell,
};
