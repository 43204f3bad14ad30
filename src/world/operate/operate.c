/*
 * operate: a real cluster's world: reflectors fill a mirror, the controllers of `berth up` read it, a kube writer
 * carries what they decide.
 *
 *     what comes in                    what is done
 *     the mirror is complete           ready; and if we lead, the controllers are made
 *     the Lease was taken              if the mirror is complete, the controllers are made
 *     the Lease was lost               the controllers and all writes under way go at once; we are a candidate again
 *     Kueue's manager came or went     its controllers are left out, or made; those asked for by name run anyway
 *     SIGTERM, SIGINT                  the controllers go, writes under way are waited for, the Lease is handed over
 *
 * Nothing is kept but what the cluster knows: a process that is killed and started again goes on where the objects say
 * that it was.
 */
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>

#include "base/map.h"
#include "base/zoneinfo.h"
#include "cli/cli.h"
#include "control/admit/kueue_config.h"
#include "control/load/gpu_inventory.h"
#include "kube/config.h"
#include "kube/file.h"
#include "kube/leader.h"
#include "kube/writer.h"
#include "net/tls.h"
#include "port/calendar_source.h"
#include "site/metrics.h"
#include "site/pages.h"
#include "wire/text/zone.h"
#include "world/kit/verbs.h"
#include "world/operate/hooks.h"
#include "world/operate/inlet.h"
#include "world/operate/operate_options.h"
#include "world/operate/operate_panel.h"
#include "world/operate/rival.h"

#define WHO "berth-operate"
enum { DRAIN_MS = 2000, DRAIN_STEP_MS = 20, WAIT_TELL_MS = 30000, EVENTS_WAITING = 4096 };

struct operate {
    struct operate_options o;
    struct kueue_config config;
    struct log_fd log;
    struct loop *loop;
    struct loop_signal *term, *intr, *pipe;
    struct kube_client *client;
    struct mirror *mirror;
    struct inlet *inlet;
    struct rival *rival;         /* NULL: it does not matter here */
    struct operate_hooks *hooks; /* NULL: no webhooks */
    struct leader *leader;       /* NULL: no election */
    struct str ns;               /* of the Lease and the Secret */
    struct writer *writer;       /* of this term; NULL while we do not lead */
    struct control_env env;
    char term_id[17]; /* of env: a new one each time, as one may lead twice in a row */
    struct control *control;
    struct gpu_inventory *gpus; /* NULL: nobody reads nodes here */
    struct metrics *metrics;
    struct health *health;
    struct operate_panel *panel; /* NULL: no dashboard */
    struct pages *pages[2];
    struct zones *zones;
    struct calendar_seat calendar; /* answered while we lead */
    struct prom_series *leading, *rivals, *writes_waiting, *writes_flying;
    struct timer *timer; /* waiting: what is told of it; stopping: until writes are answered */
    struct buf identity;
    int64_t drain_until;         /* mono ns */
    bool fresh;                  /* required kinds were read since this process leads */
    bool reading, again;         /* they are being read; that began before this process led */
    bool stopping, handed, deaf; /* the Lease is given back; the webhooks have answered */
    int status;
};

/* ---- the controllers ---- */

static void release_control(struct operate *p) {
    control_free(p->control);
    p->control = NULL;
    if (p->hooks) {
        hooks_end_term(p->hooks);
    }
}

static void drop_control(struct operate *p) {
    release_control(p);
    kube_writer_free(p->writer);
    p->writer = NULL;
}

static bool leads(const struct operate *p) {
    return p->leader == NULL || leader_is(p->leader);
}

/* Kueue's own part is left to Kueue where that is at work. */
static unsigned wanted(const struct operate *p) {
    const struct control_list *c = &p->o.controllers;
    bool taken = p->rival && rival_signs(p->rival).n > 0;
    return taken ? c->set & (~(unsigned)CONTROL_CLUSTER | c->named) : c->set;
}

