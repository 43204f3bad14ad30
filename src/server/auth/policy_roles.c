/*
 * policy_roles: the default ClusterRoles and bindings. See policy_roles.h.
 *
 * view, edit and admin are aggregated, as in Kubernetes: each is the union of the roles that carry its label, and each
 * larger one takes the smaller one in. A kind of a new group is opened to them by one more role with a label.
 *
 * Lists are words between blanks; "core" is the group without a name.
 */
#include "server/auth/policy_roles.h"

#include "base/buf.h"

#define READ "get list watch"
#define CHANGE "create delete deletecollection patch update"
#define SET "patch update"
#define SERVED "inferenceservices llminferenceservices servingruntimes"
#define INFERENCE                                                                                  \
    "inference.networking.k8s.io inference.networking.x-k8s.io",                                   \
        "inferencepools inferenceobjectives"
#define KEDA "clustertriggerauthentications triggerauthentications"
#define HEALTH "/healthz /livez /readyz /version /version/"

struct role_rule {
    const char *groups, *resources; /* or paths, and no groups */
    const char *verbs;              /* NULL ends a list of rules */
};

static const struct role_rule everything[] = {{"*", "*", "*"}, {NULL, "*", "*"}, {0}};

static const struct role_rule discovery[] = {
    {NULL, "/api /api/* /apis /apis/* /openapi /openapi/* " HEALTH, "get"},
    {0},
};
static const struct role_rule public_info[] = {{NULL, HEALTH, "get"}, {0}};
static const struct role_rule basic_user[] = {
    {"authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", "create"},
    {"authentication.k8s.io", "selfsubjectreviews", "create"},
    {0},
};
static const struct role_rule monitoring[] = {{NULL, "/metrics /metrics/* " HEALTH, "get"}, {0}};
static const struct role_rule issuer[] = {
    {NULL, "/.well-known/openid-configuration /openid/v1/jwks /openid/v1/jwks/", "get"},
    {0},
};

static const struct role_rule view[] = {
    {"core",
     "configmaps endpoints events limitranges namespaces namespaces/status persistentvolumeclaims "
     "persistentvolumeclaims/status pods pods/log pods/status podtemplates replicationcontrollers "
     "replicationcontrollers/scale replicationcontrollers/status resourcequotas "
     "resourcequotas/status serviceaccounts services services/status",
     READ},
    {"apps",
     "controllerrevisions daemonsets daemonsets/status deployments deployments/scale "
     "deployments/status replicasets replicasets/scale replicasets/status statefulsets "
     "statefulsets/scale statefulsets/status",
     READ},
    {"autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status", READ},
    {"batch", "cronjobs cronjobs/status jobs jobs/status", READ},
    {"discovery.k8s.io", "endpointslices", READ},
    {"events.k8s.io", "events", READ},
    {"networking.k8s.io", "ingresses ingresses/status", READ},
    {"policy", "poddisruptionbudgets poddisruptionbudgets/status", READ},
    {"metrics.k8s.io", "nodes pods", READ},
    {0},
};
static const struct role_rule edit[] = {
    {"core", "secrets pods/attach pods/exec pods/portforward pods/proxy services/proxy", READ},
    {"core",
     "configmaps endpoints persistentvolumeclaims pods podtemplates replicationcontrollers "
     "replicationcontrollers/scale secrets serviceaccounts services",
     CHANGE},
    {"core", "pods/attach pods/exec pods/portforward pods/proxy", CHANGE},
    {"core", "pods/ephemeralcontainers", "get patch update"},
    {"core", "events", "create " SET},
    {"core", "pods/eviction serviceaccounts/token", "create"},
    {"core", "serviceaccounts", "impersonate"},
    {"apps",
     "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale "
     "statefulsets statefulsets/scale",
     CHANGE},
    {"autoscaling", "horizontalpodautoscalers", CHANGE},
    {"batch", "cronjobs jobs", CHANGE},
    {"networking.k8s.io", "ingresses", CHANGE},
    {"policy", "poddisruptionbudgets", CHANGE},
    {0},
};
static const struct role_rule storage_view[] = {
    {"snapshot.storage.k8s.io", "volumesnapshots volumesnapshots/status", READ},
    {0},
};
static const struct role_rule storage_edit[] = {
    {"snapshot.storage.k8s.io", "volumesnapshots", CHANGE},
    {0},
};
/* Who makes claims and snapshots chooses among them. */
static const struct role_rule storage_classes[] = {
    {"storage.k8s.io", "storageclasses", READ},
    {"snapshot.storage.k8s.io", "volumesnapshotclasses", READ},
    {0},
};
static const struct role_rule admin[] = {
    {"authorization.k8s.io", "localsubjectaccessreviews", "create"},
    {"rbac.authorization.k8s.io", "rolebindings roles", READ " " CHANGE},
    {0},
};
static const struct role_rule berth_view[] = {
    {"kueue.x-k8s.io", "localqueues localqueues/status workloads workloads/status", READ},
    {"visibility.kueue.x-k8s.io", "localqueues/pendingworkloads", READ},
    {"berth.dev",
     "reservations reservations/status reservationseries reservationseries/status "
     "workloadexplanations",
     READ},
    {"infrastructure.opendatahub.io", "hardwareprofiles", READ},
    {"keda.sh", KEDA, READ},
    {"serving.kserve.io", SERVED " inferenceservices/status llminferenceservices/status", READ},
    {INFERENCE, READ},
    {0},
};
/* The address of a feed is a secret: who has it can read the calendar. */
static const struct role_rule berth_edit[] = {
    {"kueue.x-k8s.io", "workloads", CHANGE},
    {"berth.dev", "reservations reservationseries", CHANGE},
    {"berth.dev", "calendarfeeds", READ " " CHANGE},
    {"berth.dev", "calendarfeeds/status", READ},
    {"berth.dev", "reservationchecks", "create"},
    {"keda.sh", KEDA, CHANGE},
    {"serving.kserve.io", SERVED, CHANGE},
    {INFERENCE, CHANGE},
    {0},
};
static const struct role_rule berth_admin[] = {
    {"kueue.x-k8s.io", "localqueues", CHANGE},
    {"berth.dev", "reservations/approve reservations/manage reservations/onbehalf", "update"},
    {"infrastructure.opendatahub.io", "hardwareprofiles", CHANGE},
    {0},
};
/* Keys of models show no secret. Who may change a project makes and revokes its keys, and may use its models by a token
 * as well (models is no kind, it exists for this right alone). */
