/* operate_options: the options of `berth operate`. See operate_options.h. */
#include "world/operate/operate_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube/leader.h"
#include "wire/text/time.h"
#include "world/up/up_options.h"

/* A kube-controller-manager's part needs the whole cluster in memory, and the cluster has one already. */
#define HERE (CONTROL_CLUSTER | CONTROL_RESERVATIONS)
#define NOT_HERE (CONTROL_ALL & ~(unsigned)(HERE | CONTROL_JOBS | CONTROL_SERVING))
enum { WRITES_MAX = 1024, BURST_MAX = 100000 };

static const char *const bools[] = {"true", "false", NULL};

const struct cli_option operate_option_rows[OPERATE_OPTIONS] = {
    {"kubeconfig", 0, "FILE", "how to reach the cluster; in a pod: its service account", NULL,
     false},
    {"context", 0, "NAME", "of the kubeconfig; else the current one", NULL, false},
    {"namespace", 0, "NAME",
     "where the Lease and the webhook's Secret are; else the pod's own, or kube-system", NULL,
     false},
    {"config", 0, "FILE", "Kueue's Configuration: fair sharing, readiness, integrations, ...", NULL,
     false},
    {"controllers", 0, "SET", "which run: all, none, queues,job-queue, -workloads, ...; else all",
     NULL, false},
    {"metrics-port", 0, "PORT", "serve /metrics and /healthz on 127.0.0.1:PORT", NULL, false},
    {"metrics", 0, "ADDR:PORT", "the same elsewhere", NULL, false},
    {"health", 0, "ADDR:PORT", "serve /healthz, /livez and /readyz there", NULL, false},
    {"webhook", 0, "ADDR:PORT", "serve Kueue's webhooks over HTTPS there", NULL, false},
    {"webhook-cert", 0, "FILE", "its certificate; else one of our own, kept in a Secret", NULL,
     false},
    {"webhook-key", 0, "FILE", "the key of that", NULL, false},
    {"dashboard", 0, "ADDR:PORT",
     "where the dashboard is; none: nowhere; else 127.0.0.1:8090 or a free port", NULL, false},
    DASHBOARD_HOST_OPTION,
    {"dashboard-cert", 0, "FILE", "its certificate: HTTPS; needed beyond loopback", NULL, false},
    {"dashboard-key", 0, "FILE", "the key of that", NULL, false},
    {"allow-any", 0, NULL, "the addresses may be others than loopback", NULL, false},
    {"leader-elect", 0, "BOOL", "act only while holding the Lease; else true", bools, false},
    {"lease-name", 0, "NAME", "of the Lease; else berth-controller", NULL, false},
    {"lease-duration", 0, "TIME", "how long others wait for a silent leader; else 15s", NULL,
     false},
    {"lease-renew", 0, "TIME", "after so long without a renewal a leader stops; else 10s", NULL,
     false},
    {"lease-retry", 0, "TIME", "between renewals, and between tries of candidates; else 2s", NULL,
     false},
    {"qps", 0, "NUMBER", "writes a second at most; else no limit", NULL, false},
    {"burst", 0, "NUMBER", "writes at once, with --qps", NULL, false},
    {"concurrent-writes", 0, "NUMBER", "writes under way at a time; else 32", NULL, false},
    {"verbose", 0, NULL, "log more", NULL, false},
};

static int bad(struct err *err, const char *option, const char *expected) {
    return err_set(err, ERR_BAD_REQUEST, "--%s: expected %s", option, expected);
}

static int read_time(const struct cli_args *a, const char *option, int64_t *io, struct err *err) {
    const char *text = cli_value(a, option);
    int64_t ns;
    if (text && (duration_parse(str_of(text), &ns, NULL) != 0 || ns <= 0)) {
        return bad(err, option, "a time such as 15s or 1m30s");
    }
    *io = text ? ns : *io;
    return 0;
}

static int read_number(const struct cli_args *a, const char *option, int64_t most, size_t *io,
                       struct err *err) {
    const char *text = cli_value(a, option);
    int64_t n;
    if (text && (!str_to_i64(str_of(text), &n) || n < 1 || n > most)) {
        return err_set(err, ERR_BAD_REQUEST, "--%s: expected a number from 1 to %lld", option,
                       (long long)most);
    }
    *io = text ? (size_t)n : *io;
    return 0;
}

static int read_qps(const struct cli_args *a, struct operate_options *o, struct err *err) {
    const char *text = cli_value(a, "qps");
    char *end = NULL;
    double v = text ? strtod(text, &end) : 0;
    if (text && (end == text || *end || !(v > 0) || v > 1e6)) {
        return bad(err, "qps", "a number above 0");
    }
    o->qps = v;
    if (o->burst && text == NULL) {
        return bad(err, "burst", "--qps beside it");
    }
    return 0;
}

static int read_address(const char *option, const char *text, bool allow_any, struct address *ret,
                        bool *ret_given, struct err *err) {
    if (text == NULL) {
        return 0;
    }
    char name[32];
    snprintf(name, sizeof(name), "--%s", option);
    int r = address_parse(name, text, ret, err);
    if (r == 0 && !ret->loopback && !allow_any) {
        r = err_set(err, ERR_BAD_REQUEST,
                    "--%s: %s is not a loopback address; add --allow-any to serve the network",
                    option, ret->host);
    }
    *ret_given = r == 0;
    return r;
}

