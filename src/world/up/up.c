/*
 * up: the embedded world, one process: store, mirror, API server, controllers, and a node as a child.
 *
 * Start: data folder and lock, recovery, certificates, the server (nothing listens yet), controllers, listening,
 * kubeconfigs, `berth: ready`, the node. Stop (SIGTERM, SIGINT): the gateway, the node, then the server with a grace
 * for answers in flight, then the loop; what is pending is written by store_close. When the store stops for good the
 * process ends with status 1, since what it holds in memory may be more than what is on disk.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/zoneinfo.h"
#include "cli/cli.h"
#include "control/admit/admission.h"
#include "control/admit/kueue_config.h"
#include "control/control.h"
#include "kube/file.h"
#include "net/tls.h"
#include "node/net/model.h"
#include "node/node.h"
#include "node/streams/logread.h"
#include "node/streams/talk.h"
#include "node/usage/usage_serve.h"
#include "port/calendar_source.h"
#include "server/auth/audit.h"
#include "server/auth/policy.h"
#include "server/server.h"
#include "site/metrics.h"
#include "store/store.h"
#include "wire/text/zone.h"
#include "world/kit/admin_socket.h"
#include "world/kit/panel.h"
#include "world/kit/paths.h"
#include "world/kit/verbs.h"
#include "world/kit/worker.h"
#include "world/up/gateway_child.h"
#include "world/up/identity.h"
#include "world/up/kubeconfig.h"
#include "world/up/pki.h"
#include "world/up/up_options.h"
#include "world/up/verb_child.h"

enum {
    STOP_GRACE_MS = 5000,
    PANEL_GRACE_MS = 500,
    NODE_ARGS = 40,
    CERT_BYTES_MAX = 64 << 10,
    ARENA_BYTES_MAX = 1 << 20,
};

/* Of ServiceAccount tokens: Kubernetes' own default, so that a token outlives a change of address. */
#define ISSUER "https://kubernetes.default.svc.cluster.local"

struct up {
    struct up_options o;
    struct paths paths;
    struct kueue_config config;
    struct admission *admission; /* by it */
    struct log_fd log;
    struct loop *loop;
    struct loop_signal *term, *intr, *pipe;
    struct store *store;
    struct mirror *mirror;
    struct tls_server *tls;
    struct api_address api;
    char api_ip[16]; /* of Service default/kubernetes */
    struct log_source *logs;
    struct pod_sessions *sessions;
    struct metrics *metrics;
    struct oidc_config issuers;
    struct identity *identity; /* by it */
    struct policy *policy;
    struct arena arena; /* what lives as long as the process: the root certificate */
    struct server_page pages[2];
    struct server *server;
    struct usage_serve *usage;
    struct virtual_registry *virtuals; /* who answers for computed kinds */
    struct worker *worker;             /* what-if runs */
    struct worker *reader;             /* of long YAML bodies, which do not wait for those */
    struct zones *zones;
    struct calendar_seat calendar;
    struct control *control;
    struct panel *panel; /* the dashboard */
    struct admin_socket *admin;
    struct verb_child *node;
    struct gateway_child *gateway;
    char program[PATH_BYTES];
    const char *node_argv[NODE_ARGS];
    struct str walls;          /* a line of /readyz?verbose */
    struct admin_call *backup; /* waits for the backup under way */
    struct err refused;        /* why no writes are taken; code 0: they are */
    bool stopping;
    int status;
};

/* ---- stopping ---- */

static void panel_stopped(void *ctx) {
    struct up *u = ctx;
    loop_stop(u->loop);
}

static void server_stopped(void *ctx) {
    struct up *u = ctx;
    panel_stop(u->panel, PANEL_GRACE_MS, panel_stopped, u);
}

static void node_stopped(void *ctx) {
    struct up *u = ctx;
    server_stop(u->server, STOP_GRACE_MS, server_stopped, u);
}

/* The gateway first: streams under way still have their servers. */
static void gateway_stopped(void *ctx) {
    struct up *u = ctx;
    if (u->node) {
        verb_child_stop(u->node, node_stopped, u);
    } else {
        node_stopped(u);
    }
}

