/* serve_test: tables of choices, templates, names and states, against what KServe does with the same. */
#include "core/serve/runtime_choice.h"
#include "core/serve/serve_names.h"
#include "core/serve/serve_status.h"
#include "core/serve/serve_template.h"

#include "base/test.h"

#define S(x)                                                                                       \
    { "" x, sizeof(x) - 1 }

static const struct str v1[] = {S("v1")}, v2[] = {S("v2")}, both[] = {S("grpc-v2"), S("v2")};
static const struct runtime_format onnx = {
    .name = S("onnx"), .version = S("1"), .auto_select = true};
static const struct runtime_format onnx5 = {
    .name = S("onnx"), .version = S("1"), .auto_select = true, .priority = 5};
static const struct runtime_format onnx2 = {
    .name = S("onnx"), .version = S("1"), .auto_select = true, .priority = 2};
static const struct runtime_format vllm = {.name = S("vLLM")};
#define RUNTIME(name_, format_, protocols_, ...)                                                   \
    {                                                                                              \
        .name = S(name_), .formats = &format_, .n_formats = 1, .protocols = protocols_,            \
        .n_protocols = sizeof(protocols_) / sizeof(*(protocols_)), __VA_ARGS__                     \
    }

static const struct serving_runtime all[] = {
    RUNTIME("c-high", onnx5, v1, .cluster = true),   /* 0 */
    RUNTIME("plain", onnx, v1, .created_ns = 5),     /* 1 */
    RUNTIME("low", onnx2, v1),                       /* 2 */
    RUNTIME("off", onnx5, v1, .disabled = true),     /* 3 */
    RUNTIME("second", onnx, v2),                     /* 4 */
    RUNTIME("vllm", vllm, v1, .cluster = true),      /* 5 */
    RUNTIME("grpc", onnx5, both, .cluster = true),   /* 6 */
    RUNTIME("plain", onnx5, v1, .cluster = true),    /* 7 */
    RUNTIME("mesh", onnx5, v1, .multi_model = true), /* 8 */
};

