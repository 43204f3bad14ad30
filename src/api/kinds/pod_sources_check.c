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
        if (!good && v.n > 0) {
            cause_invalid(c, &ip, v,
                          "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        }
    }
}

static void check_volume_names(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path list = path_member(at, "volumes");
    EACH(json_mget(spec, STR("volumes")), i, e) {
        struct path here = path_index(&list, i), secret = path_member(&here, "secret");
        struct path name = path_member(&secret, "secretName");
        if (json_mget(e, STR("secret")) != NULL && json_mstr_at(e, "secret.secretName").n == 0) {
            cause_required(c, &name, NULL);
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
    check_volume_names(spec, at, c);
}
