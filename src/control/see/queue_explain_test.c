/*
 * Tests of explanations and previews over a fake world: amounts, holders, rules, positions and starts, exact in virtual
 * time; who may see what; a preview beside what the edit then really does; questions cancelled or left behind.
 */
#include "control/test/queue_explain_scene.h"

/* ---- explanations ---- */

static void two_teams(struct scene *s) {
    start(s, false);
    fake_world_put(&s->w, cluster_json("qa", 4, "\"cohortName\":\"c\","));
    fake_world_put(&s->w, cluster_json("qb", 4, "\"cohortName\":\"c\","));
    local_queue(s, "a", "qa");
    local_queue(s, "b", "qb");
    settle(s);
    workload(s, "b", "big", 6, 0, "1h");
    workload(s, "a", "first", 1, 0, "10m");
    workload(s, "a", "second", 4, 0, "5m");
    workload(s, "a", "third", 5, 0, NULL);
}

static void says_everything(void **state) {
    struct scene s;
    two_teams(&s);
    why(&s, "a", "third");
    is(&s, s.json, "kind", "WorkloadExplanation");
    is(&s, s.json, "metadata.name", "third");
    is(&s, s.json, "status.state", "Waiting");
    is(&s, s.json, "status.clusterQueue", "qa");
    is(&s, s.json, "status.localQueue", "lq");
    is(&s, s.json, "status.reason", "WaitingForQuota");
    is(&s, s.json, "status.summary",
       "4 gpu missing in flavor f (5 needed, 1 free), held by 2 workloads");
    assert_int_equal(json_i64_at(s.json, "status.position.clusterQueue", 0), 2);
    assert_int_equal(json_i64_at(s.json, "status.position.localQueue", 0), 2);
    is(&s, nth(&s, "status.position.next", 0), "name", "second");
    yyjson_val *l = nth(&s, "status.lacks", 0);
    is(&s, l, "flavor", "f");
    is(&s, l, "resource", "gpu");
    is(&s, l, "needed", "5");
    is(&s, l, "available", "1");
    is(&s, l, "missing", "4");
    is(&s, l, "capacity", "8");
    is(&s, l, "limitedBy", "c");
    yyjson_val *h = yyjson_arr_get_first(json_get(l, STR("holders")));
    is(&s, h, "namespace", "b");
    is(&s, h, "name", "big");
    is(&s, h, "clusterQueue", "qb");
    is(&s, h, "amount", "6");
    is(&s, h, "basis", "declared");
    is(&s, h, "keeps", "ReclaimWithinCohortNever");
    yyjson_val *b = yyjson_arr_get_first(json_get(l, STR("borrowers")));
    is(&s, b, "clusterQueue", "qb");
    is(&s, b, "amount", "2");
    /* second starts when big ends; third runs beside it */
    int64_t big = admitted_at(&s, "b", "big");
    is(&s, s.json, "status.estimate.basis", "declared");
    int64_t third = when(&s, "status.estimate.start");
    why(&s, "a", "second");
    assert_int_equal(when(&s, "status.estimate.start"), big + 3600);
    assert_int_equal(third, big + 3600 + 300); /* 4 + 5 are more than 8 */
    assert_true(str_contains(json_str_at(s.json, "status.text"),
                             STR("6 held by b/big, priority 0, ends in ")));
    end(&s);
}

static void finish(struct scene *s, const char *name) {
    char done[512], text[TIME_TEXT_MAX], since[TIME_TEXT_MAX];
    struct str ended = time_text(clock_wall(s->w.env.clock), text);
    struct str began = time_text(admitted_at(s, "a", name) * NS_PER_SEC, since);
    snprintf(done, sizeof(done),
             "{\"status\":{\"conditions\":[{\"type\":\"Admitted\",\"status\":\"True\",\"reason\":"
             "\"Admitted\",\"message\":\"\",\"lastTransitionTime\":\"%.*s\"},{\"type\":"
             "\"Finished\",\"status\":\"True\",\"reason\":\"Succeeded\",\"message\":\"\","
             "\"lastTransitionTime\":\"%.*s\"}]}}",
             STR_ARG(began), STR_ARG(ended));
    fake_world_patch(&s->w, "Workload", "a", name, "status", done);
    settle(s);
}

