/* policy_priority: names and numbers of priority, and the right to them. See policy_priority.h. */
#include "server/auth/policy_priority.h"

#include "api/pod_fields.h"
#include "base/map.h"

#define SYSTEM_PREFIX STR("system-")
#define QUEUE_GROUP "kueue.x-k8s.io"
#define POD_GROUP "scheduling.k8s.io"

struct priority_asker {
    struct rbac *rbac;
    const struct mirror *mirror;
    const struct api_request *q;
    struct arena *arena;
    yyjson_mut_val *old; /* NULL: none, or its names are known by now */
    struct map known
        [2]; /* names that were there or may be used, by whether a WorkloadPriorityClass is meant */
};

static bool may(const struct priority_asker *k, const char *verb, const char *group,
                const char *resource, const char *subresource, struct str name, struct str ns) {
    struct str reason;
    return rbac_allows(k->rbac,
                       &(struct rbac_attributes){.user = &k->q->user,
                                                 .verb = str_of(verb),
                                                 .resource_request = true,
                                                 .group = str_of(group),
                                                 .resource = str_of(resource),
                                                 .subresource = str_of(subresource),
                                                 .name = name,
                                                 .ns = ns},
                       k->arena, &reason);
}

/* ---- classes ---- */

static const struct object *class_of(const struct priority_asker *k, struct str name, bool queue) {
    const struct kind *kind =
        kind_by_name(str_of(queue ? QUEUE_GROUP : POD_GROUP),
                     str_of(queue ? "WorkloadPriorityClass" : "PriorityClass"));
    return kind ? mirror_pending(k->mirror, kind, (struct str){0}, name) : NULL;
}

static yyjson_val *tree_of(const struct priority_asker *k, const struct object *o) {
    yyjson_doc *d;
    return o && object_tree(o, k->arena, &d, NULL) == 0 ? yyjson_doc_get_root(d) : NULL;
}

/* One that cannot be read may be restricted. */
static bool is_restricted(const struct priority_asker *k, const struct object *o) {
    yyjson_val *tree = tree_of(k, o);
    yyjson_val *notes = json_path(tree, "metadata.annotations");
    return o && (tree == NULL ||
                 str_is(json_str(json_get(notes, STR(POLICY_RESTRICTED_ANNOTATION))), "true"));
}

static bool may_use(const struct priority_asker *k, struct str name, bool queue) {
    const char *group = queue ? QUEUE_GROUP : POD_GROUP;
    const char *resource = queue ? "workloadpriorityclasses" : "priorityclasses";
    if (!queue && str_starts(name, SYSTEM_PREFIX)) {
        return may(k, "use", group, resource, "", name, (struct str){0});
    }
    return !is_restricted(k, class_of(k, name, queue)) ||
           may(k, "use", group, resource, "", name, k->q->ns);
}

static bool remember(void *ctx, struct str name, bool queue) {
    struct priority_asker *k = ctx;
    return map_put(&k->known[queue], name, k, NULL) == 0;
}

/* A class is the same one only if its kind is, too: there may be two of one name. */
static bool was_there(struct priority_asker *k, struct str name, bool queue) {
    (void)pod_priority_class(k->old, k->arena, remember, k);
    k->old = NULL;
    return map_get(&k->known[queue], name) != NULL;
}

static bool is_fine(void *ctx, struct str name, bool queue) {
    struct priority_asker *k = ctx;
    return map_get(&k->known[queue], name) ||
           (may_use(k, name, queue) ? remember(k, name, queue) : was_there(k, name, queue));
}

static int check_names(struct priority_asker *k, yyjson_mut_val *obj, struct err *err) {
    struct str name = pod_priority_class(obj, k->arena, is_fine, k);
    if (arena_spent(k->arena)) {
        return err_set(err, ERR_TOO_LARGE,
                       "the object has too many members to look for the "
                       "priority classes that it names");
    }
    return name.n == 0
               ? 0
               : err_set(err, ERR_FORBIDDEN,
                         "priority class %.*s may be used by those who have verb \"use\" on it%s",
                         STR_ARG(name),
                         str_starts(name, SYSTEM_PREFIX) ? " in the whole cluster" : "");
}

/* ---- a Workload's own ---- */

static int64_t number(yyjson_mut_val *obj) {
    return yyjson_mut_get_sint(json_mpath(obj, "spec.priority"));
}

static int check_workload(struct priority_asker *k, yyjson_mut_val *obj, yyjson_mut_val *old,
                          struct err *err) {
    struct str name = json_mstr_at(obj, "spec.priorityClassRef.name");
    yyjson_mut_val *ref = json_mpath(obj, "spec.priorityClassRef");
    yyjson_mut_val *was = json_mpath(old, "spec.priorityClassRef");
    bool queue = str_is(json_mstr_at(ref, "kind"), "WorkloadPriorityClass");
    bool same = old && (ref && was ? json_mequal(ref, was) : (ref == NULL) == (was == NULL));
    if (same && number(obj) <= number(old)) {
        return 0;
    }
    bool usable = name.n == 0 || same || may_use(k, name, queue);
    int64_t most = name.n > 0 ? json_i64_at(tree_of(k, class_of(k, name, queue)), "value", 0) : 0;
    if ((usable && number(obj) <= most) ||
        may(k, "update", QUEUE_GROUP, "workloads", "status", (struct str){0}, (struct str){0})) {
        return 0;
    }
    if (!usable) {
        return err_set(err, ERR_FORBIDDEN,
                       "spec.priorityClassRef: priority class %.*s may be used by those who have "
                       "verb \"use\" on it",
                       STR_ARG(name));
    }
    return err_set(err, ERR_FORBIDDEN,
                   "spec.priority: %lld is more than the %lld of the priority class that it names",
                   (long long)number(obj), (long long)most);
}

int policy_priority(struct rbac *b, const struct mirror *m, const struct api_request *q,
                    yyjson_mut_val *obj, yyjson_mut_val *old, struct arena *a, struct err *err) {
    struct priority_asker k = {.rbac = b, .mirror = m, .q = q, .arena = a, .old = old};
    int r = check_names(&k, obj, err);
    map_release(&k.known[false]);
    map_release(&k.known[true]);
    if (r == 0 && strcmp(q->kind->plural, "workloads") == 0) {
        r = check_workload(&k, obj, old, err);
    }
    return r;
}
