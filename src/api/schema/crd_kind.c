/*
 * crd_kind: see crd_kind.h.
 *
 * A row has three lives: what never changes (group, kind, plural, scope), the versions, whose array and schemas stay
 * where they are as long as the list of versions stays, and the names and columns, which are made anew each time.
 */
#include "api/schema/crd_kind.h"

#include "api/schema/cells.h"
#include "api/schema/crd_schema.h"
#include "base/keyed_hash.h"
#include "base/limits.h"
#include "base/mem.h"

/* One version by name, for the life of the row: kind_version.schema points into it. */
struct crd_version {
    struct crd_version *next;
    struct schema schema; /* first looked up by its address: see version_of */
    char *name, *component;
    struct crd_schema *compiled;
    uint64_t source; /* hash of openAPIV3Schema */
    size_t source_n;
    uint64_t since; /* revision of the definition that brought it */
    struct scale_paths scale;
    bool scales;
    struct str deprecation;
};

struct crd_row {
    struct crd_row *next;
    struct kind k;
    struct crd_version *versions; /* all there ever were */
    struct arena arena;           /* of what is made anew: names, columns, paths */
    bool dead;                    /* its definition went, and came again as something else */
};

static struct crd_row *rows; /* kept for the life of the process */

static int nomem(struct err *err) {
    return err_set(err, ERR_NOMEM, "out of memory");
}

static struct crd_row *row_find(struct str group, struct str plural) {
    struct crd_row *r = rows;
    while (r != NULL && (r->dead || !str_is(plural, r->k.plural) || !str_is(group, r->k.group))) {
        r = r->next;
    }
    return r;
}

const struct kind *crd_kind_find(struct str group, struct str plural) {
    struct crd_row *r = row_find(group, plural);
    return r != NULL && r->k.versions != NULL ? &r->k : NULL;
}

static struct crd_version *version_of(const struct kind_version *kv) {
    return (struct crd_version *)((char *)(uintptr_t)kv->schema -
                                  offsetof(struct crd_version, schema));
}

const struct scale_paths *crd_kind_scale(const struct kind_version *kv) {
    if (kv->schema->custom == NULL) {
        return kv->scale;
    }
    struct crd_version *v = version_of(kv);
    return v->scales ? &v->scale : NULL;
}

struct str crd_kind_deprecation(const struct kind_version *kv) {
    return kv->schema->custom != NULL ? version_of(kv)->deprecation : (struct str){0};
}

/* ---- texts in the row's arena ---- */

static const char *text(struct arena *a, struct str s) {
    struct str copy = arena_str(a, s);
    return copy.p != NULL ? copy.p : "";
}

static const char *const *texts(struct arena *a, yyjson_val *list) {
    size_t n = yyjson_arr_size(list);
    const char **v = n > 0 ? ARENA_ARRAY(a, const char *, n + 1) : NULL;
    size_t i, max;
    yyjson_val *e;
    yyjson_arr_foreach(v != NULL ? list : NULL, i, max, e) {
        v[i] = text(a, json_str(e));
    }
    return v;
}

static struct str path_of(struct arena *a, yyjson_val *v) {
    struct str s = json_str(v);
    return arena_str(a, s.n > 0 && s.p[0] == '.' ? str_skip(s, 1) : s);
}

static void make_columns(struct arena *a, yyjson_val *version, struct kind_version *kv) {
    static const struct column usual[] = {COLUMN_NAME, COLUMN_AGE};
    yyjson_val *list = json_get(version, STR("additionalPrinterColumns"));
    size_t n = yyjson_arr_size(list);
    struct column *v = n > 0 ? ARENA_ARRAY(a, struct column, n + 1) : NULL;
    kv->columns = usual;
    kv->n_columns = COUNT(usual);
    if (v == NULL) {
        return;
    }
    v[0] = usual[0];
    for (size_t i = 0; i < n; i++) {
        yyjson_val *c = yyjson_arr_get(list, i);
        struct str doc = json_str(json_get(c, STR("description")));
        const char *path = text(a, json_str(json_get(c, STR("jsonPath"))));
        v[i + 1] = (struct column){
            .name = text(a, json_str(json_get(c, STR("name")))),
            .type = text(a, json_str(json_get(c, STR("type")))),
            .format = text(a, json_str(json_get(c, STR("format")))),
            .priority = (int)yyjson_get_sint(json_get(c, STR("priority"))),
            .doc = doc.n > 0 ? text(a, doc)
                             : text(a, arena_f(a,
                                               "Custom resource definition column (in JSONPath "
                                               "format): %s",
                                               path)),
            .json_path = path,
        };
    }
    kv->columns = v;
    kv->n_columns = n + 1;
}

