/* webhooks: see webhooks.h. */
#include "api/webhooks.h"

#include <string.h>

#include "api/frameworks.h"

#define COUNT(a_) (sizeof(a_) / sizeof((a_)[0]))

/* How long a write waits for an answer; what may go on without one does not wait long. */
enum { FAIL_AFTER_S = 10, IGNORE_AFTER_S = 3 };

#define C WEBHOOK_CREATE
#define CU (WEBHOOK_CREATE | WEBHOOK_UPDATE)

#define MUTATE(name_, group_, dashed_, version_, kind_, plural_, ops_)                             \
    {                                                                                              \
        .name = "m" name_ ".berth.dev", .path = "/mutate-" dashed_ "-" version_ "-" kind_,         \
        .group = group_, .version = version_, .plural = plural_, .mutating = true, .ops = ops_     \
    }
#define VALIDATE(name_, group_, dashed_, version_, kind_, plural_)                                 \
    {                                                                                              \
        .name = "v" name_ ".berth.dev", .path = "/validate-" dashed_ "-" version_ "-" kind_,       \
        .group = group_, .version = version_, .plural = plural_, .ops = CU                         \
    }
#define BOTH(group_, dashed_, version_, kind_, plural_, ops_)                                      \
    MUTATE(kind_, group_, dashed_, version_, kind_, plural_, ops_),                                \
        VALIDATE(kind_, group_, dashed_, version_, kind_, plural_)

/* Of rows of api/frameworks.h. */
#define ON_CREATE(id_, name_, group_, dashed_, kind_, singular_, plural_, version_, ...)           \
    BOTH(group_, dashed_, version_, singular_, plural_, C),
#define ON_BOTH(id_, name_, group_, dashed_, kind_, singular_, plural_, version_, ...)             \
    BOTH(group_, dashed_, version_, singular_, plural_, CU),

#define QUEUE_MUTATE(kind_, plural_)                                                               \
    {                                                                                              \
        .name = "m" kind_ ".berth.dev", .path = "/mutate-kueue-x-k8s-io-v1beta2-" kind_,           \
        .group = "kueue.x-k8s.io", .version = "v1beta2", .plural = plural_, .mutating = true,      \
        .own_kind = true, .ops = C                                                                 \
    }
#define QUEUE_VALIDATE(kind_, plural_, status_)                                                    \
    {                                                                                              \
        .name = "v" kind_ ".berth.dev", .path = "/validate-kueue-x-k8s-io-v1beta2-" kind_,         \
        .group = "kueue.x-k8s.io", .version = "v1beta2", .plural = plural_, .status = status_,     \
        .own_kind = true, .ops = CU                                                                \
    }

#define BOOKING(kind_, plural_)                                                                    \
    {.name = "m" kind_ ".berth.dev",                                                               \
     .path = "/mutate-berth-dev-v1alpha1-" kind_,                                                  \
     .group = "berth.dev",                                                                         \
     .version = "v1alpha1",                                                                        \
     .plural = plural_,                                                                            \
     .mutating = true,                                                                             \
     .own_kind = true,                                                                             \
     .ops = CU},                                                                                   \
    {                                                                                              \
        .name = "v" kind_ ".berth.dev", .path = "/validate-berth-dev-v1alpha1-" kind_,             \
        .group = "berth.dev", .version = "v1alpha1", .plural = plural_, .own_kind = true,          \
        .ops = CU | WEBHOOK_DELETE                                                                 \
    }

static const struct webhook rows[] = {
    QUEUE_MUTATE("clusterqueue", "clusterqueues"),
    QUEUE_MUTATE("resourceflavor", "resourceflavors"),
    QUEUE_MUTATE("workload", "workloads"),
    QUEUE_VALIDATE("clusterqueue", "clusterqueues", false),
    QUEUE_VALIDATE("cohort", "cohorts", false),
    QUEUE_VALIDATE("localqueue", "localqueues", false),
    QUEUE_VALIDATE("resourceflavor", "resourceflavors", false),
    QUEUE_VALIDATE("workload", "workloads", true),
    QUEUE_VALIDATE("workloadpriorityclass", "workloadpriorityclasses", false),
    QUEUE_VALIDATE("admissioncheck", "admissionchecks", false),
    QUEUE_VALIDATE("topology", "topologies", false),
    BOOKING("reservation", "reservations"),
    BOOKING("reservationseries", "reservationseries"),
    BOOKING("calendarfeed", "calendarfeeds"),
    BOOKING("modelkey", "modelkeys"),
    FRAMEWORKS_POD(ON_CREATE) FRAMEWORKS_SETS(ON_BOTH) FRAMEWORKS_GROUPS(ON_BOTH)
        FRAMEWORKS_BATCH(ON_CREATE) FRAMEWORKS_JOBS(ON_CREATE)};

const struct webhook *webhooks_all(size_t *ret_n) {
    *ret_n = COUNT(rows);
    return rows;
}

const struct webhook *webhook_by_path(struct str path) {
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (str_is(path, rows[i].path)) {
            return &rows[i];
        }
    }
    return NULL;
}

static void write_rule(const struct webhook *w, struct buf *out) {
    static const char *const names[] = {"CREATE", "UPDATE", "DELETE"};
    buf_f(out,
          "  rules:\n"
          "  - apiGroups: [\"%s\"]\n"
          "    apiVersions: [%s]\n"
          "    resources: [%s%s%s%s]\n"
          "    operations: [",
          w->group, w->version, w->plural, w->status ? ", " : "", w->status ? w->plural : "",
          w->status ? "/status" : "");
    const char *comma = "";
    for (size_t i = 0; i < COUNT(names); i++) {
        if (w->ops & 1U << i) {
            buf_f(out, "%s%s", comma, names[i]);
            comma = ", ";
        }
    }
    buf_c(out, "]\n");
}

