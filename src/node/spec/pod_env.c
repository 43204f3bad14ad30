/* pod_env: see pod_env.h. */
#include "node/spec/pod_env.h"

#include "base/limits.h"
#include "wire/text/base64.h"
#include "wire/text/quantity.h"

int pod_env_set(struct pod_env *e, struct str name, struct str value) {
    for (size_t i = 0; i < e->n; i++) {
        if (str_eq(e->v[i].key, name)) {
            e->v[i].value = value;
            return 0;
        }
    }
    if (e->n == LIMIT_POD_ENV) {
        return ERR_TOO_LARGE;
    }
    if (e->n == e->cap && ARENA_GROW(e->arena, e->v, e->cap) != 0) {
        return ERR_NOMEM;
    }
    e->v[e->n++] = (struct str_pair){name, value};
    return 0;
}

static bool find(const struct pod_env *e, struct str name, struct str *ret) {
    for (size_t i = 0; i < e->n; i++) {
        if (str_eq(e->v[i].key, name)) {
            *ret = e->v[i].value;
            return true;
        }
    }
    return false;
}

struct str pod_env_expand(const struct pod_env *e, struct str text) {
    struct buf b;
    struct str value;

    if (str_find(text, '$') < 0) {
        return text;
    }
    buf_init(&b, LIMIT_OBJECT_BYTES);
    for (size_t i = 0; i < text.n; i++) {
        struct str rest = str_skip(text, i);
        ptrdiff_t end = str_starts(rest, STR("$(")) ? str_find(rest, ')') : -1;
        if (str_starts(rest, STR("$$"))) {
            buf_ch(&b, '$');
            i++;
        } else if (end > 0 && find(e, str_from(rest.p + 2, (size_t)end - 2), &value)) {
            buf_str(&b, value);
            i += (size_t)end;
        } else {
            buf_ch(&b, text.p[i]);
        }
    }
    struct str out = buf_ok(&b) ? text : arena_str(e->arena, buf_view(&b));
    buf_release(&b);
    return out;
}

bool pod_source_key(yyjson_val *object, enum pod_source kind, struct str key, struct arena *a,
                    struct str *ret) {
    yyjson_val *v = json_get(json_get(object, STR("data")), key);

    if (v && kind == POD_CONFIG_MAP) {
        *ret = json_str(v);
        return true;
    }
    if (v == NULL && kind == POD_CONFIG_MAP) {
        v = json_get(json_get(object, STR("binaryData")), key);
    }
    struct str bytes = v ? base64_decode(a, json_str(v)) : (struct str){NULL, 0};
    if (bytes.p == NULL) {
        return false;
    }
    *ret = bytes;
    return true;
}

/* "labels['app']" after the dot: the key, or false. */
static bool subscript(struct str path, const char *what, struct str *ret) {
    struct str w = str_of(what);

    if (!str_starts(path, w) || !str_starts(str_skip(path, w.n), STR("['")) ||
        !str_ends(path, STR("']"))) {
        return false;
    }
    *ret = str_from(path.p + w.n + 2, path.n - w.n - 4);
    return true;
}

/* All labels or annotations as key="value" lines, for downward API files. */
static struct str whole_map(yyjson_val *map, struct arena *a) {
    yyjson_obj_iter it;
    yyjson_val *k;
    struct buf b;

    buf_init(&b, LIMIT_OBJECT_BYTES);
    yyjson_obj_iter_init(map, &it);
    while ((k = yyjson_obj_iter_next(&it))) {
        buf_str(&b, json_str(k));
        buf_ch(&b, '=');
        buf_json(&b, json_str(yyjson_obj_iter_get_val(k)));
        buf_ch(&b, '\n');
    }
    struct str out = arena_str(a, buf_view(&b));
    buf_release(&b);
    return out;
}

