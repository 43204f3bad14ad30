/*
 * node: see node.h. This file: the start, in order, and the end. node_publish.c tells the API what
 * the machine is; pods*.c run the pods; gpus*.c carve the GPUs.
 *
 *     recover pods -> read the GPUs -> Node, status, Lease -> list of pods -> ready
 *
 * Pods that are still running are found before anything else is looked at, because their slices
 * must not be touched.
 */
#include "node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/files/beside.h"
#include "node/images/podman.h"
#include "node/net/model.h"
#include "node/node_private.h"

extern char **environ;

static void on_change(void *ctx, const struct change *c) {
    struct node *n = ctx;

    if (c->type == CHANGE_DELETED) {
        pods_gone(n->pods, c->obj);
    } else {
        pods_put(n->pods, c->obj);
    }
    if (n->net_watch) {
        net_watch_pods_changed(n->net_watch);
    }
}

static bool pod_is_known(void *ctx, struct str uid) {
    struct node *n = ctx;

    return pods_has(n->pods, uid);
}

static void on_synced(void *ctx) {
    struct node *n = ctx;

    pods_synced(n->pods);
    if (n->network) {
        network_keep(n->network, pod_is_known, n);
    }
    struct pods_count c = pods_count(n->pods);
    log_info(n->log, "node %s: ready, %zu pods running, %zu GPUs", n->name, c.running,
             n->gpu_count);
    if (n->o.ready) {
        n->o.ready(n->o.ctx);
    }
}

static int watch_net(struct node *n, struct err *err) {
    const struct net_watch_options o = {
        .loop = n->loop, .log = n->log, .kube = n->kube, .network = n->network, .pods = n->mirror};

    return net_watch_start(&o, &n->net_watch, err);
}

void node_watch_pods(struct node *n) {
    struct arena a;
    struct err err;

    n->watch_due = n->network_due;
    if (n->reflector || n->network_due) {
        return;
    }
    arena_init(&a, 1 << 16);
    const struct kind *pod = kind_by_name(STR(""), STR("Pod"));
    const struct mirror_options m = {.clock = n->clock, .history_events = MIRROR_NO_HISTORY};
    n->mirror = mirror_new(&m);
    n->feed = n->mirror ? mirror_feed(n->mirror, pod, on_change, n) : NULL;
    if (n->feed && n->network && !n->no_network && watch_net(n, &err)) {
        arena_release(&a);
        node_fail(n, &err);
        return;
    }
    const struct reflector_options o = {.kind = pod,
                                        .field_selector = arena_f(&a, "spec.nodeName=%s", n->name),
                                        .synced = on_synced,
                                        .ctx = n};
    err_set(&err, ERR_NOMEM, "no memory");
    n->reflector = n->feed ? reflector_start(n->kube, n->mirror, &o, &err) : NULL;
    arena_release(&a);
    if (n->reflector == NULL || volume_keeper_watch(n->volumes, &err)) {
        node_fail(n, &err);
    }
}

void node_fail(struct node *n, const struct err *err) {
    log_error(n->log, "node %s: %s", n->name, err->text);
    if (n->o.failed) {
        n->o.failed(n->o.ctx, err);
    }
}

/* ---- GPUs ---- */

static void on_gpus_changed(void *ctx) {
    node_publish(ctx);
}

static void on_gpu_trouble(void *ctx, struct str pod_uid, const char *why) {
    struct node *n = ctx;

    pods_trouble(n->pods, pod_uid, why);
}

static void on_gpu_note(void *ctx, bool warning, const char *reason, const char *text) {
    struct node *n = ctx;

    log_at(n->log, warning ? LOG_WARN : LOG_INFO, "%s", text);
    node_event(n, warning, reason, text);
}

static void on_gpus_read(void *ctx, const struct err *err) {
    struct node *n = ctx;

    if (err && !n->want_gpus) {
        log_info(n->log, "no GPUs: %s", err->text);
    } else if (err) {
        log_error(n->log, "GPUs: %s", err->text);
        node_fail(n, err);
        return;
    }
    pods_set_gpus(n->pods, n->gpus); /* GPUs may come later */
    node_register(n);
}