/* Objects by whether they are queued: those that are may not be made without us, the others may. A selector's
 * expressions all hold, so one webhook becomes several. */
struct webhook_share {
    const char *suffix;            /* of its name */
    const char *with, *without[3]; /* labels */
    const char *condition;         /* CEL, or NULL */
    bool ignore, pods;             /* failurePolicy Ignore; of pods alone */
};

#define QUEUE "kueue.x-k8s.io/queue-name"
#define MANAGED "kueue.x-k8s.io/managed"
#define GROUP "kueue.x-k8s.io/pod-group-name"
/* Only an annotation says that a pod of a StatefulSet waits. */
#define HAS_PARENT                                                                                 \
    "has(object.metadata.annotations) && "                                                         \
    "'kueue.x-k8s.io/pod-suspending-parent' in object.metadata.annotations"

static const struct webhook_share shares[] = {
    {.suffix = "", .with = QUEUE},
    {.suffix = "-managed", .with = MANAGED, .without = {QUEUE}, .pods = true},
    {.suffix = "-group", .with = GROUP, .without = {QUEUE, MANAGED}, .pods = true},
    {.suffix = "-parent",
     .without = {QUEUE, MANAGED, GROUP},
     .condition = HAS_PARENT,
     .pods = true},
    {.suffix = "-unqueued", .without = {QUEUE}, .ignore = true},
};
static const struct webhook_share pods_unqueued = {.suffix = "-unqueued",
                                                   .without = {QUEUE, MANAGED, GROUP},
                                                   .condition = "!(" HAS_PARENT ")",
                                                   .ignore = true,
                                                   .pods = true};

/* The share of this webhook that shares[i] is; NULL: it has none. What is not queued has no rules. */
static const struct webhook_share *share_of(const struct webhook *w, size_t i) {
    const struct webhook_share *s = &shares[i];
    bool pods = strcmp(w->plural, "pods") == 0;
    if (w->own_kind) {
        return i == 0 ? s : NULL;
    }
    if (!w->mutating && (s->ignore || s->condition)) {
        return NULL;
    }
    return s->ignore && pods ? &pods_unqueued : s->pods && !pods ? NULL : s;
}

static void write_condition(const char *name, const char *text, struct buf *out) {
    buf_f(out, "  matchConditions:\n  - name: %s\n    expression: \"%s\"\n", name, text);
}

static void write_share(const struct webhook_share *s, struct str ns, struct buf *out) {
    buf_f(out,
          "  namespaceSelector:\n"
          "    matchExpressions:\n"
          "    - key: kubernetes.io/metadata.name\n"
          "      operator: NotIn\n"
          "      values: [kube-system, %.*s]\n"
          "  objectSelector:\n"
          "    matchExpressions:\n",
          STR_ARG(ns));
    if (s->with) {
        buf_f(out, "    - {key: %s, operator: Exists}\n", s->with);
    }
    for (size_t i = 0; i < 3 && s->without[i]; i++) {
        buf_f(out, "    - {key: %s, operator: DoesNotExist}\n", s->without[i]);
    }
    if (s->condition) {
        write_condition(s->ignore ? "no-parent" : "parent", s->condition, out);
    }
}

static void write_webhook(const struct webhook *w, const struct webhook_share *s, struct str ns,
                          struct buf *out) {
    buf_f(out,
          "- name: %.*s%s.berth.dev\n"
          "  admissionReviewVersions: [v1]\n"
          "  clientConfig:\n"
          "    service: {name: " WEBHOOK_SERVICE ", namespace: %.*s, port: 443, path: %s}\n"
          "  failurePolicy: %s\n"
          "  matchPolicy: Equivalent\n"
          "  sideEffects: None\n"
          "  timeoutSeconds: %d\n",
          (int)strcspn(w->name, "."), w->name, s->suffix, STR_ARG(ns), w->path,
          s->ignore ? "Ignore" : "Fail", s->ignore ? IGNORE_AFTER_S : FAIL_AFTER_S);
    if (w->own_kind) {
        /* Every status of every Workload would come back to who wrote it. */
        buf_f(out,
              "  matchConditions:\n"
              "  - name: not-by-berth\n"
              "    expression: request.userInfo.username != "
              "'system:serviceaccount:%.*s:berth-controller'\n",
              STR_ARG(ns));
    } else {
        write_share(s, ns, out);
    }
    write_rule(w, out);
}

static void write_all(bool mutating, struct str ns, struct buf *out) {
    buf_f(out,
          "---\n"
          "apiVersion: admissionregistration.k8s.io/v1\n"
          "kind: %sWebhookConfiguration\n"
          "metadata:\n"
          "  name: " WEBHOOK_CONFIGURATION "\n"
          "  labels:\n"
          "    app.kubernetes.io/name: berth\n"
          "    app.kubernetes.io/component: controller\n"
          "webhooks:\n",
          mutating ? "Mutating" : "Validating");
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t k = 0; rows[i].mutating == mutating && k < COUNT(shares); k++) {
            const struct webhook_share *s = share_of(&rows[i], k);
            if (s) {
                write_webhook(&rows[i], s, ns, out);
            }
        }
    }
}

void webhooks_write(struct str ns, struct buf *out) {
    write_all(true, ns, out);
    write_all(false, ns, out);
}
