/* gpus: slices through the helper process and the simulated driver: transactions, restarts,
 * trouble, hanging helpers. */
#include "node/files/testbed.h"

#include "node/gpu/gpus_private.h"

struct bed {
    struct loop *loop;
    struct nvml_client *nvml;
    struct gpus *gpus;
    struct log_fd log;
    char dir[PATH_LEN], env_gpus[64], env_state[PATH_LEN + 32], faults[PATH_LEN];
    const char *envp[4];
    bool started;
    int code; /* of the last acquisition; 1: none yet */
    size_t n;
    char uuid[8][96], error[512];
    char trouble[256], alive[64];
    struct arena arena;
    struct inventory inv;
    size_t want_instances;
    int64_t request_ms, forget_ms;
    char notes[2048];    /* reasons, one a line */
    const char *library; /* NULL: the stub */
    size_t want_cards;
    int started_code; /* of the first look at the hardware */
};

static void on_changed(void *ctx) {
}

static void on_trouble(void *ctx, struct str pod_uid, const char *why) {
    struct bed *b = ctx;

    snprintf(b->trouble, sizeof(b->trouble), "%.*s: %s", STR_ARG(pod_uid), why);
}

static void on_note(void *ctx, bool warning, const char *reason, const char *text) {
    struct bed *b = ctx;
    size_t n = strlen(b->notes);

    snprintf(b->notes + n, sizeof(b->notes) - n, "%s: %s\n", reason, text);
}

static void on_started(void *ctx, const struct err *err) {
    struct bed *b = ctx;

    b->started_code = err ? err->code : 0;
    b->started = true;
}

static bool has_started(void *ctx) {
    return ((struct bed *)ctx)->started;
}

static bool is_alive(void *ctx, struct str uid) {
    return str_is(uid, ((struct bed *)ctx)->alive);
}

static void start(struct bed *b) {
    struct err err;
    const struct nvml_client_options c = {.loop = b->loop,
                                          .program = getenv("BERTH_TEST_VERBS"),
                                          .library =
                                              b->library ? b->library : getenv("BERTH_TEST_STUB"),
                                          .envp = b->envp,
                                          .request_ms = b->request_ms};
    b->nvml = nvml_client_new(&c, &err);
    const struct gpus_options g = {.loop = b->loop,
                                   .log = &b->log.log,
                                   .nvml = b->nvml,
                                   .dir = b->dir,
                                   .library = c.library,
                                   .root = b->dir,
                                   .forget_ms = b->forget_ms,
                                   .changed = on_changed,
                                   .trouble = on_trouble,
                                   .note = on_note,
                                   .ctx = b};
    b->gpus = gpus_new(&g, &err);
    b->started = false;
    gpus_start(b->gpus, is_alive, on_started, b);
    test_until(b->loop, has_started, b);
}

static void stop(struct bed *b) {
    gpus_free(b->gpus);
    nvml_client_free(b->nvml);
}

static struct bed *bed_new(const char *spec) {
    struct bed *b = calloc(1, sizeof(*b));
    struct err err;

    log_fd_init(&b->log, LOG_ERROR, 2);
    test_folder(b->dir);
    b->loop = loop_new(&err);
    snprintf(b->env_gpus, sizeof(b->env_gpus), "BERTH_SIM_GPUS=%s", spec);
    snprintf(b->env_state, sizeof(b->env_state), "BERTH_SIM_STATE=%s/sim.state", b->dir);
    snprintf(b->faults, sizeof(b->faults), "%.500s/sim.state.faults", b->dir);
    b->envp[0] = b->env_gpus;
    b->envp[1] = b->env_state;
    b->envp[2] = "ASAN_OPTIONS=detect_leaks=0";
    arena_init(&b->arena, 8 << 20);
    return b;
}

static void bed_free(struct bed *b) {
    stop(b);
    test_settle(b->loop);
    arena_release(&b->arena);
    loop_free(b->loop);
    dir_remove(b->dir, NULL);
    free(b);
}