int pod_field(const struct pod_env_in *in, struct arena *a, struct str path, struct str *ret,
              struct err *err) {
    static const char *const plain[] = {"metadata.name", "metadata.namespace", "metadata.uid",
                                        "spec.nodeName", "spec.serviceAccountName"};
    yyjson_val *meta = json_get(in->pod, STR("metadata"));
    struct str key;

    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (str_is(path, plain[i])) {
            *ret = json_str_at(in->pod, plain[i]);
            return 0;
        }
    }
    if (subscript(path, "metadata.labels", &key)) {
        *ret = json_str(json_get(json_get(meta, STR("labels")), key));
    } else if (subscript(path, "metadata.annotations", &key)) {
        *ret = json_str(json_get(json_get(meta, STR("annotations")), key));
    } else if (str_is(path, "metadata.labels")) {
        *ret = whole_map(json_get(meta, STR("labels")), a);
    } else if (str_is(path, "metadata.annotations")) {
        *ret = whole_map(json_get(meta, STR("annotations")), a);
    } else if (str_is(path, "status.podIP") || str_is(path, "status.podIPs")) {
        *ret = in->facts->pod_ip;
    } else if (str_is(path, "status.hostIP") || str_is(path, "status.hostIPs")) {
        *ret = in->facts->host_ip;
    } else {
        return err_set(err, ERR_INVALID, "fieldRef: there is no field \"%.*s\"", STR_ARG(path));
    }
    return 0;
}

static yyjson_val *container_named(yyjson_val *pod, struct str name) {
    static const char *const lists[] = {"spec.containers", "spec.initContainers"};
    yyjson_arr_iter it;
    yyjson_val *e;

    for (int i = 0; i < 2; i++) {
        yyjson_arr_iter_init(json_path(pod, lists[i]), &it);
        while ((e = yyjson_arr_iter_next(&it))) {
            if (str_eq(json_str_at(e, "name"), name)) {
                return e;
            }
        }
    }
    return NULL;
}

int pod_resource_field(const struct pod_env_in *in, struct arena *a, yyjson_val *ref,
                       struct str *ret, struct err *err) {
    struct str resource = json_str_at(ref, "resource"), name = json_str_at(ref, "containerName"),
               kind, what, text = json_str_at(ref, "divisor");
    yyjson_val *c = str_empty(name) ? in->container : container_named(in->pod, name);
    struct quantity q = {0}, divisor = {.whole = 1};

    if (c == NULL || !str_cut(resource, '.', &kind, &what)) {
        return err_set(err, ERR_INVALID, "resourceFieldRef: there is no \"%.*s\"",
                       STR_ARG(resource));
    }
    if (!str_empty(text) && quantity_parse(text, &divisor, NULL) == 0 &&
        quantity_is_zero(divisor)) {
        divisor = (struct quantity){.whole = 1};
    }
    text = json_str(json_get(json_get(json_get(c, STR("resources")), kind), what));
    if (str_empty(text) || quantity_parse(text, &q, NULL)) {
        bool cpu = str_is(what, "cpu");
        q = cpu ? quantity_of_milli(in->facts->node_cpu_milli, QUANTITY_DECIMAL)
                : quantity_of(str_is(what, "memory") ? in->facts->node_memory : 0, QUANTITY_BINARY);
    }
    int64_t d = quantity_milli(divisor), n = quantity_milli(q);
    /* Beyond thousandths of 2^63 both saturate; then whole units are exact enough. */
    if (n == INT64_MAX) {
        n = quantity_value(q);
        d = quantity_value(divisor);
    }
    *ret = arena_f(a, "%lld", (long long)(d > 0 ? n / d + (n % d != 0) : 0));
    return 0;
}

