/* deploy_spec: see deploy_spec.h. */
#include "cli/serve/deploy_spec.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/models/view_models.h"
#include "base/limits.h"
#include "cli/job/job_spec.h"
#include "cli/serve/catalog_find.h"
#include "wire/text/quantity.h"

static int expected(struct err *err, const char *option, const char *what, const char *given) {
    return err_set(err, ERR_BAD_REQUEST, "--%s: expected %s, not \"%s\"", option, what, given);
}

/* ---- which model ---- */

static bool is_uri(struct str s) {
    for (size_t i = 0; i + 2 < s.n; i++) {
        if (memcmp(s.p + i, "://", 3) == 0) {
            return true;
        }
    }
    return false;
}

/* A folder or file of this machine, which is the server's as well when it is `berth up` here. */
static bool is_path(const char *model) {
    return model[0] == '/' || model[0] == '.' || model[0] == '~';
}

static int find_model(const struct cli_args *a, struct arena *arena, struct deploy_spec *s,
                      struct err *err) {
    const char *model = a->args[0];
    char path[PATH_MAX];
    struct catalog all;
    if (is_uri(str_of(model))) {
        s->uri = str_of(model);
        return 0;
    }
    if (is_path(model)) {
        if (realpath(model, path) == NULL) {
            return err_set(err, ERR_NOT_FOUND, "there is no folder or file \"%s\"", model);
        }
        s->uri = arena_f(arena, "file://%s", path);
        return 0;
    }
    int r = catalog_find_read(arena, cli_value(a, "catalog"), &all, err);
    const struct catalog_model *m = r == 0 ? catalog_find(&all, str_of(model)) : NULL;
    if (m != NULL && m->n_artifacts > 0) {
        s->uri = m->artifacts[0].uri;
        return 0;
    }
    if (r != 0 || cli_value(a, "command")) {
        return r; /* a command needs no model: it is the name alone */
    }
    return err_set(err, ERR_NOT_FOUND,
                   "\"%s\" is not in the catalog (`berth models`): expected a name of it, a place "
                   "such as hf://%s, or the path of a folder",
                   model, strchr(model, '/') ? model : "ORGANISATION/MODEL");
}

static bool ends_alike(struct str s, const char *end) {
    size_t n = strlen(end);
    return s.n >= n && strncasecmp(s.p + s.n - n, end, n) == 0;
}

static struct str format_of(const struct cli_args *a, struct str uri) {
    const char *given = cli_value(a, "format");
    return given                                                  ? str_of(given)
           : cli_value(a, "command")                              ? STR("command")
           : ends_alike(uri, ".gguf") || ends_alike(uri, "-gguf") ? STR("gguf")
                                                                  : STR("vLLM");
}

/* "meta-llama/Llama-3.1-8B-Instruct" to "llama-3-1-8b-instruct". */
static struct str name_from(struct arena *arena, struct str model) {
    while (model.n > 1 && model.p[model.n - 1] == '/') {
        model.n--;
    }
    struct str last = str_skip(model, (size_t)(str_find_last(model, '/') + 1));
    char room[MODEL_NAME_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; i < last.n && n < MODEL_NAME_MAX; i++) {
        char c = last.p[i];
        c = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        bool letter = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
        if (letter || (digit && n > 0)) {
            room[n++] = c;
        } else if (n > 0 && room[n - 1] != '-') {
            room[n++] = '-';
        }
    }
    while (n > 0 && room[n - 1] == '-') {
        n--;
    }
    return arena_str(arena, n > 0 ? str_from(room, n) : STR("model"));
}

/* ---- the object ---- */

struct deploy_build {
    const struct cli_args *a;
    struct arena *arena;
    struct err *err;
    yyjson_mut_doc *d;
    yyjson_mut_val *predictor, *model;
};

static int add_count(struct deploy_build *b, const char *option, const char *member, int64_t min,
                     int64_t max) {
    const char *text = cli_value(b->a, option);
    int64_t n;
    if (text == NULL) {
        return 0;
    }
    if (!str_to_i64(str_of(text), &n) || n < min || n > max) {
        return expected(
            b->err, option,
            arena_f(b->arena, "a whole number of %lld to %lld", (long long)min, (long long)max).p,
            text);
    }
    return json_mset_i64(b->d, b->predictor, member, n);
}