static void on_done(void *ctx, int code, const struct str *uuids, size_t n, const struct err *err) {
    struct bed *b = ctx;

    b->code = code;
    b->n = n;
    for (size_t i = 0; i < n; i++) {
        assert_true(str_copy(uuids[i], b->uuid[i], sizeof(b->uuid[i])));
    }
    snprintf(b->error, sizeof(b->error), "%s", code ? err->text : "");
}

static bool is_done(void *ctx) {
    return ((struct bed *)ctx)->code <= 0;
}

static const struct inventory *look(struct bed *b) {
    arena_reset(&b->arena);
    assert_int_equal(gpus_inventory(b->gpus, &b->arena, &b->inv), 0);
    return &b->inv;
}

static bool has_instances(void *ctx) {
    struct bed *b = ctx;
    size_t n = 0;

    look(b);
    for (size_t i = 0; i < b->inv.n; i++) {
        for (size_t j = 0; j < b->inv.gpus[i].n_instances; j++) {
            n += !str_empty(b->inv.gpus[i].instances[j].pod_uid) || b->want_instances == 0;
        }
    }
    return n == b->want_instances;
}

static void wait_instances(struct bed *b, size_t n) {
    b->want_instances = n;
    test_until(b->loop, has_instances, b);
}

struct place {
    int32_t profile, start, size;
};

/* Asks for slices on GPU 0 for a pod, and waits for the answer. */
static int acquire(struct bed *b, const char *pod, const struct place *v, size_t n) {
    struct pod_device d[8];
    struct pod_devices list = {d, n};

    look(b);
    for (size_t i = 0; i < n; i++) {
        d[i] = (struct pod_device){.container = STR("main"),
                                   .gpu = b->inv.gpus[0].uuid,
                                   .profile_id = v[i].profile,
                                   .start = v[i].start,
                                   .size = v[i].size};
    }
    b->code = 1;
    gpus_acquire(b->gpus, str_of(pod), &list, on_done, b);
    assert_int_equal(b->code, 1); /* never inside the call */
    test_until(b->loop, is_done, b);
    return b->code;
}

static void test_inventory(void **state) {
    struct bed *b = bed_new("8xh200");
    struct buf out;

    start(b);
    look(b);
    assert_true(b->inv.simulated);
    assert_int_equal(b->inv.n, 8);
    assert_str_eq(b->inv.gpus[7].model, STR("NVIDIA H200"));
    assert_str_eq(b->inv.gpus[0].board, STR("0x233510DE"));
    assert_int_equal(b->inv.gpus[0].slices, 8);
    assert_int_equal(b->inv.gpus[0].n_profiles, 7);
    assert_int_equal(b->inv.gpus[0].utilization_pct, -1);
    buf_init(&out, 1 << 16);
    gpus_capacity(b->gpus, &out);
    assert_true(str_contains(buf_view(&out), STR("\"nvidia.com/gpu\":\"8\"")));
    assert_true(str_contains(buf_view(&out), STR("\"nvidia.com/mig-1g.18gb\":\"56\"")));
    assert_true(str_contains(buf_view(&out), STR("\"nvidia.com/mig-1g.18gb.me\":\"8\"")));
    assert_true(str_contains(buf_view(&out), STR("\"nvidia.com/mig-7g.141gb\":\"8\"")));
    buf_reset(&out);
    gpus_labels(b->gpus, &out);
    assert_true(str_contains(buf_view(&out), STR("\"nvidia.com/gpu.product\":\"NVIDIA-H200\"")));
    assert_true(str_contains(buf_view(&out), STR("\"nvidia.com/gpu.family\":\"hopper\"")));
    buf_release(&out);
    bed_free(b);
}

