/*
 * policy_roles: the default ClusterRoles and bindings. See policy_roles.h.
 *
 * view, edit and admin are aggregated, as in Kubernetes: each is the union of the roles that carry its label, and each
 * larger one takes the smaller one in. A kind of a new group is opened to them by one more role with a label.
 */
#include "server/policy_roles.h"

#define META(name, labels)                                                                         \
    "\"metadata\":{\"name\":\"" name "\",\"labels\":{\"kubernetes.io/bootstrapping\":\"rbac-defaults\"" \
    labels "},\"annotations\":{\"rbac.authorization.kubernetes.io/autoupdate\":\"true\"}}"
#define HEAD(kind) "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"" kind "\","
#define ROLE(name, labels, rules) HEAD("ClusterRole") META(name, labels) ",\"rules\":[" rules "]}"
#define AGGREGATED(name, labels, by)                                                               \
    HEAD("ClusterRole") META(name, labels)                                                         \
    ",\"aggregationRule\":{\"clusterRoleSelectors\":[{\"matchLabels\":{"                           \
    "\"rbac.authorization.k8s.io/aggregate-to-" by "\":\"true\"}}]},\"rules\":[]}"
#define TO(role) ",\"rbac.authorization.k8s.io/aggregate-to-" role "\":\"true\""
#define BINDING(name, role, subjects)                                                              \
    HEAD("ClusterRoleBinding") META(name, "")                                                      \
    ",\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"" role \
    "\"},\"subjects\":[" subjects "]}"
#define GROUP(name)                                                                                \
    "{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Group\",\"name\":\"" name "\"}"

/* A rule: lists are written as the inside of JSON arrays. */
#define RULE(groups, resources, verbs)                                                             \
    "{\"apiGroups\":[" groups "],\"resources\":[" resources "],\"verbs\":[" verbs "]}"
#define PATHS(paths, verbs) "{\"nonResourceURLs\":[" paths "],\"verbs\":[" verbs "]}"
#define Q(s) "\"" s "\""
#define READ Q("get") "," Q("list") "," Q("watch")
#define CHANGE Q("create") "," Q("delete") "," Q("deletecollection") "," Q("patch") "," Q("update")
#define ALL READ "," CHANGE
#define CORE Q("")
#define KUEUE Q("kueue.x-k8s.io")
#define HEALTH Q("/healthz") "," Q("/livez") "," Q("/readyz") "," Q("/version") "," Q("/version/")

