/* up_options: the options of `berth up`, and those it shares with `berth node`. See up_options.h. */
#include "world/up/up_options.h"

#include <string.h>

#include "control/control_set.h"
#include "node/images/image_hosts.h"
#include "node/net/model.h"
#include "wire/text/time.h"

const char *const gpus_choices[] = {"auto", "none", "sim:8xh200", "sim:1xh200", "sim:4xa100-80gb",
                                    NULL};
const char *const network_choices[] = {"auto", "own", "host", NULL};
const char *const uplink_choices[] = {"auto", "pasta", "none", NULL};
const char *const runtime_choices[] = {"auto", "process", "podman", NULL};

const struct cli_option up_option_rows[UP_OPTIONS] = {
    {"data", 0, "DIR", "data folder; else /var/lib/berth for root, ~/.local/share/berth", NULL,
     false},
    {"listen", 0, "ADDR:PORT", "where to serve; else 127.0.0.1:6443; port 0: any free one", NULL,
     false},
    {"allow-any", 0, NULL, "--listen may be another address than loopback", NULL, false},
    {"dashboard", 0, "ADDR:PORT",
     "where the dashboard is, on loopback; none: nowhere; else 127.0.0.1:8090 or a free port", NULL,
     false},
    DASHBOARD_HOST_OPTION,
    {"gateway", 0, "ADDR:PORT",
     "where models answer; none: nowhere; else 127.0.0.1:8091 or a free port", NULL, false},
    IDENTITY_OPTIONS,
    SIGN_IN_OPTIONS,
    GPUS_OPTION,
    {"config", 0, "FILE", "Kueue's Configuration: fair sharing, readiness, resources, ...", NULL,
     false},
    {"kubeconfig", 0, "FILE", "write the administrator's kubeconfig there, too", NULL, false},
    RUNTIME_OPTION,
    MANAGE_MIG_OPTION,
    REQUIRE_ISOLATION_OPTION,
    NVML_OPTION,
    HOST_PATH_OPTION,
    WEIGHTS_OPTION,
    IMAGE_HOSTS_OPTION,
    POD_NETWORK_OPTION,
    POD_RANGE_OPTION,
    SERVICE_RANGE_OPTION,
    UPLINK_OPTION,
    {"keep-pods", 0, "N", "finished pods that are kept, the newest; else 5000; 0: all", NULL,
     false},
    {"keep-jobs", 0, "TIME",
     "how long finished Jobs without ttlSecondsAfterFinished are kept; else 168h; 0: for ever",
     NULL, false},
    {"keep-events", 0, "N", "Events that are kept, the newest of an hour; else 50000; 0: all", NULL,
     false},
    {"accept-loss", 0, NULL, "start with a database that has less than was written to it", NULL,
     false},
    {"controllers", 0, "SET",
     "which run: all, none, kubernetes, jobs,queues, -nodes, ...; else all", NULL, false},
    {"no-node", 0, NULL, "run no node on this machine", NULL, false},
    VERBOSE_OPTION,
};

static const char *value_or(const struct cli_args *a, const char *name, const char *otherwise) {
    const char *v = cli_value(a, name);
    return v ? v : otherwise;
}

enum node_runtime runtime_named(const char *v) {
    return strcmp(v, "podman") == 0    ? NODE_RUNTIME_PODMAN
           : strcmp(v, "process") == 0 ? NODE_RUNTIME_PROCESS
                                       : NODE_RUNTIME_AUTO;
}

enum node_runtime runtime_option(const struct cli_args *a) {
    return runtime_named(value_or(a, "runtime", "auto"));
}

int dashboard_hosts_option(const struct cli_args *a, struct panel_at *at, struct err *err) {
    const char *name;
    for (size_t i = 0; (name = cli_nth(a, "dashboard-host", i)) != NULL; i++) {
        if (i == PANEL_HOSTS_MAX || name[0] == 0 || strpbrk(name, "/: ")) {
            return err_set(err, ERR_BAD_REQUEST,
                           "--dashboard-host: expected at most %d names, without port",
                           PANEL_HOSTS_MAX);
        }
        at->hosts[at->n_hosts++] = str_of(name);
    }
    return 0;
}

static int read_dashboard(const struct cli_args *a, struct panel_at *at, struct err *err) {
    const char *text = cli_value(a, "dashboard");
    if (text && strcmp(text, "none") == 0) {
        return 0;
    }
    int r = address_parse("--dashboard", text ? text : "127.0.0.1:8090", &at->address, err);
    if (r == 0 && !at->address.loopback) {
        r = err_set(err, ERR_BAD_REQUEST,
                    "--dashboard: %s is not a loopback address, and this is plain HTTP; over the "
                    "network the dashboard is at --listen",
                    at->address.host);
    }
    at->on = true;
    at->chosen = text != NULL;
    return r ? r : dashboard_hosts_option(a, at, err);
}