static int find_stub(char out[PATH_LEN], const char *program, struct err *err) {
    const char *given = getenv("BERTH_NVML_STUB");

    if ((given && str_copy(str_of(given), out, PATH_LEN)) ||
        beside_program(program, "libnvidia-ml.so.1", R_OK, out)) {
        return 0;
    }
    return err_set(err, ERR_NOT_FOUND, "the library of simulated GPUs is not beside %s", program);
}

/* The helper of simulated GPUs gets two variables more. */
static int sim_environment(struct node *n, const char *spec, struct err *err) {
    size_t k = 0, count = 0;

    while (environ[count]) {
        count++;
    }
    n->sim_env = mem_array(count + 3, sizeof(char *));
    if (n->sim_env == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], "BERTH_SIM_GPUS=", 15) != 0 &&
            strncmp(environ[i], "BERTH_SIM_STATE=", 16) != 0) {
            n->sim_env[k++] = environ[i];
        }
    }
    snprintf(n->sim_gpus, sizeof(n->sim_gpus), "BERTH_SIM_GPUS=%s", spec);
    snprintf(n->sim_state, sizeof(n->sim_state), "BERTH_SIM_STATE=%s/sim.state", n->dir);
    n->sim_env[k++] = n->sim_gpus;
    n->sim_env[k++] = n->sim_state;
    return 0;
}

static int start_gpus(struct node *n, struct err *err) {
    struct str want = str_of(n->o.gpus ? n->o.gpus : "auto");
    const char *library = n->o.nvml_path;
    int code = 0;

    if (str_is(want, "none")) {
        node_register(n);
        return 0;
    }
    n->want_gpus = !str_is(want, "auto");
    if (str_starts(want, STR("sim:"))) {
        struct str spec = str_skip(want, 4);
        if (!str_is(spec, "8xh200") && !str_is(spec, "1xh200") && !str_is(spec, "4xa100-80gb")) {
            return err_set(err, ERR_INVALID,
                           "--gpus %s: there are sim:8xh200, sim:1xh200 and sim:4xa100-80gb",
                           n->o.gpus);
        }
        code = sim_environment(n, spec.p, err);
        if (code == 0 && library == NULL) {
            code = find_stub(n->stub, n->program, err);
            library = n->stub;
        }
    } else if (n->want_gpus) {
        return err_set(err, ERR_INVALID, "--gpus %s: auto, none or sim:SPEC", n->o.gpus);
    }
    if (code) {
        return code;
    }
    const struct nvml_client_options c = {.loop = n->loop,
                                          .program = n->program,
                                          .library = library,
                                          .envp = (const char *const *)n->sim_env};
    n->nvml = nvml_client_new(&c, err);
    const struct gpus_options g = {.loop = n->loop,
                                   .log = n->log,
                                   .nvml = n->nvml,
                                   .dir = n->dir,
                                   .library = library,
                                   .manage_mig = n->o.manage_mig,
                                   .changed = on_gpus_changed,
                                   .trouble = on_gpu_trouble,
                                   .note = on_gpu_note,
                                   .ctx = n};
    n->gpus = n->nvml ? gpus_new(&g, err) : NULL;
    if (n->gpus == NULL) {
        return err ? err->code : ERR_NOMEM;
    }
    gpus_start(n->gpus, node_pod_alive, on_gpus_read, n);
    return 0;
}

bool node_pod_alive(void *ctx, struct str uid) {
    struct node *n = ctx;

    return pods_alive(n->pods, uid);
}

/* ---- the network of pods ---- */

static void on_attaching(void *ctx, struct str uid) {
    struct node *n = ctx;

    if (n->net_watch) {
        net_watch_policies_now(n->net_watch);
    }
}

