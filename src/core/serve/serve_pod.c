/* serve_pod: see serve_pod.h. */
#include "core/serve/serve_pod.h"

#include "base/limits.h"
#include "base/map.h"
#include "core/serve/serve_names.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Members that are no pod's, nor a container's. */
static const char *const apart[] = {"supportedModelFormats",
                                    "protocolVersions",
                                    "multiModel",
                                    "disabled",
                                    "labels",
                                    "annotations",
                                    "workerSpec",
                                    "minReplicas",
                                    "maxReplicas",
                                    "scaleTarget",
                                    "scaleMetric",
                                    "scaleMetricType",
                                    "autoScaling",
                                    "containerConcurrency",
                                    "timeout",
                                    "canaryTrafficPercent",
                                    "logger",
                                    "batcher",
                                    "deploymentStrategy",
                                    "model"};
static const char *const model_alone[] = {"modelFormat", "runtime",    "runtimeVersion", "storage",
                                          "name",        "storageUri", "protocolVersion"};

static bool is_one_of(struct str s, const char *const *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (str_is(s, v[i])) {
            return true;
        }
    }
    return false;
}

/* ---- laying one tree over another ---- */

/* The member by which elements of a list are told apart; NULL: the list is one value. */
static const char *key_of(struct str list) {
    static const struct {
        const char *list, *key;
    } keys[] = {{"containers", "name"},       {"initContainers", "name"},
                {"volumes", "name"},          {"env", "name"},
                {"imagePullSecrets", "name"}, {"hostAliases", "ip"},
                {"volumeMounts", "mountPath"}};
    for (size_t i = 0; i < COUNT(keys); i++) {
        if (str_is(list, keys[i].list)) {
            return keys[i].key;
        }
    }
    return NULL;
}

/* Of which half would make no sense beside another's half. */
static bool is_whole(struct str member) {
    static const char *const whole[] = {"livenessProbe", "readinessProbe", "startupProbe",
                                        "lifecycle", "affinity"};
    return is_one_of(member, whole, COUNT(whole));
}

static void lay(yyjson_mut_doc *d, yyjson_mut_val *to, yyjson_val *from);

/* The elements of a list by their key, the first of those that are alike; an error: out of memory. */
static int by_key(yyjson_mut_val *list, const char *key, struct map *ret) {
    size_t i, n;
    yyjson_mut_val *v;
    int r = 0;
    yyjson_mut_arr_foreach(list, i, n, v) {
        struct str name = json_mstr_at(v, key);
        r = r || map_get(ret, name) ? r : map_put(ret, name, v, NULL);
    }
    return r;
}

/* Both lists are as long as their author likes: they are not searched for each element. */
static void lay_list(yyjson_mut_doc *d, yyjson_mut_val *to, yyjson_val *from, const char *key) {
    yyjson_arr_iter it = yyjson_arr_iter_with(from);
    yyjson_val *v;
    struct map at = {0};
    bool known = by_key(to, key, &at) == 0;
    while ((v = yyjson_arr_iter_next(&it)) != NULL) {
        struct str name = json_str_at(v, key);
        yyjson_mut_val *there = known ? map_get(&at, name) : json_mfind(to, key, name);
        if (there != NULL && str_is(str_of(key), "name") &&
            json_get(v, STR("value")) != NULL) { /* a variable has one source */
            json_mdel(there, STR("valueFrom"));
        }
        if (there != NULL) {
            lay(d, there, v);
        } else {
            there = yyjson_val_mut_copy(d, v);
            yyjson_mut_arr_append(to, there);
            known = known && there != NULL && map_put(&at, name, there, NULL) == 0;
        }
    }
    map_release(&at);
}

static void append(yyjson_mut_doc *d, yyjson_mut_val *to, yyjson_val *from) {
    yyjson_arr_iter it = yyjson_arr_iter_with(from);
    yyjson_val *v;
    while ((v = yyjson_arr_iter_next(&it)) != NULL) {
        yyjson_mut_arr_append(to, yyjson_val_mut_copy(d, v));
    }
}

