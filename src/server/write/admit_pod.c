/*
 * admit_pod: what admission adds to a new pod: the ServiceAccount it runs as, the volume with its token, and the number
 * behind its priority class.
 */
#include "server/kit/id_range.h"
#include "server/write/admit.h"

#include "wire/json/json.h"

static int nomem(struct write *w) {
    return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
}

static struct str pod_name(struct write *w) {
    return json_mstr_at(yyjson_mut_doc_get_root(w->doc), "metadata.name");
}

/* An account that says that its pods get no token says so in each pod that does not decide itself. */
static int admit_automount(struct write *w, yyjson_mut_val *spec, struct str account) {
    const struct object *o = mirror_pending(
        w->s->o.mirror, kind_by_name(STR(""), STR("ServiceAccount")), w->req->ns, account);
    bool says = o && str_contains(o->json, STR("\"automountServiceAccountToken\":false"));

    return says && json_mget(spec, STR("automountServiceAccountToken")) == NULL &&
                   json_mset(w->doc, spec, STR("automountServiceAccountToken"),
                             yyjson_mut_bool(w->doc, false))
               ? nomem(w)
               : 0;
}

/* ---- the account's token, as upstream's admission mounts it ---- */

#define TOKEN_PATH "/var/run/secrets/kubernetes.io/serviceaccount"
#define TOKEN_VOLUME                                                                               \
    "{\"volume\":{\"name\":\"%s\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{"          \
    "\"expirationSeconds\":3607,\"path\":\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca."     \
    "crt\","                                                                                       \
    "\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}},{\"downwardAPI\":{\"items\":[{"        \
    "\"path\":"                                                                                    \
    "\"namespace\",\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}]" \
    ","                                                                                            \
    "\"defaultMode\":420}},\"mount\":{\"name\":\"%s\",\"readOnly\":true,\"mountPath\":"            \
    "\"" TOKEN_PATH "\"}}"

static bool mounts_token(yyjson_mut_val *container) {
    yyjson_mut_val *mounts = json_mget(container, STR("volumeMounts")), *m;
    size_t i, n;
    yyjson_mut_arr_foreach(mounts, i, n, m) {
        if (str_is(json_mstr_at(m, "mountPath"), TOKEN_PATH)) {
            return true;
        }
    }
    return false;
}

static int append(struct write *w, yyjson_mut_val *to, const char *list, yyjson_mut_val *what) {
    yyjson_mut_val *all = json_mget(to, str_of(list));
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(w->doc, what);
    if (!yyjson_mut_is_arr(all)) {
        all = yyjson_mut_arr(w->doc);
        if (all == NULL || json_mset(w->doc, to, str_of(list), all) != 0) {
            return ERR_NOMEM;
        }
    }
    return copy != NULL && yyjson_mut_arr_append(all, copy) ? 0 : ERR_NOMEM;
}

/* Into each container that has nothing there; *ret_used: into any. */
static int mount_token(struct write *w, yyjson_mut_val *spec, yyjson_mut_val *mount,
                       bool *ret_used) {
    static const char *const lists[] = {"initContainers", "containers"};
    size_t i, n;
    yyjson_mut_val *container;
    int r = 0;
    for (size_t l = 0; l < 2; l++) {
        yyjson_mut_val *all = json_mget(spec, str_of(lists[l]));
        yyjson_mut_arr_foreach(all, i, n, container) {
            if (r == 0 && yyjson_mut_is_obj(container) && !mounts_token(container)) {
                r = append(w, container, "volumeMounts", mount);
                *ret_used = true;
            }
        }
    }
    return r;
}