static int make_control(struct operate *p, struct err *err) {
    struct kube_writer_options w = {
        .mirror = p->mirror,
        .trim = operate_trim,
        .fence = p->leader ? leader_may_write : NULL,
        .fence_ctx = p->leader,
        .in_flight = p->o.concurrent_writes,
        .qps = p->o.qps,
        .burst = p->o.burst,
    };
    p->writer = kube_writer_new(p->client, &w, err);
    if (p->writer == NULL) {
        return err->code;
    }
    p->env = (struct control_env){
        .mirror = p->mirror,
        .writer = p->writer,
        .clock = loop_clock(p->loop),
        .log = &p->log.log,
        .settings = &p->config.settings,
        .virtuals = operate_panel_virtuals(p->panel),
        .offload = operate_panel_offload(p->panel),
        .prom = metrics_prom(p->metrics),
        .events_waiting = EVENTS_WAITING,
        .role = p->leader ? "leader" : NULL,
        .gpus = p->gpus,
        .zones = p->zones,
        .random = tls_random,
        .calendar = &p->calendar,
    };
    uint64_t term = 0;
    int r = tls_random(&p->env.seed, sizeof(p->env.seed), err);
    r = r ? r : tls_random(&term, sizeof(term), err);
    (void)snprintf(p->term_id, sizeof(p->term_id), "%016" PRIx64, term);
    p->env.term = str_of(p->term_id);
    r = r || p->hooks == NULL ? r : hooks_begin_term(p->hooks, &p->env, err);
    if (r != 0) {
        return r;
    }
    p->control = control_new(&p->env, wanted(p), err);
    return p->control ? 0 : err->code;
}

static void stop(struct operate *p, int status);

static void begin(struct operate *p) {
    struct err err = {0};
    struct buf words;
    if (p->control || p->stopping || !leads(p) || !inlet_complete(p->inlet) ||
        (p->rival && !rival_known(p->rival))) {
        return;
    }
    if (!p->fresh) { /* the one that led before may have written what no watch has told yet */
        if (!p->reading) {
            p->reading = true;
            inlet_refresh(p->inlet);
        }
        return;
    }
    if (make_control(p, &err) != 0) {
        log_error(&p->log.log, "the controllers cannot start: %s", err.text);
        stop(p, CLI_FAILED);
        return;
    }
    buf_init(&words, 0);
    control_set_words(wanted(p), &words);
    log_info(&p->log.log, "controllers: %s", buf_cstr(&words));
    buf_release(&words);
}

static void started(void *ctx) {
    struct operate *p = ctx;
    p->again = p->reading;
    begin(p);
}

static void fresh(void *ctx) {
    struct operate *p = ctx;
    p->reading = false;
    if (!leads(p) || p->stopping) {
        return;
    }
    if (p->again) {
        p->again = false;
        p->reading = true;
        inlet_refresh(p->inlet);
        return;
    }
    p->fresh = true;
    begin(p);
}

static void stopped(void *ctx, const char *why) {
    struct operate *p = ctx;
    p->fresh = false;
    drop_control(p);
}

static void rival_changed(void *ctx) {
    struct operate *p = ctx;
    struct str signs = rival_signs(p->rival);
    if (signs.n) {
        log_error(
            &p->log.log,
            "KUEUE IS AT WORK ON THIS CLUSTER (%.*s): its queues are left to it. Remove it, or "
            "name the controllers: --controllers kueue",
            STR_ARG(signs));
    }
    if (p->control && !p->stopping) {
        log_info(&p->log.log, signs.n ? "Kueue came" : "Kueue went");
        drop_control(p);
    }
    begin(p);
}

static void say_ready(const struct operate *p) {
    struct str server = kube_server(p->client);
    printf("berth: ready, operating %.*s", STR_ARG(server));
    for (size_t i = 0; i < 2; i++) {
        const struct address *at = i == 0 ? &p->o.metrics : &p->o.health;
        if (p->pages[i]) {
            printf(" %s http://%s:%u", i == 0 ? "metrics" : "health", at->host,
                   pages_port(p->pages[i]));
        }
    }
    struct buf b;
    buf_init(&b, 4096);
    operate_panel_address(p->panel, &b);
    printf("%s%.*s\n", b.n ? " dashboard " : "", STR_ARG(buf_view(&b)));
    buf_release(&b);
    fflush(stdout);
}

static void complete(void *ctx) {
    struct operate *p = ctx;
    if (!p->stopping) {
        loop_clock(p->loop)->timer_stop(p->timer);
        say_ready(p);
        begin(p);
    }
}

/* ---- stopping ---- */

static void leave(struct operate *p) {
    if (p->handed && p->deaf) {
        loop_stop(p->loop);
    }
}

static void handed_over(void *ctx) {
    struct operate *p = ctx;
    p->handed = true;
    leave(p);
}

static void gone_deaf(void *ctx) {
    struct operate *p = ctx;
    p->deaf = true;
    leave(p);
}

static void hand_over(struct operate *p) {
    kube_writer_free(p->writer);
    p->writer = NULL;
    if (p->leader) {
        leader_release(p->leader, handed_over, p);
    } else {
        handed_over(p);
    }
}