static void unknown_and_observed(void **state) {
    struct scene s;
    start(&s, false);
    fake_world_put(&s.w, cluster_json("qa", 4, ""));
    local_queue(&s, "a", "qa");
    settle(&s);
    workload(&s, "a", "run-1", 4, 0, NULL);
    workload(&s, "a", "run-2", 4, 0, NULL);
    workload(&s, "a", "run-3", 4, 0, NULL);
    why(&s, "a", "run-2");
    is(&s, s.json, "status.estimate.basis", "unknown");
    assert_null(at(&s, "status.estimate.start"));
    assert_null(at(&s, "status.estimate.notBefore")); /* now */
    is(&s, s.json, "status.estimate.text", "unknown (run times are not known)");
    workload(&s, "a", "huge", 5, 0, NULL); /* whatever the others do */
    why(&s, "a", "huge");
    is(&s, s.json, "status.estimate.text", "not as things are");
    is(&s, s.json, "status.estimate.basis", "none needed");
    fake_world_run(&s.w, 100 * NS_PER_SEC);
    int64_t ran = clock_wall(s.w.env.clock) / NS_PER_SEC - admitted_at(&s, "a", "run-1");
    finish(&s, "run-1");
    why(&s, "a", "run-3");
    is(&s, s.json, "status.estimate.basis", "observed");
    int64_t about = admitted_at(&s, "a", "run-2") + ran; /* one run is known: no time, a range */
    assert_null(at(&s, "status.estimate.start"));
    assert_in_range(when(&s, "status.estimate.earliest"), about - ran, about - ran / 10);
    assert_in_range(when(&s, "status.estimate.latest"), about + ran / 5, about + 3 * ran);
    struct str said = json_str_at(s.json, "status.estimate.text");
    assert_true(str_starts(said, STR("in ")) && str_contains(said, STR(" to ")));
    assert_true(str_ends(said, STR(" (observed run times)")));
    why(&s, "a", "run-1");
    is(&s, s.json, "status.state", "Finished");
    why(&s, "a", "run-2");
    is(&s, s.json, "status.state", "Admitted");
    end(&s);
}

/* One that waits for none of the unknown ones is told when; another gets a bound. */
static void a_bound(void **state) {
    struct scene s;
    start(&s, false);
    fake_world_put(&s.w, cluster_json("qa", 4, ""));
    local_queue(&s, "a", "qa");
    settle(&s);
    workload(&s, "a", "x", 2, 0, NULL);
    workload(&s, "a", "y", 2, 0, "1h");
    workload(&s, "a", "p", 2, 0, "10m");
    workload(&s, "a", "whole", 4, 0, "10m");
    int64_t y = admitted_at(&s, "a", "y");
    why(&s, "a", "p");
    assert_int_equal(when(&s, "status.estimate.start"), y + 3600);
    why(&s, "a", "whole");
    assert_null(at(&s, "status.estimate.start"));
    assert_int_equal(when(&s, "status.estimate.notBefore"), y + 3600);
    end(&s);
}

static void declared_too_short(struct scene *s, const char *name) {
    workload(s, "a", name, 4, 0, "10m");
}

static bool noted(const struct scene *s, const char *text) {
    return str_contains(json_str_at(s->json, "status.estimate.note"), str_of(text));
}

/* An estimate that passed is not told again with a little more: it widens, and says so. */
static void does_not_slide(void **state) {
    struct scene s;
    start(&s, false);
    fake_world_put(&s.w, cluster_json("qa", 4, ""));
    local_queue(&s, "a", "qa");
    settle(&s);
    declared_too_short(&s, "run-1");
    declared_too_short(&s, "next-1");
    why(&s, "a", "next-1");
    int64_t first = when(&s, "status.estimate.start");
    assert_int_equal(first, admitted_at(&s, "a", "run-1") + 600);
    assert_true(when(&s, "status.estimate.earliest") < first);
    assert_true(when(&s, "status.estimate.latest") > first);
    assert_false(noted(&s, "At first"));
    fake_world_run(&s.w, 1800 * NS_PER_SEC);
    why(&s, "a", "next-1"); /* twenty minutes late */
    int64_t now = clock_wall(s.w.env.clock) / NS_PER_SEC;
    assert_null(at(&s, "status.estimate.start"));
    assert_true(when(&s, "status.estimate.latest") > now + 1200);
    is(&s, s.json, "status.estimate.note", "At first it was to start in 9m50s, which was 20m ago.");
    end(&s);
}