static void stop(struct up *u, int status) {
    if (u->stopping) {
        return;
    }
    u->stopping = true;
    u->status = status;
    if (u->gateway) {
        gateway_child_stop(u->gateway, gateway_stopped, u);
    } else {
        gateway_stopped(u);
    }
}

static void on_signal(void *ctx, int signum) {
    stop(ctx, 0);
}

static void ignore_signal(void *ctx, int signum) {
}

static void count_refusing(struct up *u) {
    struct prom_family *f =
        prom_family(metrics_prom(u->metrics), PROM_GAUGE, "berth_store_refuses_writes",
                    "1 while writes are refused: the disk is full, or memory is out.", NULL, 0);
    prom_set(prom_with_n(f, NULL, 0), u->refused.code != 0 ? 1 : 0);
}

static void store_refuses(void *ctx, const struct err *err) {
    struct up *u = ctx;
    u->refused = err ? *err : (struct err){0};
    if (err) {
        log_error(&u->log.log,
                  "%s: writes are refused and nothing is admitted until there is room; what runs "
                  "goes on",
                  err->text);
    } else {
        log_info(&u->log.log, "store: there is room: writes are taken again");
    }
    if (u->metrics) {
        count_refusing(u);
    }
}

static bool is_ready(void *ctx, struct str *ret_why) {
    const struct up *u = ctx;
    if (u->refused.code != 0) {
        *ret_why = str_of(u->refused.text);
    }
    return u->refused.code == 0;
}

static void store_failed(void *ctx, const struct err *err) {
    struct up *u = ctx;
    log_error(&u->log.log, "the store has stopped: %s; ending, start again to recover", err->text);
    stop(u, 1);
}

/* ---- the store and the mirror ---- */

static int post(void *ctx, void (*fn)(void *arg), void *arg) {
    return loop_post(ctx, fn, arg);
}

static const struct kind *find_kind(void *ctx, struct str group, struct str plural) {
    size_t n;
    const struct kind *const *all = kinds_all(&n);
    for (size_t i = 0; i < n; i++) {
        if (str_is(group, all[i]->group) && str_is(plural, all[i]->plural)) {
            return all[i];
        }
    }
    return NULL;
}

static int definitions_loaded(void *ctx, struct mirror *m, struct err *err) {
    return server_recover_kinds(m, err);
}

static void flush(void *ctx) {
    struct up *u = ctx;
    if (u->mirror) { /* a start that failed lets go of it before the loop */
        mirror_flush(u->mirror);
    }
}

static void staged(void *ctx) {
    struct up *u = ctx;
    if (loop_defer(u->loop, flush, u) != 0) {
        mirror_flush(u->mirror);
    }
}

