/* pod_spec: what a shim is told to run, with and without an image: command lines, devices, volumes; what is refused. */
#include "node/files/testbed.h"

#include <signal.h>

#include "node/sandbox/users.h"
#include "node/spec/pod_made.h"
#include "node/spec/pod_spec.h"
#include "node/spec/pod_volumes.h"

struct bed {
    char data[PATH_LEN], dir[PATH_LEN], host[PATH_LEN];
    uid_t uid;
    gid_t gid;
    struct arena arena;
    struct sandbox_probe probe;
    struct pod_facts facts;
    struct pod_volumes_seen seen;
    struct pod_spec_in in; /* of the last pod that was built */
    struct str asked;      /* the last token */
    const char *changes;   /* what ConfigMap "changes" holds; NULL: it is not there */
    struct image image;
    const struct gpu_file *files;
    const struct cdi_file *driver;
};

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));
    struct err err;

    test_folder(b->data);
    snprintf(b->dir, sizeof(b->dir), "%.500s/pods/u", b->data);
    snprintf(b->host, sizeof(b->host), "%.500s/allowed", b->data);
    assert_ok(dir_make(b->dir, 0711, &err), &err);
    assert_ok(dir_make(b->host, 0755, &err), &err);
    arena_init(&b->arena, 8 << 20);
    b->probe.mounts = true;
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;

    dir_remove(b->data, NULL);
    arena_release(&b->arena);
    free(b);
    return 0;
}

static yyjson_val *lookup(void *ctx, enum pod_source kind, struct str name) {
    struct bed *b = ctx;
    yyjson_doc *doc;
    struct err err;

    if (kind == POD_TOKEN) {
        b->asked = arena_str(&b->arena, name);
        assert_ok(json_parse(&b->arena, STR("{\"status\":{\"token\":\"T\"}}"), &doc, &err), &err);
        return yyjson_doc_get_root(doc);
    }
    if (str_is(name, "changes") && b->changes) {
        struct str json = arena_f(&b->arena, "{\"data\":{\"k\":\"%s\"}}", b->changes);
        assert_ok(json_parse(&b->arena, json, &doc, &err), &err);
        return yyjson_doc_get_root(doc);
    }
    if (str_is(name, "many")) { /* more than half of what a pod may have */
        struct buf json;
        buf_init(&json, 1 << 20);
        for (int i = 0; i <= PAYLOAD_FILES_MAX / 2; i++) {
            buf_f(&json, "%s\"k%d\":\"\"", i ? "," : "{\"data\":{", i);
        }
        buf_c(&json, "}}");
        assert_ok(json_parse(&b->arena, arena_str(&b->arena, buf_view(&json)), &doc, &err), &err);
        buf_release(&json);
        return yyjson_doc_get_root(doc);
    }
    if (!str_is(name, "there")) {
        return NULL;
    }
    assert_ok(
        json_parse(&b->arena, STR("{\"data\":{\"k\":\"aHVzaA==\",\"..\":\"eA==\"}}"), &doc, &err),
        &err);
    return yyjson_doc_get_root(doc);
}

/* Spec members after "metadata" and the container's members are given; the result is spec.json or NULL. */
static yyjson_val *build(struct bed *b, bool in_image, const char *spec, const char *container,
                         struct pod_spec_notes *notes, struct err *err) {
    static struct pod_device devices[] = {{.container = {"main", 4}, .profile_id = 19},
                                          {.container = {"main", 4}, .profile_id = 14}};
    static const struct str uuids[] = {{"MIG-1", 5}, {"MIG-2", 5}};
    const struct pod_devices list = {devices, 2};
    yyjson_doc *doc;
    struct str text =
        arena_f(&b->arena,
                "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\"},\"spec\":{"
                "\"restartPolicy\":\"Never\"%s,\"containers\":[{\"name\":\"main\",%s}]}}",
                spec, container);

    assert_ok(json_parse(&b->arena, text, &doc, err), err);
    const struct pod_spec_in in = {
        .env = {.pod = yyjson_doc_get_root(doc), .facts = &b->facts, .lookup = lookup, .ctx = b},
        .data_dir = b->data,
        .dir = b->dir,
        .host_path_dir = b->host,
        .uid = b->uid,
        .gid = b->gid,
        .probe = &b->probe,
        .images = in_image ? &b->image : NULL,
        .files = b->files,
        .n_files = b->files != NULL,
        .driver = b->driver,
        .n_driver = b->driver != NULL,
        .devices = &list,
        .uuids = uuids,
        .seen = &b->seen};
    b->in = in;
    b->in.devices = NULL;
    if (pod_spec_write(&in, notes, err)) {
        return NULL;
    }
    assert_ok(file_load(b->dir, "spec.json", &b->arena, &text, err), err);
    assert_ok(json_parse(&b->arena, text, &doc, err), err);
    return yyjson_arr_get_first(json_path(yyjson_doc_get_root(doc), "containers"));
}