/* Where jobs take a fourth of what is declared, the next ones are told so. */
static void learns(void **state) {
    struct scene s;
    char run[16], next[16];
    start(&s, false);
    fake_world_put(&s.w, cluster_json("qa", 4, ""));
    local_queue(&s, "a", "qa");
    settle(&s);
    declared_too_short(&s, "n-0");
    int64_t came = 0, told = 0;
    for (int i = 0; i < 16; i++) {
        snprintf(run, sizeof(run), "n-%d", i);
        snprintf(next, sizeof(next), "n-%d", i + 1);
        declared_too_short(&s, next);
        why(&s, "a", next);
        told = when(&s, "status.estimate.earliest");
        fake_world_run(&s.w, 150 * NS_PER_SEC);
        fake_world_delete(&s.w, "Workload", "a", run, "");
        settle(&s);
        came = admitted_at(&s, "a", next);
        assert_true(i > 0 || told > came + 300);
    }
    assert_true(told < came + 30);
    end(&s);
}

/* Those like it declared ten hours, too, and took one. */
static void declared_too_long(void **state) {
    struct scene s;
    char name[16];
    start(&s, false);
    fake_world_put(&s.w, cluster_json("qa", 4, ""));
    local_queue(&s, "a", "qa");
    settle(&s);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "long-%d", i);
        workload(&s, "a", name, 4, 0, "10h");
        fake_world_run(&s.w, 3600 * NS_PER_SEC);
        finish(&s, name);
    }
    workload(&s, "a", "long-8", 4, 0, "10h");
    workload(&s, "a", "next", 4, 0, "10h");
    why(&s, "a", "next");
    is(&s, s.json, "status.estimate.basis", "declared");
    int64_t about = admitted_at(&s, "a", "long-8") + 3600;
    assert_in_range(when(&s, "status.estimate.start"), about - 600, about + 600);
    end(&s);
}

static void tenants_see_their_own(void **state) {
    struct scene s;
    two_teams(&s);
    s.only = "a";
    why(&s, "a", "third");
    yyjson_val *l = nth(&s, "status.lacks", 0);
    yyjson_val *h = yyjson_arr_get_first(json_get(l, STR("holders")));
    is(&s, h, "amount", "6"); /* how much, but not who */
    assert_null(json_get(h, STR("name")));
    assert_null(json_get(h, STR("namespace")));
    assert_null(json_get(h, STR("clusterQueue")));
    is(&s, yyjson_arr_get(json_get(l, STR("holders")), 1), "name", "first");
    assert_null(json_get(yyjson_arr_get_first(json_get(l, STR("borrowers"))), STR("clusterQueue")));
    struct buf all;
    buf_init(&all, 0);
    json_write(&all, s.json);
    assert_false(str_contains(buf_view(&all), STR("big")));
    assert_false(str_contains(buf_view(&all), STR("qb")));
    assert_true(str_contains(buf_view(&all), STR("another team's workload")));
    buf_release(&all);
    end(&s);
}

static void lists(void **state) {
    struct scene s;
    struct virtual_call *call;
    two_teams(&s);
    struct virtual_ask q = question(&s, "list", "WorkloadExplanation", "a", "", "");
    assert_int_equal(ask(&s, &q, &call), 0);
    is(&s, s.json, "kind", "WorkloadExplanationList");
    assert_int_equal(yyjson_arr_size(json_get(s.json, STR("items"))), 2);
    struct virtual_param limit = {STR("limit"), STR("1")};
    q.query = &limit;
    q.n_query = 1;
    q.ns = (struct str){0};
    assert_int_equal(ask(&s, &q, &call), 0);
    assert_int_equal(yyjson_arr_size(json_get(s.json, STR("items"))), 1);
    assert_int_equal(json_i64_at(s.json, "metadata.remainingItemCount", 0), 1);
    q = question(&s, "get", "WorkloadExplanation", "a", "nobody", "");
    assert_int_equal(ask(&s, &q, &call), ERR_NOT_FOUND);
    assert_string_equal(s.text, "workloads \"nobody\" not found");
    end(&s);
}

/* By position, whatever their names. */
static void lists_have_an_order(void **state) {
    static const char *const want[] = {"zulu", "second", "third"};
    struct scene s;
    struct virtual_call *call;
    two_teams(&s);
    workload(&s, "a", "zulu", 9, 5, NULL);
    struct virtual_ask q = question(&s, "list", "WorkloadExplanation", "a", "", "");
    assert_int_equal(ask(&s, &q, &call), 0);
    for (size_t i = 0; i < 3; i++) {
        is(&s, nth(&s, "items", i), "metadata.name", want[i]);
    }
    end(&s);
}

