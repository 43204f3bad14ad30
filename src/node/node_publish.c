/*
 * node_publish: publishes the state of this machine to the API.
 *
 * The Node is made once; labels and the inventory go in by merge patch, capacity and conditions by
 * a patch of its status, each only when it changed. The Lease is renewed every ten seconds: it is
 * the sign of life, so the Node itself need not be written for that.
 */
#include <errno.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "node/node_private.h"
#include "wire/text/time.h"

enum {
    HEARTBEAT_MS = 10000,
    RETRY_MS = 1000,
    DEBOUNCE_MS = 30,
    STATUS_EVERY_S = 300,
    LEASE_S = 40
};

static const char who[] = "berth-node";
static const char lease_ns[] = "kube-node-lease";

#if defined(__x86_64__)
#define ARCH "amd64"
#elif defined(__aarch64__)
#define ARCH "arm64"
#else
#define ARCH "unknown"
#endif

static const struct kind *core(const char *kind) {
    return kind_by_name(STR(""), str_of(kind));
}

static void add_text(struct buf *b, const char *name, const char *value) {
    buf_f(b, ",\"%s\":", name);
    buf_json(b, str_of(value));
}

void node_read_machine(struct node *n) {
    struct sysinfo si;
    struct statvfs disk;
    struct utsname u;
    struct arena a;
    struct str text, line;

    n->cpu_milli = sysconf(_SC_NPROCESSORS_ONLN) * 1000;
    n->memory = sysinfo(&si) == 0 ? (int64_t)si.totalram * si.mem_unit : 0;
    if (uname(&u) == 0) {
        snprintf(n->kernel, sizeof(n->kernel), "%s", u.release);
    }
    if (statvfs(n->data_dir, &disk) == 0) {
        n->disk = (int64_t)disk.f_blocks * (int64_t)disk.f_frsize;
    }
    arena_init(&a, 1 << 16);
    if (file_load("/etc", "machine-id", &a, &text, NULL) == 0) {
        str_copy(str_trim(text), n->machine_id, sizeof(n->machine_id));
    }
    if (file_load("/usr/lib", "os-release", &a, &text, NULL) == 0) {
        while (str_next(&text, '\n', &line)) {
            if (str_starts(line, STR("PRETTY_NAME=\"")) && line.n > 14) {
                str_copy(str_from(line.p + 13, line.n - 14), n->os, sizeof(n->os));
            }
        }
    }
    arena_release(&a);
}

/* ---- the Node's metadata: labels, inventory ---- */

static void write_labels(struct node *n, struct buf *b) {
    struct buf labels;

    buf_init(&labels, 1 << 18);
    if (n->gpus && n->gpu_count) {
        gpus_labels(n->gpus, &labels);
    }
    buf_c(b, "\"labels\":{\"berth.dev/managed\":\"true\",\"kubernetes.io/os\":\"linux\","
             "\"kubernetes.io/arch\":\"" ARCH "\"");
    add_text(b, "kubernetes.io/hostname", n->name);
    buf_c(b, labels.n ? "," : "");
    buf_str(b, buf_view(&labels));
    node_self_stale_labels(n->self, buf_view(&labels), b);
    buf_ch(b, '}');
    buf_release(&labels);
}

static void write_inventory(struct node *n, struct buf *b) {
    struct arena a;
    struct inventory inv = {0};
    struct buf text;

    arena_init(&a, 4 << 20);
    buf_init(&text, LIMIT_ANNOTATION_BYTES);
    if (n->gpus) {
        gpus_inventory(n->gpus, &a, &inv);
    }
    n->gpu_count = inv.n;
    inventory_encode(&inv, &text);
    buf_c(b, "\"annotations\":{\"" INVENTORY_ANNOTATION "\":");
    buf_json(b, buf_view(&text));
    buf_ch(b, '}');
    buf_release(&text);
    arena_release(&a);
}

static void write_metadata(struct node *n, struct buf *b) {
    buf_c(b, "{\"metadata\":{");
    write_inventory(n, b); /* counts the GPUs that the labels speak of */
    buf_ch(b, ',');
    write_labels(n, b);
    buf_c(b, "}}");
}

/* ---- status ---- */

