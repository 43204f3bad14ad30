/* negotiate: see negotiate.h. An entry is "type/subtype;name=value;...", split by hand: there is
 * no quoting in use. */
#include "server/kit/negotiate.h"

struct negotiate_entry {
    struct str type;
    struct str as, group, version;
};

static struct negotiate_entry entry_parse(struct str s) {
    struct negotiate_entry e = {0};
    struct str part;
    bool first = true;
    while (str_next(&s, ';', &part)) {
        part = str_trim(part);
        struct str key, value;
        if (first) {
            e.type = part;
            first = false;
        } else if (str_cut(part, '=', &key, &value)) {
            key = str_trim(key);
            value = str_trim(value);
            if (str_is(key, "as")) {
                e.as = value;
            } else if (str_is(key, "g")) {
                e.group = value;
            } else if (str_is(key, "v")) {
                e.version = value;
            }
        }
    }
    return e;
}

static bool is_json(struct str type) {
    return str_eq_nocase(type, STR("application/json")) || str_is(type, "*/*") ||
           str_is(type, "application/*");
}

static bool is_yaml(struct str type) {
    return str_eq_nocase(type, STR("application/yaml")) ||
           str_eq_nocase(type, STR("application/x-yaml")) || str_eq_nocase(type, STR("text/yaml"));
}

static bool is_protobuf(struct str type) {
    return str_eq_nocase(type, STR("application/vnd.kubernetes.protobuf"));
}

/* True when the entry can be answered; then *ret says how. */
static bool entry_media(const struct negotiate_entry *e, unsigned allowed, struct media *ret) {
    struct media m = {0};
    m.yaml = is_yaml(e->type);
    m.protobuf = (allowed & ACCEPT_PROTOBUF) && e->as.n == 0 && is_protobuf(e->type);
    if (!m.yaml && !m.protobuf && !is_json(e->type)) {
        return false;
    }
    if (e->as.n == 0) {
        *ret = m;
        return true;
    }
    if (str_is(e->as, "APIGroupDiscoveryList")) {
        m.shape = SHAPE_DISCOVERY;
        m.v1beta1 = str_is(e->version, "v2beta1");
        *ret = m;
        return (allowed & ACCEPT_DISCOVERY) && !m.yaml && (m.v1beta1 || str_is(e->version, "v2")) &&
               str_is(e->group, "apidiscovery.k8s.io");
    }
    if (!(allowed & ACCEPT_SHAPES) || !str_is(e->group, "meta.k8s.io")) {
        return false;
    }
    m.v1beta1 = str_is(e->version, "v1beta1");
    if (!m.v1beta1 && !str_is(e->version, "v1")) {
        return false;
    }
    if (str_is(e->as, "Table")) {
        m.shape = SHAPE_TABLE;
    } else if (str_is(e->as, "PartialObjectMetadata") ||
               str_is(e->as, "PartialObjectMetadataList")) {
        m.shape = SHAPE_METADATA;
    } else {
        return false;
    }
    *ret = m;
    return true;
}

int negotiate_accept(struct str accept, unsigned allowed, struct media *ret, struct err *err) {
    if (str_trim(accept).n == 0) {
        *ret = (struct media){0};
        return 0;
    }
    struct str part;
    while (str_next(&accept, ',', &part)) {
        struct negotiate_entry e = entry_parse(part);
        struct media m;
        if (entry_media(&e, allowed, &m)) {
            *ret = m;
            return 0;
        }
    }
    return err_set(err, ERR_NOT_ACCEPTABLE,
                   "only the following media types are accepted: application/json, "
                   "application/yaml%s",
                   allowed & ACCEPT_PROTOBUF ? ", application/vnd.kubernetes.protobuf" : "");
}

int negotiate_body(struct str content_type, enum body_type *ret, struct err *err) {
    struct negotiate_entry e = entry_parse(content_type);
    if (e.type.n == 0 || str_eq_nocase(e.type, STR("application/json"))) {
        *ret = BODY_JSON;
    } else if (is_yaml(e.type)) {
        *ret = BODY_YAML;
    } else if (is_protobuf(e.type)) {
        *ret = BODY_PROTOBUF;
    } else {
        return err_set(err, ERR_MEDIA_TYPE,
                       "the body of the request was in an unknown format - accepted media types "
                       "include: application/json, application/yaml, "
                       "application/vnd.kubernetes.protobuf");
    }
    return 0;
}

int negotiate_patch(struct str content_type, bool custom, enum body_type *ret, struct err *err) {
    static const struct {
        const char *type;
        enum body_type body;
    } rows[] = {
        {"application/json-patch+json", BODY_JSON_PATCH},
        {"application/merge-patch+json", BODY_MERGE_PATCH},
        {"application/apply-patch+yaml", BODY_APPLY_PATCH},
        {"application/strategic-merge-patch+json", BODY_STRATEGIC_PATCH},
    };
    struct negotiate_entry e = entry_parse(content_type);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (str_eq_nocase(e.type, str_of(rows[i].type)) &&
            !(custom && rows[i].body == BODY_STRATEGIC_PATCH)) {
            *ret = rows[i].body;
            return 0;
        }
    }
    return err_set(err, ERR_MEDIA_TYPE,
                   "the body of the request was in an unknown format - accepted media types "
                   "include: application/json-patch+json, application/merge-patch+json, "
                   "application/apply-patch+yaml%s",
                   custom ? "" : ", application/strategic-merge-patch+json");
}

bool negotiate_etag(struct str if_none_match, struct str etag) {
    struct str part;
    while (str_next(&if_none_match, ',', &part)) {
        part = str_trim(part);
        if (str_starts(part, STR("W/"))) {
            part = str_skip(part, 2);
        }
        if (str_eq(part, etag) || str_is(part, "*")) {
            return true;
        }
    }
    return false;
}
