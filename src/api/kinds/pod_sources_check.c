/* pod_sources_check: where a pod's variables, volumes and hosts come from, and the ids that it runs as. */
#include <arpa/inet.h>

#include "api/kinds/kinds.h"
#include "api/schema/check.h"

enum { ADDRESS_MAX = 46 };

/* How many of these members there are. */
static int count_members(yyjson_mut_val *v, const char *const *names) {
    int n = 0;
    for (; *names != NULL; names++) {
        n += json_mget(v, str_of(*names)) != NULL;
    }
    return n;
}

static void check_key_name(yyjson_mut_val *from, const char *member, const struct path *at,
                           struct causes *c) {
    struct path ref = path_member(at, member), name = path_member(&ref, "name");
    yyjson_mut_val *v = json_mget(from, str_of(member));
    const char *fault = v ? format_fault("dns1123-subdomain", json_mstr_at(v, "name")) : NULL;
    if (fault != NULL) {
        cause_invalid(c, &name, json_mstr_at(v, "name"), "%s", fault);
    }
}

/* Of a pod: with the key of a label or annotation behind it, or alone. */
static bool is_marks(struct str path, const char *marks) {
    struct str rest = path;
    if (!str_starts(path, str_of(marks))) {
        return false;
    }
    rest = str_skip(path, strlen(marks));
    return str_starts(rest, STR("['")) && str_ends(rest, STR("']")) && rest.n > 4;
}

/* What a variable (or, of volumes: a file) may be of its pod. */
static void check_field_path(yyjson_mut_val *ref, bool file, const struct path *at,
                             struct causes *c) {
    static const char *const both[] = {"metadata.name", "metadata.namespace", "metadata.uid", NULL};
    static const char *const of_env[] = {"spec.nodeName",
                                         "spec.serviceAccountName",
                                         "status.hostIP",
                                         "status.hostIPs",
                                         "status.podIP",
                                         "status.podIPs",
                                         NULL};
    static const char *const of_file[] = {"metadata.labels", "metadata.annotations", NULL};
    struct path here = path_member(at, "fieldPath");
    struct str v = json_mstr_at(ref, "fieldPath");
    bool known = is_marks(v, "metadata.labels") || is_marks(v, "metadata.annotations");
    const char *const *lists[] = {both, file ? of_file : of_env};
    for (size_t l = 0; l < COUNT(lists); l++) {
        for (const char *const *p = lists[l]; *p != NULL && !known; p++) {
            known = str_is(v, *p);
        }
    }
    if (ref != NULL && v.n > 0 && !known) {
        cause_invalid(c, &here, v, "error converting fieldPath: field label not supported: %.*s",
                      STR_ARG(v));
    }
}

/* Upstream names the source alone, and none of its items. */
static void check_downward(yyjson_mut_val *source, const struct path *at, struct causes *c) {
    struct path field = path_member(at, "fieldRef");
    EACH(json_mget(source, STR("items")), i, item) {
        yyjson_mut_val *ref = json_mget(item, STR("fieldRef"));
        (void)i;
        check_field_path(ref, true, &field, c);
        if (ref == NULL && json_mget(item, STR("resourceFieldRef")) == NULL) {
            cause_required(c, at, "one of fieldRef and resourceFieldRef is required");
        }
    }
}