/* The words of a list, joined by '|'. */
static struct str joined(struct bed *b, yyjson_val *list) {
    struct buf out;
    yyjson_arr_iter it;
    yyjson_val *e;

    buf_init(&out, 1 << 16);
    yyjson_arr_iter_init(list, &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        buf_c(&out, out.n ? "|" : "");
        buf_str(&out, json_str(e));
    }
    struct str s = arena_str(&b->arena, buf_view(&out));
    buf_release(&out);
    return s;
}

static void test_process(void **state) {
    struct bed *b = *state;
    struct pod_spec_notes notes = {0};
    struct err err;
    yyjson_val *c = build(b, false, "",
                          "\"image\":\"i\",\"command\":[\"run\",\"$(X)\"],\"args\":[\"$(Y)\"],"
                          "\"env\":[{\"name\":\"X\",\"value\":\"1\"},"
                          "{\"name\":\"CUDA_VISIBLE_DEVICES\",\"value\":\"0\"}]",
                          &notes, &err);

    assert_non_null(c);
    assert_str_eq(joined(b, json_get(c, STR("argv"))), STR("run|1|$(Y)"));
    struct str env = joined(b, json_get(c, STR("env")));
    assert_true(str_contains(env, STR("|CUDA_VISIBLE_DEVICES=MIG-1,MIG-2")));
    assert_false(str_contains(env, STR("CUDA_VISIBLE_DEVICES=0")));
    assert_true(notes.image_unused);
    assert_true(notes.only_first_slice);
}

/* What an image says of itself, as podman tells it. */
static void use_image(struct bed *b, const char *config, uid_t uid) {
    yyjson_doc *doc;
    struct err err;

    assert_ok(json_parse(&b->arena, str_of(config), &doc, &err), &err);
    b->image = (struct image){.id = "abc",
                              .root = "/images/abc/root",
                              .config = yyjson_doc_get_root(doc),
                              .uid = uid,
                              .gid = uid,
                              .home = STR("/home/it")};
}

static void test_image(void **state) {
    struct bed *b = *state;
    struct pod_spec_notes notes = {0};
    struct err err;
    struct stat st;
    char path[PATH_LEN];

    use_image(b,
              "{\"Env\":[\"PATH=/its/bin\",\"A=its\",\"B=its\"],\"WorkingDir\":\"/"
              "its\",\"Entrypoint\":[\"e\",\"$(A)\"],"
              "\"Cmd\":[\"c\"],\"StopSignal\":\"SIGQUIT\"}",
              33);
    yyjson_val *c =
        build(b, true, "", "\"image\":\"i\",\"env\":[{\"name\":\"B\",\"value\":\"own $(A)\"}]",
              &notes, &err);
    assert_non_null(c);
    assert_str_eq(joined(b, json_get(c, STR("argv"))), STR("e|$(A)|c"));
    struct str env = joined(b, json_get(c, STR("env")));
    assert_true(str_starts(env, STR("PATH=/its/bin|A=its|B=own its|HOME=/home/it|HOSTNAME=p|")));
    assert_false(str_contains(env, STR("BERTH_ROOT")));
    assert_str_eq(json_str_at(c, "cwd"), STR("/its"));
    assert_int_equal(json_i64_at(c, "stopSignal", 0), SIGQUIT);
    assert_str_eq(json_str_at(c, "imageID"), STR("abc"));
    assert_str_eq(json_str_at(c, "root.lower"), STR("/images/abc/root"));
    assert_int_equal(json_i64_at(c, "root.uid", 0), 33);
    assert_false(json_bool_at(c, "root.readOnly", true));
    assert_false(notes.image_unused);
    snprintf(path, sizeof(path), "%.500s/layers/main/upper", b->dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, geteuid());
}

