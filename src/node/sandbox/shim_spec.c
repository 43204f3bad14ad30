/* shim_spec: DIR/spec.json, written by pod_spec.c, into what a shim runs. */
#include <signal.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "node/files/files.h"
#include "node/sandbox/shim.h"
#include "wire/json/json.h"

static const char *text(struct shim *s, yyjson_val *v) {
    struct str t = arena_str(&s->arena, json_str(v));

    return t.p ? t.p : "";
}

static char **texts(struct shim *s, yyjson_val *list) {
    size_t n = yyjson_arr_size(list), i = 0;
    char **v = arena_array(&s->arena, n + 1, sizeof(char *));
    yyjson_arr_iter it;
    yyjson_val *e;

    yyjson_arr_iter_init(list, &it);
    while (v && (e = yyjson_arr_iter_next(&it))) {
        v[i++] = (char *)(uintptr_t)text(s, e);
    }
    return v;
}

static void read_mounts(struct shim *s, struct shim_container *c, yyjson_val *list) {
    yyjson_arr_iter it;
    yyjson_val *e;
    size_t n = yyjson_arr_size(list);

    struct sandbox_mount *v = n ? ARENA_ARRAY(&s->arena, struct sandbox_mount, n) : NULL;
    c->inside.mounts = v;
    yyjson_arr_iter_init(list, &it);
    while (v && (e = yyjson_arr_iter_next(&it))) {
        v[c->inside.n_mounts++] =
            (struct sandbox_mount){.source = text(s, json_get(e, STR("source"))),
                                   .target = text(s, json_get(e, STR("target"))),
                                   .read_only = json_bool_at(e, "readOnly", false)};
    }
}

/* Of an image; absent: the view of the machine. */
static void read_root(struct shim *s, struct shim_container *c, yyjson_val *v) {
    struct sandbox_root *r = v ? ARENA_NEW(&s->arena, struct sandbox_root) : NULL;

    if (r) {
        *r = (struct sandbox_root){.lower = text(s, json_get(v, STR("lower"))),
                                   .layer = text(s, json_get(v, STR("layer"))),
                                   .read_only = json_bool_at(v, "readOnly", false),
                                   .uid = (uid_t)json_i64_at(v, "uid", 0),
                                   .gid = (gid_t)json_i64_at(v, "gid", 0)};
        c->inside.root = r;
    }
}

static void read_handler(struct shim *s, struct handler *h, yyjson_val *v) {
    yyjson_val *exec = json_get(v, STR("exec")), *http = json_get(v, STR("http")),
               *tcp = json_get(v, STR("tcp")), *grpc = json_get(v, STR("grpc")),
               *net = http  ? http
                      : tcp ? tcp
                            : grpc;

    *h = (struct handler){.kind = exec                        ? HANDLER_EXEC
                                  : http                      ? HANDLER_HTTP
                                  : tcp                       ? HANDLER_TCP
                                  : grpc                      ? HANDLER_GRPC
                                  : json_get(v, STR("sleep")) ? HANDLER_SLEEP
                                                              : HANDLER_NONE,
                          .argv = exec ? texts(s, exec) : NULL,
                          .host = text(s, json_get(net, STR("host"))),
                          .port = (uint16_t)json_i64_at(net, "port", 0),
                          .https = json_bool_at(http, "https", false),
                          .path = text(s, json_get(http, STR("path"))),
                          .headers = str_of(text(s, json_get(http, STR("headers")))),
                          .service = text(s, json_get(grpc, STR("service"))),
                          .sleep_s = json_i64_at(v, "sleep", 0)};
    if (h->kind == HANDLER_EXEC && (h->argv == NULL || h->argv[0] == NULL)) {
        h->kind = HANDLER_NONE;
    }
}

static int64_t seconds(yyjson_val *v, const char *name) {
    int64_t n = json_i64_at(v, name, 0);

    return (n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : n) * NS_PER_SEC;
}

static void read_check(struct shim *s, struct shim_check *k, enum probe_kind kind, yyjson_val *v) {
    read_handler(s, &k->handler, v);
    k->probe = (struct prober){.kind = kind,
                               .set = k->handler.kind != HANDLER_NONE,
                               .delay_ns = seconds(v, "delay"),
                               .period_ns = seconds(v, "period"),
                               .timeout_ns = seconds(v, "timeout"),
                               .success = (int)json_i64_at(v, "success", 1),
                               .failure = (int)json_i64_at(v, "failure", 3),
                               .grace_s = json_i64_at(v, "grace", -1)};
}

