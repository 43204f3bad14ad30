/* Tests of what the verbs are made of: options, Jobs out of options, tables, the slice map, positions. */
#include "cli/cli.h"

#include <stdlib.h>

#include "base/test.h"
#include "cli/job/job_spec.h"
#include "cli/job/ranking.h"
#include "cli/kit/kit.h"
#include "cli/kit/slicemap.h"
#include "cli/kit/table.h"

/* ---- options ---- */

static int parse(const struct cli_verb *v, const char *const *words, struct cli_args *a,
                 struct err *err) {
    char *argv[32];
    int n = 0;
    while (words[n]) {
        argv[n] = (char *)(uintptr_t)words[n];
        n++;
    }
    argv[n] = NULL;
    static char *kept[32]; /* the command's words must outlive us */
    memcpy(kept, argv, sizeof(kept));
    return cli_parse(v, n, kept, a, err);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_options(void **state) {
    static struct cli_args a;
    struct err err;
    assert_ok(parse(&cli_submit,
                    WORDS("--name", "x", "-e", "A=1", "--env=B=2=3", "-nteam", "--wait", "--",
                          "run", "--name", "y"),
                    &a, &err),
              &err);
    assert_string_equal(cli_value(&a, "name"), "x");
    assert_string_equal(cli_value(&a, "project"), "team");
    assert_string_equal(cli_nth(&a, "env", 0), "A=1");
    assert_string_equal(cli_nth(&a, "env", 1), "B=2=3");
    assert_null(cli_nth(&a, "env", 2));
    assert_true(cli_flag(&a, "wait"));
    assert_null(cli_value(&a, "queue"));
    assert_string_equal(a.command[1], "--name");
    assert_ok(parse(&cli_queue, WORDS("a", "-A", "-o", "json"), &a, &err), &err);
    assert_int_equal(a.n_args, 1);
    assert_ok(parse(&cli_cancel, WORDS("--help"), &a, &err), &err); /* no need for arguments then */
}

static void refuse(const struct cli_verb *v, const char *const *words, const char *text) {
    static struct cli_args a;
    struct err err;
    assert_int_equal(parse(v, words, &a, &err), ERR_BAD_REQUEST);
    assert_string_equal(err.text, text);
}

static void test_options_refused(void **state) {
    refuse(&cli_queue, WORDS("--nme", "x"), "unknown option --nme");
    refuse(&cli_queue, WORDS("-z"), "unknown option -z");
    refuse(&cli_queue, WORDS("-o"), "--output: expected FORMAT");
    refuse(&cli_queue, WORDS("-o", "xml"),
           "--output: expected json, yaml, wide or name, not \"xml\"");
    refuse(&cli_queue, WORDS("-A=x"), "--all-projects takes no value");
    refuse(&cli_top, WORDS("a", "b"), "unexpected argument \"a\"");
    refuse(&cli_submit, WORDS("python", "x.py"),
           "unexpected argument \"python\" (the command comes after --)");
    refuse(&cli_submit, WORDS("--name", "x"), "expected -- COMMAND...");
    refuse(&cli_cancel, WORDS("-n", "x"), "expected JOB...");
}

static void test_help(void **state) {
    struct buf b;
    buf_init(&b, 0);
    cli_help(&cli_logs, &b);
    assert_true(
        str_contains(buf_view(&b), STR("\n\nUsage: berth logs [options] JOB|POD\n\nOptions:\n"
                                       "  -f, --follow              wait for the start")));
    assert_true(
        str_contains(buf_view(&b), STR("  -o, --output FORMAT       how to print; else a table\n"
                                       "                            json, yaml, wide or name\n")));
    assert_true(str_contains(buf_view(&b), STR("\nExamples:\n  berth logs train-x7k2p\n")));
    buf_release(&b);
    for (const struct cli_verb *const *v = cli_verbs; *v; v++) {
        assert_true((*v)->summary && (*v)->examples && (*v)->arguments && (*v)->run);
    }
}

/* ---- jobs ---- */

static void job(const char *const *words, const char *want) {
    static struct cli_args a;
    struct err err = {0};
    struct buf b;
    buf_init(&b, 0);
    assert_ok(parse(&cli_submit, words, &a, &err), &err);
    int code = job_spec_build(&a, &b, &err);
    assert_str_eq(code ? str_of(err.text) : buf_view(&b), str_of(want));
    buf_release(&b);
}

static void test_jobs(void **state) {
    setenv("SEED", "7", 1);
    job(WORDS("--slice", "1g.18gb+me", "--queue", "team-a", "--time", "1h30m", "-e", "SEED",
              "--dir", "/srv/it", "--cpu", "500m", "--memory", "4Gi", "--", "/opt/Train_me.py",
              "a \"b\""),
        "{\"apiVersion\":\"batch/"
        "v1\",\"kind\":\"Job\",\"metadata\":{\"generateName\":\"train-me-\","
        "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"team-a\"}},\"spec\":{\"suspend\":true,"
        "\"backoffLimit\":0,\"activeDeadlineSeconds\":5400,\"template\":{\"metadata\":{"
        "\"annotations\":{"
        "\"berth.dev/files\":\"machine\"}},\"spec\":{"
        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"busybox\","
        "\"command\":[\"/opt/Train_me.py\",\"a "
        "\\\"b\\\"\"],\"workingDir\":\"/srv/it\",\"env\":[{\"name\":\"SEED\","
        "\"value\":\"7\"}],\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"4Gi\"},"
        "\"limits\":{\"nvidia.com/mig-1g.18gb.me\":\"1\",\"memory\":\"4Gi\"}}}]}}}}");
    job(WORDS("--name", "x", "--gpus", "2", "--image", "i", "--", "run"),
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"x\","
        "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"default\"}},\"spec\":{\"suspend\":true,"
        "\"backoffLimit\":0,\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
        "\"name\":\"main\",\"image\":\"i\",\"command\":[\"run\"],\"env\":[],\"resources\":{"
        "\"requests\":{},\"limits\":{\"nvidia.com/gpu\":\"2\"}}}]}}}}");
    job(WORDS("--slice", "big", "--", "x"),
        "--slice: expected a MIG profile as 2g.35gb, not \"big\"");
    job(WORDS("--slice", "2g.35gb", "--gpus", "1", "--", "x"),
        "--slice and --gpus: one of them only");
    job(WORDS("--gpus", "-1", "--", "x"), "--gpus: expected a number from 0 to 64, not \"-1\"");
    job(WORDS("--time", "1h30", "--", "x"),
        "--time: expected a time as 90s, 30m, 12h or 1h30m, not \"1h30\"");
    job(WORDS("--cpu", "many", "--", "x"),
        "--cpu: expected an amount as 500m, 2 or 4Gi, not \"many\"");
    job(WORDS("--memory", "4", "--", "x"),
        "--memory: 4 is hardly any (it counts bytes); 4Gi is meant, perhaps");
    job(WORDS("--memory", "much", "--", "x"),
        "--memory: expected an amount as 512Mi, 4Gi or 4GB, not \"much\"");
    job(WORDS("--name", "A", "--", "x"),
        "--name: expected at most 63 of a-z, 0-9 and - (not at the ends), not \"A\"");
    job(WORDS("-e", "=x", "--", "x"),
        "--env: expected NAME=VALUE, or the NAME of a variable that is set, not \"=x\"");
}

static void test_seconds(void **state) {
    int64_t s = 0;
    assert_true(job_spec_seconds(STR("90"), &s) && s == 90);
    assert_true(job_spec_seconds(STR("1d2h"), &s) && s == 93600);
    assert_false(job_spec_seconds(STR("0"), &s));
    assert_false(job_spec_seconds(STR(""), &s));
    assert_false(job_spec_seconds(STR("h"), &s));
    assert_false(job_spec_seconds(STR("-5m"), &s));
    assert_false(job_spec_seconds(STR("99999999999999999999"), &s));
}

/* ---- tables ---- */

static void test_table(void **state) {
    static const char *const headers[] = {"NAME", "STATE", "WHY"};
    struct arena a;
    struct table t;
    struct buf b;
    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    table_init(&t, &a, headers, 3);
    table_row(&t);
    table_set(&t, 0, STYLE_PLAIN, STR("caf\xc3\xa9"));
    table_set(&t, 1, STYLE_WAIT, STR("waiting"));
    table_set(&t, 2, STYLE_PLAIN, STR("two\nlines \x1b[2J and more"));
    table_row(&t);
    table_set(&t, 0, STYLE_PLAIN, STR("longer-name"));
    table_write(&t, false, 0, &b);
    assert_str_eq(buf_view(&b), STR("NAME          STATE     WHY\n"
                                    "caf\xc3\xa9          waiting   two lines ?[2J and more\n"
                                    "longer-name   -         -\n"));
    buf_reset(&b);
    table_write(&t, true, 36, &b);
    assert_str_eq(buf_view(&b), STR("NAME          STATE     WHY\n"
                                    "caf\xc3\xa9          \x1b[33mwaiting\x1b[0m   two lines ?[\n"
                                    "longer-name   -         -\n"));
    buf_reset(&b);
    table_write(&t, false, 20, &b); /* too narrow: lines are longer, but not without end */
    assert_true(str_contains(buf_view(&b), STR("   waiting   two line\n")));
    buf_release(&b);
    arena_release(&a);
}

/* ---- the slice map ---- */

static void holder(void *ctx, struct str uid, struct buf *out) {
    buf_f(out, "team-a/%.*s", STR_ARG(uid));
}

static void draw(const struct gpu_card *g, bool colour, const char *want) {
    struct buf b;
    buf_init(&b, 0);
    slicemap_draw(g, colour, holder, NULL, &b);
    assert_str_eq(buf_view(&b), str_of(want));
    buf_release(&b);
}

static void test_slicemap(void **state) {
    struct gpu_profile profiles[] = {{.name = STR("1g.18gb"), .id = 19, .size = 1},
                                     {.name = STR("3g.71gb"), .id = 9, .size = 4}};
    struct gpu_instance instances[] = {
        {.profile_id = 9, .start = 0, .size = 4, .pod_uid = STR("p1"), .utilization_pct = 86},
        {.profile_id = 19, .start = 6, .size = 1, .utilization_pct = -1}};
    struct gpu_card g = {.model = STR("NVIDIA H200"),
                         .index = 3,
                         .memory_mib = 143771,
                         .slices = 8,
                         .mig_enabled = true,
                         .healthy = true,
                         .profiles = profiles,
                         .n_profiles = 2,
                         .instances = instances,
                         .n_instances = 2,
                         .utilization_pct = 43,
                         .temperature_c = 56,
                         .power_mw = 310400,
                         .memory_used_mib = 53248};
    draw(&g, false,
         "GPU 3  NVIDIA H200  43 %  56 C  310 W  52/140 GiB\n"
         "  [aaaaaaaaaaaaaaaaaaaaaaaaaaa|......|......|bbbbbb|......]\n"
         "    a  3g.71gb        86 %  team-a/p1\n"
         "    b  1g.18gb          ?   idle\n");
    g.n_instances = 0;
    g.utilization_pct = g.temperature_c = g.power_mw = g.memory_used_mib = -1;
    g.healthy = false;
    g.trouble = STR("Xid 79\x1b[2J");
    draw(&g, true,
         "GPU 3  NVIDIA H200  no slices  OUT OF SERVICE: Xid 79?[2J\n"
         "  [......|......|......|......|......|......|......|......]\n");
    g.mig_enabled = false;
    g.healthy = true;
    g.pod_uid = STR("p2");
    g.slices = 2;
    draw(&g, true,
         "GPU 3  NVIDIA H200  utilisation unknown\n"
         "  [\x1b[30;42maaaaaaaaaaaaa\x1b[0m]\n"
         "    a  whole GPU     team-a/p2\n");
}

/* ---- positions ---- */

/* clang-format off */
#define WORKLOAD(ns, name, queue, priority, time, conditions)                                 \
    "{\"metadata\":{\"namespace\":\"" ns "\",\"name\":\"" name "\",\"creationTimestamp\":"    \
    "\"2026-01-01T00:00:" time "Z\"},\"spec\":{\"queueName\":\"" queue "\",\"priority\":"     \
    priority "},\"status\":{\"conditions\":[" conditions "]}}"
#define CONDITION(type, status, message)                                                      \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"message\":\"" message "\"}"

static void test_positions(void **state) {
    struct arena a;
    struct err err;
    yyjson_doc *w, *q;
    struct ranked *v;
    size_t n;
    struct buf b;
    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    assert_ok(json_parse(&a, STR("{\"items\":["
        WORKLOAD("x", "late", "lq", "0", "09", CONDITION("QuotaReserved", "False", "no quota")) ","
        WORKLOAD("y", "early", "other", "0", "01", "") ","
        WORKLOAD("x", "high", "lq", "10", "08", "") ","
        WORKLOAD("x", "runs", "lq", "0", "00", CONDITION("Admitted", "True", "")) ","
        WORKLOAD("x", "over", "lq", "0", "00", CONDITION("Finished", "True", "")) ","
        WORKLOAD("z", "alone", "lq", "0", "00", "") "]}"), &w, &err), &err);
    assert_ok(json_parse(&a, STR("{\"items\":["
        "{\"metadata\":{\"namespace\":\"x\",\"name\":\"lq\"},\"spec\":{\"clusterQueue\":\"cq\"}},"
        "{\"metadata\":{\"namespace\":\"y\",\"name\":\"other\"},\"spec\":{\"clusterQueue\":\"cq\"}}"
        "]}"), &q, &err), &err);
    assert_int_equal(ranking_make(&a, yyjson_doc_get_root(w), yyjson_doc_get_root(q), &v, &n), 0);
    for (size_t i = 0; i < n; i++) {
        buf_f(&b, "%.*s %.*s %s %zu %.*s|", STR_ARG(v[i].cluster_queue), STR_ARG(v[i].job),
              rank_state_name(v[i].state), v[i].position, STR_ARG(v[i].why));
    }
    assert_str_eq(buf_view(&b),
                  STR(" alone waiting 1 not looked at yet|cq runs running 0 |"
                      "cq high waiting 1 not looked at yet|"
                      "cq early waiting 2 not looked at yet|cq late waiting 3 no quota|"
                      "cq over finished 0 |"));
    buf_release(&b);
    arena_release(&a);
}
/* clang-format on */

static void test_exit_codes(void **state) {
    assert_int_equal(cli_exit_code(0), 0);
    assert_int_equal(cli_exit_code(ERR_INVALID), 1);
    assert_int_equal(cli_exit_code(ERR_NOT_FOUND), 3);
    assert_int_equal(cli_exit_code(ERR_FORBIDDEN), 4);
    assert_int_equal(cli_exit_code(ERR_UNAUTHORIZED), 4);
    assert_int_equal(cli_exit_code(ERR_UNAVAILABLE), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),    cmocka_unit_test(test_options_refused),
        cmocka_unit_test(test_help),       cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_seconds),    cmocka_unit_test(test_table),
        cmocka_unit_test(test_slicemap),   cmocka_unit_test(test_positions),
        cmocka_unit_test(test_exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