static void write_condition(struct buf *b, const char *type, bool yes, const char *reason,
                            const char *message, const char *stamp) {
    buf_f(b, "{\"type\":\"%s\",\"status\":\"%s\",\"reason\":\"%s\"", type, yes ? "True" : "False",
          reason);
    add_text(b, "message", message);
    add_text(b, "lastHeartbeatTime", stamp);
    add_text(b, "lastTransitionTime", stamp);
    buf_ch(b, '}');
}

static void write_gpus(struct node *n, struct buf *b) {
    struct buf gpus;

    buf_init(&gpus, 1 << 16);
    if (n->gpus && n->gpu_count) {
        gpus_capacity(n->gpus, &gpus);
    }
    buf_c(b, gpus.n ? "," : "");
    buf_str(b, buf_view(&gpus));
    node_self_stale_resources(n->self, buf_view(&gpus), b);
    buf_release(&gpus);
}

static void write_resources(struct node *n, struct buf *b) {
    buf_f(b, "{\"cpu\":\"%lld\",\"memory\":\"%lldKi\",\"pods\":\"%d\"",
          (long long)n->cpu_milli / 1000, (long long)n->memory / 1024, LIMIT_PODS_PER_NODE);
    if (n->disk) {
        buf_f(b, ",\"ephemeral-storage\":\"%lldKi\"", (long long)n->disk / 1024);
    }
    write_gpus(n, b);
    buf_ch(b, '}');
}

/* A GPU that is out of service, and the way back. */
static void write_gpu_health(struct node *n, const char *stamp, struct buf *b) {
    struct buf words;

    buf_init(&words, 1 << 14);
    size_t bad = n->gpus ? gpus_troubles(n->gpus, &words) : 0;
    if (bad) {
        buf_c(&words, "; see `berth gpu list`");
    }
    write_condition(b, "GpusInService", bad == 0,
                    bad            ? "GpuOutOfService"
                    : n->gpu_count ? "AllInService"
                                   : "NoGpus",
                    bad            ? buf_cstr(&words)
                    : n->gpu_count ? "every GPU is in service"
                                   : "this machine has no GPUs",
                    stamp);
    buf_release(&words);
}

static void write_network(struct node *n, const char *stamp, struct buf *b) {
    bool own = n->network && !n->no_network;
    const char *why = n->no_network        ? n->network_why
                      : n->network == NULL ? "pods use the machine's network, as was asked for"
                      : n->network_due     ? "the router of the pods' network is being started"
                      : network_uplink(n->network)
                          ? "pods have addresses of their own, and a way out (pasta)"
                          : "pods have addresses of their own, and no way out (pasta, of package "
                            "passt)";

    write_condition(b, "PodNetwork", own && !n->network_due,
                    own ? "OwnAddresses" : "MachineNetwork", why, stamp);
}

static void write_status(struct node *n, const char *stamp, struct buf *b) {
    struct buf words, lacks;

    buf_init(&words, 4096);
    buf_init(&lacks, 4096);
    sandbox_describe(&n->probe, &words);
    sandbox_lacks(&n->probe, &lacks);
    bool whole = lacks.n == 0;
    if (!whole) {
        buf_f(&words, "; missing: %s", buf_cstr(&lacks));
    }
    buf_c(b, "{\"status\":{\"capacity\":");
    write_resources(n, b);
    buf_c(b, ",\"allocatable\":");
    write_resources(n, b);
    buf_c(b, ",\"conditions\":[");
    write_condition(
        b, "Ready", true, "NodeReady",
        n->images ? "pods run in their images or as processes" : "pods run as processes", stamp);
    buf_ch(b, ',');
    write_condition(b, "SandboxComplete", whole, whole ? "AllLayers" : "LayersMissing",
                    buf_cstr(&words), stamp);
    buf_ch(b, ',');
    write_network(n, stamp, b);
    buf_ch(b, ',');
    write_gpu_health(n, stamp, b);
    buf_c(b, ",{\"type\":\"MemoryPressure\",\"status\":\"False\",\"reason\":\"NotMeasured\"}]"
             ",\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"127.0.0.1\"},{\"type\":"
             "\"Hostname\"");
    add_text(b, "address", n->name);
    buf_c(b, "}],\"nodeInfo\":{\"operatingSystem\":\"linux\",\"architecture\":\"" ARCH "\"");
    add_text(b, "machineID", n->machine_id);
    add_text(b, "systemUUID", n->machine_id);
    add_text(b, "bootID", "");
    add_text(b, "kernelVersion", n->kernel);
    add_text(b, "osImage", n->os);
    add_text(b, "containerRuntimeVersion",
             n->images ? "berth://" BERTH_VERSION : "berth-process://" BERTH_VERSION);
    add_text(b, "kubeletVersion", "berth-" BERTH_VERSION);
    add_text(b, "kubeProxyVersion", "");
    buf_c(b, "}}}");
    buf_release(&words);
    buf_release(&lacks);
}

