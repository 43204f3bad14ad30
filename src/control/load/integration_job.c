/* integration_job: what a row cannot say of batch/v1 Jobs and of JobSets. */
#include "control/load/integration_private.h"
#include "control/load/job_workload.h"
#include "core/job/index_set.h"

/* ---- batch/v1 Job ---- */

bool batch_active(const struct job_look *l) {
    return json_i64_at(l->tree, "status.active", 0) != 0 ||
           json_i64_at(l->tree, "status.terminating", 0) != 0;
}

bool batch_ready(const struct job_look *l) {
    int64_t n = bounded(json_i64_at(l->tree, "status.succeeded", 0)) +
                bounded(json_i64_at(l->tree, "status.ready", 0));
    n += (int64_t)yyjson_arr_size(json_path(l->tree, "status.uncountedTerminatedPods.succeeded"));
    return n >= l->parts[0].count;
}

/* Indexes that will not run again: done, or failed for good. -1: they cannot be read. */
static int64_t ended_indexes(const struct job_look *l, int64_t completions) {
    struct index_set done, failed;
    index_set_init(&done, l->arena);
    index_set_init(&failed, l->arena);
    if (index_set_parse(&done, json_str_at(l->tree, "status.completedIndexes"), completions,
                        NULL) != 0 ||
        index_set_parse(&failed, json_str_at(l->tree, "status.failedIndexes"), completions, NULL) !=
            0) {
        return -1;
    }
    return index_set_count(&done) + index_set_count(&failed) - index_set_common(&done, &failed);
}

int64_t batch_reclaimable(const struct job_look *l, size_t i) {
    int64_t parallelism = json_i64_at(l->tree, "spec.parallelism", 1);
    int64_t completions = json_i64_at(l->tree, "spec.completions", -1);
    int64_t ended = json_i64_at(l->tree, "status.succeeded", 0);
    if (parallelism <= 1 || completions < 0 || completions > INT32_MAX) {
        return 0;
    }
    if (str_is(json_str_at(l->tree, "spec.completionMode"), "Indexed")) {
        ended = ended_indexes(l, completions);
    }
    int64_t left = completions - ended, count = l->parts[i].count;
    return ended <= 0 ? 0 : left < 0 ? count : left < count ? count - left : 0;
}

/* An Indexed Job may ask for as many completions as it has pods at a time. */
static bool follows(const struct job_look *l) {
    return str_is(job_look_annotation(l, KUEUE_COMPLETIONS_FOLLOW), "true") &&
           str_is(json_str_at(l->tree, "spec.completionMode"), "Indexed");
}

static int set_pods(const struct job_look *l, int64_t n, yyjson_mut_doc *d, yyjson_mut_val *root) {
    yyjson_mut_val *spec = json_mget(root, STR("spec"));
    int r = json_mset_i64(d, spec, "parallelism", n);
    return r || !follows(l) ? r : json_mset_i64(d, spec, "completions", n);
}

/* Fewer pods at a time are for Jobs that agreed to it; an admission also counts fewer when some have ended. */
int batch_inject(const struct job_look *l, const struct podset_info *infos, size_t n,
                 yyjson_mut_doc *d, yyjson_mut_val *root, struct err *err) {
    int64_t parallelism = json_i64_at(l->tree, "spec.parallelism", 1);
    int64_t completions = json_i64_at(l->tree, "spec.completions", INT64_MAX);
    int64_t count = infos[0].count;
    return l->parts[0].least > 0 && count < parallelism && (count < completions || follows(l))
               ? set_pods(l, count, d, root)
               : 0;
}

int batch_restore(const struct job_look *l, yyjson_val *was, yyjson_mut_doc *d,
                  yyjson_mut_val *root) {
    yyjson_val *set = yyjson_arr_get_first(was);
    int64_t count = json_i64_at(set, "count", 0);
    return json_get(set, STR("minCount")) && count > json_i64_at(l->tree, "spec.parallelism", 1)
               ? set_pods(l, count, d, root)
               : 0;
}

/* ---- JobSet ---- */