static void read_life(struct shim *s, struct shim_container *c, yyjson_val *e) {
    static const char *const names[PROBE_KINDS] = {"startup", "readiness", "liveness"};

    for (int i = 0; i < PROBE_KINDS; i++) {
        read_check(s, &c->checks[i], (enum probe_kind)i, json_get(e, str_of(names[i])));
    }
    read_handler(s, &c->post_start, json_get(e, STR("postStart")));
    read_handler(s, &c->pre_stop, json_get(e, STR("preStop")));
    c->stop_signal = (int)json_i64_at(e, "stopSignal", SIGTERM);
    yyjson_val *file = json_get(e, STR("messageFile"));
    c->message_file = file ? text(s, file) : NULL;
    c->message_from_log = json_bool_at(e, "messageFromLog", false);
}

static void read_container(struct shim *s, struct shim_container *c, yyjson_val *e) {
    *c = (struct shim_container){.name = str_of(text(s, json_get(e, STR("name")))),
                                 .init = json_bool_at(e, "init", false),
                                 .sidecar = json_bool_at(e, "sidecar", false),
                                 .image_id = str_of(text(s, json_get(e, STR("imageID")))),
                                 .argv = texts(s, json_get(e, STR("argv"))),
                                 .envp = texts(s, json_get(e, STR("env"))),
                                 .fd = {-1, -1},
                                 .stdin_fd = -1,
                                 .has_stdin = json_bool_at(e, "stdin", false),
                                 .stdin_once = json_bool_at(e, "stdinOnce", false),
                                 .tty = json_bool_at(e, "tty", false),
                                 .log = {.dir = -1, .fd = -1}};
    yyjson_val *cwd = json_get(e, STR("cwd"));
    c->inside.cwd = cwd ? text(s, cwd) : NULL;
    read_root(s, c, json_get(e, STR("root")));
    read_mounts(s, c, json_get(e, STR("mounts")));
    read_life(s, c, e);
    buf_init(&c->log.part[0], SHIM_LINE_MAX * 2);
    buf_init(&c->log.part[1], SHIM_LINE_MAX * 2);
    buf_init(&c->log.out, 4 << 20);
}

static void read_sandbox(struct shim *s, yyjson_val *v) {
    s->sandbox = (struct sandbox){.uid = (uid_t)json_i64_at(v, "uid", 0),
                                  .gid = (gid_t)json_i64_at(v, "gid", 0),
                                  .data_dir = text(s, json_get(v, STR("dataDir"))),
                                  .pod_dir = s->dir,
                                  .cgroup = (enum cgroup_mode)json_i64_at(v, "cgroup", CGROUP_NONE),
                                  .cgroup_name = text(s, json_get(v, STR("cgroupName"))),
                                  .memory_bytes = json_i64_at(v, "memory", 0),
                                  .cpu_milli = json_i64_at(v, "cpuMilli", 0),
                                  .pids = json_i64_at(v, "pids", 0),
                                  .memory_most = json_i64_at(v, "memoryMost", 0),
                                  .pids_of_all = json_i64_at(v, "pidsOfAll", 0),
                                  .user_pids = json_i64_at(v, "userPids", 0),
                                  .strict = json_bool_at(v, "strict", false),
                                  .walls = json_bool_at(v, "walls", false),
                                  .shm_bytes = json_i64_at(v, "shm", 0)};
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(v, STR("groups")));
    for (yyjson_val *g;
         (g = yyjson_arr_iter_next(&it)) && s->sandbox.n_groups < SANDBOX_GROUPS_MAX;) {
        s->sandbox.groups[s->sandbox.n_groups++] = (gid_t)yyjson_get_uint(g);
    }
}

static const char *optional(struct shim *s, yyjson_val *v) {
    return v ? text(s, v) : NULL;
}