static void on_status(void *ctx, const struct write_result *r) {
    struct node *n = ctx;

    n->status_writing = false;
    if (r->code) {
        log_warn(n->log, "node %s: status: %s", n->name, r->err.text);
        mem_free(n->published_status);
        n->published_status = NULL;
        n->clock->timer_start(n->publish_timer, RETRY_MS * NS_PER_MS);
        return;
    }
    node_watch_pods(n);
}

static void send_status(struct node *n) {
    char stamp[TIME_TEXT_MAX];
    struct buf plain, b;
    int64_t now = clock_mono(n->clock);

    /* Compared without the time, which alone is not worth a write more often than every five
     * minutes. */
    buf_init(&plain, 1 << 20);
    write_status(n, "", &plain);
    bool same = n->published_status && str_eq(str_of(n->published_status), buf_view(&plain));
    if (n->status_writing || (same && now - n->status_written_mono < STATUS_EVERY_S * NS_PER_SEC)) {
        buf_release(&plain);
        return;
    }
    mem_free(n->published_status);
    n->published_status = mem_cstr(buf_view(&plain));
    n->status_written_mono = now;
    n->status_writing = true;
    time_text(clock_wall(n->clock), stamp);
    buf_init(&b, 1 << 20);
    write_status(n, stamp, &b);
    writer_patch(n->writer, who, core("Node"), STR(""), str_of(n->name), "status", PATCH_STRATEGIC,
                 buf_view(&b), on_status, n);
    buf_release(&b);
    buf_release(&plain);
}

static void on_published(void *ctx, const struct write_result *r) {
    struct node *n = ctx;

    n->publishing = false;
    if (r->code == ERR_NOT_FOUND) { /* somebody deleted the Node */
        n->registered = false;
        mem_free(n->published);
        n->published = NULL;
        node_register(n);
        return;
    }
    if (r->code) {
        log_warn(n->log, "node %s: %s", n->name, r->err.text);
        mem_free(n->published);
        n->published = NULL;
        n->clock->timer_start(n->publish_timer, RETRY_MS * NS_PER_MS);
    } else if (n->publish_again) {
        n->publish_again = false;
        node_publish(n);
    }
    send_status(n);
}

void node_on_publish(void *ctx) {
    struct node *n = ctx;
    struct buf b;

    if (!n->registered) {
        node_register(n);
        return;
    }
    if (n->publishing) {
        n->publish_again = true;
        return;
    }
    buf_init(&b, 4 << 20);
    write_metadata(n, &b);
    if (n->published && str_eq(str_of(n->published), buf_view(&b))) {
        send_status(n);
    } else if (buf_ok(&b) == 0) {
        mem_free(n->published);
        n->published = mem_cstr(buf_view(&b));
        n->publishing = true;
        writer_patch(n->writer, who, core("Node"), STR(""), str_of(n->name), "", PATCH_MERGE,
                     buf_view(&b), on_published, n);
    }
    buf_release(&b);
}

void node_publish(struct node *n) {
    n->clock->timer_start(n->publish_timer, DEBOUNCE_MS * NS_PER_MS);
}

/* ---- registration and the Lease ---- */