static void test_transaction(void **state) {
    struct bed *b = bed_new("1xh200");
    char first[96];

    start(b);
    assert_int_equal(acquire(b, "p1", (struct place[]){{9, 4, 4}, {14, 2, 2}}, 2), 0);
    assert_int_equal(b->n, 2);
    assert_string_not_equal(b->uuid[0], b->uuid[1]);
    memcpy(first, b->uuid[0], sizeof(first));
    /* A second pod whose second slice does not fit gets nothing, and takes nothing away. */
    assert_int_equal(acquire(b, "p2", (struct place[]){{19, 0, 1}, {19, 5, 1}}, 2), ERR_CONFLICT);
    wait_instances(b, 2);
    /* Asked again, the first pod has what it had. */
    assert_int_equal(acquire(b, "p1", (struct place[]){{9, 4, 4}}, 1), 0);
    assert_string_equal(b->uuid[0], first);
    gpus_release(b->gpus, STR("p1"));
    wait_instances(b, 0);
    assert_int_equal(acquire(b, "p3", (struct place[]){{9, 4, 4}}, 1), 0);
    assert_string_not_equal(b->uuid[0], first); /* a new instance, a new name */
    bed_free(b);
}

static void test_whole_gpu(void **state) {
    struct bed *b = bed_new("1xh200");

    start(b);
    assert_int_equal(acquire(b, "p1", (struct place[]){{19, 6, 1}}, 1), 0);
    assert_int_equal(acquire(b, "w", (struct place[]){{-1, 0, 0}}, 1), ERR_CONFLICT);
    gpus_release(b->gpus, STR("p1"));
    wait_instances(b, 0);
    assert_int_equal(acquire(b, "w", (struct place[]){{-1, 0, 0}}, 1), 0);
    assert_int_equal(strncmp(b->uuid[0], "GPU-", 4), 0);
    assert_false(look(b)->gpus[0].mig_enabled);
    assert_int_equal(acquire(b, "p2", (struct place[]){{19, 6, 1}}, 1), ERR_CONFLICT);
    gpus_release(b->gpus, STR("w"));
    assert_int_equal(acquire(b, "p2", (struct place[]){{19, 6, 1}}, 1), 0);
    bed_free(b);
}

static void test_ampere_keeps_its_mode(void **state) {
    struct bed *b = bed_new("4xa100-80gb");

    start(b);
    assert_false(look(b)->gpus[0].mig_managed);
    assert_int_equal(acquire(b, "w", (struct place[]){{-1, 0, 0}}, 1), ERR_UNSUPPORTED);
    bed_free(b);
}

/* What is being removed has no owner any more, but may still be listed. */
static bool only_one_listed(void *ctx) {
    struct bed *b = ctx;
    return look(b)->gpus[0].n_instances == 1;
}

static void test_restart(void **state) {
    struct bed *b = bed_new("1xh200");
    char kept[96];

    start(b);
    assert_int_equal(acquire(b, "gone", (struct place[]){{19, 6, 1}}, 1), 0);
    assert_int_equal(acquire(b, "stays", (struct place[]){{14, 4, 2}}, 1), 0);
    memcpy(kept, b->uuid[0], sizeof(kept));
    stop(b);
    snprintf(b->alive, sizeof(b->alive), "stays");
    start(b);
    test_until(b->loop, only_one_listed, b);
    assert_str_eq(b->inv.gpus[0].instances[0].pod_uid, STR("stays"));
    assert_str_eq(b->inv.gpus[0].instances[0].uuid, str_of(kept));
    stop(b);
    /* Without the journal nobody knows whose it is: it is left alone. */
    char path[PATH_LEN];
    assert_int_equal(path_join(path, b->dir, "mig.json", NULL), 0);
    assert_int_equal(unlink(path), 0);
    start(b);
    look(b);
    assert_str_eq(b->inv.gpus[0].instances[0].pod_uid, STR(GPUS_FOREIGN));
    assert_int_equal(acquire(b, "p", (struct place[]){{19, 4, 1}}, 1), ERR_CONFLICT);
    bed_free(b);
}