static int add_amount(struct deploy_build *b, const char *option) {
    const char *text = cli_value(b->a, option);
    struct quantity q;
    char room[32];
    if (text == NULL) {
        return 0;
    }
    if (!job_spec_memory(str_of(text), room) || quantity_parse(str_of(room), &q, NULL) != 0 ||
        text[0] == '-') {
        return expected(b->err, option, "an amount as 500m, 2 or 4Gi", text);
    }
    int r = json_mset_str(b->d, json_mensure(b->d, b->model, "resources.requests"), option,
                          str_of(room));
    bool limited = strcmp(option, "memory") == 0;
    return r || !limited ? r
                         : json_mset_str(b->d, json_mensure(b->d, b->model, "resources.limits"),
                                         option, str_of(room));
}

static int add_gpus(struct deploy_build *b) {
    const char *slice = cli_value(b->a, "slice"), *gpus = cli_value(b->a, "gpus");
    char resource[SLICE_TEXT_MAX];
    int64_t n;
    if (slice && gpus) {
        return err_set(b->err, ERR_BAD_REQUEST, "--slice and --gpus: expected only one of them");
    }
    if (slice && !job_spec_slice(str_of(slice), resource)) {
        return expected(b->err, "slice", "a MIG profile, as 3g.71gb", slice);
    }
    if (gpus && (!str_to_i64(str_of(gpus), &n) || n < 1 || n > 1024)) {
        return expected(b->err, "gpus", "a number of 1 to 1024", gpus);
    }
    if (slice == NULL && gpus == NULL) {
        return 0;
    }
    yyjson_mut_val *limits = json_mensure(b->d, b->model, "resources.limits");
    int r = json_mset_str(b->d, limits, slice ? resource : "nvidia.com/gpu",
                          slice ? STR("1") : str_of(gpus));
    if (r == 0 && gpus && n > 1 && str_is(json_mstr_at(b->model, "modelFormat.name"), "vLLM")) {
        yyjson_mut_val *args = yyjson_mut_arr(b->d);
        struct str text = arena_f(b->arena, "--tensor-parallel-size=%lld", (long long)n);
        yyjson_mut_arr_add_strncpy(b->d, args, text.p, text.n);
        r = json_mset(b->d, b->model, STR("args"), args);
    }
    return r;
}

static int add_args(struct deploy_build *b) {
    yyjson_mut_val *args = json_mget(b->model, STR("args"));
    const char *text;
    for (size_t i = 0; (text = cli_nth(b->a, "arg", i)) != NULL; i++) {
        if (args == NULL) {
            args = yyjson_mut_arr(b->d);
            json_mset(b->d, b->model, STR("args"), args);
        }
        yyjson_mut_arr_add_strcpy(b->d, args, text);
    }
    text = cli_value(b->a, "command");
    if (text != NULL) {
        yyjson_mut_val *command = yyjson_mut_arr(b->d);
        yyjson_mut_arr_add_str(b->d, command, "sh");
        yyjson_mut_arr_add_str(b->d, command, "-c");
        yyjson_mut_arr_add_strcpy(b->d, command, text);
        json_mset(b->d, b->model, STR("command"), command);
    }
    return 0;
}

static int add_env(struct deploy_build *b) {
    yyjson_mut_val *list = yyjson_mut_arr(b->d);
    const char *text;
    for (size_t i = 0; (text = cli_nth(b->a, "env", i)) != NULL; i++) {
        struct str name, value;
        if (!str_cut(str_of(text), '=', &name, &value) || name.n == 0) {
            return expected(b->err, "env", "NAME=VALUE", text);
        }
        yyjson_mut_val *e = yyjson_mut_arr_add_obj(b->d, list);
        json_mset_str(b->d, e, "name", name);
        json_mset_str(b->d, e, "value", value);
    }
    return yyjson_mut_arr_size(list) ? json_mset(b->d, b->model, STR("env"), list) : 0;
}