static void drain(struct operate *p) {
    struct clock *c = loop_clock(p->loop);
    struct kube_writer_stats s = {0};
    if (p->writer) {
        kube_writer_stats(p->writer, &s);
    }
    if (s.waiting + s.in_flight == 0 || clock_mono(c) > p->drain_until) {
        hand_over(p);
    } else {
        c->timer_start(p->timer, DRAIN_STEP_MS * NS_PER_MS);
    }
}

static void stop(struct operate *p, int status) {
    if (p->stopping) {
        loop_stop(p->loop); /* asked twice */
        return;
    }
    p->stopping = true;
    p->status = status;
    release_control(p);
    if (p->hooks) {
        hooks_stop(p->hooks, DRAIN_MS, gone_deaf, p);
    } else {
        p->deaf = true;
    }
    p->drain_until = clock_mono(loop_clock(p->loop)) + DRAIN_MS * NS_PER_MS;
    drain(p);
}

static void on_signal(void *ctx, int signum) {
    stop(ctx, CLI_OK);
}

static void ignore_signal(void *ctx, int signum) {
}

static void on_timer(void *ctx) {
    struct operate *p = ctx;
    struct buf b;
    if (p->stopping) {
        drain(p);
        return;
    }
    buf_init(&b, 4096);
    inlet_waits(p->inlet, &b);
    log_warn(&p->log.log, "not ready: %s", buf_cstr(&b));
    buf_release(&b);
    loop_clock(p->loop)->timer_start(p->timer, WAIT_TELL_MS * NS_PER_MS);
}

/* ---- health and metrics ---- */

static int caches_well(void *ctx, struct err *err) {
    struct operate *p = ctx;
    return inlet_complete(p->inlet) ? 0 : err_set(err, ERR_UNAVAILABLE, "not everything is listed");
}

static int going_well(void *ctx, struct err *err) {
    struct operate *p = ctx;
    return p->stopping ? err_set(err, ERR_UNAVAILABLE, "shutting down") : 0;
}

static int lease_well(void *ctx, struct err *err) {
    struct operate *p = ctx;
    return p->leader ? leader_well(p->leader, err) : 0;
}

static void collect(void *ctx) {
    struct operate *p = ctx;
    struct kube_writer_stats s = {0};
    if (p->writer) {
        kube_writer_stats(p->writer, &s);
    }
    prom_set(p->leading, leads(p));
    prom_set(p->rivals, p->rival && rival_signs(p->rival).n > 0);
    prom_set(p->writes_waiting, (double)s.waiting);
    prom_set(p->writes_flying, (double)s.in_flight);
}

static int make_site(struct operate *p, struct err *err) {
    static const char *const label[] = {"name"};
    p->metrics = metrics_new(p->mirror, loop_clock(p->loop));
    p->health = health_new();
    if (p->metrics == NULL || p->health == NULL ||
        health_add(p->health, HEALTH_READY, "caches", caches_well, p) != 0 ||
        health_add(p->health, HEALTH_READY, "shutdown", going_well, p) != 0 ||
        health_add(p->health, HEALTH_LIVE, "leader-election", lease_well, p) != 0 ||
        prom_collector(metrics_prom(p->metrics), collect, p) != 0) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    struct prom *m = metrics_prom(p->metrics);
    p->leading = prom_with(prom_family(m, PROM_GAUGE, "leader_election_master_status",
                                       "1 while this process leads.", label, 1),
                           p->o.lease_name);
    p->rivals = prom_with_n(prom_family(m, PROM_GAUGE, "berth_kueue_present",
                                        "1 while Kueue's own manager is at work here.", NULL, 0),
                            NULL, 0);
    p->writes_waiting = prom_with_n(prom_family(m, PROM_GAUGE, "berth_writes_waiting",
                                                "Writes that wait for their turn.", NULL, 0),
                                    NULL, 0);
    p->writes_flying = prom_with_n(prom_family(m, PROM_GAUGE, "berth_writes_in_flight",
                                               "Writes that wait for an answer.", NULL, 0),
                                   NULL, 0);
    for (size_t i = 0; i < 2; i++) {
        const struct address *at = i == 0 ? &p->o.metrics : &p->o.health;
        struct pages_options o = {
            .loop = p->loop,
            .host = str_of(at->host),
            .port = at->port,
            .allow_any = p->o.allow_any,
            .health = p->health,
            .prom = i == 0 ? m : NULL,
        };
        int r = (i == 0 ? p->o.serve_metrics : p->o.serve_health)
                    ? pages_start(&o, &p->pages[i], err)
                    : 0;
        if (r != 0) {
            return err_wrap(err, i == 0 ? "--metrics" : "--health");
        }
    }
    return 0;
}