static void on_network(void *ctx, const struct err *err) {
    struct node *n = ctx;
    struct str want = str_of(n->o.pod_network ? n->o.pod_network : "auto");
    char route[32];

    if (err && (str_is(want, "own") || n->o.require_isolation)) {
        node_fail(n, err);
        return;
    }
    if (err) {
        log_warn(n->log, "node %s: pods use the machine's network, they can have none: %s", n->name,
                 err->text);
        snprintf(n->network_why, sizeof(n->network_why), "%.190s", err->text);
        pods_set_network(n->pods, NULL);
        n->no_network = true;
    } else {
        pods_set_userns(n->pods, network_userns(n->network));
        if (network_overlap(n->network, route)) {
            log_warn(n->log, "node %s: pods cannot reach %s: choose another range (--pod-range)",
                     n->name, route);
        }
        if (!network_uplink(n->network)) {
            log_info(n->log,
                     "node %s: pods reach each other and Services alone: there is no way out of "
                     "their network (pasta, of package passt)",
                     n->name);
        }
    }
    n->network_due = false;
    if (n->watch_due) {
        node_watch_pods(n);
    }
    if (n->registered) {
        node_publish(n);
    }
}

static int start_network(struct node *n, struct err *err) {
    struct str want = str_of(n->o.pod_network ? n->o.pod_network : "auto");
    const struct network_options o = {.loop = n->loop,
                                      .log = n->log,
                                      .program = n->program,
                                      .data_dir = n->data_dir,
                                      .pods = n->o.pod_range ? n->o.pod_range : NODE_POD_RANGE,
                                      .services = n->o.service_range ? n->o.service_range
                                                                     : NODE_SERVICE_RANGE,
                                      .uplink = n->o.uplink ? n->o.uplink : "auto",
                                      .api = n->api,
                                      .ready = on_network,
                                      .attaching = on_attaching,
                                      .ctx = n};
    uint32_t base;
    int bits;

    if (str_is(want, "host")) {
        return 0;
    }
    if (!str_is(want, "auto") && !str_is(want, "own")) {
        return err_set(err, ERR_INVALID, "--pod-network %s: auto, own or host", n->o.pod_network);
    }
    if (!model_ip(str_of(o.pods), &base, &bits)) {
        return err_set(err, ERR_INVALID, "--pod-range %s: expected a network like 10.42.0.0/16",
                       o.pods);
    }
    model_ip_text(base + 1, n->gateway);
    n->network_due = true;
    return network_start(&o, &n->network, err);
}

/* ---- life ---- */

static int find_program(struct node *n, struct err *err) {
    if (n->o.program) {
        return str_copy(str_of(n->o.program), n->program, PATH_LEN)
                   ? 0
                   : err_set(err, ERR_TOO_LARGE, "the path of the program is too long");
    }
    ssize_t k = readlink("/proc/self/exe", n->program, PATH_LEN - 1);
    if (k <= 0) {
        return err_sys(err, errno, "/proc/self/exe");
    }
    n->program[k] = 0;
    return 0;
}

static int find_name(struct node *n, struct err *err) {
    char host[256] = "";

    if (n->o.name) {
        str_copy(str_of(n->o.name), host, sizeof(host));
    } else if (gethostname(host, sizeof(host) - 1) == -1) {
        return err_sys(err, errno, "gethostname");
    }
    size_t k = 0;
    for (size_t i = 0; host[i] && k < sizeof(n->name) - 1; i++) {
        char c = host[i];
        c = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        bool ok = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (k && (c == '-' || c == '.'));
        n->name[k] = ok ? c : '-';
        k += ok || k > 0;
    }
    while (k && (n->name[k - 1] == '-' || n->name[k - 1] == '.')) {
        k--;
    }
    n->name[k] = 0;
    return k ? 0 : err_set(err, ERR_INVALID, "the machine has no usable host name: give --name");
}