static void lay_member(yyjson_mut_doc *d, yyjson_mut_val *to, struct str name, yyjson_val *v) {
    yyjson_mut_val *there = json_mget(to, name);
    const char *key = key_of(name);
    if (yyjson_is_null(v)) {
        return;
    }
    if (yyjson_mut_is_obj(there) && yyjson_is_obj(v) && !is_whole(name)) {
        lay(d, there, v);
    } else if (yyjson_mut_is_arr(there) && yyjson_is_arr(v) && key != NULL) {
        lay_list(d, there, v, key);
    } else if (yyjson_mut_is_arr(there) && yyjson_is_arr(v) && str_is(name, "args")) {
        append(d, there, v);
    } else {
        json_mset(d, to, name, yyjson_val_mut_copy(d, v));
    }
}

/* The depth is bounded by what the parser takes. */
static void lay(yyjson_mut_doc *d, yyjson_mut_val *to, yyjson_val *from) {
    yyjson_obj_iter it = yyjson_obj_iter_with(from);
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&it)) != NULL) {
        lay_member(d, to, json_str(key), yyjson_obj_iter_get_val(key));
    }
}

static void lay_but(yyjson_mut_doc *d, yyjson_mut_val *to, yyjson_val *from, const char *const *but,
                    size_t n) {
    yyjson_obj_iter it = yyjson_obj_iter_with(from);
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&it)) != NULL) {
        if (!is_one_of(json_str(key), but, n)) {
            lay_member(d, to, json_str(key), yyjson_obj_iter_get_val(key));
        }
    }
}

/* ---- the container ---- */

static yyjson_mut_val *list_at(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *name) {
    yyjson_mut_val *v = json_mget(obj, str_of(name));
    if (!yyjson_mut_is_arr(v)) {
        v = yyjson_mut_arr(d);
        json_mset(d, obj, str_of(name), v);
    }
    return v;
}

static yyjson_mut_val *add_named(yyjson_mut_doc *d, yyjson_mut_val *list, const char *key,
                                 struct str value) {
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(d, list);
    json_mset_str(d, v, key, value);
    return v;
}

/* "repo/image:tag" with another tag; a digest pins the image, whatever the version. */
static void set_tag(yyjson_mut_doc *d, yyjson_mut_val *server, struct str version) {
    struct str image = json_mstr_at(server, "image");
    ptrdiff_t colon = str_find_last(image, ':'), slash = str_find_last(image, '/');
    if (version.n == 0 || image.n == 0 || str_find(image, '@') >= 0) {
        return;
    }
    struct str name = colon > slash ? str_head(image, (size_t)colon) : image;
    json_mset_str(d, server, "image",
                  arena_f(json_arena(d), "%.*s:%.*s", STR_ARG(name), STR_ARG(version)));
}

/* Only what the server says nothing of. */
static void give_hardware(yyjson_mut_doc *d, yyjson_mut_val *spec, yyjson_mut_val *server,
                          const struct serve_hardware *h) {
    for (size_t i = 0; i < h->n_amounts; i++) {
        const struct str_pair *x = &h->amounts[i];
        yyjson_mut_val *limits = json_mensure(d, server, "resources.limits");
        yyjson_mut_val *requests = json_mensure(d, server, "resources.requests");
        if (json_mget(limits, x->key) == NULL && json_mget(requests, x->key) == NULL) {
            json_mset(d, limits, x->key, yyjson_mut_strncpy(d, x->value.p, x->value.n));
            json_mset(d, requests, x->key, yyjson_mut_strncpy(d, x->value.p, x->value.n));
        }
    }
    if (h->node_selector != NULL && json_mget(spec, STR("nodeSelector")) == NULL) {
        json_mset(d, spec, STR("nodeSelector"), yyjson_val_mut_copy(d, h->node_selector));
    }
    if (h->tolerations != NULL && json_mget(spec, STR("tolerations")) == NULL) {
        json_mset(d, spec, STR("tolerations"), yyjson_val_mut_copy(d, h->tolerations));
    }
}

static int32_t give_port(yyjson_mut_doc *d, yyjson_mut_val *server) {
    yyjson_mut_val *ports = list_at(d, server, "ports"), *env = list_at(d, server, "env");
    if (yyjson_mut_arr_size(ports) == 0) {
        json_mset_i64(d, add_named(d, ports, "protocol", STR("TCP")), "containerPort", SERVE_PORT);
    }
    yyjson_mut_val *first = yyjson_mut_arr_get_first(ports);
    int32_t port = (int32_t)yyjson_mut_get_sint(json_mget(first, STR("containerPort")));
    if (json_mfind(env, "name", STR("PORT")) == NULL) {
        json_mset_str(d, add_named(d, env, "name", STR("PORT")), "value",
                      arena_f(json_arena(d), "%d", port));
    }
    if (json_mget(server, STR("readinessProbe")) == NULL) {
        json_mset_i64(d, json_mensure(d, server, "readinessProbe.tcpSocket"), "port", port);
        json_mset_i64(d, json_mget(server, STR("readinessProbe")), "periodSeconds", 2);
    }
    return port;
}

