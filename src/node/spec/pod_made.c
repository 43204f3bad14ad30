/* pod_made: see pod_made.h. */
#include "node/spec/pod_made.h"

enum { TOKEN_SECONDS = 3600, ACCOUNT_SECONDS = 3607, SECRET_MODE = 0600, PLAIN_MODE = 0644 };

/* A volume or a source of one, while it is read. */
struct made_reader {
    const struct pod_env_in *env;
    struct arena *arena;
    struct payload *out;
    mode_t mode;
    bool secret;
    struct err *err;
};

static int put(const struct made_reader *m, struct str path, struct str bytes, yyjson_val *item) {
    mode_t mode = (mode_t)json_i64_at(item, "mode", m->mode);

    return payload_add(m->out, path, bytes, m->secret ? mode & 0700 : mode, m->err);
}

/* ---- ConfigMaps and Secrets ---- */

static int put_items(const struct made_reader *m, enum pod_source kind, yyjson_val *object,
                     yyjson_val *items, bool optional) {
    yyjson_arr_iter it = yyjson_arr_iter_with(items);
    struct str bytes;
    int code = 0;

    for (yyjson_val *x; code == 0 && (x = yyjson_arr_iter_next(&it));) {
        if (pod_source_key(object, kind, json_str_at(x, "key"), m->arena, &bytes)) {
            code = put(m, json_str_at(x, "path"), bytes, x);
        } else if (!optional) {
            code = err_set(m->err, ERR_NOT_FOUND, "references non-existent key: %.*s",
                           STR_ARG(json_str_at(x, "key")));
        }
    }
    return code;
}

static int put_all(const struct made_reader *m, enum pod_source kind, yyjson_val *object) {
    static const char *const maps[] = {"data", "binaryData"};
    struct str bytes;
    int code = 0;

    for (int i = 0; i < 2; i++) {
        yyjson_obj_iter o = yyjson_obj_iter_with(json_get(object, str_of(maps[i])));
        for (yyjson_val *x; code == 0 && (x = yyjson_obj_iter_next(&o));) {
            if (pod_source_key(object, kind, json_str(x), m->arena, &bytes)) {
                code = put(m, json_str(x), bytes, NULL);
            }
        }
    }
    return code;
}

static int put_source(const struct made_reader *m, enum pod_source kind, struct str name,
                      yyjson_val *v) {
    yyjson_val *object = m->env->lookup(m->env->ctx, kind, name),
               *items = json_get(v, STR("items"));
    bool optional = json_bool_at(v, "optional", false);

    if (object == NULL) {
        return optional ? 0
                        : err_set(m->err, ERR_NOT_FOUND, "%s \"%.*s\" not found",
                                  kind == POD_SECRET ? "secret" : "configmap", STR_ARG(name));
    }
    return items ? put_items(m, kind, object, items, optional) : put_all(m, kind, object);
}

/* ---- the downward API ---- */

static int put_downward(const struct made_reader *m, yyjson_val *v) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(v, STR("items")));
    struct str bytes;
    int code = 0;

    for (yyjson_val *x; code == 0 && (x = yyjson_arr_iter_next(&it));) {
        yyjson_val *ref = json_get(x, STR("fieldRef")),
                   *resource = json_get(x, STR("resourceFieldRef"));
        if (ref == NULL && resource == NULL) {
            return err_set(m->err, ERR_INVALID,
                           "downwardAPI: an item needs fieldRef or "
                           "resourceFieldRef");
        }
        code = ref ? pod_field(m->env, m->arena, json_str_at(ref, "fieldPath"), &bytes, m->err)
                   : pod_resource_field(m->env, m->arena, resource, &bytes, m->err);
        code = code ? code : put(m, json_str_at(x, "path"), bytes, x);
    }
    return code;
}

/* ---- tokens ---- */

struct str pod_token_name(const struct pod_token *t, struct arena *a) {
    return arena_f(a, "%.*s %lld %.*s", STR_ARG(t->account), (long long)t->seconds,
                   STR_ARG(t->audience));
}

bool pod_token_named(struct str name, struct pod_token *ret) {
    struct str rest, number;
    uint64_t n;

    if (!str_cut(name, ' ', &ret->account, &rest) || !str_cut(rest, ' ', &number, &ret->audience) ||
        !str_to_u64(number, &n) || n > INT64_MAX) {
        return false;
    }
    ret->seconds = (int64_t)n;
    return true;
}

static struct str account_of(const struct pod_env_in *e) {
    struct str name = json_str_at(e->pod, "spec.serviceAccountName");

    return name.n ? name : STR("default");
}

