/*
 * manifest_rbac: what Berth may do on a cluster, and the roles for those who administer and use its queues.
 *
 * The rules are those that controllers, webhooks and leader election need, and nothing more: objects of others are read
 * and patched, never replaced; only Workloads are made and deleted, pods deleted where their group is evicted, and jobs
 * where the Configuration says for how long deactivated ones are kept.
 */
#include "api/manifests/manifest.h"
#include "api/schema/kind.h"
#include "api/webhooks.h"

struct manifest_rule {
    const char *group, *resources, *verbs; /* as they stand in a YAML list */
    const char *names;                     /* NULL: all */
};

#define READ "get, list, watch"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct manifest_rule manager_rules[] = {
    {"", "limitranges, namespaces, nodes", READ, NULL},
    {"", "events", "create, patch", NULL},
    {"", "pods", READ ", patch, delete", NULL},
    {"", "pods/status", "patch", NULL},
    {"", "pods/finalizers", "update", NULL},
    {"node.k8s.io", "runtimeclasses", READ, NULL},
    {"resource.k8s.io", "resourceclaimtemplates", READ, NULL},
    {"scheduling.k8s.io", "priorityclasses", READ, NULL},
    {"apps", "deployments, replicasets", READ, NULL},
    {"apps", "controllerrevisions", READ ", create, delete", NULL},
    {"apps", "statefulsets", READ ", patch", NULL},
    {"batch", "jobs", READ ", patch, delete", NULL}, /* deactivated ones are kept for so long */
    {"batch", "jobs/status", "patch", NULL},
    {"batch", "jobs/finalizers", "update", NULL},
    {"trainer.kubeflow.org", "trainingruntimes, clustertrainingruntimes", READ, NULL},
    {"kueue.x-k8s.io", "workloads", READ ", create, patch, delete", NULL},
    {"kueue.x-k8s.io", "clusterqueues, localqueues, cohorts, resourceflavors, admissionchecks",
     READ ", patch", NULL},
    {"kueue.x-k8s.io", "topologies, workloadpriorityclasses", READ, NULL},
    {"kueue.x-k8s.io",
     "workloads/status, clusterqueues/status, localqueues/status, cohorts/status, "
     "admissionchecks/status",
     "patch", NULL},
    {"kueue.x-k8s.io", "workloads/finalizers, clusterqueues/finalizers, resourceflavors/finalizers",
     "update", NULL},
    {"berth.dev", "reservations", READ ", create, patch, delete", NULL},
    {"berth.dev", "reservationpolicies", READ ", create", NULL},
    {"berth.dev", "capacitywindows, reservationseries, calendarfeeds", READ ", patch", NULL},
    {"berth.dev",
     "reservations/status, capacitywindows/status, reservationseries/status, calendarfeeds/status",
     "patch", NULL},
    {"berth.dev", "reservations/finalizers, reservationseries/finalizers", "update", NULL},
    /* Made for bookings. */
    {"kueue.x-k8s.io", "clusterqueues, localqueues", "create, delete", NULL},
    {"kueue.x-k8s.io", "cohorts", "create", NULL},
    {"infrastructure.opendatahub.io", "hardwareprofiles", READ ", create, patch, delete", NULL},
};
/* Only where Berth serves models: the objects of a service. */
static const struct manifest_rule serving_rules[] = {
    {"serving.kserve.io",
     "inferenceservices, llminferenceservices, servingruntimes, clusterservingruntimes", READ,
     NULL},
    {"serving.kserve.io", "inferenceservices/status, llminferenceservices/status", "patch", NULL},
    {"serving.kserve.io", "inferenceservices/finalizers, llminferenceservices/finalizers", "update",
     NULL},
    {"apps", "deployments", READ ", create, patch, delete", NULL},
    {"", "services", READ ", create, patch, delete", NULL},
    {"apps", "replicasets", READ, NULL},
    {"", "pods", READ, NULL},
    {"kueue.x-k8s.io", "workloads", READ, NULL},
    {"infrastructure.opendatahub.io", "hardwareprofiles", READ, NULL},
    {"apiextensions.k8s.io", "customresourcedefinitions", READ, NULL},
};
/* Only with webhooks: their certificate is made known to the API server. */
static const struct manifest_rule webhook_rules[] = {
    {"admissionregistration.k8s.io",
     "mutatingwebhookconfigurations, validatingwebhookconfigurations", READ, NULL},
    {"admissionregistration.k8s.io",
     "mutatingwebhookconfigurations, validatingwebhookconfigurations", "patch",
     WEBHOOK_CONFIGURATION},
};
/* In Berth's own namespace. */
static const struct manifest_rule own_rules[] = {
    {"coordination.k8s.io", "leases", "create", NULL},
    {"coordination.k8s.io", "leases", READ ", update, patch", "berth-controller"},
    {"", "secrets", "create, list, watch", NULL},
    {"", "secrets", "get, patch", WEBHOOK_SECRET},
};
static const struct manifest_rule admin_rules[] = {
    {"kueue.x-k8s.io",
     "admissionchecks, clusterqueues, cohorts, localqueues, resourceflavors, topologies, "
     "workloads, "
     "workloadpriorityclasses",
     READ ", create, update, patch, delete, deletecollection", NULL},
    {"kueue.x-k8s.io", "clusterqueues/status, cohorts/status, localqueues/status, workloads/status",
     "get", NULL},
};
static const struct manifest_rule user_rules[] = {
    {"kueue.x-k8s.io", "localqueues, workloads", READ, NULL},
    {"kueue.x-k8s.io", "localqueues/status, workloads/status", "get", NULL},
};
/* Bookings: who may read a project sees its own, who may change it makes them. When things are taken, but not by whom,
 * is for everybody who signs in. */