static int open_store(struct up *u, struct err *err) {
    struct store_options o = {
        .dir = u->paths.data,
        .find_kind = find_kind,
        .first = kind_by_name(STR("apiextensions.k8s.io"), STR("CustomResourceDefinition")),
        .first_loaded = definitions_loaded,
        .post = post,
        .post_ctx = u->loop,
        .failed = store_failed,
        .failed_ctx = u,
        .refuses = store_refuses,
        .refuses_ctx = u,
        .known_revision = audit_revision(u->paths.audit_log),
        .accept_loss = u->o.accept_loss,
    };
    int r = store_open(&o, &u->store, err);
    if (r != 0) {
        return r;
    }
    struct mirror_options m = {
        .clock = loop_clock(u->loop),
        .journal = store_journal(u->store),
        .staged = staged,
        .staged_ctx = u,
        .may = store_may,
        .may_ctx = u->store,
    };
    u->mirror = mirror_new(&m);
    if (u->mirror == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    struct store_recovered got;
    r = store_recover(u->store, u->mirror, &got, err);
    if (r == 0 && got.unknown_objects) {
        log_warn(&u->log.log, "%llu objects of unknown kinds are kept but not served: %s",
                 (unsigned long long)got.unknown_objects, got.unknown_kinds);
    }
    if (r == 0 && got.too_deep) {
        log_warn(
            &u->log.log,
            "%llu objects are nested too deep to be read; they are kept in the database but not "
            "served, until one of the name is created: %s",
            (unsigned long long)got.too_deep, got.too_deep_names);
    }
    return r;
}

/* ---- requests on the admin socket ---- */

static void backup_done(void *ctx, int code, const struct err *why) {
    struct up *u = ctx;
    admin_reply(TAKE(u->backup), code, why);
}

static void link_asked(struct up *u, struct admin_call *call, struct str line) {
    struct err err = {0};
    struct buf b;
    buf_init(&b, 2000);
    int r = panel_asked(u->panel, line, &b, &err);
    if (r == 0) {
        admin_reply_text(call, buf_view(&b));
    } else {
        admin_reply(call, r, &err);
    }
    buf_release(&b);
}

static void admin_asked(void *ctx, struct admin_call *call, struct str line) {
    struct up *u = ctx;
    struct err err = {0};
    if (str_starts(line, STR("dashboard"))) {
        link_asked(u, call, line);
        return;
    }
    struct str path = str_skip(line, strlen("backup "));
    char file[PATH_BYTES];
    int r = 0;
    if (!str_starts(line, STR("backup /")) || !str_copy(path, file, sizeof(file))) {
        r = err_set(&err, ERR_BAD_REQUEST, "expected: backup /absolute/path");
    } else if (u->backup) {
        r = err_set(&err, ERR_TOO_MANY, "another backup is under way");
    } else {
        u->backup = call;
        r = store_backup(u->store, file, backup_done, u, &err);
    }
    if (r != 0) {
        u->backup = u->backup == call ? NULL : u->backup;
        admin_reply(call, r, &err);
    }
}

/* ---- the node ---- */

static int start_node(struct up *u, struct err *err) {
    const char **a = u->node_argv;
    size_t n = 0;
    a[n++] = "berth";
    a[n++] = "node";
    a[n++] = "--with-parent";
    a[n++] = "--kubeconfig";
    a[n++] = u->paths.node_kubeconfig;
    a[n++] = "--data";
    a[n++] = u->paths.data;
    a[n++] = "--gpus";
    a[n++] = u->o.gpus;
    a[n++] = "--runtime";
    a[n++] = u->o.runtime;
    if (u->o.require_isolation) {
        a[n++] = "--require-isolation";
    }
    if (u->o.manage_mig) {
        a[n++] = "--manage-mig";
    }
    if (u->o.nvml) {
        a[n++] = "--nvml";
        a[n++] = u->o.nvml;
    }
    const struct {
        const char *name, *value;
    } given[] = {{"--host-path", u->o.host_path},
                 {"--weights", u->o.weights},
                 {"--image-registries", u->o.image_hosts},
                 {"--pod-network", u->o.pod_network},
                 {"--pod-range", u->o.pod_range},
                 {"--service-range", u->o.service_range},
                 {"--pod-uplink", u->o.uplink}};
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        if (given[i].value) {
            a[n++] = given[i].name;
            a[n++] = given[i].value;
        }
    }
    if (u->o.verbose) {
        a[n++] = "--verbose";
    }
    ssize_t len = readlink("/proc/self/exe", u->program, sizeof(u->program) - 1);
    if (len <= 0) {
        return err_sys(err, errno, "find this program");
    }
    u->program[len] = 0;
    return verb_child_start(u->loop, &u->log.log, u->program, u->node_argv, &u->node, err);
}

/* ---- the dashboard ---- */

static void identify(void *ctx, struct str token, struct dashboard_asking *k) {
    struct up *u = ctx;
    identity_ask(u->identity, u->policy, token, k);
}

static void signed_out(void *ctx) {
    struct up *u = ctx;
    server_recheck(u->server);
}

static void to_server(void *ctx, struct http_request *r) {
    struct up *u = ctx;
    server_handle(u->server, r);
}

static bool to_server_head(void *ctx, struct http_request *r) {
    struct up *u = ctx;
    return server_head(u->server, r);
}