static void make_selectable(struct arena *a, yyjson_val *version, struct kind_version *kv) {
    yyjson_val *list = json_get(version, STR("selectableFields"));
    size_t n = yyjson_arr_size(list);
    const char **v = n > 0 ? ARENA_ARRAY(a, const char *, n + 1) : NULL;
    for (size_t i = 0; v != NULL && i < n; i++) {
        struct str path = path_of(a, json_get(yyjson_arr_get(list, i), STR("jsonPath")));
        v[i] = path.p != NULL ? path.p : "";
    }
    kv->selectable = v;
}

/* ---- versions ---- */

/* "io.x-k8s.kueue.v1beta2.Workload": the group's parts the other way round. */
static char *component_name(struct str group, struct str version, struct str kind) {
    struct buf b;
    buf_init(&b, 0);
    while (group.n > 0) {
        ptrdiff_t dot = str_find_last(group, '.');
        buf_str(&b, str_skip(group, (size_t)(dot + 1)));
        buf_ch(&b, '.');
        group = str_head(group, dot < 0 ? 0 : (size_t)dot);
    }
    buf_str(&b, version);
    buf_ch(&b, '.');
    buf_str(&b, kind);
    char *s = buf_ok(&b) == 0 ? mem_cstr(buf_view(&b)) : NULL;
    buf_release(&b);
    return s;
}

static struct crd_version *version_get(struct crd_row *r, struct str name) {
    struct crd_version *v = r->versions;
    while (v != NULL && !str_is(name, v->name)) {
        v = v->next;
    }
    if (v != NULL || (v = mem_zalloc(sizeof(*v))) == NULL) {
        return v;
    }
    v->name = mem_cstr(name);
    v->component = component_name(str_of(r->k.group), name, str_of(r->k.kind));
    if (v->name == NULL || v->component == NULL) {
        mem_free(v->name);
        mem_free(v->component);
        mem_free(v);
        return NULL;
    }
    v->schema = schema_custom;
    v->schema.name = v->component;
    v->next = r->versions;
    r->versions = v;
    return v;
}

static int compile(struct crd_version *v, yyjson_val *version, uint64_t rv, struct err *err) {
    yyjson_val *schema = json_path(version, "schema.openAPIV3Schema");
    struct crd_schema *s;
    struct buf b;
    buf_init(&b, 0);
    if (schema != NULL) {
        json_write(&b, schema);
    }
    int code = buf_ok(&b);
    uint64_t source = code == 0 ? keyed_hash(buf_view(&b)) : 0;
    size_t n = b.n;
    buf_release(&b);
    if (code != 0) {
        return nomem(err);
    }
    if (v->compiled != NULL && v->source == source && v->source_n == n) {
        return 0;
    }
    code = crd_schema_new(schema, &s, err);
    if (code != 0) {
        return code;
    }
    crd_schema_free(v->compiled);
    v->compiled = s;
    v->schema.custom = s;
    v->source = source;
    v->source_n = n;
    v->since = rv;
    return 0;
}

static void describe(struct crd_row *r, struct crd_version *v, yyjson_val *version,
                     struct kind_version *kv) {
    struct arena *a = &r->arena;
    yyjson_val *scale = json_path(version, "subresources.scale");
    kv->version = v->name;
    kv->schema = &v->schema;
    kv->defaults_since = v->compiled->root->flags & CRD_DEFAULTS ? v->since : 0;
    kv->deprecated = json_bool_at(version, "deprecated", false);
    kv->hidden = !json_bool_at(version, "served", false);
    v->deprecation = arena_str(a, json_str(json_get(version, STR("deprecationWarning"))));
    v->scales = yyjson_is_obj(scale);
    v->scale = (struct scale_paths){
        path_of(a, json_get(scale, STR("specReplicasPath"))),
        path_of(a, json_get(scale, STR("statusReplicasPath"))),
        path_of(a, json_get(scale, STR("labelSelectorPath"))),
    };
    make_columns(a, version, kv);
    make_selectable(a, version, kv);
}

/* Kubernetes' order of versions: v2, v1, v2beta1, v1beta2, v1alpha1, then others by name. */
static void version_rank(struct str s, int64_t ret[3]) {
    static const char *const stages[] = {"alpha", "beta"};
    int64_t major = 0, minor = 0, stage = 3;
    size_t i = 1;
    ret[0] = ret[1] = ret[2] = -1;
    if (s.n < 2 || s.p[0] != 'v') {
        return;
    }
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') {
        i++;
    }
    if (!str_to_i64(str_from(s.p + 1, i - 1), &major)) {
        return;
    }
    struct str rest = str_skip(s, i);
    for (size_t k = 0; k < COUNT(stages) && rest.n > 0 && stage == 3; k++) {
        if (str_starts(rest, str_of(stages[k]))) {
            struct str number = str_skip(rest, strlen(stages[k]));
            if (!str_to_i64(number, &minor)) {
                return;
            }
            stage = (int64_t)k + 1;
        }
    }
    if (rest.n > 0 && stage == 3) {
        return;
    }
    ret[0] = stage;
    ret[1] = major;
    ret[2] = minor;
}