/* A whole GPU whose pod ended while nobody looked: kill -9 of the node leaves it in use with the driver. */
static void test_restart_whole(void **state) {
    struct bed *b = bed_new("1xh200");

    start(b);
    assert_int_equal(acquire(b, "gone", (struct place[]){{-1, 0, 0}}, 1), 0);
    stop(b);
    start(b);
    assert_str_eq(look(b)->gpus[0].pod_uid, STR(""));
    assert_int_equal(acquire(b, "p", (struct place[]){{19, 6, 1}}, 1), 0);
    gpus_release(b->gpus, STR("p"));
    wait_instances(b, 0);
    assert_int_equal(acquire(b, "stays", (struct place[]){{-1, 0, 0}}, 1), 0);
    stop(b);
    snprintf(b->alive, sizeof(b->alive), "stays");
    start(b);
    assert_str_eq(look(b)->gpus[0].pod_uid, STR("stays"));
    assert_int_equal(acquire(b, "p", (struct place[]){{19, 6, 1}}, 1), ERR_CONFLICT);
    bed_free(b);
}

static void fault(struct bed *b, const char *line) {
    struct err err;

    assert_ok(file_store(b->dir, "sim.state.faults", str_of(line), 0600, &err), &err);
}

static bool in_trouble(void *ctx) {
    return ((struct bed *)ctx)->trouble[0] != 0;
}

static void test_xid(void **state) {
    struct bed *b = bed_new("8xh200");

    start(b);
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), 0);
    fault(b, "xid 0 31\nxid 0 13\nxid 1 48\nxid 0 95\n"); /* 31, 13: an application's own */
    test_until(b->loop, in_trouble, b);
    assert_non_null(strstr(b->trouble, "p: GPU 0"));
    assert_non_null(strstr(b->trouble, "Xid 95"));
    look(b);
    assert_false(b->inv.gpus[0].healthy);
    assert_false(b->inv.gpus[1].healthy);
    assert_true(b->inv.gpus[2].healthy);
    assert_int_equal(acquire(b, "q", (struct place[]){{19, 0, 1}}, 1), ERR_GONE);
    bed_free(b);
}

static bool has_healthy_cards(void *ctx) {
    struct bed *b = ctx;
    size_t n = 0;

    look(b);
    for (size_t i = 0; i < b->inv.n; i++) {
        n += b->inv.gpus[i].healthy;
    }
    return n == b->want_cards;
}

static void wait_healthy_cards(struct bed *b, size_t n) {
    b->want_cards = n;
    test_until(b->loop, has_healthy_cards, b);
}

/* What an Xid took out stays out: over a restart, with another journal, until it is cleared; and then it is whole. */
static void test_out_until_cleared(void **state) {
    struct bed *b = bed_new("8xh200");
    struct err err;
    char uuid[2][96];

    start(b);
    look(b);
    assert_true(str_copy(b->inv.gpus[0].uuid, uuid[0], 96) &&
                str_copy(b->inv.gpus[3].uuid, uuid[1], 96));
    fault(
        b,
        "xid 0 13\nxid 0 63\nxid 3 79\nxid 1 48\n"); /* 79: lost as well; 13 and 63 take out nothing */
    wait_healthy_cards(b, 6);
    stop(b);
    fault(b, "found 3\n");
    start(b);
    look(b);
    assert_true(b->inv.gpus[0].healthy);
    assert_false(b->inv.gpus[1].healthy || b->inv.gpus[3].healthy);
    assert_true(
        str_starts(b->inv.gpus[3].trouble, STR("Xid 79: the GPU has fallen off the bus, at 2")));
    assert_int_equal(gpus_clear(b->gpus, str_of(uuid[0]), &err), ERR_NOT_FOUND);
    assert_ok(gpus_clear(b->gpus, str_of(uuid[1]), &err), &err);
    assert_non_null(strstr(b->notes, "GpuCleared: GPU GPU-"));
    assert_true(look(b)->gpus[3].healthy);
    assert_str_eq(b->inv.gpus[3].trouble, STR(""));
    stop(b);
    start(b);
    assert_true(look(b)->gpus[3].healthy);
    assert_false(b->inv.gpus[1].healthy);
    bed_free(b);
}