static const struct role_rule models_view[] = {
    {"berth.dev", "modelkeys modelkeys/status", READ},
    {0},
};
static const struct role_rule models_edit[] = {
    {"berth.dev", "modelkeys", CHANGE},
    {"berth.dev", "models", "use"},
    {0},
};
/* What the gateway reads to find models, keys and their limits; it reads no Secret, and writes when a key was used and
 * how many replicas a Deployment has. */
static const struct role_rule gateway[] = {
    {"core", "namespaces services", READ},
    {"discovery.k8s.io", "endpointslices", READ},
    {"apps", "deployments", READ},
    {"apps", "deployments/scale", "patch"},
    {"serving.kserve.io", "inferenceservices llminferenceservices", READ},
    {"berth.dev", "modelkeys", READ},
    {"berth.dev", "modelkeys/status", "patch"},
    {"authentication.k8s.io", "tokenreviews", "create"},
    {"authorization.k8s.io", "subjectaccessreviews", "create"},
    {0},
};
static const struct role_rule berth_calendar[] = {
    {"berth.dev",
     "availabilities capacitywindows catalogmodels reservationpolicies fleets fleethistories",
     READ},
    {"kueue.x-k8s.io", "workloadpriorityclasses", READ},   /* who has work chooses among them */
    {"serving.kserve.io", "clusterservingruntimes", READ}, /* and who has a model */
    {0},
};
/* No "*": what mints bearer tokens (tokens) is in the same group, and who writes a status of it decides. */
static const struct role_rule booking_admin[] = {
    {"berth.dev",
     "calendarfeeds capacitywindows reservationpolicies reservations reservationseries",
     READ " " CHANGE},
    {"berth.dev",
     "availabilities calendarfeeds/status capacitywindows/status fleethistories fleets "
     "reservationpolicies/status reservations/status reservationseries/status "
     "workloadexplanations",
     READ},
    {"berth.dev", "queuepreviews reservationchecks", "create"},
    {"berth.dev", "reservations/approve reservations/manage reservations/onbehalf", "update"},
    {"infrastructure.opendatahub.io", "hardwareprofiles", READ " " CHANGE},
    {"core", "namespaces nodes nodes/status", READ},
    {0},
};

static const struct role_rule queue_admin[] = {
    {"kueue.x-k8s.io", "*", READ " " CHANGE},
    {"berth.dev", "workloadexplanations", READ},
    {"berth.dev", "queuepreviews", "create"},
    {"visibility.kueue.x-k8s.io", "clusterqueues/pendingworkloads localqueues/pendingworkloads",
     READ},
    {"scheduling.k8s.io", "priorityclasses", READ " " CHANGE},
    {"kueue.x-k8s.io scheduling.k8s.io", "priorityclasses workloadpriorityclasses", "use"},
    {"core", "namespaces nodes nodes/status", READ},
    {0},
};
static const struct role_rule queue_viewer[] = {
    {"kueue.x-k8s.io",
     "clusterqueues clusterqueues/status cohorts cohorts/status resourceflavors topologies "
     "workloadpriorityclasses",
     READ},
    {"visibility.kueue.x-k8s.io", "clusterqueues/pendingworkloads", READ},
    {"core", "nodes", READ},
    {"scheduling.k8s.io", "priorityclasses", READ},
    {0},
};