/* By the pod's uid: the same when the write runs again, so that who was asked about it was asked about this. */
static void volume_name(struct write *w, char name[32]) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    struct str uid = json_mstr_at(yyjson_mut_doc_get_root(w->doc), "metadata.uid");
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < uid.n; i++) {
        h = (h ^ (unsigned char)uid.p[i]) * 1099511628211u;
    }
    int n = snprintf(name, 32, "kube-api-access-");
    for (int i = 0; i < 5; i++, h /= sizeof(letters) - 1) {
        name[n++] = letters[h % (sizeof(letters) - 1)];
    }
    name[n] = 0;
}

static int admit_token_volume(struct write *w, yyjson_mut_val *spec) {
    yyjson_mut_val *says = json_mget(spec, STR("automountServiceAccountToken"));
    yyjson_mut_doc *d = NULL;
    char name[32];
    bool used = false;
    if (yyjson_mut_is_false(says)) {
        return 0;
    }
    volume_name(w, name);
    int r = json_parse_mut(w->arena, arena_f(w->arena, TOKEN_VOLUME, name, name), &d, NULL);
    yyjson_mut_val *both = r == 0 ? yyjson_mut_doc_get_root(d) : NULL;
    r = r ? r : mount_token(w, spec, json_mget(both, STR("mount")), &used);
    r = r || !used ? r : append(w, spec, "volumes", json_mget(both, STR("volume")));
    return r != 0 ? nomem(w) : 0;
}

static int admit_account(struct write *w, yyjson_mut_val *spec) {
    struct str name = json_mstr(json_mget(spec, STR("serviceAccountName")));
    if (name.n == 0) {
        name = json_mstr(json_mget(spec, STR("serviceAccount")));
    }
    if (name.n == 0) {
        name = STR("default");
    }
    name = arena_str(w->arena, name);
    int r = json_mset_str(w->doc, spec, "serviceAccountName", name);
    r = r ? r : json_mset_str(w->doc, spec, "serviceAccount", name);
    return r != 0 ? nomem(w) : admit_automount(w, spec, name);
}

struct priority {
    int64_t value;
    struct str policy; /* preemptionPolicy */
    struct str name;   /* of the class; empty: none */
    struct arena *arena;
};

static int read_class(const struct object *o, struct arena *a, struct priority *ret) {
    yyjson_doc *doc;
    int r = object_tree(o, a, &doc, NULL);
    if (r == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        ret->value = json_i64_at(root, "value", 0);
        ret->policy = json_str_at(root, "preemptionPolicy");
        ret->name = arena_str(a, o->name);
    }
    return r;
}

static bool find_default(void *ctx, const struct object *o) {
    struct priority *p = ctx;
    if (!str_contains(o->json, STR("\"globalDefault\":true"))) {
        return true;
    }
    return read_class(o, p->arena, p) != 0;
}

static int find_priority(struct write *w, struct str name, struct priority *ret) {
    const struct kind *k = kind_by_name(STR("scheduling.k8s.io"), STR("PriorityClass"));
    if (k == NULL) {
        return 0;
    }
    if (name.n == 0) {
        mirror_scan(w->s->o.mirror, k, (struct str){0}, find_default, ret);
        return 0;
    }
    const struct object *o = mirror_pending(w->s->o.mirror, k, (struct str){0}, name);
    if (o == NULL) {
        return failure_forbidden(&w->failure, w->arena, w->req->kind, pod_name(w),
                                 "no PriorityClass with name %.*s was found", STR_ARG(name));
    }
    return read_class(o, w->arena, ret) != 0 ? nomem(w) : 0;
}