/* Written down and told nobody, as kill -9 between the two leaves it: who runs there is ended at the start. */
static void test_out_before_it_was_told(void **state) {
    struct bed *b = bed_new("1xh200");
    char list[256];
    struct err err;

    start(b);
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), 0);
    int n = snprintf(list, sizeof(list), "{\"gpus\":[{\"uuid\":\"%.*s\",\"why\":\"Xid 95: x\"}]}",
                     STR_ARG(look(b)->gpus[0].uuid));
    stop(b);
    snprintf(b->alive, sizeof(b->alive), "p");
    assert_ok(file_store(b->dir, "gpus-out.json", str_from(list, (size_t)n), 0600, &err), &err);
    start(b);
    assert_non_null(strstr(b->trouble, "p: GPU 0"));
    assert_non_null(strstr(b->trouble, "Xid 95"));
    bed_free(b);
}

/* A list that cannot be read stops the start: which GPUs must not be used is not known. */
static void test_damaged_list(void **state) {
    static const char *const texts[] = {"", "{\"gpus\":[{\"uu", "{\"gpus\":[{\"why\":\"x\"}]}"};
    struct bed *b = bed_new("1xh200");
    struct err err;

    start(b);
    for (size_t i = 0; i < 3; i++) {
        const struct gpus_options o = {.loop = b->loop, .log = &b->log.log, .dir = b->dir};
        assert_ok(file_store(b->dir, "gpus-out.json", str_of(texts[i]), 0600, &err), &err);
        assert_null(gpus_new(&o, &err));
        assert_non_null(strstr(err.text, "gpus-out.json"));
        assert_non_null(strstr(err.text, "remove it if none is"));
    }
    bed_free(b);
}

static void test_lost_gpu(void **state) {
    struct bed *b = bed_new("1xh200");

    start(b);
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), 0);
    fault(b, "lost 0\n");
    test_until(b->loop, in_trouble, b);
    assert_false(look(b)->gpus[0].healthy);
    bed_free(b);
}

/* As a pod does: asks again while the driver is late, or what it left behind is in the way. */
static int acquire_at_last(struct bed *b, const char *pod, struct place where) {
    int code = ERR_TIMEOUT;

    for (int i = 0;
         i < 20 && (code == ERR_TIMEOUT || code == ERR_UNAVAILABLE || code == ERR_CONFLICT); i++) {
        code = acquire(b, pod, &where, 1);
        test_settle(b->loop);
    }
    return code;
}

static void test_hanging_driver(void **state) {
    struct bed *b = bed_new("1xh200");

    b->request_ms = 300;
    start(b);
    fault(b, "slow 60000\n");
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), ERR_TIMEOUT);
    fault(b, "slow 0\n"); /* the next helper finds a driver that answers */
    assert_int_equal(acquire_at_last(b, "p", (struct place){14, 4, 2}), 0);
    assert_int_equal(nvml_client_stuck(b->nvml), 0);
    bed_free(b);
}

/* ---- what comes and goes ---- */

/* The machine has no driver when the node starts; it is installed, unloaded, and loaded again. */
static void test_driver_comes_later(void **state) {
    struct bed *b = bed_new("1xh200");
    char path[PATH_LEN];

    assert_int_equal(path_join(path, b->dir, "libnvidia-ml.so.1", NULL), 0);
    b->library = path;
    start(b);
    assert_int_equal(b->started_code, ERR_NOT_FOUND);
    assert_int_equal(look(b)->n, 0);
    assert_int_equal(symlink(getenv("BERTH_TEST_STUB"), path), 0);
    wait_healthy_cards(b, 1);
    assert_true(b->inv.simulated);
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), 0);
    assert_int_equal(unlink(path), 0);
    wait_healthy_cards(b, 0);
    assert_int_equal(b->inv.n, 1);
    assert_non_null(strstr(b->trouble, "p: GPU 0"));
    assert_int_equal(symlink(getenv("BERTH_TEST_STUB"), path), 0);
    wait_healthy_cards(b, 1);
    assert_str_eq(b->inv.gpus[0].instances[0].pod_uid, STR("p"));
    bed_free(b);
}