static void on_registered(void *ctx, const struct write_result *r) {
    struct node *n = ctx;
    struct err err;

    if (r->code && r->code != ERR_EXISTS) {
        log_warn(n->log, "node %s: cannot register: %s", n->name, r->err.text);
        n->clock->timer_start(n->publish_timer, RETRY_MS * NS_PER_MS);
        return;
    }
    n->registered = true;
    if (n->self == NULL && node_self_start(n, &n->self, &err)) {
        log_warn(n->log, "node %s: cannot watch its Node: %s", n->name, err.text);
    }
    node_on_publish(n);
    node_on_heartbeat(n);
}

void node_register(struct node *n) {
    struct buf b;

    buf_init(&b, 1 << 16);
    buf_c(&b, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"labels\":{\"berth.dev/"
              "managed\":\"true\"}");
    add_text(&b, "name", n->name);
    buf_c(&b, "},\"spec\":{}}");
    writer_create(n->writer, who, core("Node"), STR(""), buf_view(&b), on_registered, n);
    buf_release(&b);
}

static void on_ignored(void *ctx, const struct write_result *r) {
}

static void create_lease(struct node *n) {
    char stamp[TIME_TEXT_MAX];
    struct buf b;

    writer_create(n->writer, who, core("Namespace"), STR(""),
                  STR("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"kube-"
                      "node-lease\"}}"),
                  on_ignored, NULL);
    buf_init(&b, 1 << 16);
    buf_f(&b,
          "{\"apiVersion\":\"coordination.k8s.io/"
          "v1\",\"kind\":\"Lease\",\"metadata\":{\"namespace\":\"%s\"",
          lease_ns);
    add_text(&b, "name", n->name);
    buf_f(&b, "},\"spec\":{\"leaseDurationSeconds\":%d", LEASE_S);
    add_text(&b, "holderIdentity", n->name);
    add_text(&b, "renewTime", time_text_micro(clock_wall(n->clock), stamp).p);
    buf_c(&b, "}}");
    writer_create(n->writer, who, kind_by_name(STR("coordination.k8s.io"), STR("Lease")),
                  str_of(lease_ns), buf_view(&b), on_ignored, NULL);
    buf_release(&b);
}

static void on_renewed(void *ctx, const struct write_result *r) {
    if (r->code == ERR_NOT_FOUND) {
        create_lease(ctx);
    }
}

void node_on_heartbeat(void *ctx) {
    struct node *n = ctx;
    char stamp[TIME_TEXT_MAX];
    struct buf b;

    buf_init(&b, 1 << 12);
    buf_f(&b, "{\"spec\":{\"renewTime\":\"%s\"}}", time_text_micro(clock_wall(n->clock), stamp).p);
    writer_patch(n->writer, who, kind_by_name(STR("coordination.k8s.io"), STR("Lease")),
                 str_of(lease_ns), str_of(n->name), "", PATCH_MERGE, buf_view(&b), on_renewed, n);
    buf_release(&b);
    node_publish(n); /* telemetry */
    n->clock->timer_start(n->heartbeat, HEARTBEAT_MS * NS_PER_MS);
}

void node_event(struct node *n, bool warning, const char *reason, const char *text) {
    char stamp[TIME_TEXT_MAX];
    int64_t now = clock_wall(n->clock);
    struct buf b;

    time_text(now, stamp);
    buf_init(&b, 1 << 14);
    buf_f(&b,
          "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"namespace\":\"default\","
          "\"name\":\"%.200s.%llx%02x\"}",
          n->name, (unsigned long long)now, (unsigned)(n->events++ & 0xff));
    buf_c(&b, ",\"involvedObject\":{\"apiVersion\":\"v1\",\"kind\":\"Node\"");
    add_text(&b, "name", n->name);
    add_text(&b, "uid", n->name);
    buf_f(&b, "},\"type\":\"%s\",\"count\":1", warning ? "Warning" : "Normal");
    add_text(&b, "reason", reason);
    add_text(&b, "message", text);
    add_text(&b, "firstTimestamp", stamp);
    add_text(&b, "lastTimestamp", stamp);
    buf_c(&b, ",\"source\":{\"component\":\"berth-node\"},\"reportingComponent\":\"berth-node\"");
    add_text(&b, "reportingInstance", n->name);
    buf_ch(&b, '}');
    writer_create(n->writer, who, core("Event"), STR("default"), buf_view(&b), on_ignored, NULL);
    buf_release(&b);
}
