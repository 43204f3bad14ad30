/*
 * pod_refuse: what no pod gets here, whatever runs it: a table of fields, each with why. docs/pods.md has a row for
 * every field of a pod's spec; a test holds it against this table.
 */
#include "api/kinds/kinds.h"

static const char *const runtime_default[] = {"RuntimeDefault", NULL};
static const char *const app_armor[] = {"RuntimeDefault", "Unconfined", NULL};
static const char *const default_only[] = {"Default", NULL};
static const char *const none[] = {"None", NULL};
static const char *const linux_only[] = {"linux", NULL};

#define SECCOMP "system calls are filtered for every pod; only RuntimeDefault is served"
#define APP_ARMOR                                                                                  \
    "profiles of the machine cannot be chosen; RuntimeDefault and Unconfined are served"
#define NO_LABELS "SELinux labels are not served"
#define NO_WINDOWS "nodes are Linux"

static const struct pod_refusal of_pod[] = {
    {"hostPID", REFUSED_TRUE, NULL, "a pod sees its own processes alone"},
    {"hostIPC", REFUSED_TRUE, NULL, "a pod has shared memory of its own alone"},
    {"securityContext.seLinuxOptions", REFUSED_SET, NULL, NO_LABELS},
    {"securityContext.windowsOptions", REFUSED_SET, NULL, NO_WINDOWS},
    {"securityContext.sysctls", REFUSED_SET, NULL, "kernel settings cannot be changed from a pod"},
    {"securityContext.seccompProfile.type", REFUSED_UNLESS, runtime_default, SECCOMP},
    {"securityContext.appArmorProfile.type", REFUSED_UNLESS, app_armor, APP_ARMOR},
    {"setHostnameAsFQDN", REFUSED_TRUE, NULL, "a host name is the pod's short name"},
    {"hostnameOverride", REFUSED_SET, NULL, "use spec.hostname"},
    {"workloadRef", REFUSED_SET, NULL,
     "the queue of a pod is named by label kueue.x-k8s.io/queue-name"},
    {"os.name", REFUSED_UNLESS, linux_only, NO_WINDOWS},
    {"ephemeralContainers", REFUSED_SET, NULL,
     "ephemeral containers are added to a pod that is there; use kubectl debug"},
};

static const struct pod_refusal of_container[] = {
    {"securityContext.privileged", REFUSED_TRUE, NULL,
     "no pod runs with the rights of the machine's root"},
    {"securityContext.capabilities.add", REFUSED_SET, NULL,
     "pods have no capabilities, and cannot be given any"},
    {"securityContext.seLinuxOptions", REFUSED_SET, NULL, NO_LABELS},
    {"securityContext.windowsOptions", REFUSED_SET, NULL, NO_WINDOWS},
    {"securityContext.procMount", REFUSED_UNLESS, default_only,
     "/proc is the pod's own; only Default is served"},
    {"securityContext.seccompProfile.type", REFUSED_UNLESS, runtime_default, SECCOMP},
    {"securityContext.appArmorProfile.type", REFUSED_UNLESS, app_armor, APP_ARMOR},
    {"volumeDevices", REFUSED_SET, NULL,
     "block devices are not served; mount the claim as a volume"},
    {"restartPolicyRules", REFUSED_SET, NULL, "restart rules by exit code are not served"},
    {"env[].valueFrom.fileKeyRef", REFUSED_SET, NULL,
     "variables from files of volumes are not served"},
    {"volumeMounts[].mountPropagation", REFUSED_UNLESS, none,
     "mounts are not passed on; only None is served"},
};

const struct pod_refusal *pod_refusals(bool container, size_t *ret_n) {
    *ret_n = container ? COUNT(of_container) : COUNT(of_pod);
    return container ? of_container : of_pod;
}

static bool says_something(yyjson_mut_val *v) {
    return v != NULL && !yyjson_mut_is_null(v) &&
           !((yyjson_mut_is_arr(v) || yyjson_mut_is_obj(v)) && unsafe_yyjson_get_len(v) == 0) &&
           !(yyjson_mut_is_str(v) && yyjson_mut_get_len(v) == 0);
}

static void judge(const struct pod_refusal *r, yyjson_mut_val *v, const struct path *at,
                  struct causes *c) {
    bool refused = r->when == REFUSED_TRUE ? yyjson_mut_get_bool(v) : says_something(v);

    for (size_t i = 0; r->when == REFUSED_UNLESS && r->allowed[i] != NULL; i++) {
        refused = refused && !str_is(json_mstr(v), r->allowed[i]);
    }
    if (refused) {
        cause_forbidden(c, at, "%s", r->why);
    }
}

/* Follows "a.b[].c" from v; every element of a list is one way. */
static void follow(const struct pod_refusal *r, const char *rest, yyjson_mut_val *v,
                   const struct path *at, struct causes *c) {
    char name[64];
    size_t n = strcspn(rest, ".[");

    if (v == NULL || !arena_charge(c->arena, 4)) {
        return;
    }
    if (*rest == 0) {
        judge(r, v, at, c);
        return;
    }
    snprintf(name, sizeof(name), "%.*s", (int)n, rest);
    struct path here = path_member(at, arena_str(c->arena, str_of(name)).p);
    yyjson_mut_val *child = json_mget(v, str_of(name));
    rest += n;
    if (strncmp(rest, "[]", 2) != 0) {
        follow(r, rest + (*rest == '.'), child, &here, c);
        return;
    }
    rest += rest[2] == '.' ? 3 : 2;
    EACH(child, i, e) {
        struct path one = path_index(&here, i);
        follow(r, rest, e, &one, c);
    }
}

void pod_refuse_container(yyjson_mut_val *container, const struct path *at, struct causes *c) {
    for (size_t i = 0; i < COUNT(of_container); i++) {
        follow(&of_container[i], of_container[i].path, container, at, c);
    }
}

void pod_refuse(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    static const char *const lists[] = {"initContainers", "containers"};

    for (size_t i = 0; i < COUNT(of_pod); i++) {
        follow(&of_pod[i], of_pod[i].path, spec, at, c);
    }
    for (size_t l = 0; l < COUNT(lists); l++) {
        struct path list_at = path_member(at, lists[l]);
        EACH(json_mget(spec, str_of(lists[l])), k, container) {
            struct path here = path_index(&list_at, k);
            pod_refuse_container(container, &here, c);
            struct path policy = path_member(&here, "restartPolicy");
            struct str text = json_mstr_at(container, "restartPolicy");
            if (text.n > 0 && (l == 1 || !str_is(text, "Always"))) {
                cause_forbidden(c, &policy, "only an init container may have one, and only Always");
            }
        }
    }
}