/* policy_node.c narrows it to one node, its pods and what they name. */
static const struct role_rule node[] = {
    {"core", "nodes", READ " create delete " SET},
    {"core", "nodes/status pods/status", SET},
    {"core", "pods", READ " delete patch"},
    {"core", "configmaps secrets", "get"},
    {"core", "serviceaccounts/token", "create"},
    {"core", "namespaces services", READ},
    {"discovery.k8s.io", "endpointslices", READ},
    {"networking.k8s.io", "networkpolicies", READ},
    {"core events.k8s.io", "events", "create " SET},
    {"coordination.k8s.io", "leases", "get create delete " SET},
    {"core", "persistentvolumeclaims", "get"},
    {"core", "persistentvolumes", READ " patch"},
    {"snapshot.storage.k8s.io", "volumesnapshotcontents", READ " patch"},
    {"snapshot.storage.k8s.io", "volumesnapshotcontents/status", SET},
    {0},
};
/* No "*" of berth.dev, nor Secrets: whoever runs controllers has no tokens to give or to take. */
static const struct role_rule controllers[] = {
    {"core", "configmaps endpoints limitranges namespaces nodes pods serviceaccounts services",
     READ},
    {"core", "pods", CHANGE},
    {"core", "pods/binding pods/eviction pods/status", "create " SET},
    {"core", "namespaces namespaces/finalize namespaces/status nodes nodes/status", SET},
    {"core events.k8s.io", "events", "create " SET},
    {"apps", "deployments replicasets statefulsets", READ},
    {"apps", "statefulsets", "patch"},
    {"batch", "jobs jobs/finalizers jobs/status", READ " delete " SET},
    {"discovery.k8s.io", "endpointslices", READ},
    {"kueue.x-k8s.io", "*", READ " " CHANGE},
    {"berth.dev",
     "calendarfeeds capacitywindows reservationpolicies reservations reservationseries",
     READ " " CHANGE},
    {"berth.dev",
     "calendarfeeds/status capacitywindows/status reservations/finalizers reservations/status "
     "reservationseries/finalizers reservationseries/status",
     SET},
    {"infrastructure.opendatahub.io", "hardwareprofiles", READ " " CHANGE},
    {"coordination.k8s.io", "leases", READ " create " SET},
    {"node.k8s.io scheduling.k8s.io", "*", READ},
    {"core", "persistentvolumeclaims persistentvolumes", READ " " CHANGE},
    {"core", "persistentvolumeclaims/status persistentvolumes/status", SET},
    {"storage.k8s.io", "storageclasses", READ},
    {"snapshot.storage.k8s.io", "volumesnapshotclasses volumesnapshotcontents volumesnapshots",
     READ " " CHANGE},
    {"snapshot.storage.k8s.io", "volumesnapshotcontents/status volumesnapshots/status", SET},
    {0},
};

static const struct role {
    const char *name;
    const struct role_rule *rules;
    const char *into; /* the label that aggregates it into a larger role */
    const char *from; /* the label it aggregates */
} roles[] = {
    {"cluster-admin", everything, NULL, NULL},
    {"system:discovery", discovery, NULL, NULL},
    {"system:public-info-viewer", public_info, NULL, NULL},
    {"system:basic-user", basic_user, NULL, NULL},
    {"system:monitoring", monitoring, NULL, NULL},
    {"system:service-account-issuer-discovery", issuer, NULL, NULL},
    {"admin", NULL, NULL, "admin"},
    {"edit", NULL, "admin", "edit"},
    {"view", NULL, "edit", "view"},
    {"system:aggregate-to-admin", admin, "admin", NULL},
    {"system:aggregate-to-edit", edit, "edit", NULL},
    {"system:aggregate-to-view", view, "view", NULL},
    {"berth:aggregate-to-admin", berth_admin, "admin", NULL},
    {"berth:aggregate-to-edit", berth_edit, "edit", NULL},
    {"berth:aggregate-to-view", berth_view, "view", NULL},
    {"berth:storage:aggregate-to-edit", storage_edit, "edit", NULL},
    {"berth:storage:aggregate-to-view", storage_view, "view", NULL},
    {"berth:models:aggregate-to-edit", models_edit, "edit", NULL},
    {"berth:models:aggregate-to-view", models_view, "view", NULL},
    {"berth:storage-classes", storage_classes, NULL, NULL},
    {"berth:queue-admin", queue_admin, NULL, NULL},
    {"berth:queue-viewer", queue_viewer, NULL, NULL},
    {"berth:booking-admin", booking_admin, NULL, NULL},
    {"berth:calendar", berth_calendar, NULL, NULL},
    {"system:node", node, NULL, NULL},
    {"system:berth-controllers", controllers, NULL, NULL},
    {"system:berth-gateway", gateway, NULL, NULL},
};