static void choices(void **state) {
    static const struct {
        struct runtime_wish w;
        int code;
        size_t want;
        const char *says;
    } cases[] = {
        {{.format = S("onnx")},
         0,
         2,
         ""}, /* the namespace's, though the cluster's has more priority */
        {{.format = S("onnx"), .version = S("1")}, 0, 2, ""},
        {{.format = S("onnx"), .version = S("2")}, ERR_UNSUPPORTED, 0, "version 2"},
        {{.format = S("onnx"), .protocol = S("v2")}, 0, 4, ""},
        {{.format = S("onnx"), .protocol = S("grpc-v2")}, 0, 6, ""},
        {{.format = S("onnx"), .protocol = S("openai")}, ERR_UNSUPPORTED, 0, "protocol \"openai\""},
        {{.format = S("vLLM")}, ERR_UNSUPPORTED, 0, "autoSelect"},
        {{.format = S("vLLM"), .runtime = S("vllm")}, 0, 5, ""},
        {{.format = S("onnx"), .runtime = S("plain")}, 0, 1, ""},
        {{.format = S("onnx"), .runtime = S("off")}, ERR_FORBIDDEN, 0, "disabled"},
        {{.format = S("onnx"), .runtime = S("nope")}, ERR_NOT_FOUND, 0, "\"nope\""},
        {{.format = S("onnx"), .runtime = S("vllm")},
         ERR_UNSUPPORTED,
         0,
         "does not support format"},
        {{.format = S("onnx"), .runtime = S("second"), .protocol = S("v1")},
         ERR_UNSUPPORTED,
         0,
         "speak"},
        {{.format = S("onnx"), .runtime = S("second")},
         0,
         4,
         ""}, /* named, v1 is not taken for granted */
        {{.runtime = S("vllm")}, ERR_INVALID, 0, "modelFormat"},
        {{.format = S("pickle")}, ERR_UNSUPPORTED, 0, "no runtime for format"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct err err = {0};
        size_t got = 99;
        int code = runtime_choice(all, sizeof(all) / sizeof(*all), &cases[i].w, &got, &err);
        if (code != cases[i].code || (code == 0 && got != cases[i].want) ||
            (code != 0 && got != 99) || strstr(err.text, cases[i].says) == NULL) {
            print_error("case %zu: %d, %zu, %s\n", i, code, got, err.text);
            fail();
        }
        assert_true(code == 0 || runtime_choice_reason(code) != NULL);
    }
}

/* Without priorities: the simpler protocol, the newer, the name. */
static void order(void **state) {
    static const struct serving_runtime v[] = {
        RUNTIME("z", onnx, both, .created_ns = 9),
        RUNTIME("b", onnx, v2, .created_ns = 3),
        RUNTIME("a", onnx, v2, .created_ns = 3),
        RUNTIME("old", onnx, v2, .created_ns = 1),
    };
    struct runtime_wish w = {.format = S("onnx"), .protocol = S("v2")};
    size_t got = 99;
    assert_int_equal(runtime_choice(v, 4, &w, &got, NULL), 0);
    assert_int_equal(got, 0); /* v2 as well, and the newest */
    assert_int_equal(runtime_choice(v + 1, 3, &w, &got, NULL), 0);
    assert_int_equal(got, 1);
    const struct runtime_format two[] = {onnx5, onnx2};
    struct serving_runtime r = {.name = S("x"), .formats = two, .n_formats = 2};
    assert_int_equal(runtime_choice_check(&r, NULL), ERR_INVALID);
    r.n_formats = 1;
    assert_int_equal(runtime_choice_check(&r, NULL), 0);
}

static void templates(void **state) {
    static struct str_pair labels[] = {{S("team"), S("red")}, {S("a.b/c"), S("1")}};
    static const struct str_map map = {labels, 2};
    static const struct {
        const char *text, *want; /* NULL: refused */
    } cases[] = {
        {"--name={{.Name}}", "--name=chat"},
        {"{{ .Namespace }}/{{.Name}}", "ml/chat"},
        {"a {{- .Name -}} b", "achatb"},
        {"{{.Labels.team}}{{.Labels.none}}{{.Annotations.x}}", "red"},
        {"{{index .Labels \"a.b/c\"}}{{ index .Labels `team` }}", "1red"},
        {"no template { } }}", "no template { } }}"},
        {"", ""},
        {"{{.Name", NULL},
        {"{{.UID}}", NULL},
        {"{{range .Labels}}", NULL},
        {"{{.Name | printf \"%s\"}}", NULL},
        {"{{index .Labels \"a\" \"b\"}}", NULL},
        {"{{index .Labels \"a\\n\"}}", NULL},
        {"{{.Labels}}", NULL},
        {"{{}}", NULL},
    };
    struct serve_meta m = {.name = S("chat"), .namespace = S("ml"), .labels = &map};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct err err = {0};
        struct buf b;
        buf_init(&b, 1000);
        int code = serve_template(str_of(cases[i].text), &m, &b, &err);
        if (cases[i].want == NULL) {
            assert_int_equal(code, ERR_INVALID);
            assert_non_null(strstr(err.text, "{{"));
        } else {
            assert_ok(code, &err);
            assert_str_eq(buf_view(&b), str_of(cases[i].want));
        }
        buf_release(&b);
    }
}

static void names(void **state) {
    struct arena a;
    struct serve_names n;
    struct err err = {0};
    arena_init(&a, 1 << 20);
    assert_ok(serve_names(&a, STR("chat"), STR("ml"), STR("example.com"), &n, &err), &err);
    assert_str_eq(n.predictor, STR("chat-predictor"));
    assert_str_eq(n.app, STR("isvc.chat-predictor"));
    assert_str_eq(n.address, STR("http://chat-predictor.ml.svc.cluster.local"));
    assert_str_eq(n.url, STR("http://chat-ml.example.com"));
    static const char *const bad[] = {
        "", "1a", "A", "a-", "a.b", "a_b", "a23456789012345678901234567890123456789012"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(serve_names(&a, str_of(bad[i]), STR("ml"), STR("x"), &n, &err),
                         ERR_INVALID);
    }
    assert_int_equal(serve_names_mode(STR(""), &err), 0);
    assert_int_equal(serve_names_mode(STR("RawDeployment"), &err), 0);
    assert_int_equal(serve_names_mode(STR("Serverless"), &err), ERR_UNSUPPORTED);
    assert_int_equal(serve_names_mode(STR("raw"), &err), ERR_INVALID);
    arena_release(&a);
}