const char *const policy_manifests[] = {
    /* everything */
    ROLE("cluster-admin", "", RULE(Q("*"), Q("*"), Q("*")) "," PATHS(Q("*"), Q("*"))),
    BINDING("cluster-admin", "cluster-admin", GROUP("system:masters")),

    /* what everybody may ask */
    ROLE("system:discovery", "",
         PATHS(Q("/api") "," Q("/api/*") "," Q("/apis") "," Q("/apis/*") "," Q("/openapi") "," Q("/openapi/*") "," HEALTH, Q("get"))),
    ROLE("system:public-info-viewer", "", PATHS(HEALTH, Q("get"))),
    ROLE("system:basic-user", "",
         RULE(Q("authorization.k8s.io"), Q("selfsubjectaccessreviews") "," Q("selfsubjectrulesreviews"), Q("create")) ","
         RULE(Q("authentication.k8s.io"), Q("selfsubjectreviews"), Q("create"))),
    ROLE("system:monitoring", "", PATHS(Q("/metrics") "," Q("/metrics/*") "," HEALTH, Q("get"))),
    ROLE("system:service-account-issuer-discovery", "",
         PATHS(Q("/.well-known/openid-configuration") "," Q("/openid/v1/jwks") "," Q("/openid/v1/jwks/"), Q("get"))),
    BINDING("system:discovery", "system:discovery", GROUP("system:authenticated")),
    BINDING("system:basic-user", "system:basic-user", GROUP("system:authenticated")),
    BINDING("system:public-info-viewer", "system:public-info-viewer",
            GROUP("system:authenticated") "," GROUP("system:unauthenticated")),
    BINDING("system:monitoring", "system:monitoring", GROUP("system:monitoring")),
    BINDING("system:service-account-issuer-discovery", "system:service-account-issuer-discovery",
            GROUP("system:serviceaccounts")),

    /* roles for a namespace */
    AGGREGATED("admin", "", "admin"),
    AGGREGATED("edit", TO("admin"), "edit"),
    AGGREGATED("view", TO("edit"), "view"),
    ROLE("system:aggregate-to-view", TO("view"),
         RULE(CORE, Q("configmaps") "," Q("endpoints") "," Q("events") "," Q("limitranges") "," Q("namespaces") ","
                    Q("namespaces/status") "," Q("pods") "," Q("pods/log") "," Q("pods/status") "," Q("serviceaccounts") ","
                    Q("services") "," Q("services/status"), READ) ","
         RULE(Q("batch"), Q("jobs") "," Q("jobs/status") "," Q("cronjobs") "," Q("cronjobs/status"), READ) ","
         RULE(Q("events.k8s.io"), Q("events"), READ)),
    ROLE("system:aggregate-to-edit", TO("edit"),
         RULE(CORE, Q("secrets") "," Q("pods/attach") "," Q("pods/exec") "," Q("pods/portforward") "," Q("pods/proxy") ","
                    Q("services/proxy"), READ) ","
         RULE(CORE, Q("configmaps") "," Q("endpoints") "," Q("pods") "," Q("secrets") "," Q("serviceaccounts") "," Q("services"), CHANGE) ","
         RULE(CORE, Q("pods/attach") "," Q("pods/exec") "," Q("pods/portforward") "," Q("pods/proxy"), CHANGE) ","
         RULE(CORE, Q("events"), Q("create") "," Q("patch") "," Q("update")) ","
         RULE(CORE, Q("pods/eviction") "," Q("serviceaccounts/token"), Q("create")) ","
         RULE(CORE, Q("serviceaccounts"), Q("impersonate")) ","
         RULE(Q("batch"), Q("jobs") "," Q("cronjobs"), CHANGE)),
    ROLE("system:aggregate-to-admin", TO("admin"),
         RULE(Q("authorization.k8s.io"), Q("localsubjectaccessreviews"), Q("create")) ","
         RULE(Q("rbac.authorization.k8s.io"), Q("roles") "," Q("rolebindings"), ALL)),
    ROLE("berth:aggregate-to-view", TO("view"),
         RULE(KUEUE, Q("localqueues") "," Q("localqueues/status") "," Q("workloads") "," Q("workloads/status"), READ) ","
         RULE(Q("berth.dev"), Q("*"), READ)),
    ROLE("berth:aggregate-to-edit", TO("edit"),
         RULE(KUEUE, Q("workloads"), CHANGE) "," RULE(Q("berth.dev"), Q("reservations"), CHANGE)),
    ROLE("berth:aggregate-to-admin", TO("admin"), RULE(KUEUE, Q("localqueues"), CHANGE)),

    /* for people who run the queues of the whole machine or fleet */
    ROLE("berth:queue-admin", "",
         RULE(KUEUE, Q("*"), ALL) ","
         RULE(Q("scheduling.k8s.io"), Q("priorityclasses"), ALL) ","
         RULE(CORE, Q("nodes") "," Q("nodes/status") "," Q("namespaces"), READ)),
    ROLE("berth:queue-viewer", "",
         RULE(KUEUE, Q("clusterqueues") "," Q("clusterqueues/status") "," Q("cohorts") "," Q("cohorts/status") ","
                     Q("resourceflavors") "," Q("topologies") "," Q("workloadpriorityclasses"), READ) ","
         RULE(CORE, Q("nodes"), READ) "," RULE(Q("scheduling.k8s.io"), Q("priorityclasses"), READ)),

    /* the node agent */
    ROLE("system:node", "",
         RULE(CORE, Q("nodes"), READ "," Q("create") "," Q("delete") "," Q("patch") "," Q("update")) ","
         RULE(CORE, Q("nodes/status"), Q("patch") "," Q("update")) ","
         RULE(CORE, Q("pods"), READ "," Q("create") "," Q("delete") "," Q("patch")) ","
         RULE(CORE, Q("pods/status"), Q("patch") "," Q("update")) ","
         RULE(CORE, Q("configmaps") "," Q("secrets") "," Q("services") "," Q("endpoints") "," Q("namespaces") ","
                    Q("serviceaccounts"), READ) ","
         RULE(CORE, Q("serviceaccounts/token"), Q("create")) ","
         RULE(CORE "," Q("events.k8s.io"), Q("events"), Q("create") "," Q("patch") "," Q("update")) ","
         RULE(Q("coordination.k8s.io"), Q("leases"), READ "," Q("create") "," Q("delete") "," Q("patch") "," Q("update")) ","
         RULE(Q("node.k8s.io"), Q("runtimeclasses"), READ) ","
         RULE(Q("batch"), Q("jobs"), Q("get")) ","
         RULE(Q("authentication.k8s.io"), Q("tokenreviews"), Q("create")) ","
         RULE(Q("authorization.k8s.io"), Q("subjectaccessreviews"), Q("create"))),
    BINDING("system:node", "system:node", GROUP("system:nodes")),

    /* the controllers, where they are clients */
    ROLE("system:berth-controllers", "",
         RULE(CORE, Q("configmaps") "," Q("endpoints") "," Q("limitranges") "," Q("namespaces") "," Q("nodes") "," Q("pods") ","
                    Q("secrets") "," Q("serviceaccounts") "," Q("services"), READ) ","
         RULE(CORE, Q("pods"), CHANGE) ","
         RULE(CORE, Q("pods/status") "," Q("pods/binding") "," Q("pods/eviction"), Q("create") "," Q("patch") "," Q("update")) ","
         RULE(CORE, Q("namespaces") "," Q("namespaces/finalize") "," Q("namespaces/status") "," Q("nodes") "," Q("nodes/status"), Q("patch") "," Q("update")) ","
         RULE(CORE "," Q("events.k8s.io"), Q("events"), Q("create") "," Q("patch") "," Q("update")) ","
         RULE(Q("batch"), Q("jobs") "," Q("jobs/status") "," Q("jobs/finalizers"), READ "," Q("delete") "," Q("patch") "," Q("update")) ","
         RULE(KUEUE, Q("*"), ALL) ","
         RULE(Q("coordination.k8s.io"), Q("leases"), READ "," Q("create") "," Q("patch") "," Q("update")) ","
         RULE(Q("node.k8s.io") "," Q("scheduling.k8s.io"), Q("*"), READ)),
    BINDING("system:berth-controllers", "system:berth-controllers", GROUP("system:berth-controllers")),
    0,
};