/* Two nodes on one folder would carve the same GPUs. */
static int lock_folder(struct node *n, struct err *err) {
    char path[PATH_LEN], real[PATH_MAX]; /* realpath wants PATH_MAX */
    int code = dir_make(n->o.data_dir, 0711, err);

    if (code == 0 && realpath(n->o.data_dir, real) == NULL) {
        code = err_sys(err, errno, "%s", n->o.data_dir);
    }
    if (code || !str_copy(str_of(real), n->data_dir, sizeof(n->data_dir)) ||
        path_join(n->dir, n->data_dir, "node", err) || dir_make(n->dir, 0700, err) ||
        path_join(path, n->dir, "lock", err)) {
        return code ? code : ERR_IO;
    }
    n->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (n->lock_fd == -1 || flock(n->lock_fd, LOCK_EX | LOCK_NB) == -1) {
        return err_set(err, ERR_CONFLICT, "%s: another node uses this folder", n->data_dir);
    }
    return 0;
}

/* May other users pass through every folder on the way? Files of the data folder have modes of their own. */
static bool passable(const char *path) {
    char part[PATH_LEN];
    struct stat st;

    for (size_t i = 1; path[i - 1]; i++) {
        if (path[i] == '/' || path[i] == 0) {
            memcpy(part, path, i);
            part[i] = 0;
            if (stat(part, &st) == -1 || !(st.st_mode & S_IXOTH)) {
                return false;
            }
        }
    }
    return true;
}

/* Where no private mounts can bring a closed data folder into a pod (most containers), the folder itself is opened for
 * passing through, not for reading: a pod's own folder lies below it. What lies above is its owner's choice. */
static void let_pass(struct node *n) {
    struct stat st;
    if (n->probe.hidden && !n->probe.mounts && stat(n->data_dir, &st) == 0 &&
        st.st_uid == geteuid() && !(st.st_mode & S_IXOTH) &&
        chmod(n->data_dir, (st.st_mode & 07777) | S_IXOTH) == 0) {
        log_warn(n->log,
                 "node %s: no private mounts here, so projects' users may pass through %s (o+x)",
                 n->name, n->data_dir);
        n->probe.hidden = !passable(n->data_dir);
    }
}

void node_isolation(struct buf *ret_has, struct buf *ret_lacks) {
    struct sandbox_probe p;

    sandbox_probe(&p);
    sandbox_describe(&p, ret_has);
    sandbox_lacks(&p, ret_lacks);
}

/* Told at the start; with --require-isolation nothing may be missing. */
static int check_isolation(const struct node *n, struct err *err) {
    struct buf has, lacks;
    int code = 0;

    buf_init(&has, 4096);
    buf_init(&lacks, 4096);
    sandbox_describe(&n->probe, &has);
    sandbox_lacks(&n->probe, &lacks);
    log_info(n->log, "node %s: pods are kept apart by %s", n->name, buf_cstr(&has));
    if (lacks.n && n->o.require_isolation) {
        code = err_set(err, ERR_UNSUPPORTED, "--require-isolation: this machine lacks %s",
                       buf_cstr(&lacks));
    } else if (lacks.n) {
        log_warn(n->log, "node %s: pods are not fully kept apart; this machine lacks %s", n->name,
                 buf_cstr(&lacks));
    }
    buf_release(&has);
    buf_release(&lacks);
    return code;
}

static void each_service(void *ctx, struct str ns,
                         bool (*each)(void *each_ctx, struct str name, yyjson_val *spec),
                         void *each_ctx) {
    struct node *n = ctx;

    if (n->net_watch) {
        net_watch_services(n->net_watch, ns, each, each_ctx);
    }
}

static void on_volume_over(void *ctx, struct str ns, struct str claim, const char *why) {
    struct node *n = ctx;

    pods_claim_over(n->pods, ns, claim, why);
}