static const struct manifest_rule booking_view_rules[] = {
    {"berth.dev", "reservations, reservationseries", READ, NULL},
    {"berth.dev", "reservations/status, reservationseries/status", "get", NULL},
    {"infrastructure.opendatahub.io", "hardwareprofiles", READ, NULL},
};
static const struct manifest_rule booking_user_rules[] = {
    {"berth.dev", "reservations, reservationseries, calendarfeeds",
     READ ", create, update, patch, delete, deletecollection", NULL},
    {"berth.dev", "calendarfeeds/status", "get", NULL},
    {"berth.dev", "reservationchecks", "create", NULL},
};
static const struct manifest_rule booking_manager_rules[] = {
    {"berth.dev", "reservations/approve, reservations/manage, reservations/onbehalf", "update",
     NULL},
    {"infrastructure.opendatahub.io", "hardwareprofiles",
     READ ", create, update, patch, delete, deletecollection", NULL},
};
static const struct manifest_rule booking_admin_rules[] = {
    {"berth.dev",
     "reservations, reservationpolicies, capacitywindows, reservationseries, calendarfeeds",
     READ ", create, update, patch, delete, deletecollection", NULL},
    {"berth.dev",
     "reservations/status, capacitywindows/status, reservationseries/status, calendarfeeds/status",
     "get", NULL},
    {"berth.dev", "reservationchecks", "create", NULL},
    {"berth.dev", "reservations/approve, reservations/manage, reservations/onbehalf", "update",
     NULL},
};
/* Keys of models, and the right to use a project's models by a token. */
static const struct manifest_rule model_view_rules[] = {
    {"berth.dev", "modelkeys", READ, NULL},
    {"berth.dev", "modelkeys/status", "get", NULL},
};
static const struct manifest_rule model_user_rules[] = {
    {"berth.dev", "modelkeys", READ ", create, update, patch, delete, deletecollection", NULL},
    {"berth.dev", "models", "use", NULL},
};
static const struct manifest_rule calendar_rules[] = {
    {"berth.dev",
     "availabilities, capacitywindows, catalogmodels, reservationpolicies, fleets, fleethistories",
     READ, NULL},
    {"kueue.x-k8s.io", "workloadpriorityclasses", READ, NULL}, /* who has work chooses among them */
};

static void write_rule(struct buf *b, const struct manifest_rule *r) {
    buf_f(b, "- apiGroups: [\"%s\"]\n  resources: [%s]\n", r->group, r->resources);
    if (r->names) {
        buf_f(b, "  resourceNames: [%s]\n", r->names);
    }
    buf_f(b, "  verbs: [%s]\n", r->verbs);
}

static void write_rules(struct buf *b, const struct manifest_rule *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        write_rule(b, &v[i]);
    }
}

/* Kinds of other projects whose jobs are queued, which are those that webhooks ask about: read, suspended, resumed, and
 * deleted when they were deactivated for long enough (objectRetentionPolicies). */
static void write_foreign(struct buf *b) {
    static const char *const own[] = {"", "apps", "batch"}; /* in the rules above */
    size_t n;
    const struct webhook *w = webhooks_all(&n);
    for (size_t i = 0; i < n; i++) {
        bool listed = !w[i].mutating || w[i].own_kind;
        for (size_t k = 0; k < COUNT(own); k++) {
            listed = listed || strcmp(w[i].group, own[k]) == 0;
        }
        if (!listed) {
            const char *p = w[i].plural;
            buf_f(b, "- apiGroups: [%s]\n  resources: [%s]\n  verbs: [" READ ", patch, delete]\n",
                  w[i].group, p);
            buf_f(b, "- apiGroups: [%s]\n  resources: [%s/status, %s/finalizers]\n", w[i].group, p,
                  p);
            buf_c(b, "  verbs: [get, patch, update]\n");
        }
    }
}

/* The definitions themselves are watched, so that kinds may come later; ours are told the webhook's certificate. */
static void write_definitions(struct buf *b, const struct manifest_options *o) {
    size_t n, m = 0;
    const struct kind *const *kinds = kinds_builtin(&n);
    buf_c(b, "- apiGroups: [apiextensions.k8s.io]\n  resources: [customresourcedefinitions]\n"
             "  verbs: [" READ "]\n");
    if (!o->webhooks) {
        return;
    }
    buf_c(b, "- apiGroups: [apiextensions.k8s.io]\n  resources: [customresourcedefinitions]\n"
             "  resourceNames: [");
    for (size_t i = 0; i < n; i++) {
        if (manifest_defines(kinds[i])) {
            buf_f(b, "%s%s.%s", m++ ? ", " : "", kinds[i]->plural, kinds[i]->group);
        }
    }
    buf_c(b, "]\n  verbs: [patch]\n");
}