/* With GPUs of the machine an image gets the files of their driver, and only then. */
static void test_driver(void **state) {
    static const struct gpu_file files[] = {{.name = "nvidia0", .major = 195}};
    static const struct cdi_file driver[] = {
        {{"/m/libcuda.so.1", 15}, {"/usr/lib/libcuda.so.1", 21}}};
    struct bed *b = *state;
    struct pod_spec_notes notes = {0};
    struct err err;

    use_image(b, "{\"Env\":[\"LD_LIBRARY_PATH=/its\"],\"Cmd\":[\"c\"]}", 0);
    yyjson_val *c = build(b, true, "", "\"image\":\"i\"", &notes, &err);
    assert_non_null(c);
    assert_false(str_contains(joined(b, json_get(c, STR("env"))), STR("/usr/lib")));
    b->files = files;
    c = build(b, true, "", "\"image\":\"i\"", &notes, &err);
    assert_non_null(c);
    assert_true(notes.no_driver);
    notes.no_driver = false;
    b->driver = driver;
    c = build(b, true, "", "\"image\":\"i\"", &notes, &err);
    assert_non_null(c);
    assert_false(notes.no_driver);
    assert_true(
        str_contains(joined(b, json_get(c, STR("env"))), STR("|LD_LIBRARY_PATH=/its:/usr/lib|")) ||
        str_contains(joined(b, json_get(c, STR("env"))), STR("LD_LIBRARY_PATH=/its:/usr/lib|")));
    yyjson_val *mounts = json_get(c, STR("mounts")), *last = yyjson_arr_get_last(mounts);
    assert_str_eq(json_str_at(last, "source"), STR("/m/libcuda.so.1"));
    assert_true(json_bool_at(last, "readOnly", false));
    c = build(b, false, "", "\"command\":[\"x\"]", &notes, &err);
    assert_non_null(c);
    assert_false(str_contains(joined(b, json_get(c, STR("env"))), STR("LD_LIBRARY_PATH")));
}