static void test_card_is_added(void **state) {
    struct bed *b = bed_new("1xh200");

    start(b);
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), 0);
    fault(b, "come 1\ncome 2\n");
    wait_healthy_cards(b, 3);
    assert_int_equal(b->inv.gpus[2].n_profiles, 7);
    assert_str_eq(b->inv.gpus[0].instances[0].pod_uid, STR("p"));
    fault(b, "xid 2 48\n"); /* its errors are listened to as well */
    wait_healthy_cards(b, 2);
    assert_false(b->inv.gpus[2].healthy);
    bed_free(b);
}

static bool has_cards(void *ctx) {
    struct bed *b = ctx;

    return look(b)->n == b->want_cards;
}

static void test_card_is_taken_out(void **state) {
    struct bed *b = bed_new("8xh200");
    char second[96];

    start(b);
    assert_true(str_copy(look(b)->gpus[1].uuid, second, sizeof(second)));
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), 0);
    fault(b, "gone 0\n");
    test_until(b->loop, in_trouble, b);
    assert_non_null(strstr(b->trouble, "not in this machine any more"));
    assert_int_equal(look(b)->n, 8); /* while its pod is there, so that it can be told of */
    assert_false(b->inv.gpus[0].healthy);
    gpus_release(b->gpus, STR("p"));
    b->want_cards = 7;
    test_until(b->loop, has_cards, b);
    assert_str_eq(b->inv.gpus[0].uuid, str_of(second));
    assert_int_equal(b->inv.gpus[0].index, 0);
    fault(b, "come 0\n");
    wait_healthy_cards(b, 8);
    bed_free(b);
}

static void store_sign(struct bed *b, const char *dir, const char *name) {
    char path[PATH_LEN];
    struct err err;

    assert_ok(path_join(path, b->dir, dir, &err), &err);
    assert_ok(dir_make(path, 0755, &err), &err);
    assert_ok(file_store(path, name, STR("570.133.20\n"), 0644, &err), &err);
}

static void test_signs(void **state) {
    static const char *const signs[][2] = {{"proc/driver/nvidia", "version"},
                                           {"dev", "nvidiactl"},
                                           {"sys/bus/pci/drivers/nvidia", "0000:19:00.0"},
                                           {"sys/bus/pci/drivers/nvidia", "0000:2a:00.0"}};
    struct bed *b = bed_new("1xh200");
    uint64_t seen[5] = {gpus_signs(b->dir, "/nowhere")};

    start(b);
    for (size_t i = 0; i < 4; i++) {
        store_sign(b, signs[i][0], signs[i][1]);
        seen[i + 1] = gpus_signs(b->dir, "/nowhere");
        for (size_t k = 0; k <= i; k++) {
            assert_true(seen[k] != seen[i + 1]);
        }
        assert_true(seen[i + 1] == gpus_signs(b->dir, "/nowhere"));
    }
    assert_true(seen[4] != gpus_signs(b->dir, getenv("BERTH_TEST_STUB")));
    bed_free(b);
}

/* ---- creates and destroys that are not answered ---- */

#define CREATE "nvmlDeviceCreateGpuInstanceWithPlacement"

static bool is_noted(void *ctx) {
    return strstr(((struct bed *)ctx)->notes, "MigInstanceFound") != NULL;
}

static bool fault_is_taken(void *ctx) {
    return access(((struct bed *)ctx)->faults, F_OK) == -1;
}

static void assert_nothing_foreign(struct bed *b) {
    look(b);
    for (size_t i = 0; i < b->inv.gpus[0].n_instances; i++) {
        assert_false(str_is(b->inv.gpus[0].instances[i].pod_uid, GPUS_FOREIGN));
    }
}