#define UP                                                                                         \
    { true, SERVE_TRUE, S("MinimumReplicasAvailable"), S("") }
#define DONE                                                                                       \
    { true, SERVE_TRUE, S("NewReplicaSetAvailable"), S("") }
#define ROLLING                                                                                    \
    { true, SERVE_TRUE, S("ReplicaSetUpdated"), S("") }
#define STUCK                                                                                      \
    { true, SERVE_FALSE, S("ProgressDeadlineExceeded"), S("timed out") }
#define DOWN                                                                                       \
    { true, SERVE_FALSE, S("MinimumReplicasUnavailable"), S("") }

static const struct {
    const char *name;
    struct serve_observed o;
    enum serve_truth predictor, ready;
    const char *reason, *transition, *active, *target, *failure;
} state_cases[] = {
    {"ready",
     {.wanted = 1,
      .pods = 1,
      .ready = 1,
      .available = UP,
      .progressing = DONE,
      .pod = SERVE_POD_READY,
      .routed = true},
     SERVE_TRUE,
     SERVE_TRUE,
     "NewReplicaSetAvailable",
     "UpToDate",
     "Loaded",
     "Loaded",
     NULL},
    {"ready, no route",
     {.wanted = 1,
      .pods = 1,
      .ready = 1,
      .available = UP,
      .progressing = DONE,
      .pod = SERVE_POD_READY},
     SERVE_TRUE,
     SERVE_UNKNOWN,
     "NewReplicaSetAvailable",
     "UpToDate",
     "Loaded",
     "Loaded",
     NULL},
    {"no runtime",
     {.no_runtime = "NoSupportingRuntime", .no_runtime_text = S("x"), .wanted = 1, .routed = true},
     SERVE_FALSE,
     SERVE_FALSE,
     "NoSupportingRuntime",
     "InvalidSpec",
     NULL,
     "FailedToLoad",
     "NoSupportingRuntime"},
    {"stopped",
     {.stopped = true, .routed = true},
     SERVE_FALSE,
     SERVE_FALSE,
     "Stopped",
     "UpToDate",
     NULL,
     NULL,
     NULL},
    {"at zero",
     {.routed = true},
     SERVE_TRUE,
     SERVE_TRUE,
     "ScaledToZero",
     "UpToDate",
     "Standby",
     "Standby",
     NULL},
    {"queued",
     {.wanted = 1, .queued = S("position 3"), .routed = true, .available = DOWN},
     SERVE_FALSE,
     SERVE_FALSE,
     "Queued",
     "InProgress",
     NULL,
     "Pending",
     NULL},
    {"no pod",
     {.wanted = 1, .routed = true, .available = DOWN, .progressing = ROLLING},
     SERVE_FALSE,
     SERVE_FALSE,
     "MinimumReplicasUnavailable",
     "InProgress",
     NULL,
     "Pending",
     NULL},
    {"a container cannot start",
     {.wanted = 1,
      .pods = 1,
      .routed = true,
      .available = DOWN,
      .pod = SERVE_POD_WAITING,
      .waiting = S("CreateContainerError"),
      .waiting_text = S("no such image")},
     SERVE_FALSE,
     SERVE_FALSE,
     "CreateContainerError",
     "InProgress",
     NULL,
     "Pending",
     NULL},
    {"a container of a new revision cannot start, the old one serves",
     {.wanted = 1,
      .pods = 2,
      .ready = 1,
      .routed = true,
      .available = UP,
      .progressing = DONE,
      .pod = SERVE_POD_WAITING,
      .waiting = S("CreateContainerError"),
      .waiting_text = S("no such image"),
      .was_loaded = true},
     SERVE_TRUE,
     SERVE_TRUE,
     "NewReplicaSetAvailable",
     "UpToDate",
     "Loaded",
     "Loaded",
     NULL},
    {"fetching",
     {.wanted = 1,
      .pods = 1,
      .routed = true,
      .available = DOWN,
      .pod = SERVE_POD_FETCHING,
      .fetching = S("Loading 62 %")},
     SERVE_FALSE,
     SERVE_FALSE,
     "Loading",
     "InProgress",
     NULL,
     "Loading",
     NULL},
    {"first rollout",
     {.wanted = 1, .pods = 1, .routed = true, .progressing = ROLLING, .pod = SERVE_POD_LOADING},
     SERVE_UNKNOWN,
     SERVE_UNKNOWN,
     "ReplicaSetUpdated",
     "InProgress",
     NULL,
     "Loading",
     NULL},
    {"fetch failed",
     {.wanted = 1,
      .pods = 1,
      .failed = 1,
      .routed = true,
      .available = DOWN,
      .progressing = ROLLING,
      .pod = SERVE_POD_FETCH_FAILED,
      .exit_code = 1},
     SERVE_FALSE,
     SERVE_FALSE,
     "MinimumReplicasUnavailable",
     "BlockedByFailedLoad",
     NULL,
     "FailedToLoad",
     "ModelLoadFailed"},
    {"stuck",
     {.wanted = 1, .pods = 1, .routed = true, .progressing = STUCK, .pod = SERVE_POD_ENDED},
     SERVE_FALSE,
     SERVE_FALSE,
     "ProgressDeadlineExceeded",
     "BlockedByFailedLoad",
     NULL,
     "FailedToLoad",
     "ModelLoadFailed"},
    {"new revision fails, the old one serves",
     {.wanted = 1,
      .pods = 2,
      .ready = 1,
      .routed = true,
      .available = UP,
      .progressing = ROLLING,
      .pod = SERVE_POD_FETCH_FAILED,
      .was_loaded = true},
     SERVE_UNKNOWN,
     SERVE_UNKNOWN,
     "ReplicaSetUpdated",
     "BlockedByFailedLoad",
     "Loaded",
     "FailedToLoad",
     "ModelLoadFailed"},
    {"the server died",
     {.wanted = 1,
      .pods = 1,
      .failed = 1,
      .routed = true,
      .available = DOWN,
      .progressing = DONE,
      .pod = SERVE_POD_ENDED,
      .was_loaded = true},
     SERVE_FALSE,
     SERVE_FALSE,
     "MinimumReplicasUnavailable",
     "BlockedByFailedLoad",
     NULL,
     "FailedToLoad",
     "RuntimeUnhealthy"},
    {"no quota for pods",
     {.wanted = 1,
      .routed = true,
      .progressing = ROLLING,
      .replica_failure = {true, SERVE_TRUE, S("FailedCreate"), S("quota")}},
     SERVE_FALSE,
     SERVE_FALSE,
     "FailedCreate",
     "InProgress",
     NULL,
     "Pending",
     NULL},
};