/* What pods in images take: podman, namespaces, overlayfs on the data folder. */
static int check_images(struct node *n, struct err *err) {
    char probe[PATH_LEN];
    int code = podman_program()
                   ? path_join(n->images_dir, n->data_dir, "images", err)
                   : err_set(err, ERR_UNSUPPORTED, "podman is not installed (apt install podman)");

    code = code ? code : path_join(probe, n->dir, "overlay", err);
    return code ? code : sandbox_images(&n->probe, probe, err);
}

/* With auto it is said why there are no images; asked for by name, there is no node without. */
static int start_images(struct node *n, struct err *err) {
    const struct images_options o = {.loop = n->loop,
                                     .log = n->log,
                                     .program = n->program,
                                     .dir = n->images_dir,
                                     .hosts = n->o.image_hosts};
    struct err why;

    if (n->o.runtime == NODE_RUNTIME_PROCESS) {
        return 0;
    }
    int code = check_images(n, &why);
    if (code && n->o.runtime == NODE_RUNTIME_PODMAN) {
        return err_set(err, code, "--runtime podman: %s", why.text);
    }
    if (code) {
        log_info(n->log, "node %s: pods run as processes, not in their images: %s", n->name,
                 why.text);
        return 0;
    }
    n->images = images_new(&o, err);
    return n->images ? 0 : ERR_NOMEM;
}

static int start_pods(struct node *n, struct err *err) {
    sandbox_probe(&n->probe);
    n->probe.hidden = n->probe.root && !passable(n->data_dir);
    let_pass(n);
    if (n->probe.hidden && !n->probe.mounts) {
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: projects' users may not pass there, and this machine has no private "
                       "mounts: choose another folder or make its way passable (chmod o+x)",
                       n->data_dir);
    }
    int code = check_isolation(n, err);
    code = code ? code : start_images(n, err);
    code = code ? code : users_init(&n->users, n->dir, err);
    if (code) {
        return code;
    }
    node_read_machine(n);
    const struct pods_options o = {.loop = n->loop,
                                   .log = n->log,
                                   .writer = n->writer,
                                   .users = &n->users,
                                   .probe = &n->probe,
                                   .data_dir = n->data_dir,
                                   .program = n->program,
                                   .node_name = n->name,
                                   .host_path_dir = n->o.host_path_dir,
                                   .weights_dir = n->o.weights_dir,
                                   .images = n->images,
                                   .images_dir = n->images_dir,
                                   .images_always = n->o.runtime == NODE_RUNTIME_PODMAN,
                                   .strict = n->o.require_isolation,
                                   .network = n->network,
                                   .facts = {.pod_ip = STR("127.0.0.1"),
                                             .host_ip = STR("127.0.0.1"),
                                             .gateway = str_of(n->gateway),
                                             .node_cpu_milli = n->cpu_milli,
                                             .node_memory = n->memory,
                                             .api = str_of(n->api),
                                             .api_service = str_of(n->api_service),
                                             .api_authority = n->authority},
                                   .fetch = node_fetch,
                                   .services = each_service,
                                   .ctx = n};
    const struct volume_keeper_options v = {.loop = n->loop,
                                            .log = n->log,
                                            .kube = n->kube,
                                            .writer = n->writer,
                                            .users = n->probe.root ? &n->users : NULL,
                                            .data_dir = n->data_dir,
                                            .node_name = n->name,
                                            .over = on_volume_over,
                                            .ctx = n};
    n->volumes = volume_keeper_new(&v, err);
    n->pods = n->volumes ? pods_new(&o, err) : NULL;
    return n->pods ? 0 : err ? err->code : ERR_NOMEM;
}