static void check_env(yyjson_mut_val *container, const struct path *at, struct causes *c) {
    static const char *const sources[] = {"fieldRef",     "resourceFieldRef", "configMapKeyRef",
                                          "secretKeyRef", "fileKeyRef",       NULL};
    struct path list = path_member(at, "env");
    EACH(json_mget(container, STR("env")), i, e) {
        struct path here = path_index(&list, i), from = path_member(&here, "valueFrom");
        yyjson_mut_val *v = json_mget(e, STR("valueFrom"));
        int n = v != NULL ? count_members(v, sources) : 1;
        check_key_name(v, "configMapKeyRef", &from, c);
        check_key_name(v, "secretKeyRef", &from, c);
        struct path field = path_member(&from, "fieldRef");
        check_field_path(json_mget(v, STR("fieldRef")), false, &field, c);
        if (v != NULL && json_mstr_at(e, "value").n > 0) {
            cause_invalid(c, &from, STR(""), "may not be specified when `value` is not empty");
        } else if (n == 0) {
            cause_invalid(c, &from, STR(""),
                          "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                          "`secretKeyRef` or `fileKeyRef`");
        } else if (n > 1) {
            cause_invalid(c, &from, STR(""),
                          "may not have more than one field specified at a time");
        }
    }
}

static void check_env_from(yyjson_mut_val *container, const struct path *at, struct causes *c) {
    static const char *const sources[] = {"configMapRef", "secretRef", NULL};
    struct path list = path_member(at, "envFrom");
    EACH(json_mget(container, STR("envFrom")), i, e) {
        struct path here = path_index(&list, i); /* of the list, where upstream names it alone */
        int n = count_members(e, sources);
        for (size_t k = 0; k < 2; k++) {
            struct path ref = path_member(&here, sources[k]), name = path_member(&ref, "name");
            yyjson_mut_val *v = json_mget(e, str_of(sources[k]));
            if (v != NULL && json_mstr_at(v, "name").n == 0) {
                cause_required(c, &name, NULL);
            }
        }
        if (n == 0) {
            cause_invalid(c, &list, STR(""), "must specify one of: `configMapRef` or `secretRef`");
        } else if (n > 1) {
            cause_invalid(c, &list, STR(""),
                          "may not have more than one field specified at a time");
        }
    }
}

static void check_id(yyjson_mut_val *context, const char *member, const struct path *at,
                     struct causes *c) {
    struct path here = path_member(at, member);
    yyjson_mut_val *v = json_mget(context, str_of(member));
    if (yyjson_mut_is_int(v) &&
        (yyjson_mut_get_sint(v) < 0 || yyjson_mut_get_sint(v) > INT32_MAX)) {
        cause_invalid_json(c, &here, v, "must be between 0 and 2147483647, inclusive");
    }
}

static void check_ids(yyjson_mut_val *owner, const struct path *at, struct causes *c) {
    static const char *const ids[] = {"runAsUser", "runAsGroup", "fsGroup"};
    struct path here = path_member(at, "securityContext");
    for (size_t i = 0; i < COUNT(ids); i++) {
        check_id(json_mget(owner, STR("securityContext")), ids[i], &here, c);
    }
}

static void check_hosts(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path list = path_member(at, "hostAliases");
    EACH(json_mget(spec, STR("hostAliases")), i, e) {
        struct path here = path_index(&list, i), ip = path_member(&here, "ip");
        char text[ADDRESS_MAX + 1], address[sizeof(struct in6_addr)];
        struct str v = json_mstr_at(e, "ip");
        bool good = str_copy(v, text, sizeof(text)) && (inet_pton(AF_INET, text, address) == 1 ||
                                                        inet_pton(AF_INET6, text, address) == 1);
        struct path names = path_member(&here, "hostnames");
        EACH(json_mget(e, STR("hostnames")), k, host) {
            struct path one = path_index(&names, k);
            const char *fault = format_fault("dns1123-subdomain", json_mstr(host));
            if (fault != NULL) {
                cause_invalid(c, &one, json_mstr(host), "%s", fault);
            }
        }
        if (!good && v.n > 0) {
            cause_invalid(c, &ip, v,
                          "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        }
    }
}

/* A volume of one kind must name what it is made of. */
static void check_named(yyjson_mut_val *volume, const char *kind, const char *member,
                        const struct path *at, struct causes *c) {
    struct path source = path_member(at, kind), name = path_member(&source, member);
    yyjson_mut_val *v = json_mget(volume, str_of(kind));
    if (v != NULL && json_mstr(json_mget(v, str_of(member))).n == 0) {
        cause_required(c, &name, NULL);
    }
}

static void check_volume_sources(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path list = path_member(at, "volumes");
    EACH(json_mget(spec, STR("volumes")), i, e) {
        struct path here = path_index(&list, i), down = path_member(&here, "downwardAPI");
        struct path projected = path_member(&here, "projected");
        struct path sources = path_member(&projected, "sources");
        check_named(e, "secret", "secretName", &here, c);
        check_named(e, "configMap", "name", &here, c);
        check_downward(json_mget(e, STR("downwardAPI")), &down, c);
        EACH(json_mpath(e, "projected.sources"), k, source) {
            struct path one = path_index(&sources, k), api = path_member(&one, "downwardAPI");
            check_downward(json_mget(source, STR("downwardAPI")), &api, c);
        }
    }
}

void pod_sources_check(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    for (size_t k = 0; k < COUNT(lists); k++) {
        struct path list = path_member(at, lists[k]);
        EACH(json_mget(spec, str_of(lists[k])), i, e) {
            struct path here = path_index(&list, i);
            check_env(e, &here, c);
            check_env_from(e, &here, c);
            check_ids(e, &here, c);
        }
    }
    check_ids(spec, at, c);
    check_hosts(spec, at, c);
    check_volume_sources(spec, at, c);
}