/* What a cell needs: see cell.h. */
static void read_cell(struct shim *s, yyjson_val *root) {
    yyjson_val *devices = json_get(root, STR("devices")), *memory = json_get(root, STR("memory")),
               *e;
    struct sandbox_memory *m;
    yyjson_arr_iter it;

    s->sandbox.netns = optional(s, json_get(root, STR("netns")));
    s->sandbox.own_network = json_bool_at(root, "own_network", false);
    s->sandbox.hostname = optional(s, json_get(root, STR("hostname")));
    s->sandbox.devices =
        ARENA_ARRAY(&s->arena, struct sandbox_device, yyjson_arr_size(devices) + 1);
    yyjson_arr_iter_init(devices, &it);
    while (s->sandbox.devices && s->sandbox.n_devices < DEVICES_MAX &&
           (e = yyjson_arr_iter_next(&it))) {
        s->sandbox.devices[s->sandbox.n_devices++] =
            (struct sandbox_device){.name = text(s, json_get(e, STR("name"))),
                                    .major = (unsigned)json_i64_at(e, "major", 0),
                                    .minor = (unsigned)json_i64_at(e, "minor", 0),
                                    .tree = -1};
    }
    s->sandbox.memory = m =
        ARENA_ARRAY(&s->arena, struct sandbox_memory, yyjson_arr_size(memory) + 1);
    yyjson_arr_iter_init(memory, &it);
    while (m && (e = yyjson_arr_iter_next(&it))) {
        m[s->sandbox.n_memory++] =
            (struct sandbox_memory){text(s, json_get(e, STR("path"))), json_i64_at(e, "bytes", 0)};
    }
}

int shim_spec_read(struct shim *s, struct err *err) {
    yyjson_arr_iter it;
    struct str bytes;
    yyjson_doc *doc;
    yyjson_val *e;
    int code = file_load(s->dir, "spec.json", &s->arena, &bytes, err);

    if (code == 0) {
        code = json_parse(&s->arena, bytes, &doc, err);
    }
    if (code) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc), *list = json_get(root, STR("containers"));
    struct str policy = json_str_at(root, "restartPolicy");
    s->uid = str_of(text(s, json_get(root, STR("uid"))));
    s->ns = str_of(text(s, json_get(root, STR("namespace"))));
    s->name = str_of(text(s, json_get(root, STR("name"))));
    s->restart = str_is(policy, "Never")       ? RESTART_NEVER
                 : str_is(policy, "OnFailure") ? RESTART_ON_FAILURE
                                               : RESTART_ALWAYS;
    int64_t grace = json_i64_at(root, "grace", 30);
    s->grace_s = grace < LIMIT_GRACE_SECONDS ? grace : LIMIT_GRACE_SECONDS;
    s->backoff_ms = json_i64_at(root, "backoffMs", 10000);
    read_sandbox(s, json_get(root, STR("sandbox")));
    read_cell(s, root);
    size_t n = yyjson_arr_size(list);
    if (n == 0 || n > SHIM_CONTAINERS_MAX) {
        return err_set(err, ERR_INVALID, "spec.json: %zu containers", n);
    }
    s->cap = n + LIMIT_EPHEMERAL_CONTAINERS;
    s->cap = s->cap < SHIM_CONTAINERS_MAX ? s->cap : SHIM_CONTAINERS_MAX;
    s->v = mem_zalloc(s->cap * sizeof(*s->v));
    yyjson_arr_iter_init(list, &it);
    while (s->v && (e = yyjson_arr_iter_next(&it))) {
        read_container(s, &s->v[s->n++], e);
    }
    return s->v ? arena_ok(&s->arena) : err_set(err, ERR_NOMEM, "no memory");
}

static bool is_known(const struct shim *s, struct str name) {
    for (size_t i = 0; i < s->n; i++) {
        if (str_eq(s->v[i].name, name)) {
            return true;
        }
    }
    return false;
}

void shim_spec_more(struct shim *s) {
    yyjson_arr_iter it;
    struct str bytes;
    yyjson_doc *doc;
    yyjson_val *e;

    if (file_load(s->dir, "more.json", &s->arena, &bytes, NULL) ||
        json_parse(&s->arena, bytes, &doc, NULL)) {
        return;
    }
    yyjson_arr_iter_init(json_get(yyjson_doc_get_root(doc), STR("containers")), &it);
    while ((e = yyjson_arr_iter_next(&it)) && s->n < s->cap) {
        if (!is_known(s, json_str_at(e, "name"))) {
            read_container(s, &s->v[s->n], e);
            s->v[s->n++].ephemeral = true;
            s->dirty = true;
        }
    }
}
