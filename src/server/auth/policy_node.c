/* policy_node: a node's credential is for one node. See policy_node.h. */
#include "server/auth/policy_node.h"

#include "api/selector.h"
#include "api/tables/storage.h"
#include "server/auth/rbac.h"

#define NODES_GROUP STR("system:nodes")
#define USER_PREFIX STR("system:node:")
#define LEASE_NAMESPACE "kube-node-lease"

/* The node whose credential this is; empty for a member of the group with another name, who gets nothing. */
static struct str node_of(const struct user *u) {
    return str_starts(u->name, USER_PREFIX) ? str_skip(u->name, USER_PREFIX.n) : (struct str){0};
}

static const struct kind *pod_kind(void) {
    return kind_by_name(STR(""), STR("Pod"));
}

static struct str node_name(yyjson_val *pod) {
    return json_str_at(pod, "spec.nodeName");
}

/* ---- does a pod name a Secret or ConfigMap? ---- */

struct reference {
    const char *member, *name; /* {"secret": {"secretName": X}} */
};
static const struct reference of_secret[] = {
    {"secretRef", "name"}, {"secretKeyRef", "name"}, {"secret", "secretName"}, {"secret", "name"}};
static const struct reference of_config[] = {
    {"configMapRef", "name"}, {"configMapKeyRef", "name"}, {"configMap", "name"}};
static const struct reference of_claim[] = {{"persistentVolumeClaim", "claimName"}};

struct node_wanted {
    const struct reference *v;
    size_t n;
    struct str name, node;
    struct arena *arena;
    bool found;
};

static bool names(const struct node_wanted *w, struct str member, yyjson_val *v) {
    for (size_t i = 0; i < w->n; i++) {
        if (str_is(member, w->v[i].member) &&
            str_eq(json_str(json_get(v, str_of(w->v[i].name))), w->name)) {
            return true;
        }
    }
    return false;
}

/* Anywhere below v; the depth is bounded by what the parser takes. */
static bool refers(const struct node_wanted *w, yyjson_val *v) {
    size_t i, n;
    yyjson_val *key, *x;
    if (yyjson_is_arr(v)) {
        yyjson_arr_foreach(v, i, n, x) {
            if (refers(w, x)) {
                return true;
            }
        }
    }
    if (yyjson_is_obj(v)) {
        yyjson_obj_foreach(v, i, n, key, x) {
            if (names(w, json_str(key), x) || refers(w, x)) {
                return true;
            }
        }
    }
    return false;
}

static bool pulls_with(yyjson_val *spec, struct str name) {
    size_t i, n;
    yyjson_val *x;
    yyjson_arr_foreach(json_get(spec, STR("imagePullSecrets")), i, n, x) {
        if (str_eq(json_str_at(x, "name"), name)) {
            return true;
        }
    }
    return false;
}

static bool look(void *ctx, const struct object *o) {
    struct node_wanted *w = ctx;
    yyjson_doc *doc;
    /* Most pods name neither: a search through the text is cheaper than a tree. */
    if (!str_contains(o->json, w->name) || object_tree(o, w->arena, &doc, NULL) != 0) {
        return true;
    }
    yyjson_val *root = yyjson_doc_get_root(doc), *spec = json_get(root, STR("spec"));
    w->found = str_eq(node_name(root), w->node) &&
               (refers(w, spec) || (w->v == of_secret && pulls_with(spec, w->name)));
    return !w->found;
}

static bool is_needed(const struct mirror *m, const struct api_request *q, struct str node,
                      const struct reference *v, size_t n, struct arena *a) {
    struct node_wanted w = {.v = v, .n = n, .name = q->authz_name, .node = node, .arena = a};
    if (q->ns.n && w.name.n) {
        mirror_scan(m, pod_kind(), q->ns, look, &w);
    }
    return w.found;
}

/* ---- pods ---- */

static bool selects_own(const struct api_request *q, struct str node, struct arena *a) {
    struct selector s;
    struct str v;
    return field_selector_parse(a, q->opt.field_selector, &s, NULL) == 0 &&
           field_selector_requires(&s, STR("spec.nodeName"), &v) && str_eq(v, node);
}

static bool pod_may(const struct mirror *m, const struct api_request *q, struct str node,
                    struct arena *a) {
    yyjson_doc *doc;
    if (q->verb == VERB_LIST || q->verb == VERB_WATCH) {
        return selects_own(q, node, a);
    }
    if (q->verb == VERB_CREATE || q->verb == VERB_DELETECOLLECTION || q->name.n == 0) {
        return false;
    }
    const struct object *pod = mirror_get(m, pod_kind(), q->ns, q->name);
    return pod == NULL || (object_tree(pod, a, &doc, NULL) == 0 &&
                           str_eq(node_name(yyjson_doc_get_root(doc)), node));
}