/* ---- the model ---- */

static void mount_model(yyjson_mut_doc *d, yyjson_mut_val *server, const char *volume,
                        struct str below) {
    yyjson_mut_val *list = list_at(d, server, "volumeMounts");
    if (json_mfind(list, "mountPath", STR(SERVE_MODEL_DIR)) != NULL) {
        return; /* its author knows better */
    }
    yyjson_mut_val *m = add_named(d, list, "name", str_of(volume));
    json_mset_str(d, m, "mountPath", STR(SERVE_MODEL_DIR));
    json_mset_bool(d, m, "readOnly", true);
    if (below.n > 0) {
        json_mset_str(d, m, "subPath", below);
    }
}

static void give_model(yyjson_mut_doc *d, yyjson_mut_val *template, yyjson_mut_val *server,
                       struct str uri) {
    yyjson_mut_val *volumes = list_at(d, json_mget(template, STR("spec")), "volumes");
    struct str claim, below;
    if (str_starts(uri, STR("pvc://"))) {
        if (!str_cut(str_skip(uri, 6), '/', &claim, &below)) {
            claim = str_skip(uri, 6);
            below = (struct str){0};
        }
        yyjson_mut_val *v = add_named(d, volumes, "name", STR(SERVE_CLAIM_VOLUME));
        json_mset_str(d, json_mensure(d, v, "persistentVolumeClaim"), "claimName", claim);
        mount_model(d, server, SERVE_CLAIM_VOLUME, below);
    } else if (uri.n > 0) {
        json_mensure(d, add_named(d, volumes, "name", STR(SERVE_VOLUME)), "emptyDir");
        mount_model(d, server, SERVE_VOLUME, (struct str){0});
        json_mset_str(d, json_mensure(d, template, "metadata.annotations"), SERVE_SOURCE, uri);
    }
}

/* ---- placeholders ---- */

static int fill_text(yyjson_mut_doc *d, yyjson_mut_val *v, const struct serve_meta *m,
                     struct err *err) {
    struct buf b;
    struct str text = json_mstr(v);
    if (!yyjson_mut_is_str(v) || memmem(text.p, text.n, "{{", 2) == NULL) {
        return 0;
    }
    buf_init(&b, LIMIT_OBJECT_BYTES);
    int r = serve_template(text, m, &b, err);
    r = r ? r : buf_ok(&b);
    struct str filled = r == 0 ? arena_str(json_arena(d), buf_view(&b)) : (struct str){0};
    buf_release(&b);
    if (r == 0 && filled.p != NULL) {
        yyjson_mut_set_strn(v, filled.p, filled.n);
    }
    return r;
}

static int fill(yyjson_mut_doc *d, yyjson_mut_val *v, const struct serve_meta *m, struct err *err) {
    size_t i, n;
    yyjson_mut_val *key, *x;
    int r = 0;
    if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach(v, i, n, x) {
            r = r ? r : fill(d, x, m, err);
        }
    } else if (yyjson_mut_is_obj(v)) {
        yyjson_mut_obj_foreach(v, i, n, key, x) {
            r = r ? r : fill(d, x, m, err);
        }
    }
    return r ? r : fill_text(d, v, m, err);
}

/* ---- limits ---- */

/* Members are found one after the other: of an object that is laid over another one there may not be many. Free are
 * the names of labels, annotations and node labels, and of resources. */
static int check_members(yyjson_val *v, struct str name, struct err *err) {
    size_t i, n;
    yyjson_val *key, *x;
    int r = 0;
    if (yyjson_obj_size(v) > SERVE_MEMBERS_MAX) {
        return err_set(err, ERR_INVALID, "%.*s: expected at most %d entries, not %zu",
                       STR_ARG(str_head(name, 63)), SERVE_MEMBERS_MAX, yyjson_obj_size(v));
    }
    yyjson_obj_foreach(v, i, n, key, x) {
        r = r ? r : check_members(x, json_str(key), err);
    }
    yyjson_arr_foreach(v, i, n, x) {
        r = r ? r : check_members(x, name, err);
    }
    return r;
}