int node_start(const struct node_options *o, struct node **ret, struct err *err) {
    struct node *n = mem_zalloc(sizeof(*n));

    if (n == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    n->o = *o;
    n->loop = o->loop;
    n->log = o->log;
    n->clock = loop_clock(o->loop);
    n->lock_fd = -1;
    n->heartbeat = n->clock->timer_new(n->clock, node_on_heartbeat, n);
    n->publish_timer = n->clock->timer_new(n->clock, node_on_publish, n);
    int code = n->heartbeat && n->publish_timer ? 0 : err_set(err, ERR_NOMEM, "no memory");
    code = code ? code : find_program(n, err);
    code = code ? code : find_name(n, err);
    code = code ? code : lock_folder(n, err);
    if (code == 0) {
        n->kube = kube_client_new(n->loop, o->kubeconfig, NULL, "berth-node/" BERTH_VERSION, err);
        n->writer = n->kube ? kube_writer_new(n->kube, NULL, err) : NULL;
        code = n->writer ? 0 : ERR_BAD_REQUEST;
    }
    code = code ? code : node_find_api(n, err);
    code = code ? code : start_network(n, err);
    code = code ? code : start_pods(n, err);
    code = code ? code : start_gpus(n, err);
    if (code) {
        node_free(n);
        return code;
    }
    *ret = n;
    return 0;
}

struct stopping {
    void (*stopped)(void *ctx);
    void *ctx;
};

static void on_stopped(void *ctx) {
    struct stopping s = *(struct stopping *)ctx;

    mem_free(ctx);
    s.stopped(s.ctx);
}

void node_stop(struct node *n, void (*stopped)(void *ctx), void *ctx) {
    struct stopping *s = mem_zalloc(sizeof(*s));

    n->clock->timer_stop(n->heartbeat);
    n->clock->timer_stop(n->publish_timer);
    if (s) {
        *s = (struct stopping){stopped, ctx};
        loop_defer(n->loop, on_stopped, s);
    }
}

void node_free(struct node *n) {
    if (n == NULL) {
        return;
    }
    node_self_free(n->self);
    reflector_free(n->reflector);
    feed_free(n->feed);
    volume_keeper_free(n->volumes);
    pods_free(n->pods);
    images_free(n->images);
    net_watch_free(n->net_watch);
    network_free(n->network);
    gpus_free(n->gpus);
    nvml_client_free(n->nvml);
    mirror_free(n->mirror);
    kube_writer_free(n->writer);
    kube_client_free(n->kube);
    users_release(&n->users);
    arena_release(&n->arena);
    n->clock->timer_free(n->heartbeat);
    n->clock->timer_free(n->publish_timer);
    if (n->lock_fd != -1) {
        close(n->lock_fd);
    }
    mem_free(n->sim_env);
    mem_free(n->published);
    mem_free(n->published_status);
    mem_free(n);
}

/* ---- the whole process ---- */

struct process {
    struct loop *loop;
    struct node *node;
    int status;
};

static void on_end(void *ctx) {
    struct process *p = ctx;

    loop_stop(p->loop);
}

static void on_signal(void *ctx, int signum) {
    struct process *p = ctx;

    node_stop(p->node, on_end, p);
}

static void on_failed(void *ctx, const struct err *err) {
    struct process *p = ctx;

    p->status = 1;
    loop_stop(p->loop);
}

int node_main(const struct node_options *options) {
    struct node_options o = *options;
    struct process p = {.loop = o.loop};
    struct loop_signal *term = NULL, *intr = NULL;
    struct err err = {0};

    if (p.loop == NULL && (p.loop = loop_new(&err)) == NULL) {
        log_error(o.log, "%s", err.text);
        return 1;
    }
    o.loop = p.loop;
    if (o.failed == NULL) {
        o.failed = on_failed;
        o.ctx = o.ready ? o.ctx : &p;
    }
    signal(SIGPIPE, SIG_IGN);
    term = loop_signal(p.loop, SIGTERM, on_signal, &p, &err);
    intr = term ? loop_signal(p.loop, SIGINT, on_signal, &p, &err) : NULL;
    if (intr == NULL || node_start(&o, &p.node, &err)) {
        log_error(o.log, "node: %s", err.text);
        p.status = 1;
    } else {
        loop_run(p.loop);
    }
    loop_signal_free(term);
    loop_signal_free(intr);
    node_free(p.node);
    if (options->loop == NULL) {
        loop_free(p.loop);
    }
    return p.status;
}