/* ---- the rule ---- */

static bool is_read(const struct api_request *q) {
    return q->verb == VERB_GET || q->verb == VERB_LIST || q->verb == VERB_WATCH;
}

#define NOT_NAMED "no pod of this node names it"
#define NEEDED(v_) is_needed(m, q, node, v_, sizeof(v_) / sizeof((v_)[0]), a)

/* Is the volume or the content of a snapshot one that says it is on this node? */
static bool is_on(const struct mirror *m, const struct api_request *q, struct str node,
                  struct arena *a) {
    const struct object *o = mirror_get(m, q->kind, (struct str){0}, q->name);
    yyjson_doc *doc;
    if (o == NULL || object_tree(o, a, &doc, NULL) != 0) {
        return o == NULL;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *terms = json_path(root, "spec.nodeAffinity.required.nodeSelectorTerms");
    yyjson_val *first = json_get(yyjson_arr_get_first(terms), STR("matchExpressions"));
    yyjson_val *values = json_get(yyjson_arr_get_first(first), STR("values"));
    yyjson_val *notes = json_path(root, "metadata.annotations");
    return str_eq(json_str(yyjson_arr_get_first(values)), node) ||
           str_eq(json_str(json_get(notes, STR(STORAGE_NODE))), node);
}

bool policy_node_may(const struct mirror *m, const struct api_request *q, struct arena *a,
                     struct str *ret_reason) {
    struct str node = node_of(&q->user);
    const char *why = NULL;
    if (!q->resource || !user_in_group(&q->user, NODES_GROUP)) {
        return true;
    }
    if (str_is(q->plural, "secrets")) {
        why = NEEDED(of_secret) ? NULL : NOT_NAMED;
    } else if (str_is(q->plural, "configmaps")) {
        why = NEEDED(of_config) ? NULL : NOT_NAMED;
    } else if (str_is(q->plural, "persistentvolumeclaims")) {
        why = NEEDED(of_claim) ? NULL : NOT_NAMED;
    } else if (str_is(q->plural, "persistentvolumes") ||
               str_is(q->plural, "volumesnapshotcontents")) {
        why = is_read(q) || is_on(m, q, node, a) ? NULL : "a node writes the volumes that it has";
    } else if (str_is(q->plural, "pods")) {
        why = pod_may(m, q, node, a) ? NULL : "a node has to do with the pods bound to it alone";
    } else if (str_is(q->plural, "nodes")) {
        bool made = q->verb == VERB_CREATE && q->name.n == 0; /* its name: policy_node_writes */
        bool own = is_read(q) || made || str_eq(q->name, node);
        why = own ? NULL : "a node writes its own Node alone";
    } else if (str_is(q->plural, "leases")) {
        bool own =
            str_is(q->ns, LEASE_NAMESPACE) &&
            (str_eq(q->authz_name, node) || (q->verb == VERB_CREATE && q->authz_name.n == 0));
        why = own ? NULL : "a node has one Lease";
    } else if (str_is(q->plural, "serviceaccounts")) {
        /* Whose: policy_node_has, which sees the pod that the token is for. */
        bool token = str_is(q->subresource, "token") && q->verb == VERB_CREATE;
        why = token ? NULL : "a node asks for tokens of its pods' service accounts alone";
    }
    why = node.n == 0 ? "members of system:nodes are named system:node:NAME" : why;
    if (why) {
        *ret_reason = str_of(why);
    }
    return why == NULL;
}

int policy_node_has(const struct user *u, yyjson_val *pod, struct err *err) {
    if (!user_in_group(u, NODES_GROUP) ||
        (pod && node_of(u).n && str_eq(node_name(pod), node_of(u)))) {
        return 0;
    }
    return err_set(err, ERR_FORBIDDEN,
                   "a node asks for tokens that are bound to a pod (spec.boundObjectRef) which is "
                   "bound to the node");
}

int policy_node_writes(const struct api_request *q, yyjson_mut_val *obj, struct err *err) {
    struct str name = json_mstr_at(obj, "metadata.name");
    if (!user_in_group(&q->user, NODES_GROUP) || str_eq(name, node_of(&q->user)) ||
        !(str_is(q->plural, "nodes") || str_is(q->plural, "leases"))) {
        return 0;
    }
    return err_set(err, ERR_FORBIDDEN, "a node writes its own Node and Lease alone");
}