/* ---- starting ---- */

/* Before anything else is touched: a wrong file must not be half acted on. */
static int read_config(struct operate *p, struct err *err) {
    struct arena a;
    struct str text;
    if (p->o.config == NULL) {
        p->config.settings = *queue_settings_defaults();
        return 0;
    }
    arena_init(&a, 2 * KUEUE_CONFIG_BYTES);
    int r = kube_file_read(&a, p->o.config, KUEUE_CONFIG_BYTES, &text, err);
    r = r ? r : kueue_config_read(text, &p->config, err);
    arena_release(&a);
    if (r != 0) {
        err_wrap(err, "--config %s", p->o.config);
    }
    for (size_t i = 0; r == 0 && i < p->config.n_warnings; i++) {
        log_warn(&p->log.log, "%s: %.*s", p->o.config, STR_ARG(p->config.warnings[i]));
    }
    return r;
}

static int make_leader(struct operate *p, struct err *err) {
    int r = p->o.elect ? leader_identity(&p->identity, err) : 0;
    if (r != 0 || !p->o.elect) {
        p->fresh = true; /* what is read at the start was not written by one before us */
        return r;
    }
    struct leader_options o = {
        .client = p->client,
        .log = &p->log.log,
        .ns = p->ns,
        .name = str_of(p->o.lease_name),
        .identity = buf_view(&p->identity),
        .who = WHO,
        .lease_ns = p->o.lease_ns,
        .renew_ns = p->o.renew_ns,
        .retry_ns = p->o.retry_ns,
        .started = started,
        .stopped = stopped,
        .ctx = p,
    };
    p->leader = leader_new(&o, err);
    return p->leader ? 0 : err->code;
}

static int make_rival(struct operate *p, struct err *err) {
    unsigned theirs = p->o.controllers.set & CONTROL_CLUSTER;
    if ((theirs & ~p->o.controllers.named) == 0) {
        return 0; /* nothing would be left out */
    }
    p->rival = rival_new(p->loop, p->client, rival_changed, p, err);
    return p->rival ? 0 : err->code;
}

static int make_panel(struct operate *p, struct err *err) {
    struct operate_panel_options o = {
        .loop = p->loop,
        .log = &p->log.log,
        .kubeconfig = p->o.kubeconfig,
        .context = p->o.context,
        .at = &p->o.dashboard,
        .calendar = &p->calendar,
        .mirror = p->mirror,
        .allow_any = p->o.allow_any,
    };
    return operate_panel_new(&o, &p->panel, err);
}

static bool mirror_is_complete(void *ctx) {
    struct operate *p = ctx;
    return inlet_complete(p->inlet);
}

static int make_hooks(struct operate *p, struct err *err) {
    struct hooks_options o = {
        .loop = p->loop,
        .mirror = p->mirror,
        .log = &p->log.log,
        .metrics = metrics_prom(p->metrics),
        .settings = &p->config.settings,
        .options = &p->o,
        .ns = p->ns,
        .ready = mirror_is_complete,
        .ctx = p,
    };
    if (!p->o.serve_webhook) {
        return 0;
    }
    p->hooks = hooks_new(&o, err);
    if (p->hooks == NULL) {
        return err->code;
    }
    return health_add(p->health, HEALTH_READY, "webhook", hooks_check, p->hooks) == 0
               ? 0
               : err_set(err, ERR_NOMEM, "no memory");
}

static int make_inlet(struct operate *p, struct err *err) {
    struct operate_kind kinds[OPERATE_KINDS_MAX];
    struct operate_reads reads = {
        .set = p->o.controllers.set,
        .settings = &p->config.settings,
        .secret_ns = p->o.serve_webhook && p->o.webhook_cert == NULL ? p->ns : (struct str){0},
        .webhooks = p->o.serve_webhook,
    };
    struct inlet_options o = {
        .loop = p->loop,
        .client = p->client,
        .mirror = p->mirror,
        .log = &p->log.log,
        .kinds = kinds,
        .n_kinds = operate_kinds(&reads, kinds),
        .complete = complete,
        .fresh = fresh,
        .ctx = p,
    };
    p->inlet = inlet_new(&o, err);
    return p->inlet ? 0 : err->code;
}

static int make_mirror(struct operate *p, struct err *err) {
    struct mirror_options o = {.clock = loop_clock(p->loop), .history_events = MIRROR_NO_HISTORY};
    p->mirror = mirror_new(&o);
    return p->mirror ? 0 : err_set(err, ERR_NOMEM, "no memory");
}