/* As in Kubernetes: args in place of the image's arguments, a command in place of both. */
static void test_image_commands(void **state) {
    static const char *const rows[][2] = {
        {"\"args\":[\"$(X)\"],\"env\":[{\"name\":\"X\",\"value\":\"x\"}]", "e|x"},
        {"\"command\":[\"run\"]", "run"},
        {"\"command\":[\"run\"],\"args\":[\"a\"]", "run|a"},
    };
    struct bed *b = *state;
    struct pod_spec_notes notes = {0};
    struct err err;

    use_image(b, "{\"Entrypoint\":[\"e\"],\"Cmd\":[\"c\"]}", 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        yyjson_val *c = build(b, true, "", rows[i][0], &notes, &err);
        assert_non_null(c);
        assert_str_eq(joined(b, json_get(c, STR("argv"))), str_of(rows[i][1]));
        assert_str_eq(json_str_at(c, "cwd"), STR("/"));
    }
    yyjson_val *c = build(
        b, true, "", "\"workingDir\":\"/w\",\"securityContext\":{\"readOnlyRootFilesystem\":true}",
        &notes, &err);
    assert_non_null(c);
    assert_str_eq(json_str_at(c, "cwd"), STR("/w"));
    assert_true(json_bool_at(c, "root.readOnly", false));
    use_image(b, "{}", 0);
    assert_null(build(b, true, "", "\"image\":\"i\"", &notes, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

static void test_volumes(void **state) {
    struct bed *b = *state;
    struct pod_spec_notes notes = {0};
    struct err err;
    char path[PATH_LEN];
    struct stat st;
    yyjson_val *c =
        build(b, false,
              ",\"volumes\":[{\"name\":\"s\",\"secret\":{\"secretName\":\"there\","
              "\"items\":[{\"key\":\"k\",\"path\":\"a/b\"}]}}]",
              "\"command\":[\"x\"],\"volumeMounts\":[{\"name\":\"s\",\"mountPath\":\"/s/\"}]",
              &notes, &err);

    assert_non_null(c);
    yyjson_val *m = yyjson_arr_get_first(json_get(c, STR("mounts")));
    assert_str_eq(json_str_at(m, "target"), STR("/s"));
    assert_true(json_bool_at(m, "readOnly", false));
    snprintf(path, sizeof(path), "%.500s/root/volumes/s/a/b", b->dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* A hostPath of the given name, in an allowed folder `allowed` beside `allowed-not` and with a link to it. */
static yyjson_val *build_host(struct bed *b, const char *path, struct err *err) {
    struct pod_spec_notes notes = {0};
    struct str spec = arena_f(&b->arena,
                              ",\"volumes\":[{\"name\":\"h\",\"hostPath\":{\"path\":\"%s%s\","
                              "\"type\":\"DirectoryOrCreate\"}}]",
                              b->host, path);

    return build(b, false, spec.p,
                 "\"command\":[\"x\"],\"volumeMounts\":[{\"name\":\"h\",\"mountPath\":\"/h\"}]",
                 &notes, err);
}

/* What is made lies below the allowed folder and is the project's; nothing is made elsewhere. */
static void test_host_folder_made(void **state) {
    struct bed *b = *state;
    struct err err = {0};
    struct stat st;
    char beside[PATH_LEN], path[PATH_LEN];

    snprintf(beside, sizeof(beside), "%.500s-not", b->host);
    assert_ok(dir_make(beside, 0755, &err), &err);
    snprintf(path, sizeof(path), "%.500s/link", b->host);
    assert_int_equal(symlink(beside, path), 0);
    b->uid = geteuid() == 0 ? USERS_PODS_FIRST : 0;
    b->gid = b->uid ? USERS_FIRST : 0;
    assert_non_null(build_host(b, "/new/deep", &err));
    snprintf(path, sizeof(path), "%.500s/new/deep", b->host);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_gid, b->gid ? b->gid : getegid());
    assert_int_equal(st.st_mode & 07777, 02775); /* all of its project's pods may write there */
    assert_null(build_host(b, "-not/new", &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_null(build_host(b, "/link/new", &err));
    assert_int_equal(err.code, ERR_INVALID);
    snprintf(path, sizeof(path), "%.500s/new", beside);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_refused(void **state) {
    static const struct {
        const char *spec, *container;
        int code;
    } cases[] = {
        {"", "\"image\":\"i\"", ERR_INVALID},
        {",\"volumes\":[{\"name\":\"h\",\"hostPath\":{\"path\":\"/etc\"}}]", "\"command\":[\"x\"]",
         ERR_INVALID},
        {",\"volumes\":[{\"name\":\"h\",\"hostPath\":{\"path\":\"ALLOWED/../../x\"}}]",
         "\"command\":[\"x\"]", ERR_INVALID},
        {",\"volumes\":[{\"name\":\"../x\",\"emptyDir\":{}}]", "\"command\":[\"x\"]", ERR_INVALID},
        {",\"volumes\":[{\"name\":\"s\",\"secret\":{\"secretName\":\"there\"}}]",
         "\"command\":[\"x\"]", ERR_INVALID}, /* its key ".." */
        {",\"volumes\":[{\"name\":\"s\",\"secret\":{\"secretName\":\"no\"}}]",
         "\"command\":[\"x\"]", ERR_NOT_FOUND},
        {",\"volumes\":[{\"name\":\"n\",\"nfs\":{\"server\":\"x\"}}]", "\"command\":[\"x\"]",
         ERR_INVALID},
        {",\"volumes\":[{\"name\":\"e\",\"emptyDir\":{}}]",
         "\"command\":[\"x\"],\"volumeMounts\":[{\"name\":\"e\",\"mountPath\":\"/a/../b\"}]",
         ERR_INVALID},
        {",\"volumes\":[{\"name\":\"e\",\"emptyDir\":{}}]",
         "\"command\":[\"x\"],\"volumeMounts\":[{\"name\":\"e\",\"mountPath\":\"/"
         "a\",\"subPath\":\"../x\"}]",
         ERR_INVALID},
    };
    struct bed *b = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pod_spec_notes notes;
        struct err err = {0};
        if (build(b, false, cases[i].spec, cases[i].container, &notes, &err) ||
            err.code != cases[i].code) {
            fail_msg("case %zu: %d %s", i, err.code, err.text);
        }
    }
}

/* What a file below the pod's volumes says; "" when it is not there. */
static struct str says(struct bed *b, const char *path) {
    char dir[PATH_LEN], real[PATH_MAX];
    struct str text = {"", 0};

    snprintf(dir, sizeof(dir), "%.500s/root/volumes/%.100s", b->dir, path);
    if (realpath(dir, real)) {
        char *slash = strrchr(real, '/');
        *slash = 0;
        file_load(real, slash + 1, &b->arena, &text, NULL);
    }
    return text;
}

static void test_account(void **state) {
    struct bed *b = *state;
    struct pod_spec_notes notes = {0};
    struct err err;
    const char *run = "\"command\":[\"run\"]";

    assert_null(json_get(
        yyjson_arr_get_first(json_get(build(b, false, "", run, &notes, &err), STR("mounts"))),
        STR("readOnly"))); /* nobody knows where the API is */
    b->facts = (struct pod_facts){
        .api = STR("127.0.0.1:6443"), .api_service = STR("10.43.0.1"), .api_authority = STR("PEM")};
    yyjson_val *c = build(b, false, ",\"serviceAccountName\":\"robot\"", run, &notes, &err);
    yyjson_val *m = yyjson_arr_get_first(json_get(c, STR("mounts")));
    assert_str_eq(json_str_at(m, "target"), STR(POD_ACCOUNT_PATH));
    assert_true(json_bool_at(m, "readOnly", false));
    assert_str_eq(b->asked, STR("robot 3607 "));
    assert_str_eq(says(b, POD_ACCOUNT_VOLUME "/token"), STR("T"));
    assert_str_eq(says(b, POD_ACCOUNT_VOLUME "/ca.crt"), STR("PEM"));
    assert_str_eq(says(b, POD_ACCOUNT_VOLUME "/namespace"), STR("ns"));
    struct str env = joined(b, json_get(c, STR("env")));
    assert_true(str_contains(env, STR("|KUBERNETES_SERVICE_HOST=127.0.0.1|")));
    assert_true(str_contains(env, STR("|KUBERNETES_SERVICE_PORT=6443|")));
    c = build(b, false, ",\"automountServiceAccountToken\":false", run, &notes, &err);
    m = yyjson_arr_get_first(json_get(c, STR("mounts")));
    assert_false(str_is(json_str_at(m, "target"), POD_ACCOUNT_PATH));
    c = build(
        b, false,
        ",\"volumes\":[{\"name\":\"t\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{"
        "\"path\":\"a/t\",\"audience\":\"two words\",\"expirationSeconds\":700}}]}}]",
        "\"command\":[\"run\"],\"volumeMounts\":[{\"name\":\"t\",\"mountPath\":\"" POD_ACCOUNT_PATH
        "\"}]",
        &notes, &err);
    m = yyjson_arr_get_first(json_get(c, STR("mounts")));
    assert_true(str_ends(json_str_at(m, "source"), STR("/volumes/t"))); /* its own stays */
    assert_str_eq(says(b, "t/a/t"), STR("T"));
    struct pod_token t;
    assert_true(pod_token_named(STR("default 700 two words"), &t));
    assert_str_eq(t.audience, STR("two words"));
}

/* Each volume is small enough, both together are not. */
static void test_files_are_bounded(void **state) {
    struct pod_spec_notes notes;
    struct err err;
    assert_non_null(build(*state, false,
                          ",\"volumes\":[{\"name\":\"c\",\"configMap\":{\"name\":\"many\"}}]",
                          "\"command\":[\"true\"]", &notes, &err));
    assert_null(build(*state, false,
                      ",\"volumes\":[{\"name\":\"c\",\"configMap\":{\"name\":\"many\"}},"
                      "{\"name\":\"d\",\"configMap\":{\"name\":\"many\"}}]",
                      "\"command\":[\"true\"]", &notes, &err));
    assert_true(str_contains(str_of(err.text), STR("files together")));
}

static void test_volumes_follow(void **state) {
    struct bed *b = *state;
    struct pod_spec_notes notes = {0};
    uint64_t seen[3] = {0};
    struct err err;

    b->changes = "one";
    b->seen = (struct pod_volumes_seen){seen, 3};
    yyjson_val *c =
        build(b, false,
              ",\"volumes\":[{\"name\":\"c\",\"configMap\":{\"name\":\"changes\"}},{\"name\":\"p\","
              "\"configMap\":{\"name\":\"changes\"}}]",
              "\"command\":[\"run\"],\"volumeMounts\":[{\"name\":\"c\",\"mountPath\":\"/c\"},"
              "{\"name\":\"p\",\"mountPath\":\"/p\",\"subPath\":\"k\"}]",
              &notes, &err);
    assert_non_null(c);
    yyjson_val *part = yyjson_arr_get(json_get(c, STR("mounts")), 1);
    assert_true(str_ends(json_str_at(part, "source"), STR("/volumes/p/..first/k")));
    assert_str_eq(says(b, "c/k"), STR("one"));
    b->changes = "two";
    assert_ok(pod_spec_follow(&b->in, false, &err), &err); /* a look alone */
    assert_str_eq(says(b, "c/k"), STR("one"));
    assert_ok(pod_spec_follow(&b->in, true, &err), &err);
    assert_str_eq(says(b, "c/k"), STR("two"));
    assert_str_eq(says(b, "c/..first/k"), STR(""));
    assert_str_eq(says(b, "p/..first/k"), STR("one")); /* mounted in part */
    b->changes = NULL;                                 /* gone: what is there stays */
    assert_int_equal(pod_spec_follow(&b->in, true, &err), ERR_NOT_FOUND);
    assert_str_eq(says(b, "c/k"), STR("two"));
    b->changes = "two"; /* nothing new: nothing is written */
    assert_ok(pod_spec_follow(&b->in, true, &err), &err);
    assert_str_eq(says(b, "c/..1/k"), STR("two"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_image, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_driver, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_image_commands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_volumes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_host_folder_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_account, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_volumes_follow, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