/* Of several trees at once, each in its own. */
static void lists_of_two_trees(void **state) {
    struct scene s;
    struct virtual_call *call;
    two_teams(&s);
    fake_world_put(&s.w, cluster_json("alone", 1, ""));
    fake_world_patch(&s.w, "LocalQueue", "b", "lq", "", "{\"spec\":{\"clusterQueue\":\"alone\"}}");
    settle(&s);
    workload(&s, "b", "large", 9, 0, NULL);
    workload(&s, "b", "larger", 10, 0, NULL);
    struct virtual_ask q = question(&s, "list", "WorkloadExplanation", "", "", "");
    assert_int_equal(ask(&s, &q, &call), 0);
    yyjson_val *items = json_get(s.json, STR("items")), *x;
    size_t i, n, seen = 0;
    yyjson_arr_foreach(items, i, n, x) {
        bool waits = str_is(json_str_at(x, "status.state"), "Waiting");
        seen += waits;
        assert_int_equal(waits, json_i64_at(x, "status.position.clusterQueue", 0) > 0);
    }
    assert_int_equal(seen, 4);
    end(&s);
}

/* Quota alone is not enough where checks are asked for. */
static void waits_for_checks(void **state) {
    struct scene s;
    two_teams(&s);
    fake_world_put(&s.w, "{" V "\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"budget\"},"
                         "\"spec\":{\"controllerName\":\"example.com/budget\"}}");
    fake_world_patch(&s.w, "AdmissionCheck", "", "budget", "status",
                     "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\","
                     "\"reason\":\"Active\",\"message\":\"\",\"lastTransitionTime\":"
                     "\"2026-01-01T00:00:00Z\"}]}}");
    fake_world_put(&s.w, cluster_json("qc", 4,
                                      "\"admissionChecksStrategy\":{\"admissionChecks\":["
                                      "{\"name\":\"budget\"}]},"));
    fake_world_patch(&s.w, "LocalQueue", "b", "lq", "", "{\"spec\":{\"clusterQueue\":\"qc\"}}");
    settle(&s);
    workload(&s, "b", "checked", 1, 0, NULL);
    why(&s, "b", "checked");
    is(&s, s.json, "status.state", "Reserved");
    is(&s, s.json, "status.reason", "QuotaReserved");
    is(&s, s.json, "status.summary",
       "quota is reserved; waits for admission checks: budget (Pending)");
    workload(&s, "b", "all", 4, 0, NULL); /* more than is left */
    why(&s, "b", "all");
    is(&s, s.json, "status.state", "Waiting");
    is(&s, s.json, "status.estimate.note",
       "This is when it gets quota: admission checks, of others too, are not foreseen.");
    end(&s);
}

/* What is explained has a limit, which those beyond it are told. */
static void too_far_back(void **state) {
    enum { MANY = 4100 };
    struct scene s;
    char json[1024];
    two_teams(&s);
    for (int i = 0; i < MANY; i++) {
        snprintf(json, sizeof(json),
                 "{" V "\"kind\":\"Workload\",\"metadata\":{\"name\":\"many%04d\",\"namespace\":"
                 "\"a\"},\"spec\":{\"queueName\":\"lq\",\"active\":true,\"priority\":-%d,"
                 "\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{"
                 "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
                 "{\"gpu\":\"1\"}}}]}}}]}}",
                 i, i + 1);
        fake_world_put(&s.w, json);
    }
    settle(&s);
    why(&s, "a", "many0001");
    assert_true(str_contains(json_str_at(s.json, "status.text"), STR(" were left out")));
    assert_true(json_i64_at(s.json, "status.position.clusterQueue", 0) > 0);
    why(&s, "a", "many4099");
    is(&s, s.json, "status.state", "Waiting");
    struct str summary = json_str_at(s.json, "status.summary");
    /* each of the two queues has its part of 4,000 */
    assert_true(str_starts(summary, STR("it is one of 2101 that stand too far back in their cohort "
                                        "tree to be explained: there is no position and no "
                                        "estimate")));
    end(&s);
}