static void states(void **state) {
    for (size_t i = 0; i < sizeof(state_cases) / sizeof(*state_cases); i++) {
        struct serve_status s = serve_status_of(&state_cases[i].o);
        const char *got[] = {s.transition, s.active, s.target, s.failure};
        const char *want[] = {state_cases[i].transition, state_cases[i].active,
                              state_cases[i].target, state_cases[i].failure};
        bool same = s.conditions[0].truth == state_cases[i].predictor &&
                    s.conditions[2].truth == state_cases[i].ready &&
                    str_is(s.conditions[0].reason, state_cases[i].reason);
        for (int k = 0; k < 4; k++) {
            same = same && str_eq(str_of(got[k]), str_of(want[k])) &&
                   (got[k] == NULL) == (want[k] == NULL);
        }
        if (!same) {
            print_error("%s: %d %d %.*s, %s %s %s %s\n", state_cases[i].name,
                        (int)s.conditions[0].truth, (int)s.conditions[2].truth,
                        STR_ARG(s.conditions[0].reason), got[0], got[1] ? got[1] : "-",
                        got[2] ? got[2] : "-", got[3] ? got[3] : "-");
            fail();
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices), cmocka_unit_test(order),  cmocka_unit_test(templates),
        cmocka_unit_test(names),   cmocka_unit_test(states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