static int make_panel(struct up *u, struct err *err) {
    struct panel_options o = {
        .loop = u->loop,
        .log = &u->log.log,
        .instance = str_of(u->paths.data),
        .world = "up",
        .at = &u->o.dashboard,
        .calendar = &u->calendar,
        .identify = identify,
        .login = identity_login(u->identity),
        .login_name = u->o.identity.sign_in,
        .signed_out = signed_out,
        .head = to_server_head,
        .api = to_server,
        .ctx = u,
    };
    u->panel = panel_new(&o, err);
    return u->panel ? 0 : err->code;
}

/* ---- starting ---- */

static int make_policy(struct up *u, struct err *err) {
    char key[PATH_BYTES];
    struct policy_options o = {
        .mirror = u->mirror,
        .clock = loop_clock(u->loop),
        .issuer = STR(ISSUER),
        .key_file = paths_pki(&u->paths, key, "sa", ".key"),
        .audit_file = u->paths.audit_log,
        .sessions = panel_sessions(u->panel),
        .oidc = identity_oidc(u->identity),
    };
    u->policy = policy_new(&o, err);
    if (u->policy == NULL) {
        return err->code;
    }
    u->pages[0] = (struct server_page){"/openid/v1/jwks", false, policy_page_jwks, u->policy};
    u->pages[1] = (struct server_page){"/.well-known/openid-configuration", false,
                                       policy_page_issuer, u->policy};
    return 0;
}

static int bootstrap(void *ctx, struct str json, struct err *err) {
    return server_bootstrap(ctx, json, err);
}

/* Those that an API server has even where no controller runs. */
static int make_namespaces(struct up *u, struct err *err) {
    static const char *const names[] = {"default", "kube-system", "kube-public", "kube-node-lease"};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
        struct str json = arena_f(&u->arena,
                                  "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\","
                                  "\"metadata\":{\"name\":\"%s\"}}",
                                  names[i]);
        r = json.p ? server_bootstrap(u->server, json, err) : err_set(err, ERR_NOMEM, "no memory");
    }
    return r;
}