static void not_in_a_queue(void **state) {
    struct scene s;
    two_teams(&s);
    fake_world_patch(&s.w, "LocalQueue", "a", "lq", "", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    settle(&s);
    why(&s, "a", "third");
    is(&s, s.json, "status.state", "Waiting");
    is(&s, s.json, "status.reason", "Suspended");
    assert_true(str_contains(json_str_at(s.json, "status.summary"), STR("LocalQueue")));
    fake_world_patch(&s.w, "Workload", "a", "third", "", "{\"spec\":{\"active\":false}}");
    settle(&s);
    why(&s, "a", "third");
    is(&s, s.json, "status.state", "Held");
    end(&s);
}

/* ---- previews ---- */

static void more_quota(void **state) {
    struct scene s;
    two_teams(&s);
    uint64_t before = mirror_revision(s.w.mirror);
    const char *edit = cluster_json("qa", 8, "\"cohortName\":\"c\",");
    assert_int_equal(preview_object(&s, edit), 0);
    assert_int_equal(s.code, 0);
    assert_int_equal(count(&s, "status.admittedCount"), 1);
    is(&s, nth(&s, "status.admitted", 0), "name", "second");
    assert_int_equal(count(&s, "status.evictedCount"), 0);
    assert_int_equal(count(&s, "status.waitingCount"), 1);
    is(&s, nth(&s, "status.waiting", 0), "name", "third");
    is(&s, nth(&s, "status.waiting", 0), "reason",
       "couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor f, 4 "
       "more needed");
    assert_int_equal(mirror_revision(s.w.mirror), before); /* nothing was written */
    fake_world_patch(&s.w, "ClusterQueue", "", "qa", "",
                     "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"gpu\"],\"flavors\":["
                     "{\"name\":\"f\",\"resources\":[{\"name\":\"gpu\",\"nominalQuota\":\"8\"}]}]}"
                     "]}}");
    settle(&s); /* and so it comes */
    assert_string_equal(
        fake_world_condition(fake_world_get(&s.w, "Workload", "a", "second"), "Admitted"), "True");
    assert_string_equal(
        fake_world_condition(fake_world_get(&s.w, "Workload", "a", "third"), "QuotaReserved"),
        "False");
    end(&s);
}

static void stops_and_deletions(void **state) {
    struct scene s;
    two_teams(&s);
    const char *edit =
        cluster_json("qa", 4, "\"cohortName\":\"c\",\"stopPolicy\":\"HoldAndDrain\",");
    assert_int_equal(preview_object(&s, edit), 0);
    assert_int_equal(count(&s, "status.evictedCount"), 1);
    is(&s, nth(&s, "status.evicted", 0), "name", "first");
    is(&s, nth(&s, "status.evicted", 0), "reason", "its ClusterQueue is drained");
    is(&s, nth(&s, "status.waiting", 0), "reason", "its ClusterQueue is stopped");
    assert_int_equal(preview(&s, "\"deletions\":[{\"kind\":\"ResourceFlavor\",\"name\":\"f\"}]"),
                     0);
    assert_true(str_contains(json_str(nth(&s, "status.notes", 0)), STR("f is in use")));
    assert_int_equal(
        preview(&s,
                "\"deletions\":[{\"kind\":\"LocalQueue\",\"namespace\":\"a\",\"name\":\"lq\"}]"),
        0);
    is(&s, nth(&s, "status.waiting", 0), "reason", "its LocalQueue would be gone");
    assert_int_equal(preview(&s, "\"deletions\":[{\"kind\":\"Cohort\",\"name\":\"nope\"}]"),
                     ERR_INVALID);
    end(&s);
}

/* Edits of several objects count together, also one that takes a flavor away from whoever would come. */
static void tainted(void **state) {
    static char both[4096];
    struct scene s;
    two_teams(&s);
    snprintf(both, sizeof(both),
             "%s,{" V "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":"
             "{\"nodeTaints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]}}",
             cluster_json("qa", 8, "\"cohortName\":\"c\","));
    assert_int_equal(preview_object(&s, both), 0);
    assert_int_equal(count(&s, "status.admittedCount"), 0);
    assert_int_equal(count(&s, "status.waitingCount"), 2);
    is(&s, nth(&s, "status.waiting", 0), "reason",
       "couldn't assign flavors to pod set main: untolerated taint {k v NoSchedule <nil>} in "
       "flavor f");
    end(&s);
}

/* Whose workload takes the quota is told to whoever may list that workload. */
static void who_would_evict(void **state) {
    struct scene s;
    two_teams(&s);
    const char *edit = cluster_json(
        "qa", 5, "\"cohortName\":\"c\",\"preemption\":{\"reclaimWithinCohort\":\"Any\"},");
    assert_int_equal(preview_object(&s, edit), 0);
    assert_int_equal(count(&s, "status.evictedCount"), 1);
    is(&s, nth(&s, "status.evicted", 0), "name", "big");
    is(&s, nth(&s, "status.evicted", 0), "reason", "preempted (InCohortReclamation) by a/second");
    s.only = "b";
    assert_int_equal(preview_object(&s, edit), 0);
    is(&s, nth(&s, "status.evicted", 0), "name", "big");
    is(&s, nth(&s, "status.evicted", 0), "reason", "preempted (InCohortReclamation)");
    end(&s);
}

/* Nobody waits in a stopped queue; the preview of its opening says who would be admitted. */
static void opening(void **state) {
    struct scene s;
    two_teams(&s);
    fake_world_patch(&s.w, "ClusterQueue", "", "qa", "", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    settle(&s);
    workload(&s, "a", "small", 1, 0, NULL);
    why(&s, "a", "small");
    is(&s, s.json, "status.summary", "ClusterQueue qa is inactive: is stopped");
    assert_int_equal(preview_object(&s, cluster_json("qa", 4, "\"cohortName\":\"c\",")), 0);
    assert_int_equal(count(&s, "status.admittedCount"), 1);
    is(&s, nth(&s, "status.admitted", 0), "name", "small");
    assert_int_equal(count(&s, "status.waitingCount"), 2);
    const char *still = cluster_json("qa", 9, "\"cohortName\":\"c\",\"stopPolicy\":\"Hold\",");
    assert_int_equal(preview_object(&s, still), 0);
    assert_int_equal(count(&s, "status.admittedCount"), 0);
    assert_int_equal(count(&s, "status.waitingCount"), 3);
    is(&s, nth(&s, "status.waiting", 0), "reason", "its ClusterQueue is stopped, or not there");
    fake_world_patch(&s.w, "ClusterQueue", "", "qa", "", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    settle(&s); /* and so it comes */
    assert_string_equal(
        fake_world_condition(fake_world_get(&s.w, "Workload", "a", "small"), "Admitted"), "True");
    assert_string_equal(
        fake_world_condition(fake_world_get(&s.w, "Workload", "a", "second"), "Admitted"), "");
    end(&s);
}

static void local_queue_moves(void **state) {
    struct scene s;
    two_teams(&s);
    fake_world_put(&s.w, cluster_json("free", 9, ""));
    settle(&s);
    assert_int_equal(
        preview(&s, "\"objects\":[{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
                    "\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"a\"},\"spec\":"
                    "{\"clusterQueue\":\"free\"}}]"),
        0);
    assert_int_equal(count(&s, "status.admittedCount"), 2);
    assert_int_equal(count(&s, "status.evictedCount"), 0); /* what runs stays where it is */
    end(&s);
}

static void previews_refused(void **state) {
    struct scene s;
    two_teams(&s);
    assert_int_equal(preview(&s, ""), ERR_INVALID);
    assert_int_equal(preview_object(&s, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}"), ERR_INVALID);
    assert_true(str_starts(str_of(s.text), STR("spec.objects[0].kind: expected ClusterQueue")));
    assert_int_equal(preview_object(&s, "{" V "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":"
                                        "\"qa\"},\"spec\":{\"cohort\":\"c\"}}"),
                     ERR_INVALID); /* of another version */
    assert_string_equal(s.text, "ClusterQueue \"qa\": unknown field \"spec.cohort\"");
    assert_int_equal(preview_object(&s, "{" V "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":"
                                        "\"qa\"},\"spec\":{\"queueingStrategy\":\"x\"}}"),
                     ERR_INVALID);
    assert_true(str_contains(str_of(s.text), STR("spec.queueingStrategy")));
    struct buf many;
    buf_init(&many, 0);
    buf_c(&many, "\"deletions\":[{\"kind\":\"Cohort\",\"name\":\"x\"}");
    for (int i = 0; i < 200; i++) {
        buf_c(&many, ",{\"kind\":\"Cohort\",\"name\":\"x\"}");
    }
    buf_c(&many, "]");
    buf_ch(&many, '\0');
    assert_int_equal(preview(&s, many.p), ERR_INVALID);
    assert_string_equal(s.text, "spec: at most 200 objects");
    buf_release(&many);
    s.no_edits = true;
    assert_int_equal(preview_object(&s, cluster_json("qa", 8, "")), ERR_FORBIDDEN);
    assert_true(str_contains(str_of(s.text), STR("you may not update clusterqueues \"qa\"")));
    end(&s);
}

/* ---- work elsewhere ---- */

static struct later {
    struct offload offload;
    void (*work)(void *ctx, const atomic_bool *stop);
    void (*done)(void *ctx);
    void *ctx;
    atomic_bool stop;
    int started;
} later;

static int later_start(struct offload *o, void (*work)(void *ctx, const atomic_bool *stop),
                       void (*done)(void *ctx), void *ctx, struct offload_job **ret,
                       struct err *err) {
    if (later.work != NULL) {
        return err_set(err, ERR_TOO_MANY, "one at a time");
    }
    later.work = work;
    later.done = done;
    later.ctx = ctx;
    later.started++;
    return 0;
}

static void later_cancel(struct offload *o, struct offload_job *j) {
    atomic_store(&later.stop, true);
}

static void later_finish(void) {
    void (*done)(void *) = later.done;
    if (!atomic_load(&later.stop)) {
        later.work(later.ctx, &later.stop);
    }
    later.work = NULL;
    done(later.ctx);
}

static struct virtual_call *ask_later(struct scene *s) {
    struct virtual_ask q = question(s, "get", "WorkloadExplanation", "a", "third", "");
    struct virtual_call *call = NULL;
    s->answers = 0;
    assert_int_equal(ask(s, &q, &call), 0);
    assert_int_equal(s->answers, 0);
    return call;
}

static void elsewhere(void **state) {
    struct scene s;
    later = (struct later){.offload = {later_start, later_cancel}};
    two_teams(&s);
    see_free(s.see);
    controller_free(s.q);
    s.w.env.offload = &later.offload;
    struct err err;
    s.q = controller_new(&queue_controller, &s.w.env, &err);
    s.see = see_new(s.q, &err);
    settle(&s);
    struct virtual_call *call = ask_later(&s);
    struct virtual_ask q = question(&s, "get", "WorkloadExplanation", "a", "second", "");
    struct virtual_call *more;
    assert_int_equal(ask(&s, &q, &more), ERR_TOO_MANY);
    fake_world_delete(&s.w, "Workload", "a", "second", ""); /* the copy stands alone */
    settle(&s);
    later_finish();
    assert_int_equal(s.answers, 1);
    assert_int_equal(json_i64_at(s.json, "status.position.clusterQueue", 0), 2);
    /* the client goes */
    call = ask_later(&s);
    struct virtual_source *x =
        virtual_find(s.r, STR("berth.dev"), STR("workloadexplanations"), (struct str){0});
    x->cancel(x, call);
    later_finish();
    assert_int_equal(s.answers, 0);
    atomic_store(&later.stop, false);
    /* the controller goes: the question is answered, and the work ends later */
    ask_later(&s);
    see_free(s.see);
    controller_free(s.q);
    assert_int_equal(s.answers, 1);
    assert_int_equal(s.code, ERR_UNAVAILABLE);
    later_finish();
    assert_int_equal(s.answers, 1);
    s.see = NULL;
    s.q = NULL;
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_everything),
        cmocka_unit_test(unknown_and_observed),
        cmocka_unit_test(a_bound),
        cmocka_unit_test(does_not_slide),
        cmocka_unit_test(learns),
        cmocka_unit_test(declared_too_long),
        cmocka_unit_test(tenants_see_their_own),
        cmocka_unit_test(lists),
        cmocka_unit_test(lists_have_an_order),
        cmocka_unit_test(lists_of_two_trees),
        cmocka_unit_test(waits_for_checks),
        cmocka_unit_test(too_far_back),
        cmocka_unit_test(tainted),
        cmocka_unit_test(who_would_evict),
        cmocka_unit_test(not_in_a_queue),
        cmocka_unit_test(more_quota),
        cmocka_unit_test(stops_and_deletions),
        cmocka_unit_test(local_queue_moves),
        cmocka_unit_test(opening),
        cmocka_unit_test(previews_refused),
        cmocka_unit_test(elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