static int read_addresses(const struct cli_args *a, struct operate_options *o, struct err *err) {
    const char *port = cli_value(a, "metrics-port"), *metrics = cli_value(a, "metrics");
    char text[32];
    int64_t n;
    if (port && metrics) {
        return bad(err, "metrics-port", "not --metrics as well");
    }
    if (port && (!str_to_i64(str_of(port), &n) || n < 0 || n > UINT16_MAX)) {
        return bad(err, "metrics-port", "a port");
    }
    if (port) {
        snprintf(text, sizeof(text), "127.0.0.1:%s", port);
        metrics = text;
    }
    int r = read_address("metrics", metrics, o->allow_any, &o->metrics, &o->serve_metrics, err);
    r = r ? r
          : read_address("health", cli_value(a, "health"), o->allow_any, &o->health,
                         &o->serve_health, err);
    r = r ? r
          : read_address("webhook", cli_value(a, "webhook"), o->allow_any, &o->webhook,
                         &o->serve_webhook, err);
    if (r == 0 && (o->webhook_cert == NULL) != (o->webhook_key == NULL)) {
        r = bad(err, "webhook-cert", "--webhook-key beside it, and the other way round");
    }
    if (r == 0 && o->webhook_cert && !o->serve_webhook) {
        r = bad(err, "webhook-cert", "--webhook as well");
    }
    return r;
}

static int read_dashboard(const struct cli_args *a, struct operate_options *o, struct err *err) {
    const char *text = cli_value(a, "dashboard");
    struct panel_at *at = &o->dashboard;
    if (text && strcmp(text, "none") == 0) {
        return 0;
    }
    at->cert_file = cli_value(a, "dashboard-cert");
    at->key_file = cli_value(a, "dashboard-key");
    at->chosen = text != NULL;
    int r = read_address("dashboard", text ? text : "127.0.0.1:8090", o->allow_any, &at->address,
                         &at->on, err);
    if (r == 0 && (at->cert_file == NULL) != (at->key_file == NULL)) {
        r = bad(err, "dashboard-cert", "--dashboard-key beside it, and the other way round");
    }
    if (r == 0 && !at->address.loopback && at->cert_file == NULL) {
        r = bad(err, "dashboard",
                "--dashboard-cert and --dashboard-key beyond loopback: people "
                "send their tokens there");
    }
    return r ? r : dashboard_hosts_option(a, at, err);
}

static int read_controllers(const struct cli_args *a, struct operate_options *o, struct err *err) {
    const char *list = cli_value(a, "controllers");
    struct buf b;
    int r = control_set_parse(str_of(list ? list : "all"), HERE, &o->controllers, err);
    if (r != 0) {
        return err_wrap(err, "--controllers");
    }
    unsigned extra = o->controllers.set & NOT_HERE;
    if (extra) {
        buf_init(&b, 0);
        control_set_words(extra, &b);
        r = err_set(err, ERR_BAD_REQUEST,
                    "--controllers: %s: a cluster has a kube-controller-manager for that",
                    buf_cstr(&b));
        buf_release(&b);
    }
    return r;
}

int operate_options_read(const struct cli_args *a, struct operate_options *ret, struct err *err) {
    const char *elect = cli_value(a, "leader-elect"), *name = cli_value(a, "lease-name");
    struct operate_options o = {
        .kubeconfig = cli_value(a, "kubeconfig"),
        .context = cli_value(a, "context"),
        .config = cli_value(a, "config"),
        .allow_any = cli_flag(a, "allow-any"),
        .elect = elect == NULL || strcmp(elect, "true") == 0,
        .lease_ns = 15 * NS_PER_SEC,
        .renew_ns = 10 * NS_PER_SEC,
        .retry_ns = 2 * NS_PER_SEC,
        .lease_name = name ? name : "berth-controller",
        .ns = cli_value(a, "namespace"),
        .webhook_cert = cli_value(a, "webhook-cert"),
        .webhook_key = cli_value(a, "webhook-key"),
        .verbose = cli_flag(a, "verbose"),
    };
    int r = read_controllers(a, &o, err);
    r = r ? r : read_addresses(a, &o, err);
    r = r ? r : read_dashboard(a, &o, err);
    r = r ? r : read_time(a, "lease-duration", &o.lease_ns, err);
    r = r ? r : read_time(a, "lease-renew", &o.renew_ns, err);
    r = r ? r : read_time(a, "lease-retry", &o.retry_ns, err);
    r = r ? r : leader_check(o.lease_ns, o.renew_ns, o.retry_ns, err);
    r = r ? r : read_number(a, "burst", BURST_MAX, &o.burst, err);
    r = r ? r : read_number(a, "concurrent-writes", WRITES_MAX, &o.concurrent_writes, err);
    r = r ? r : read_qps(a, &o, err);
    if (r == 0) {
        *ret = o;
    }
    return r;
}