static int from_key(const struct pod_env_in *in, struct arena *a, yyjson_val *ref,
                    enum pod_source kind, struct str *ret, bool *ret_absent, struct err *err) {
    struct str name = json_str_at(ref, "name"), key = json_str_at(ref, "key");
    bool optional = json_bool_at(ref, "optional", false);
    yyjson_val *object = in->lookup(in->ctx, kind, name);
    const char *what = kind == POD_SECRET ? "secret" : "configmap";

    *ret_absent = false;
    if (object && pod_source_key(object, kind, key, a, ret)) {
        return 0;
    }
    if (optional) {
        *ret_absent = true;
        return 0;
    }
    return object ? err_set(err, ERR_NOT_FOUND, "couldn't find key %.*s in %s %.*s", STR_ARG(key),
                            what, STR_ARG(name))
                  : err_set(err, ERR_NOT_FOUND, "%s \"%.*s\" not found", what, STR_ARG(name));
}

static int add_one(struct pod_env *e, const struct pod_env_in *in, yyjson_val *v, struct err *err) {
    struct str name = json_str_at(v, "name"), value = json_str_at(v, "value");
    yyjson_val *from = json_get(v, STR("valueFrom")), *ref;
    bool absent = false;
    int code = 0;

    if (from == NULL) {
        value = pod_env_expand(e, value);
    } else if ((ref = json_get(from, STR("fieldRef")))) {
        code = pod_field(in, e->arena, json_str_at(ref, "fieldPath"), &value, err);
    } else if ((ref = json_get(from, STR("resourceFieldRef")))) {
        code = pod_resource_field(in, e->arena, ref, &value, err);
    } else if ((ref = json_get(from, STR("configMapKeyRef")))) {
        code = from_key(in, e->arena, ref, POD_CONFIG_MAP, &value, &absent, err);
    } else if ((ref = json_get(from, STR("secretKeyRef")))) {
        code = from_key(in, e->arena, ref, POD_SECRET, &value, &absent, err);
    }
    return code || absent ? code : pod_env_set(e, name, value);
}

static int add_all(struct pod_env *e, const struct pod_env_in *in, yyjson_val *v, struct err *err) {
    yyjson_val *ref = json_get(v, STR("configMapRef"));
    enum pod_source kind = ref ? POD_CONFIG_MAP : POD_SECRET;
    struct str prefix = json_str_at(v, "prefix"), name, value;
    yyjson_obj_iter it;
    yyjson_val *k;
    int code = 0;

    ref = ref ? ref : json_get(v, STR("secretRef"));
    name = json_str_at(ref, "name");
    yyjson_val *object = in->lookup(in->ctx, kind, name);
    if (object == NULL) {
        return json_bool_at(ref, "optional", false)
                   ? 0
                   : err_set(err, ERR_NOT_FOUND, "%s \"%.*s\" not found",
                             kind == POD_SECRET ? "secret" : "configmap", STR_ARG(name));
    }
    yyjson_obj_iter_init(json_get(object, STR("data")), &it);
    while (code == 0 && (k = yyjson_obj_iter_next(&it))) {
        struct str key = json_str(k);
        if (pod_source_key(object, kind, key, e->arena, &value)) {
            code = pod_env_set(e,
                               str_empty(prefix)
                                   ? key
                                   : arena_f(e->arena, "%.*s%.*s", STR_ARG(prefix), STR_ARG(key)),
                               value);
        }
    }
    return code;
}

int pod_env_build(struct pod_env *e, const struct pod_env_in *in, struct err *err) {
    yyjson_arr_iter it;
    yyjson_val *v;
    int code = 0;

    yyjson_arr_iter_init(json_get(in->container, STR("envFrom")), &it);
    while (code == 0 && (v = yyjson_arr_iter_next(&it))) {
        code = add_all(e, in, v, err);
    }
    yyjson_arr_iter_init(json_get(in->container, STR("env")), &it);
    while (code == 0 && (v = yyjson_arr_iter_next(&it))) {
        code = add_one(e, in, v, err);
    }
    if (code == ERR_TOO_LARGE) {
        return err_set(err, ERR_INVALID, "more than %d environment variables", LIMIT_POD_ENV);
    }
    return code;
}