/* The driver made it and was too slow to say so: it is found, removed, and its place serves another. */
static void test_create_times_out(void **state) {
    struct bed *b = bed_new("1xh200");

    b->request_ms = 300;
    start(b);
    fault(b, "late " CREATE " 60000\n");
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), ERR_TIMEOUT);
    assert_int_equal(look(b)->gpus[0].n_instances, 0); /* whether it is there is not known */
    test_until(b->loop, is_noted, b);
    assert_nothing_foreign(b);
    assert_int_equal(acquire_at_last(b, "q", (struct place){9, 4, 4}), 0);
    bed_free(b);
}

/* The same pod asks again at once, and gets the place in the end. */
static void test_create_times_out_and_again(void **state) {
    struct bed *b = bed_new("1xh200");

    b->request_ms = 300;
    start(b);
    fault(b, "late " CREATE " 60000\n");
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), ERR_TIMEOUT);
    assert_int_equal(acquire_at_last(b, "p", (struct place){14, 4, 2}), 0);
    wait_instances(b, 1);
    assert_nothing_foreign(b);
    bed_free(b);
}

/* It comes into being long after its caller was killed. */
static void test_create_appears_later(void **state) {
    struct bed *b = bed_new("1xh200");

    b->request_ms = 300;
    start(b);
    fault(b, "astray 2500\n");
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), ERR_TIMEOUT);
    test_until(b->loop, is_noted, b);
    assert_nothing_foreign(b);
    assert_int_equal(acquire_at_last(b, "q", (struct place){9, 4, 4}), 0);
    bed_free(b);
}

/* Nothing came of it: after a while the entry goes, and what somebody else makes there is theirs. */
static void test_create_is_forgotten(void **state) {
    struct bed *b = bed_new("1xh200");
    struct arena a;
    struct str text;

    b->request_ms = 300;
    b->forget_ms = 1;
    start(b);
    fault(b, "astray 3600000\n");
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), ERR_TIMEOUT);
    arena_init(&a, 1 << 20);
    do {
        test_settle(b->loop);
        arena_reset(&a);
        assert_int_equal(file_load(b->dir, "mig.json", &a, &text, NULL), 0);
    } while (str_contains(text, STR("profile")));
    assert_null(strstr(b->notes, "MigInstanceFound"));
    arena_release(&a);
    bed_free(b);
}

/* The node dies while the driver is at it, once before the instance is there and once after. */
static void crash_in_create(const char *line) {
    struct bed *b = bed_new("1xh200");
    struct pod_device d = {.container = STR("main"), .profile_id = 14, .start = 4, .size = 2};
    struct pod_devices list = {&d, 1};

    b->request_ms = 2000;
    start(b);
    d.gpu = look(b)->gpus[0].uuid;
    fault(b, line);
    gpus_acquire(b->gpus, STR("p"), &list, on_done, b);
    test_until(b->loop, fault_is_taken, b);
    test_settle(b->loop);
    stop(b);
    snprintf(b->alive, sizeof(b->alive), "p"); /* a pod that never got it has no claim to it */
    start(b);
    assert_nothing_foreign(b);
    assert_int_equal(acquire_at_last(b, "q", (struct place){9, 4, 4}), 0);
    bed_free(b);
}

static void test_crash_in_create(void **state) {
    crash_in_create("late " CREATE " 60000\n");
}

static void test_crash_before_it_appears(void **state) {
    struct bed *b = bed_new("1xh200");

    b->request_ms = 300;
    start(b);
    fault(b, "astray 4000\n");
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), ERR_TIMEOUT);
    stop(b);
    b->notes[0] = 0;
    start(b);
    test_until(b->loop, is_noted, b);
    assert_nothing_foreign(b);
    bed_free(b);
}