/* Beyond loopback it is over plain HTTP, which --allow-any agrees to: whatever ends TLS stands before it. */
static int read_gateway(const struct cli_args *a, struct up_options *o, struct err *err) {
    const char *text = cli_value(a, "gateway");
    if (text && strcmp(text, "none") == 0) {
        return 0;
    }
    o->gateway.on = o->gateway.chosen = text != NULL;
    int r = address_parse("--gateway", text ? text : "127.0.0.1:8091", &o->gateway.address, err);
    if (r == 0 && !o->gateway.address.loopback && !o->allow_any) {
        r = err_set(err, ERR_BAD_REQUEST,
                    "--gateway: %s is not a loopback address; add --allow-any to serve the "
                    "network, in plain HTTP",
                    o->gateway.address.host);
    }
    return r;
}

int image_hosts_option(const struct cli_args *a, struct err *err) {
    const char *list = cli_value(a, "image-registries");
    return list && image_hosts_check(str_of(list), err) ? err_wrap(err, "--image-registries") : 0;
}

/* The node checks the range of pods; that of Services is the API's. */
static int read_services(struct up_options *o, struct err *err) {
    if (o->service_range &&
        (!model_ip(str_of(o->service_range), &o->service_base, &o->service_bits) ||
         o->service_bits < 8 || o->service_bits > 28)) {
        return err_set(
            err, ERR_BAD_REQUEST,
            "--service-range %s: expected an IPv4 network of /8 to /28, like 10.43.0.0/16",
            o->service_range);
    }
    return 0;
}

static int read_count(const char *option, const char *text, size_t *ret, struct err *err) {
    int64_t n;
    if (!str_to_i64(str_of(text), &n) || n < 0) {
        return err_set(err, ERR_BAD_REQUEST, "%s %s: expected a number, or 0 for all", option,
                       text);
    }
    *ret = (size_t)n;
    return 0;
}

static int read_kept(const struct cli_args *a, struct retention *k, struct err *err) {
    const char *jobs = value_or(a, "keep-jobs", "168h");
    int r = read_count("--keep-pods", value_or(a, "keep-pods", "5000"), &k->pods, err);
    r = r ? r : read_count("--keep-events", value_or(a, "keep-events", "50000"), &k->events, err);
    if (r == 0 && strcmp(jobs, "0") != 0 &&
        (duration_parse(str_of(jobs), &k->jobs_ns, NULL) || k->jobs_ns <= 0)) {
        r = err_set(err, ERR_BAD_REQUEST,
                    "--keep-jobs %s: expected a time like 168h or 30m, or 0 for ever", jobs);
    }
    return r;
}

int up_options_read(const struct cli_args *a, struct up_options *ret, struct err *err) {
    struct control_list list = {0};
    struct up_options o = {
        .data = cli_value(a, "data"),
        .allow_any = cli_flag(a, "allow-any"),
        .gpus = value_or(a, "gpus", "auto"),
        .config = cli_value(a, "config"),
        .kubeconfig = cli_value(a, "kubeconfig"),
        .runtime = value_or(a, "runtime", "auto"),
        .nvml = cli_value(a, "nvml"),
        .host_path = cli_value(a, "host-path"),
        .weights = cli_value(a, "weights"),
        .image_hosts = cli_value(a, "image-registries"),
        .pod_network = cli_value(a, "pod-network"),
        .pod_range = cli_value(a, "pod-range"),
        .service_range = cli_value(a, "service-range"),
        .uplink = cli_value(a, "pod-uplink"),
        .manage_mig = cli_flag(a, "manage-mig"),
        .require_isolation = cli_flag(a, "require-isolation"),
        .accept_loss = cli_flag(a, "accept-loss"),
        .verbose = cli_flag(a, "verbose"),
    };
    int r = address_parse("--listen", value_or(a, "listen", "127.0.0.1:6443"), &o.listen, err);
    if (r == 0 && !o.listen.loopback && !o.allow_any) {
        r = err_set(err, ERR_BAD_REQUEST,
                    "--listen: %s is not a loopback address; add --allow-any to serve the network",
                    o.listen.host);
    }
    r = r ? r : read_dashboard(a, &o.dashboard, err);
    r = r ? r : read_gateway(a, &o, err);
    r = r ? r : identity_options_read(a, &o.identity, err);
    r = r ? r : read_services(&o, err);
    r = r ? r : image_hosts_option(a, err);
    r = r ? r : read_kept(a, &o.kept, err);
    if (r == 0 && control_set_parse(str_of(value_or(a, "controllers", "all")), CONTROL_ALL, &list,
                                    err) != 0) {
        r = err_wrap(err, "--controllers");
    }
    if (r == 0) {
        o.controllers = list.set;
        o.queues_outside = !(list.set & ~(unsigned)CONTROL_KUBERNETES);
        o.node = list.set != 0 && !cli_flag(a, "no-node");
        const char *gateway = cli_value(a, "gateway");
        o.gateway.on = gateway ? o.gateway.on : o.node && !o.queues_outside;
        *ret = o;
    }
    return r;
}