int crd_version_order(struct str a, struct str b) {
    int64_t x[3], y[3];
    version_rank(a, x);
    version_rank(b, y);
    for (size_t i = 0; i < 3; i++) {
        if (x[i] != y[i]) {
            return x[i] > y[i] ? -1 : 1;
        }
    }
    return str_cmp(a, b);
}

/* The places of the versions that are served or stored, most preferred first. */
static size_t order(yyjson_val *list, yyjson_val *ret[LIMIT_CRD_VERSIONS]) {
    size_t n = 0, i, count;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, count, v) {
        bool wanted = json_bool_at(v, "served", false) || json_bool_at(v, "storage", false);
        if (!wanted || n == LIMIT_CRD_VERSIONS) {
            continue;
        }
        size_t at = n++;
        while (at > 0 &&
               crd_version_order(json_str_at(v, "name"), json_str_at(ret[at - 1], "name")) < 0) {
            ret[at] = ret[at - 1];
            at--;
        }
        ret[at] = v;
    }
    return n;
}

static bool same_list(const struct kind *k, yyjson_val *const *list, size_t n) {
    bool same = n == k->n_versions;
    for (size_t i = 0; same && i < n; i++) {
        same = str_is(json_str_at(list[i], "name"), k->versions[i].version);
    }
    return same;
}

/* Whether objects may lie in the store under another version than that of storage. */
static bool is_mixed(yyjson_val *crd, struct str storage) {
    size_t i, n;
    yyjson_val *v, *list = json_path(crd, "status.storedVersions");
    if (list == NULL) {
        return false;
    }
    yyjson_arr_foreach(list, i, n, v) {
        if (!str_eq(json_str(v), storage)) {
            return true;
        }
    }
    return false;
}

/* Kinds that we have tables of are converted by ourselves, where their definition says that a webhook does: it would be
 * ours. NULL: a version is only renamed. */
static const struct kind_version *own_conversion(const struct crd_row *r, yyjson_val *crd,
                                                 const char *version, const char *storage) {
    size_t n;
    const struct kind *const *all = kinds_builtin(&n);
    if (!str_is(json_str_at(crd, "spec.conversion.strategy"), "Webhook")) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        const struct kind *k = all[i];
        bool same = strcmp(k->group, r->k.group) == 0 && strcmp(k->kind, r->k.kind) == 0;
        if (same && strcmp(kind_storage(k)->version, storage) == 0) {
            return kind_version(k, str_of(version));
        }
    }
    return NULL;
}

bool crd_converts(struct str group, struct str kind) {
    size_t n;
    const struct kind *const *all = kinds_builtin(&n);
    for (size_t i = 0; i < n; i++) {
        if (str_is(group, all[i]->group) && str_is(kind, all[i]->kind) && all[i]->n_versions > 1) {
            return true;
        }
    }
    return false;
}