static int start(struct operate *p, struct err *err) {
    uint64_t seed;
    int r = tls_random(&seed, sizeof(seed), err);
    if (r != 0) {
        return r;
    }
    map_set_seed(seed);
    p->loop = loop_new(err);
    if (p->loop == NULL) {
        return err->code;
    }
    p->term = loop_signal(p->loop, SIGTERM, on_signal, p, err);
    p->intr = loop_signal(p->loop, SIGINT, on_signal, p, err);
    p->pipe = loop_signal(p->loop, SIGPIPE, ignore_signal, p, err);
    p->timer = loop_clock(p->loop)->timer_new(loop_clock(p->loop), on_timer, p);
    p->zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    r = p->term && p->intr && p->pipe && p->timer && p->zones ? 0 : ERR_NOMEM;
    if (r == 0) {
        p->client = kube_client_new(p->loop, p->o.kubeconfig, p->o.context,
                                    WHO "/" BERTH_VERSION " (linux/amd64)", err);
        r = p->client ? 0 : err->code;
    }
    if (r == 0) {
        bool in_pod = p->o.kubeconfig == NULL && getenv("KUBERNETES_SERVICE_HOST");
        p->ns = p->o.ns ? str_of(p->o.ns) : in_pod ? kube_namespace(p->client) : STR("kube-system");
        p->config.settings.own_namespace = p->ns;
    }
    r = r ? r : make_mirror(p, err);
    r = r ? r : make_site(p, err);
    if (r == 0 && (p->o.controllers.set & CONTROL_QUEUES)) {
        p->gpus = gpu_inventory_new(p->mirror, metrics_prom(p->metrics), err);
        r = p->gpus ? 0 : err->code;
    }
    r = r ? r : make_panel(p, err);
    r = r ? r : make_hooks(p, err);
    r = r ? r : make_inlet(p, err);
    r = r ? r : make_rival(p, err);
    r = r ? r : make_leader(p, err);
    if (r == 0) {
        loop_clock(p->loop)->timer_start(p->timer, WAIT_TELL_MS * NS_PER_MS);
    }
    return r;
}

static void release(struct operate *p) {
    drop_control(p);
    operate_panel_free(p->panel);
    leader_free(p->leader);
    rival_free(p->rival);
    inlet_free(p->inlet);
    pages_free(p->pages[0]);
    pages_free(p->pages[1]);
    hooks_free(p->hooks);
    health_free(p->health);
    gpu_inventory_free(p->gpus);
    metrics_free(p->metrics);
    kube_client_free(p->client);
    zones_free(p->zones);
    mirror_free(p->mirror);
    if (p->loop) {
        loop_clock(p->loop)->timer_free(p->timer);
    }
    loop_signal_free(p->term);
    loop_signal_free(p->intr);
    loop_signal_free(p->pipe);
    loop_free(p->loop);
    kueue_config_release(&p->config);
    buf_release(&p->identity);
}

static int run(const struct cli_args *args) {
    struct operate p = {0};
    struct err err = {0};
    if (operate_options_read(args, &p.o, &err) != 0) {
        fprintf(stderr, "berth operate: %s\n", err.text);
        return CLI_USAGE;
    }
    log_fd_init(&p.log, p.o.verbose ? LOG_DEBUG : LOG_INFO, 2);
    buf_init(&p.identity, 0);
    int r = read_config(&p, &err);
    r = r ? r : start(&p, &err);
    if (r != 0) {
        fprintf(stderr, "berth operate: %s\n", err.text);
        release(&p);
        return CLI_FAILED;
    }
    loop_run(p.loop);
    release(&p);
    return p.status;
}

const struct cli_verb world_operate = {
    .name = "operate",
    .group = GROUP_MACHINE,
    .arguments = "",
    .summary = "run Berth's controllers on a Kubernetes cluster",
    .about = "Runs the same controllers as `berth up` against a cluster's own API server. Of "
             "several that run, the one that\n"
             "holds the Lease acts; the others are ready to. Prints one line `berth: ready` when "
             "it has read what it needs.\n"
             "`berth manifests all` prints what a cluster needs to run it as a Deployment.",
    .examples = "  berth operate --kubeconfig ~/.kube/config\n"
                "  berth operate --kubeconfig F --metrics-port 8080 --leader-elect=false\n"
                "  berth operate --config kueue-config.yaml --health 0.0.0.0:8081 --allow-any\n",
    .options = operate_option_rows,
    .n_options = OPERATE_OPTIONS,
    .local = run,
};