/* ---- all of it ---- */

static void lay_containers(yyjson_mut_doc *d, yyjson_mut_val *spec, const struct serve_pod_of *of) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(of->pod, STR("containers")));
    yyjson_mut_val *list = list_at(d, spec, "containers");
    yyjson_val *c;
    while ((c = yyjson_arr_iter_next(&it)) != NULL) {
        struct str name = json_str_at(c, "name");
        yyjson_mut_val *there = json_mfind(list, "name", name);
        if (of->server_name.n > 0 && str_eq(name, of->server_name)) {
            continue;
        }
        if (there != NULL) {
            lay(d, there, c);
        } else {
            yyjson_mut_arr_append(list, yyjson_val_mut_copy(d, c));
        }
    }
}

static yyjson_mut_val *server_of(yyjson_mut_val *spec) {
    yyjson_mut_val *list = json_mget(spec, STR("containers"));
    yyjson_mut_val *server = json_mfind(list, "name", STR(SERVE_CONTAINER));
    return server != NULL || yyjson_mut_arr_size(list) > 1 ? server
                                                           : yyjson_mut_arr_get_first(list);
}

static void lay_meta(yyjson_mut_doc *d, yyjson_mut_val *template, yyjson_val *from) {
    yyjson_val *labels = json_get(from, STR("labels"));
    yyjson_val *notes = json_get(from, STR("annotations"));
    lay(d, json_mensure(d, template, "metadata.labels"), yyjson_is_obj(labels) ? labels : NULL);
    lay(d, json_mensure(d, template, "metadata.annotations"), yyjson_is_obj(notes) ? notes : NULL);
}

static void lay_labels(yyjson_mut_doc *d, yyjson_mut_val *template, const struct str_map *m) {
    yyjson_mut_val *labels = json_mensure(d, template, "metadata.labels");
    for (size_t i = 0; i < m->n; i++) {
        json_mset(d, labels, m->v[i].key, yyjson_mut_strncpy(d, m->v[i].value.p, m->v[i].value.n));
    }
}

int serve_pod(const struct serve_pod_of *of, yyjson_mut_doc *d, yyjson_mut_val **ret,
              int32_t *ret_port, struct err *err) {
    const char *but[COUNT(apart) + 1];
    int code = check_members(of->runtime, STR("spec"), err);
    code = code ? code : check_members(of->pod, STR("spec"), err);
    code = code ? code : check_members(of->server, STR("spec"), err);
    if (code != 0) {
        return code;
    }
    yyjson_mut_val *template = yyjson_mut_obj(d), *spec = json_mensure(d, template, "spec");
    memcpy(but, apart, sizeof apart);
    but[COUNT(apart)] = "containers";
    lay_meta(d, template, of->runtime);
    lay_meta(d, template, of->pod);
    lay_but(d, spec, of->runtime, apart, COUNT(apart));
    lay_but(d, spec, of->pod, but, COUNT(but));
    lay_containers(d, spec, of);
    yyjson_mut_val *server = server_of(spec);
    if (server == NULL) {
        return err_set(err, ERR_INVALID, "no container is named " SERVE_CONTAINER);
    }
    lay_but(d, server, of->server, model_alone, COUNT(model_alone));
    for (size_t i = 0; i < of->n_args; i++) {
        yyjson_mut_arr_add_strncpy(d, list_at(d, server, "args"), of->args[i].p, of->args[i].n);
    }
    set_tag(d, server, of->version);
    give_hardware(d, spec, server, &of->hardware);
    int32_t port = give_port(d, server);
    give_model(d, template, server, of->uri);
    lay_labels(d, template, &of->labels);
    int r = fill(d, json_mget(spec, STR("containers")), &of->meta, err);
    r = r ? r : fill(d, json_mget(spec, STR("initContainers")), &of->meta, err);
    if (r == 0 && arena_ok(json_arena(d)) != 0) {
        r = err_set(err, ERR_NOMEM, "out of memory");
    }
    if (r == 0) {
        *ret = template;
        *ret_port = port;
    }
    return r;
}