static int admit_priority(struct write *w, yyjson_mut_val *spec) {
    struct priority p = {.arena = w->arena, .policy = STR("PreemptLowerPriority")};
    struct str name = json_mstr(json_mget(spec, STR("priorityClassName")));
    int r = find_priority(w, name, &p);
    if (r != 0) {
        return r;
    }
    yyjson_mut_val *given = json_mget(spec, STR("priority"));
    if (yyjson_mut_is_int(given) && yyjson_mut_get_sint(given) != p.value) {
        return failure_forbidden(&w->failure, w->arena, w->req->kind, pod_name(w),
                                 "the integer value of priority (%lld) must not be provided in pod "
                                 "spec; priority admission controller computed %lld from the given "
                                 "PriorityClass name",
                                 (long long)yyjson_mut_get_sint(given), (long long)p.value);
    }
    r = json_mset_i64(w->doc, spec, "priority", p.value);
    if (r == 0 && p.name.n > 0) {
        r = json_mset_str(w->doc, spec, "priorityClassName", p.name);
    }
    if (r == 0 && json_mget(spec, STR("preemptionPolicy")) == NULL) {
        r = json_mset_str(w->doc, spec, "preemptionPolicy",
                          p.policy.n > 0 ? p.policy : STR("PreemptLowerPriority"));
    }
    return r != 0 ? nomem(w) : 0;
}

/* The machine's own network is for pods of namespaces that an administrator opened it to. */
static int admit_network(struct write *w, yyjson_mut_val *spec) {
    const struct object *ns = mirror_pending(
        w->s->o.mirror, kind_by_name(STR(""), STR("Namespace")), (struct str){0}, w->req->ns);

    if (!yyjson_mut_get_bool(json_mget(spec, STR("hostNetwork"))) ||
        (ns && str_is(object_label(ns, STR("berth.dev/host-network")), "allowed"))) {
        return 0;
    }
    return failure_forbidden(&w->failure, w->arena, w->req->kind, pod_name(w),
                             "spec.hostNetwork: Forbidden: pods have networks of their own; an "
                             "administrator may label namespace %.*s with "
                             "berth.dev/host-network=allowed",
                             STR_ARG(w->req->ns));
}

/* Users and groups: those of the namespace, and no others. */
static int admit_ids(struct write *w, yyjson_mut_val *spec) {
    const struct object *ns = mirror_pending(
        w->s->o.mirror, kind_by_name(STR(""), STR("Namespace")), (struct str){0}, w->req->ns);
    struct err err = {0};

    if (id_range_check(spec, ns, w->arena, &err)) {
        return failure_forbidden(&w->failure, w->arena, w->req->kind, pod_name(w), "%s", err.text);
    }
    if (w->call && !id_range_has_fs_group(spec, ns, w->arena)) {
        call_warn(w->call,
                  STR("spec.securityContext.fsGroup has no effect: it is not in the range of "
                      "ids of the namespace; pods may read and write their volumes "
                      "whatever it is"));
    }
    return 0;
}

/* What a pod of the machine's network says of names, which are the machine's there. */
static void warn_of_names(struct write *w, yyjson_mut_val *spec) {
    struct str policy = json_mstr(json_mget(spec, STR("dnsPolicy")));
    bool own = !yyjson_mut_get_bool(json_mget(spec, STR("hostNetwork")));

    if (own || w->call == NULL) {
        return;
    }
    if (yyjson_mut_arr_size(json_mget(spec, STR("hostAliases")))) {
        call_warn(w->call, STR("spec.hostAliases has no effect with hostNetwork: names are the "
                               "machine's"));
    }
    if (yyjson_mut_obj_size(json_mget(spec, STR("dnsConfig"))) || str_is(policy, "None") ||
        str_is(policy, "ClusterFirstWithHostNet")) {
        call_warn(w->call, STR("spec.dnsPolicy and spec.dnsConfig have no effect with hostNetwork: "
                               "name servers are the machine's"));
    }
}

int admit_pod(struct write *w) {
    yyjson_mut_val *spec = json_mensure(w->doc, yyjson_mut_doc_get_root(w->doc), "spec");
    if (spec == NULL) {
        return nomem(w);
    }
    int r = admit_account(w, spec);
    r = r ? r : admit_token_volume(w, spec);
    r = r ? r : admit_network(w, spec);
    r = r ? r : admit_ids(w, spec);
    if (r == 0) {
        warn_of_names(w, spec);
    }
    return r ? r : admit_priority(w, spec);
}