static int compile_versions(struct crd_row *r, yyjson_val *const *list, size_t n, uint64_t rv,
                            struct crd_version *own[], struct err *err) {
    for (size_t i = 0; i < n; i++) {
        own[i] = version_get(r, json_str_at(list[i], "name"));
        int code = own[i] == NULL ? nomem(err) : compile(own[i], list[i], rv, err);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

static int make_versions(struct crd_row *r, yyjson_val *crd, yyjson_val *const *list, size_t n,
                         struct crd_version *own[], struct err *err) {
    /* Another list gets an array of its own; the old one stays with those who hold pointers into it. */
    struct kind_version *v = (struct kind_version *)(uintptr_t)r->k.versions;
    if (!same_list(&r->k, list, n) && (v = mem_array(n, sizeof(*v))) == NULL) {
        return nomem(err);
    }
    unsigned flags = r->k.flags & ~(unsigned)KIND_STATUS;
    bool scales = false;
    bool webhook = str_is(json_str_at(crd, "spec.conversion.strategy"), "Webhook");
    for (size_t i = 0; i < n; i++) {
        bool storage = json_bool_at(list[i], "storage", false);
        v[i] = (struct kind_version){0};
        describe(r, own[i], list[i], &v[i]);
        r->k.storage = storage ? i : r->k.storage;
        bool convert = !storage || is_mixed(crd, str_of(own[i]->name));
        v[i].to_storage = convert ? convert_nothing : NULL;
        v[i].from_storage = convert ? convert_nothing : NULL;
        flags |= json_path(list[i], "subresources.status") != NULL ? KIND_STATUS : 0;
        scales |= own[i]->scales;
    }
    for (size_t i = 0; i < n; i++) {
        const struct kind_version *ours =
            i != r->k.storage ? own_conversion(r, crd, v[i].version, v[r->k.storage].version)
                              : NULL;
        if (ours != NULL) {
            v[i].to_storage = ours->to_storage;
            v[i].from_storage = ours->from_storage;
        }
        v[i].asks = webhook && ours == NULL && v[i].from_storage != NULL;
        v[i].converts = ours != NULL || (v[i].asks && i != r->k.storage);
    }
    static const char *const scale[] = {"scale", NULL};
    r->k.versions = v;
    r->k.n_versions = n;
    r->k.flags = flags;
    r->k.subresources = scales ? scale : NULL;
    return 0;
}

/* ---- the row ---- */

static void row_free(struct crd_row *r) {
    mem_free((void *)(uintptr_t)r->k.group);
    mem_free((void *)(uintptr_t)r->k.kind);
    mem_free((void *)(uintptr_t)r->k.plural);
    arena_release(&r->arena);
    mem_free(r);
}

static struct crd_row *row_new(yyjson_val *crd) {
    struct crd_row *r = mem_zalloc(sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    arena_init(&r->arena, LIMIT_OBJECT_BYTES * 2);
    r->k.group = mem_cstr(json_str_at(crd, "spec.group"));
    r->k.kind = mem_cstr(json_str_at(crd, "spec.names.kind"));
    r->k.plural = mem_cstr(json_str_at(crd, "spec.names.plural"));
    r->k.flags = KIND_CUSTOM | KIND_GENERATION | KIND_RV_REQUIRED;
    if (str_is(json_str_at(crd, "spec.scope"), "Namespaced")) {
        r->k.flags |= KIND_NAMESPACED;
    }
    if (r->k.group == NULL || r->k.kind == NULL || r->k.plural == NULL) {
        row_free(r);
        return NULL;
    }
    return r;
}

static bool same_identity(const struct crd_row *r, yyjson_val *crd) {
    bool namespaced = str_is(json_str_at(crd, "spec.scope"), "Namespaced");
    return str_is(json_str_at(crd, "spec.names.kind"), r->k.kind) &&
           namespaced == ((r->k.flags & KIND_NAMESPACED) != 0);
}

static int name_row(struct crd_row *r, yyjson_val *crd, struct err *err) {
    struct arena *a = &r->arena;
    struct str singular = json_str_at(crd, "spec.names.singular");
    r->k.singular = text(a, singular);
    struct str list = json_str_at(crd, "spec.names.listKind");
    r->k.list_kind = list.n > 0 ? text(a, list) : NULL;
    r->k.short_names = texts(a, json_path(crd, "spec.names.shortNames"));
    r->k.categories = texts(a, json_path(crd, "spec.names.categories"));
    r->k.api_version = text(a, arena_f(a, "%s/%s", r->k.group, kind_storage(&r->k)->version));
    r->k.columns = kind_storage(&r->k)->columns;
    r->k.n_columns = kind_storage(&r->k)->n_columns;
    return arena_ok(a) != 0 ? nomem(err) : 0;
}

static int row_make(struct crd_row *r, yyjson_val *crd, struct err *err) {
    struct crd_version *own[LIMIT_CRD_VERSIONS];
    yyjson_val *list[LIMIT_CRD_VERSIONS];
    size_t n = order(json_path(crd, "spec.versions"), list);
    uint64_t rv = 0;
    (void)str_to_u64(json_str_at(crd, "metadata.resourceVersion"), &rv);
    int code = n > 0 ? compile_versions(r, list, n, rv, own, err)
                     : err_set(err, ERR_INVALID, "no version is stored");
    if (code != 0) {
        return code;
    }
    struct arena old = r->arena; /* what the row shows lies there until all of it is made anew */
    arena_init(&r->arena, LIMIT_OBJECT_BYTES * 2);
    code = make_versions(r, crd, list, n, own, err);
    if (code != 0) {
        r->arena = old;
        return code;
    }
    code = name_row(r, crd, err);
    arena_release(&old);
    return code;
}

int crd_kind_make(yyjson_val *crd, const struct kind **ret, struct err *err) {
    struct crd_row *r =
        row_find(json_str_at(crd, "spec.group"), json_str_at(crd, "spec.names.plural"));
    if (r != NULL && !same_identity(r, crd)) {
        r->dead = true;
        r = NULL;
    }
    bool fresh = r == NULL;
    if (fresh && (r = row_new(crd)) == NULL) {
        return nomem(err);
    }
    int code = row_make(r, crd, err);
    if (fresh) { /* half-made versions stay with it: it may be tried again */
        r->next = rows;
        rows = r;
    }
    if (code == 0) {
        kinds_touch();
        *ret = &r->k;
    }
    return code;
}