static int add_meta(struct deploy_build *b, struct str name, struct str ns) {
    const char *queue = cli_value(b->a, "queue"), *profile = cli_value(b->a, "hardware-profile");
    yyjson_mut_val *meta = json_mensure(b->d, b->d->root, "metadata");
    int r = json_mset_str(b->d, meta, "name", name);
    if (r == 0 && ns.n > 0) {
        r = json_mset_str(b->d, meta, "namespace", ns);
    }
    if (r == 0 && (queue || !profile)) {
        r = json_mset_str(b->d, json_mensure(b->d, meta, "labels"), "kueue.x-k8s.io/queue-name",
                          queue ? str_of(queue) : STR("default"));
    }
    return r || !profile ? r
                         : json_mset_str(b->d, json_mensure(b->d, meta, "annotations"),
                                         "opendatahub.io/hardware-profile-name", str_of(profile));
}

static int add_model(struct deploy_build *b, const struct deploy_spec *s) {
    const char *runtime = cli_value(b->a, "runtime"), *image = cli_value(b->a, "image");
    int r = json_mset_str(b->d, json_mensure(b->d, b->model, "modelFormat"), "name", s->format);
    r = r || s->uri.n == 0 ? r : json_mset_str(b->d, b->model, "storageUri", s->uri);
    r = r || !runtime ? r : json_mset_str(b->d, b->model, "runtime", str_of(runtime));
    r = r || !image ? r : json_mset_str(b->d, b->model, "image", str_of(image));
    r = r ? r : add_gpus(b);
    r = r ? r : add_amount(b, "cpu");
    r = r ? r : add_amount(b, "memory");
    r = r ? r : add_args(b);
    return r ? r : add_env(b);
}

static int check_bounds(const struct cli_args *a, struct err *err) {
    const char *min = cli_value(a, "min"), *max = cli_value(a, "max");
    int64_t x = 1, y = 0;
    bool known = (!min || str_to_i64(str_of(min), &x)) && max && str_to_i64(str_of(max), &y);
    return known && min && x > y
               ? err_set(err, ERR_BAD_REQUEST, "--min: expected at most --max (%s), not \"%s\"",
                         max, min)
               : 0;
}

int deploy_spec_build(const struct cli_args *a, struct str ns, struct arena *arena,
                      struct deploy_spec *ret, struct err *err) {
    const char *name = cli_value(a, "name");
    struct deploy_spec s = {.doc = json_mut_new(arena)};
    struct deploy_build b = {.a = a, .arena = arena, .err = err, .d = s.doc};
    int r = s.doc ? find_model(a, arena, &s, err) : ERR_NOMEM;
    if (r != 0) {
        return r;
    }
    s.format = format_of(a, s.uri);
    s.name = name ? str_of(name) : name_from(arena, str_of(a->args[0]));
    yyjson_mut_doc_set_root(s.doc, yyjson_mut_obj(s.doc));
    json_mset_str(s.doc, s.doc->root, "apiVersion", STR("serving.kserve.io/v1beta1"));
    json_mset_str(s.doc, s.doc->root, "kind", STR("InferenceService"));
    r = add_meta(&b, s.name, ns);
    b.predictor = json_mensure(s.doc, s.doc->root, "spec.predictor");
    r = r ? r : check_bounds(a, err);
    r = r ? r : add_count(&b, "min", "minReplicas", 0, LIMIT_SET_REPLICAS);
    r = r ? r : add_count(&b, "max", "maxReplicas", 1, LIMIT_SET_REPLICAS);
    r = r ? r : add_count(&b, "canary", "canaryTrafficPercent", 0, 100);
    b.model = json_mensure(s.doc, b.predictor, "model");
    r = r ? r : add_model(&b, &s);
    r = r ? r : arena_ok(arena) ? err_set(err, ERR_NOMEM, "out of memory") : 0;
    if (r == 0) {
        *ret = s;
    }
    return r;
}