static const struct binding {
    const char *role; /* and the binding's own name */
    const char *groups;
} bindings[] = {
    {"cluster-admin", "system:masters"},
    {"system:discovery", "system:authenticated"},
    {"system:basic-user", "system:authenticated"},
    {"berth:calendar", "system:authenticated"},
    {"berth:storage-classes", "system:authenticated"},
    {"system:public-info-viewer", "system:authenticated system:unauthenticated"},
    {"system:monitoring", "system:monitoring"},
    {"system:service-account-issuer-discovery", "system:serviceaccounts"},
    {"system:node", "system:nodes"},
    {"system:berth-controllers", "system:berth-controllers"},
    {"system:berth-gateway", "system:berth-gateway"},
};

/* ---- as manifests ---- */

static void write_words(struct buf *b, const char *name, const char *words) {
    struct str rest = str_of(words), word;
    buf_f(b, "\"%s\":[", name);
    for (bool more = false; str_next(&rest, ' ', &word); more = true) {
        buf_c(b, more ? "," : "");
        buf_json(b, str_is(word, "core") ? STR("") : word);
    }
    buf_c(b, "]");
}

static void write_head(struct buf *b, const char *kind, const char *name, const char *into) {
    buf_f(b,
          "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"%s\",\"metadata\":{"
          "\"name\":\"%s\",\"labels\":{\"kubernetes.io/bootstrapping\":\"rbac-defaults\"",
          kind, name);
    if (into) {
        buf_f(b, ",\"rbac.authorization.k8s.io/aggregate-to-%s\":\"true\"", into);
    }
    buf_c(b, "},\"annotations\":{\"rbac.authorization.kubernetes.io/autoupdate\":\"true\"}}");
}

static void write_rule(struct buf *b, const struct role_rule *r, bool *more) {
    buf_c(b, *more ? ",{" : "{");
    *more = true;
    if (r->groups) {
        write_words(b, "apiGroups", r->groups);
        buf_ch(b, ',');
    }
    write_words(b, r->groups ? "resources" : "nonResourceURLs", r->resources);
    buf_ch(b, ',');
    write_words(b, "verbs", r->verbs);
    buf_ch(b, '}');
}

/* A role's rules, and those it aggregates: decisions do not need them written here, but people read them. */
static void write_rules(struct buf *b, const struct role *r, bool *more) {
    for (const struct role_rule *rule = r->rules; rule && rule->verbs; rule++) {
        write_rule(b, rule, more);
    }
    for (size_t i = 0; r->from && i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (roles[i].into && strcmp(roles[i].into, r->from) == 0) {
            write_rules(b, &roles[i], more);
        }
    }
}

static void write_role(struct buf *b, const struct role *r) {
    bool more = false;
    write_head(b, "ClusterRole", r->name, r->into);
    if (r->from) {
        buf_f(b,
              ",\"aggregationRule\":{\"clusterRoleSelectors\":[{\"matchLabels\":{"
              "\"rbac.authorization.k8s.io/aggregate-to-%s\":\"true\"}}]}",
              r->from);
    }
    buf_c(b, ",\"rules\":[");
    write_rules(b, r, &more);
    buf_c(b, "]}");
}

static void write_binding(struct buf *b, const struct binding *x) {
    struct str rest = str_of(x->groups), group;
    write_head(b, "ClusterRoleBinding", x->role, NULL);
    buf_f(b,
          ",\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\","
          "\"name\":\"%s\"},\"subjects\":[",
          x->role);
    for (bool more = false; str_next(&rest, ' ', &group); more = true) {
        buf_f(b, "%s{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Group\",\"name\":\"",
              more ? "," : "");
        buf_str(b, group);
        buf_c(b, "\"}");
    }
    buf_c(b, "]}");
}

int policy_each_default(int (*each)(void *ctx, struct str json, struct err *err), void *ctx,
                        struct err *err) {
    const size_t n_roles = sizeof(roles) / sizeof(roles[0]);
    const size_t n_bindings = sizeof(bindings) / sizeof(bindings[0]);
    struct buf b;
    int r = 0;
    buf_init(&b, 0);
    for (size_t i = 0; r == 0 && i < n_roles + n_bindings; i++) {
        buf_reset(&b);
        if (i < n_roles) {
            write_role(&b, &roles[i]);
        } else {
            write_binding(&b, &bindings[i - n_roles]);
        }
        r = buf_ok(&b) ? err_set(err, ERR_NOMEM, "no memory for a default role")
                       : each(ctx, buf_view(&b), err);
    }
    buf_release(&b);
    return r;
}
