/* pod_auth: see pod_auth.h. */
#include "node/spec/pod_auth.h"

#include "node/spec/pod_env.h"

static int add_entry(struct pod_auth *p, struct str host, yyjson_val *entry, struct err *err) {
    for (size_t i = 0; i < p->n; i++) {
        if (str_eq(p->hosts[i], host)) {
            return 0;
        }
    }
    if (p->n == POD_AUTHS) {
        return err_set(err, ERR_INVALID, "more than %d registries in imagePullSecrets", POD_AUTHS);
    }
    p->hosts[p->n] = host;
    p->entries[p->n++] = entry;
    return 0;
}

int pod_auth_add(struct pod_auth *p, yyjson_val *secret, struct err *err) {
    struct str name = json_str_at(secret, "metadata.name"), type = json_str_at(secret, "type"),
               text;
    bool old = str_is(type, "kubernetes.io/dockercfg");
    struct str key = old ? STR(".dockercfg") : STR(".dockerconfigjson");
    yyjson_obj_iter it;
    yyjson_val *k, *auths;
    yyjson_doc *doc;
    int code = 0;

    if (!old && !str_is(type, "kubernetes.io/dockerconfigjson")) {
        return err_set(err, ERR_INVALID,
                       "Secret \"%.*s\" in imagePullSecrets has type %.*s: expected "
                       "kubernetes.io/dockerconfigjson",
                       STR_ARG(name), STR_ARG(type));
    }
    if (!pod_source_key(secret, POD_SECRET, key, p->arena, &text) ||
        json_parse(p->arena, text, &doc, NULL)) {
        return err_set(err, ERR_INVALID, "Secret \"%.*s\" in imagePullSecrets: %.*s is no JSON",
                       STR_ARG(name), STR_ARG(key));
    }
    auths = old ? yyjson_doc_get_root(doc) : json_path(yyjson_doc_get_root(doc), "auths");
    if (!yyjson_is_obj(auths)) {
        return err_set(err, ERR_INVALID, "Secret \"%.*s\" in imagePullSecrets: %.*s has no auths",
                       STR_ARG(name), STR_ARG(key));
    }
    yyjson_obj_iter_init(auths, &it);
    while (code == 0 && (k = yyjson_obj_iter_next(&it))) {
        code = add_entry(p, json_str(k), yyjson_obj_iter_get_val(k), err);
    }
    return code;
}

void pod_auth_write(const struct pod_auth *p, struct buf *out) {
    if (p->n == 0) {
        return;
    }
    buf_c(out, "{\"auths\":{");
    for (size_t i = 0; i < p->n; i++) {
        buf_c(out, i ? "," : "");
        buf_json(out, p->hosts[i]);
        buf_ch(out, ':');
        json_write(out, p->entries[i]);
    }
    buf_c(out, "}}\n");
}