static void write_role(struct buf *b, const char *kind, const char *name, const char *more) {
    buf_f(b,
          "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata:\n  name: %s\n%s"
          "  labels:\n    app.kubernetes.io/name: berth\n",
          kind, name, more);
}

static void write_booking(struct buf *b) {
#define AGGREGATE(to_) "    rbac.authorization.k8s.io/aggregate-to-" to_ ": \"true\"\n"
    static const struct {
        const char *name, *labels;
        const struct manifest_rule *rules;
        size_t n;
    } roles[] = {
        {"berth-booking-viewer", AGGREGATE("view"), booking_view_rules, COUNT(booking_view_rules)},
        {"berth-booking-user", AGGREGATE("edit"), booking_user_rules, COUNT(booking_user_rules)},
        {"berth-booking-manager", AGGREGATE("admin"), booking_manager_rules,
         COUNT(booking_manager_rules)},
        {"berth-booking-admin", "", booking_admin_rules, COUNT(booking_admin_rules)},
        {"berth-model-viewer", AGGREGATE("view"), model_view_rules, COUNT(model_view_rules)},
        {"berth-model-user", AGGREGATE("edit"), model_user_rules, COUNT(model_user_rules)},
        {"berth-calendar", "", calendar_rules, COUNT(calendar_rules)},
    };
    for (size_t i = 0; i < COUNT(roles); i++) {
        write_role(b, "ClusterRole", roles[i].name, "");
        buf_f(b, "%srules:\n", roles[i].labels);
        write_rules(b, roles[i].rules, roles[i].n);
    }
    write_role(b, "ClusterRoleBinding", "berth-calendar", "");
    buf_c(b, "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "
             "berth-calendar}\nsubjects:\n- {apiGroup: rbac.authorization.k8s.io, kind: Group, "
             "name: \"system:authenticated\"}\n");
}

static const char account[] = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n"
                              "  name: berth-controller\n  namespace: @ns@\n"
                              "  labels:\n    app.kubernetes.io/name: berth\n";
static const char bindings[] =
    "---\n"
    "apiVersion: rbac.authorization.k8s.io/v1\n"
    "kind: ClusterRoleBinding\n"
    "metadata:\n"
    "  name: berth-manager\n"
    "  labels:\n"
    "    app.kubernetes.io/name: berth\n"
    "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: berth-manager}\n"
    "subjects:\n"
    "- {kind: ServiceAccount, name: berth-controller, namespace: @ns@}\n"
    "---\n"
    "apiVersion: rbac.authorization.k8s.io/v1\n"
    "kind: RoleBinding\n"
    "metadata:\n"
    "  name: berth-own\n"
    "  namespace: @ns@\n"
    "  labels:\n"
    "    app.kubernetes.io/name: berth\n"
    "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: berth-own}\n"
    "subjects:\n"
    "- {kind: ServiceAccount, name: berth-controller, namespace: @ns@}\n";

void manifest_serving_role(const struct manifest_options *o, struct buf *out) {
    write_role(out, "ClusterRole", "berth-serving", "");
    buf_c(out, "rules:\n");
    write_rules(out, serving_rules, COUNT(serving_rules));
    write_role(out, "ClusterRoleBinding", "berth-serving", "");
    manifest_fill(out,
                  "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "
                  "berth-serving}\nsubjects:\n- {kind: ServiceAccount, name: berth-controller, "
                  "namespace: @ns@}\n",
                  o);
}

int manifest_rbac(const struct manifest_options *o, struct buf *out, struct err *err) {
    manifest_fill(out, account, o);
    write_role(out, "ClusterRole", "berth-manager", "");
    buf_c(out, "rules:\n");
    write_rules(out, manager_rules, COUNT(manager_rules));
    write_foreign(out);
    write_definitions(out, o);
    if (o->webhooks) {
        write_rules(out, webhook_rules, COUNT(webhook_rules));
    }
    buf_c(out, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: "
               "berth-own\n");
    manifest_fill(out, "  namespace: @ns@\n  labels:\n    app.kubernetes.io/name: berth\nrules:\n",
                  o);
    write_rules(out, own_rules, COUNT(own_rules) - (o->webhooks ? 0 : 2));
    manifest_fill(out, bindings, o);
    write_role(out, "ClusterRole", "berth-batch-admin", "");
    buf_c(out, "rules:\n");
    write_rules(out, admin_rules, COUNT(admin_rules));
    write_role(out, "ClusterRole", "berth-batch-user", "");
    buf_c(out, "    rbac.authorization.k8s.io/aggregate-to-edit: \"true\"\n"
               "    rbac.authorization.k8s.io/aggregate-to-view: \"true\"\nrules:\n");
    write_rules(out, user_rules, COUNT(user_rules));
    write_booking(out);
    return buf_ok(out) ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}