/* A destroy that gets stuck half way leaves a GPU instance without its compute instance, and so without a UUID. */
static void test_destroy_times_out(void **state) {
    struct bed *b = bed_new("1xh200");

    b->request_ms = 300;
    start(b);
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), 0);
    fault(b, "late nvmlComputeInstanceDestroy 60000\n");
    gpus_release(b->gpus, STR("p"));
    wait_instances(b, 0);
    assert_int_equal(acquire_at_last(b, "q", (struct place){9, 4, 4}), 0);
    assert_nothing_foreign(b);
    bed_free(b);
}

static void test_crash_in_destroy(void **state) {
    struct bed *b = bed_new("1xh200");

    b->request_ms = 2000;
    start(b);
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), 0);
    fault(b, "late nvmlComputeInstanceDestroy 60000\n");
    gpus_release(b->gpus, STR("p"));
    test_until(b->loop, fault_is_taken, b);
    test_settle(b->loop);
    stop(b);
    start(b);
    assert_nothing_foreign(b);
    wait_instances(b, 0);
    assert_int_equal(acquire_at_last(b, "q", (struct place){9, 4, 4}), 0);
    bed_free(b);
}

/* The card is lost when the node starts: what was ours on it is ours when it is back. */
static void test_journal_of_a_lost_card(void **state) {
    struct bed *b = bed_new("1xh200");

    start(b);
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), 0);
    stop(b);
    snprintf(b->alive, sizeof(b->alive), "p");
    fault(b, "lost 0\n");
    start(b);
    assert_false(look(b)->gpus[0].healthy);
    fault(b, "found 0\n");
    wait_instances(b, 1);
    assert_int_equal(look(b)->n, 1);
    assert_str_eq(b->inv.gpus[0].instances[0].pod_uid, STR("p"));
    bed_free(b);
}

/* An empty journal, as some file systems leave after a power cut: told of, kept aside, and nothing is touched. */
static void test_damaged_journal(void **state) {
    struct bed *b = bed_new("1xh200");
    struct arena a;
    struct str text;
    struct err err;

    start(b);
    assert_int_equal(acquire(b, "p", (struct place[]){{14, 4, 2}}, 1), 0);
    stop(b);
    assert_ok(file_store(b->dir, "mig.json", STR("{\"slices\":[{\"prof"), 0600, &err), &err);
    start(b);
    assert_non_null(strstr(b->notes, "MigJournalDamaged: "));
    assert_non_null(strstr(b->notes, "mig.json is damaged"));
    assert_str_eq(look(b)->gpus[0].instances[0].pod_uid, STR(GPUS_FOREIGN));
    arena_init(&a, 1 << 20);
    assert_ok(file_load(b->dir, "mig.json.damaged", &a, &text, &err), &err);
    arena_release(&a);
    bed_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inventory),
        cmocka_unit_test(test_transaction),
        cmocka_unit_test(test_whole_gpu),
        cmocka_unit_test(test_ampere_keeps_its_mode),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_restart_whole),
        cmocka_unit_test(test_xid),
        cmocka_unit_test(test_out_until_cleared),
        cmocka_unit_test(test_out_before_it_was_told),
        cmocka_unit_test(test_damaged_list),
        cmocka_unit_test(test_lost_gpu),
        cmocka_unit_test(test_hanging_driver),
        cmocka_unit_test(test_driver_comes_later),
        cmocka_unit_test(test_card_is_added),
        cmocka_unit_test(test_card_is_taken_out),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_create_times_out),
        cmocka_unit_test(test_create_times_out_and_again),
        cmocka_unit_test(test_create_appears_later),
        cmocka_unit_test(test_create_is_forgotten),
        cmocka_unit_test(test_crash_in_create),
        cmocka_unit_test(test_crash_before_it_appears),
        cmocka_unit_test(test_destroy_times_out),
        cmocka_unit_test(test_crash_in_destroy),
        cmocka_unit_test(test_journal_of_a_lost_card),
        cmocka_unit_test(test_damaged_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