int64_t jobs_reclaimable(yyjson_val *status_list, struct str name, int64_t replicas, int64_t pods) {
    size_t i, n;
    yyjson_val *s;
    yyjson_arr_foreach(status_list, i, n, s) {
        int64_t done = bounded(json_i64_at(s, "succeeded", 0));
        if (str_eq(json_str_at(s, "name"), name) && done > 0 && done <= replicas) {
            return bounded(done * bounded(pods));
        }
    }
    return 0;
}

bool jobs_ready(yyjson_val *status_list, int64_t jobs) {
    int64_t have = 0;
    size_t i, n;
    yyjson_val *s;
    yyjson_arr_foreach(status_list, i, n, s) {
        have += bounded(json_i64_at(s, "ready", 0)) + bounded(json_i64_at(s, "succeeded", 0));
    }
    return have == jobs;
}

bool jobset_ready(const struct job_look *l) {
    int64_t jobs = 0;
    size_t i, n;
    yyjson_val *r;
    yyjson_arr_foreach(json_path(l->tree, "spec.replicatedJobs"), i, n, r) {
        jobs += bounded(json_i64_at(r, "replicas", 1));
    }
    return jobs_ready(json_path(l->tree, "status.replicatedJobsStatus"), jobs);
}

int64_t jobset_reclaimable(const struct job_look *l, size_t i) {
    yyjson_val *r = yyjson_arr_get(json_path(l->tree, "spec.replicatedJobs"), l->parts[i].index);
    return jobs_reclaimable(json_path(l->tree, "status.replicatedJobsStatus"),
                            json_str_at(r, "name"), json_i64_at(r, "replicas", 1),
                            job_spec_pods(json_path(r, "template.spec")));
}

/* ---- rules for new Jobs ---- */

static int64_t mut_i64(yyjson_mut_val *root, const char *path, int64_t otherwise) {
    yyjson_mut_val *v = json_mpath(root, path);
    return yyjson_mut_is_int(v) ? yyjson_mut_get_sint(v) : otherwise;
}

static void check_least(yyjson_mut_val *root, struct str text, struct causes *causes) {
    struct str at = STR("metadata.annotations[" KUEUE_MIN_PARALLELISM "]");
    int64_t n, pods = mut_i64(root, "spec.parallelism", 1);
    int64_t completions = mut_i64(root, "spec.completions", pods);
    pods = completions < pods ? completions : pods;
    if (!str_to_i64(text, &n)) {
        causes_add(causes, CAUSE_INVALID, at, "Invalid value: \"%.*s\": expected a number",
                   STR_ARG(text));
    } else if (n <= 0 || n >= pods) {
        causes_add(causes, CAUSE_INVALID, at, "Invalid value: %lld: should be between 0 and %lld",
                   (long long)n, (long long)pods - 1);
    }
}

void batch_check(yyjson_mut_val *root, struct causes *causes) {
    yyjson_mut_val *notes = json_mpath(root, "metadata.annotations");
    yyjson_mut_val *least = json_mget(notes, STR(KUEUE_MIN_PARALLELISM));
    struct str follow = json_mstr(json_mget(notes, STR(KUEUE_COMPLETIONS_FOLLOW)));
    struct str at = STR("metadata.annotations[" KUEUE_COMPLETIONS_FOLLOW "]");
    if (least) {
        check_least(root, json_mstr(least), causes);
    }
    if (!str_is(follow, "true")) {
        return;
    }
    if (!str_is(json_mstr_at(root, "spec.completionMode"), "Indexed")) {
        causes_add(causes, CAUSE_INVALID, at,
                   "Invalid value: \"true\": should not be enabled for NonIndexed jobs");
    }
    if (mut_i64(root, "spec.parallelism", 1) != mut_i64(root, "spec.completions", 1)) {
        causes_add(
            causes, CAUSE_INVALID, STR("spec.completions"),
            "Invalid value: %lld: should be equal to parallelism when " KUEUE_COMPLETIONS_FOLLOW
            " annotation is true",
            (long long)mut_i64(root, "spec.completions", 1));
    }
}