static int make_server(struct up *u, struct err *err) {
    char cert[PATH_BYTES], key[PATH_BYTES], ca[PATH_BYTES];
    u->tls = tls_server_new(paths_pki(&u->paths, cert, "server", ".crt"),
                            paths_pki(&u->paths, key, "server", ".key"),
                            paths_pki(&u->paths, ca, "ca", ".crt"), err);
    if (u->tls == NULL) {
        return err->code;
    }
    u->logs = logread_new(u->paths.data, loop_clock(u->loop), err);
    u->sessions = talk_new(u->paths.data, u->loop, err);
    u->metrics = metrics_new(u->mirror, loop_clock(u->loop));
    u->virtuals = virtual_new();
    u->usage = u->virtuals ? usage_serve_new(u->paths.data, loop_clock(u->loop), u->mirror,
                                             u->virtuals, err)
                           : NULL;
    u->worker = worker_new(u->loop);
    u->reader = worker_new(u->loop);
    u->zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    if (u->logs == NULL || u->sessions == NULL || u->metrics == NULL || u->usage == NULL ||
        u->worker == NULL || u->reader == NULL || u->zones == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    count_refusing(u);
    int r = identity_new(u->loop, &u->log.log, &u->o.identity, &u->issuers, &u->identity, err);
    r = r ? r : make_panel(u, err);
    r = r ? r : make_policy(u, err);
    if (r != 0) {
        return r;
    }
    struct admission_options ao = {.mirror = u->mirror,
                                   .settings = &u->config.settings,
                                   .virtuals = u->virtuals,
                                   .zones = u->zones};
    u->admission = admission_new(&ao);
    if (u->admission == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    struct server_options o = {
        .loop = u->loop,
        .mirror = u->mirror,
        .offload = worker_offload(u->reader),
        .guard = policy_guard(u->policy),
        .logs = u->logs,
        .sessions = u->sessions,
        .admission = u->o.queues_outside ? NULL : u->admission, /* webhooks do that there */
        .virtuals = u->virtuals,
        .log = &u->log.log,
        .tls = u->tls,
        .pki = u->paths.pki,
        .host = str_of(u->o.listen.host),
        .port = u->o.listen.port,
        .allow_any = u->o.allow_any,
        .metrics = metrics_prom(u->metrics),
        .ready = is_ready,
        .ready_ctx = u,
        .notes = u->walls,
        .front = panel_front,
        .front_ctx = u->panel,
        .service_base = u->o.service_base,
        .service_bits = u->o.service_bits,
        .pages = u->pages,
        .n_pages = sizeof(u->pages) / sizeof(u->pages[0]),
    };
    u->server = server_new(&o, err);
    r = u->server ? policy_bootstrap(bootstrap, u->server, err) : err->code;
    r = r ? r : server_bootstrap_flows(u->server, err);
    return r ? r : make_namespaces(u, err);
}

/* Before anything else is touched: a wrong file must not leave a folder behind. */
static int read_config(struct up *u, struct err *err) {
    struct arena a;
    struct str text;
    if (u->o.config == NULL) {
        u->config.settings = *queue_settings_defaults();
        return 0;
    }
    arena_init(&a, 2 * KUEUE_CONFIG_BYTES);
    int r = kube_file_read(&a, u->o.config, KUEUE_CONFIG_BYTES, &text, err);
    r = r ? r : kueue_config_read(text, &u->config, err);
    arena_release(&a);
    if (r != 0) {
        err_wrap(err, "--config %s", u->o.config);
    }
    for (size_t i = 0; r == 0 && i < u->config.n_warnings; i++) {
        log_warn(&u->log.log, "%s: %.*s", u->o.config, STR_ARG(u->config.warnings[i]));
    }
    return r;
}

static int start_control(struct up *u, struct err *err) {
    struct control_env env = {
        .mirror = u->mirror,
        .writer = server_writer(u->server),
        .clock = loop_clock(u->loop),
        .log = &u->log.log,
        .settings = &u->config.settings,
        .prom = metrics_prom(u->metrics),
        .virtuals = u->virtuals,
        .offload = worker_offload(u->worker),
        .zones = u->zones,
        .random = tls_random,
        .kept = u->o.kept,
        .claims = (u->o.controllers & CONTROL_VOLUMES) != 0,
        .calendar = &u->calendar,
        .api = &u->api,
    };
    u->api.host = str_of(u->o.listen.host);
    u->api.cluster_ip = str_of(u->api_ip);
    char ca[PATH_BYTES];
    int r = tls_random(&env.seed, sizeof(env.seed), err);
    r = r ? r
          : kube_file_read(&u->arena, paths_pki(&u->paths, ca, "ca", ".crt"), CERT_BYTES_MAX,
                           &env.root_ca, err);
    if (r != 0) {
        return r;
    }
    u->control = control_new(&env, u->o.controllers, err);
    return u->control ? 0 : err->code;
}

static int write_kubeconfigs(struct up *u, struct err *err) {
    char cert[PATH_BYTES], key[PATH_BYTES], ca[PATH_BYTES];
    struct kubeconfig_options k = {
        .path = u->paths.kubeconfig,
        .host = u->o.listen.host,
        .port = server_port(u->server),
        .ca_file = paths_pki(&u->paths, ca, "ca", ".crt"),
        .cert_file = paths_pki(&u->paths, cert, "admin", ".crt"),
        .key_file = paths_pki(&u->paths, key, "admin", ".key"),
        .user = "berth-admin",
    };
    int r = kubeconfig_write(&k, err);
    if (r == 0 && u->o.kubeconfig) {
        k.path = u->o.kubeconfig;
        r = kubeconfig_write(&k, err);
    }
    k.path = u->paths.node_kubeconfig;
    k.cert_file = paths_pki(&u->paths, cert, "node", ".crt");
    k.key_file = paths_pki(&u->paths, key, "node", ".key");
    k.user = "berth-node";
    r = r ? r : kubeconfig_write(&k, err);
    k.path = u->paths.gateway_kubeconfig;
    k.cert_file = paths_pki(&u->paths, cert, "gateway", ".crt");
    k.key_file = paths_pki(&u->paths, key, "gateway", ".key");
    k.user = "berth-gateway";
    return r ? r : kubeconfig_write(&k, err);
}

/* What keeps pods apart on this machine: told by /readyz?verbose; by the node in its log and its conditions. */
static int look_at_walls(struct up *u, struct err *err) {
    struct buf has, lacks;
    int r = 0;
    if (!u->o.node) {
        return 0;
    }
    buf_init(&has, 4096);
    buf_init(&lacks, 4096);
    node_isolation(&has, &lacks);
    u->walls = arena_f(&u->arena, "[+]isolation %s: %s%s%s\n", lacks.n ? "in part" : "ok",
                       buf_cstr(&has), lacks.n ? "; missing: " : "", buf_cstr(&lacks));
    if (lacks.n && u->o.require_isolation) {
        r = err_set(err, ERR_UNSUPPORTED, "--require-isolation: this machine lacks %s",
                    buf_cstr(&lacks));
    }
    buf_release(&has);
    buf_release(&lacks);
    return r;
}

/* The API's address among those of Services is the first of their range. */
static void name_api(struct up *u) {
    uint32_t base = 0;
    int bits;
    if (u->o.service_base) {
        base = u->o.service_base;
    } else {
        (void)model_ip(STR(NODE_SERVICE_RANGE), &base, &bits);
    }
    model_ip_text(base + 1, u->api_ip);
}

static int start_gateway(struct up *u, struct err *err) {
    const char **origins = ARENA_ARRAY(&u->arena, const char *, PANEL_ORIGINS_MAX);
    if (origins == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    const struct gateway_child_options g = {.loop = u->loop,
                                            .log = &u->log.log,
                                            .address = &u->o.gateway.address,
                                            .chosen = u->o.gateway.chosen,
                                            .kubeconfig = u->paths.gateway_kubeconfig,
                                            .data = u->paths.data,
                                            .origins = origins,
                                            .n_origins =
                                                panel_origins(u->panel, &u->arena, origins)};
    int r = gateway_child_start(&g, &u->gateway, err);
    if (r == 0) {
        panel_set_gateway(u->panel, gateway_child_url(u->gateway));
    }
    return r;
}

static int start(struct up *u, struct err *err) {
    uint64_t seed;
    int r = tls_random(&seed, sizeof(seed), err);
    if (r != 0) {
        return r;
    }
    map_set_seed(seed);
    arena_init(&u->arena, ARENA_BYTES_MAX);
    if (u->o.queues_outside &&
        (kinds_hide("kueue.x-k8s.io") != 0 || kinds_hide("visibility.kueue.x-k8s.io") != 0 ||
         kinds_hide("berth.dev") != 0 || kinds_hide("keda.sh") != 0 ||
         kinds_hide("serving.kserve.io") != 0 || kinds_hide("inference.networking.k8s.io") != 0 ||
         kinds_hide("inference.networking.x-k8s.io") != 0)) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    r = look_at_walls(u, err);
    if (r != 0) {
        return r;
    }
    u->loop = loop_new(err);
    if (u->loop == NULL) {
        return err->code;
    }
    u->term = loop_signal(u->loop, SIGTERM, on_signal, u, err);
    u->intr = loop_signal(u->loop, SIGINT, on_signal, u, err);
    u->pipe = loop_signal(u->loop, SIGPIPE, ignore_signal, u, err);
    r = u->term && u->intr && u->pipe ? 0 : err->code;
    r = r ? r : open_store(u, err);
    name_api(u);
    r = r ? r : pki_make(&u->paths, u->o.listen.host, str_of(u->api_ip), err);
    r = r ? r : make_server(u, err);
    r = r || u->o.controllers == 0 ? r : start_control(u, err);
    r = r ? r : server_start(u->server, err);
    u->api.port = r == 0 ? server_port(u->server) : 0;
    r = r ? r : panel_listen(u->panel, err);
    r = r ? r : write_kubeconfigs(u, err);
    r = r ? r : admin_socket_open(u->loop, u->paths.admin_socket, admin_asked, u, &u->admin, err);
    r = r || !u->o.node ? r : start_node(u, err);
    return r || !u->o.gateway.on ? r : start_gateway(u, err);
}

static void release(struct up *u) {
    control_free(u->control);
    worker_free(u->worker); /* after those who ask it */
    if (u->mirror) {
        mirror_flush(u->mirror); /* what was staged ends too, also when the start failed */
    }
    store_close(u->store);
    admin_socket_close(u->admin);
    gateway_child_free(u->gateway);
    verb_child_free(u->node);
    panel_close(u->panel);
    server_free(u->server);
    worker_free(u->reader);
    admission_free(u->admission);
    usage_serve_free(u->usage);
    virtual_free(u->virtuals);
    zones_free(u->zones);
    policy_free(u->policy);
    identity_free(u->identity);
    panel_free(u->panel);
    metrics_free(u->metrics);
    logread_free(u->logs);
    talk_free(u->sessions);
    tls_server_free(u->tls);
    mirror_free(TAKE(u->mirror));
    loop_signal_free(u->term);
    loop_signal_free(u->intr);
    loop_signal_free(u->pipe);
    loop_free(u->loop);
    kueue_config_release(&u->config);
    oidc_config_release(&u->issuers);
    arena_release(&u->arena);
}

static void say_ready(const struct up *u) {
    bool v6 = strchr(u->o.listen.host, ':') != NULL;
    struct buf b;
    buf_init(&b, 4096);
    panel_address(u->panel, &b);
    printf("berth: ready https://%s%s%s:%u kubeconfig %s%s%.*s%s%s\n", v6 ? "[" : "",
           u->o.listen.host, v6 ? "]" : "", server_port(u->server), u->paths.kubeconfig,
           b.n ? " dashboard " : "", STR_ARG(buf_view(&b)), u->gateway ? " gateway " : "",
           u->gateway ? gateway_child_url(u->gateway) : "");
    fflush(stdout);
    buf_release(&b);
}

/* Under load requests hold and give back some hundred KiB many times a second. By default malloc hands such memory
 * back to the kernel each time, which clears every page anew: so it keeps up to this much at hand. */
static void keep_memory(void) {
    (void)mallopt(M_TRIM_THRESHOLD, 16 << 20);
    (void)mallopt(M_MMAP_THRESHOLD, 4 << 20);
}

static int run(const struct cli_args *args) {
    struct up u = {0};
    struct err err = {0};
    if (up_options_read(args, &u.o, &err) != 0) {
        fprintf(stderr, "berth up: %s\n", err.text);
        return CLI_USAGE;
    }
    keep_memory();
    log_fd_init(&u.log, u.o.verbose ? LOG_DEBUG : LOG_INFO, 2);
    int r = read_config(&u, &err);
    r = r ? r : identity_config(&u.o.identity, &u.issuers, &err);
    r = r ? r : paths_init(&u.paths, u.o.data, true, &err);
    r = r ? r : start(&u, &err);
    if (r != 0) {
        fprintf(stderr, "berth up: %s\n", err.text);
        release(&u);
        return CLI_FAILED;
    }
    say_ready(&u);
    loop_run(u.loop);
    release(&u);
    return u.status;
}

const struct cli_verb world_up = {
    .name = "up",
    .group = GROUP_MACHINE,
    .arguments = "",
    .summary = "serve this machine: API, queues and GPUs in one program",
    .about =
        "Runs Berth on this machine: an API server that speaks Kubernetes, its store, the queue\n"
        "engine, and a node that runs pods on GPUs and MIG slices. Prints one line `berth: ready`\n"
        "when it serves. SIGTERM stops it and leaves the pods running for the next `berth up`;\n"
        "`berth down` ends them too.",
    .examples = "  berth up\n"
                "  berth up --data .data/run --listen 127.0.0.1:6443 --gpus sim:8xh200\n"
                "  berth up --gpus none --kubeconfig ~/.kube/config\n"
                "  berth up --config kueue-config.yaml\n",
    .options = up_option_rows,
    .n_options = UP_OPTIONS,
    .local = run,
};