static int put_token(const struct made_reader *m, struct str path, int64_t seconds,
                     struct str audience) {
    const struct pod_token t = {account_of(m->env), seconds, audience};
    struct made_reader secret = *m;
    yyjson_val *object = m->env->lookup(m->env->ctx, POD_TOKEN, pod_token_name(&t, m->arena));
    struct str text = json_str_at(object, "status.token");

    if (str_empty(text)) {
        return err_set(m->err, ERR_NOT_FOUND, "there is no token for serviceaccount \"%.*s\" yet",
                       STR_ARG(t.account));
    }
    secret.secret = true;
    secret.mode = SECRET_MODE;
    return put(&secret, path, text, NULL);
}

/* ---- the whole ---- */

static int put_part(const struct made_reader *m, yyjson_val *source) {
    struct made_reader secret = *m;
    yyjson_val *s;

    secret.secret = true;
    if ((s = json_get(source, STR("configMap")))) {
        return put_source(m, POD_CONFIG_MAP, json_str_at(s, "name"), s);
    }
    if ((s = json_get(source, STR("secret")))) {
        return put_source(&secret, POD_SECRET, json_str_at(s, "name"), s);
    }
    if ((s = json_get(source, STR("downwardAPI")))) {
        return put_downward(m, s);
    }
    if ((s = json_get(source, STR("serviceAccountToken")))) {
        return put_token(m, json_str_at(s, "path"),
                         json_i64_at(s, "expirationSeconds", TOKEN_SECONDS),
                         json_str_at(s, "audience"));
    }
    return err_set(m->err, ERR_INVALID,
                   "projected volumes have configMap, secret, downwardAPI and serviceAccountToken "
                   "here; others are not served");
}

static int put_projected(const struct made_reader *m, yyjson_val *v) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(v, STR("sources")));
    int code = 0;

    for (yyjson_val *x; code == 0 && (x = yyjson_arr_iter_next(&it));) {
        code = put_part(m, x);
    }
    return code;
}

bool pod_made_is(yyjson_val *volume) {
    return json_get(volume, STR("configMap")) || json_get(volume, STR("secret")) ||
           json_get(volume, STR("downwardAPI")) || json_get(volume, STR("projected"));
}

int pod_made_read(const struct pod_env_in *e, yyjson_val *volume, struct arena *a,
                  struct payload *out, struct err *err) {
    struct made_reader m = {.env = e, .arena = a, .out = out, .err = err};
    yyjson_val *s;

    if ((s = json_get(volume, STR("configMap")))) {
        m.mode = (mode_t)json_i64_at(s, "defaultMode", PLAIN_MODE);
        return put_source(&m, POD_CONFIG_MAP, json_str_at(s, "name"), s);
    }
    if ((s = json_get(volume, STR("secret")))) {
        m.secret = true;
        m.mode = (mode_t)json_i64_at(s, "defaultMode", SECRET_MODE);
        return put_source(&m, POD_SECRET, json_str_at(s, "secretName"), s);
    }
    s = json_get(volume, STR("downwardAPI"));
    s = s ? s : json_get(volume, STR("projected"));
    m.mode = (mode_t)json_i64_at(s, "defaultMode", PLAIN_MODE);
    return json_get(volume, STR("downwardAPI")) ? put_downward(&m, s) : put_projected(&m, s);
}

/* ---- what a pod gets unasked ---- */

bool pod_account_wanted(const struct pod_env_in *e) {
    return e->facts->api.n > 0 && json_bool_at(e->pod, "spec.automountServiceAccountToken", true);
}

bool pod_account_mounted(const struct pod_env_in *e, yyjson_val *container) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(container, STR("volumeMounts")));

    for (yyjson_val *m; (m = yyjson_arr_iter_next(&it));) {
        if (str_is(json_str_at(m, "mountPath"), POD_ACCOUNT_PATH)) {
            return false;
        }
    }
    return pod_account_wanted(e);
}

void pod_account_ask(const struct pod_env_in *e, struct arena *a) {
    const struct pod_token t = {account_of(e), ACCOUNT_SECONDS, STR("")};

    (void)e->lookup(e->ctx, POD_TOKEN, pod_token_name(&t, a));
}

int pod_account_read(const struct pod_env_in *e, struct arena *a, struct payload *out,
                     struct err *err) {
    const struct made_reader m = {.env = e, .arena = a, .out = out, .mode = PLAIN_MODE, .err = err};
    int code = put_token(&m, STR("token"), ACCOUNT_SECONDS, STR(""));

    code = code || e->facts->api_authority.n == 0
               ? code
               : put(&m, STR("ca.crt"), e->facts->api_authority, NULL);
    return code ? code : put(&m, STR("namespace"), json_str_at(e->pod, "metadata.namespace"), NULL);
}
