/* cel_sort: types by themselves, and those of schemas. See cel_sort.h. */
#include "api/cel/cel_sort.h"

#include "api/cel/cel_tree.h"
#include "base/limits.h"
#include "wire/json/json.h"

enum {
    REQUEST_BYTES = 3 << 20
}; /* [k8s: the largest request, by which sizes without a limit are bounded] */

#define SIMPLE(letter_)                                                                            \
    { .letter = letter_, .most = CEL_SIZE_UNKNOWN }
const struct cel_sort cel_dyn = SIMPLE('*'), cel_bool_sort = SIMPLE('b'),
                      cel_int_sort = SIMPLE('i'), cel_string_sort = SIMPLE('s');

const struct cel_sort *cel_sort_of(char letter) {
    static const struct cel_sort sorts[] = {
        SIMPLE('*'), SIMPLE('b'), SIMPLE('i'), SIMPLE('u'), SIMPLE('d'), SIMPLE('s'), SIMPLE('y'),
        SIMPLE('n'), SIMPLE('D'), SIMPLE('T'), SIMPLE('t'), SIMPLE('Q'), SIMPLE('U'), SIMPLE('P'),
        SIMPLE('C'), SIMPLE('F'), SIMPLE('V'), SIMPLE('Z'), SIMPLE('H'), SIMPLE('G'), SIMPLE('R'),
        SIMPLE('W'), SIMPLE('A'), SIMPLE('B'), SIMPLE('e'),
    };
    for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
        if (sorts[i].letter == letter) {
            return &sorts[i];
        }
    }
    return &cel_dyn;
}

static const struct cel_sort *make(struct arena *a, struct cel_sort s) {
    struct cel_sort *kept = ARENA_NEW(a, struct cel_sort);
    if (kept == NULL) {
        return &cel_dyn; /* the arena remembers */
    }
    *kept = s;
    return kept;
}

const struct cel_sort *cel_sort_list(struct arena *a, const struct cel_sort *of) {
    return make(a, (struct cel_sort){.letter = '[', .a = of, .most = CEL_SIZE_UNKNOWN});
}

const struct cel_sort *cel_sort_map(struct arena *a, const struct cel_sort *value) {
    return make(a, (struct cel_sort){
                       .letter = '{', .a = &cel_string_sort, .b = value, .most = CEL_SIZE_UNKNOWN});
}

const struct cel_sort *cel_sort_optional(struct arena *a, const struct cel_sort *of) {
    return make(a, (struct cel_sort){.letter = '?', .a = of, .most = CEL_SIZE_UNKNOWN});
}

void cel_sort_write(const struct cel_sort *s, struct buf *b) {
    static const struct {
        char letter;
        const char *name;
    } names[] = {
        {'*', "dyn"},
        {'b', "bool"},
        {'i', "int"},
        {'u', "uint"},
        {'d', "double"},
        {'s', "string"},
        {'y', "bytes"},
        {'n', "null"},
        {'D', "duration"},
        {'T', "timestamp"},
        {'t', "type"},
        {'Q', "kubernetes.Quantity"},
        {'U', "kubernetes.URL"},
        {'P', "net.IP"},
        {'C', "net.CIDR"},
        {'F', "kubernetes.NamedFormat"},
        {'V', "kubernetes.Semver"},
        {'Z', "kubernetes.authorization.Authorizer"},
        {'H', "kubernetes.authorization.PathCheck"},
        {'G', "kubernetes.authorization.GroupCheck"},
        {'R', "kubernetes.authorization.ResourceCheck"},
        {'W', "kubernetes.authorization.Decision"},
        {'e', "!error!"},
    };
    const char *open = s->letter == '[' ? "list(" : s->letter == '?' ? "optional_type(" : "map(";
    if (s->letter == '[' || s->letter == '{' || s->letter == '?') {
        buf_c(b, open);
        cel_sort_write(s->a, b);
        if (s->letter == '{') {
            buf_c(b, ", ");
            cel_sort_write(s->b, b);
        }
        buf_ch(b, ')');
        return;
    }
    if (s->letter == 'o') {
        buf_str(b, s->shape->name);
        return;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].letter == s->letter) {
            buf_c(b, names[i].name);
        }
    }
}

static const struct cel_sort *object(struct arena *a, struct str name, const void *of,
                                     bool (*member)(const struct cel_shape *, struct str,
                                                    struct arena *, const struct cel_sort **)) {
    struct cel_shape *s = ARENA_NEW(a, struct cel_shape);
    if (s == NULL) {
        return &cel_dyn;
    }
    *s = (struct cel_shape){.name = name, .of = of, .member = member};
    return make(a, (struct cel_sort){.letter = 'o', .shape = s, .most = CEL_SIZE_UNKNOWN});
}

/* ---- structural schemas ---- */

static bool flag(yyjson_val *s, const char *name) {
    return yyjson_is_true(json_get(s, str_of(name)));
}

static struct str type_at(yyjson_val *s) {
    return json_str(json_get(s, STR("type")));
}

/* The smallest text of a value. */
static uint64_t min_bytes(yyjson_val *s, struct arena *a, int depth) {
    struct str type = type_at(s), format = json_str(json_get(s, STR("format")));
    yyjson_val *props = json_get(s, STR("properties")), *list = json_get(s, STR("required")), *k;
    size_t i, n;
    if (depth > LIMIT_CEL_DEPTH || !arena_charge(a, 10) || flag(s, "x-kubernetes-int-or-string")) {
        return 1;
    }
    if (str_is(type, "string")) {
        return str_is(format, "date")        ? 12
               : str_is(format, "date-time") ? 21
               : str_is(format, "duration")  ? 3
                                             : 2;
    }
    if (!str_is(type, "object")) {
        return str_is(type, "array") ? 2 : str_is(type, "boolean") ? 4 : 1;
    }
    uint64_t bytes = 2;
    yyjson_arr_foreach(list, i, n, k) {
        yyjson_val *p = json_get(props, json_str(k));
        if (p != NULL && json_get(p, STR("default")) == NULL) {
            bytes += json_str(k).n + min_bytes(p, a, depth + 1) + 4;
        }
    }
    return bytes;
}

static const struct cel_sort *sort_of(struct arena *a, yyjson_val *s, struct str name, bool root);

uint64_t cel_least_bytes(yyjson_val *schema, struct arena *a) {
    return min_bytes(schema, a, 0);
}

/* The limit that a schema states, times `by`; else `otherwise`. */
static struct cel_sort bounded(struct cel_sort s, yyjson_val *schema, const char *limit,
                               uint64_t by, uint64_t otherwise) {
    yyjson_val *v = json_get(schema, str_of(limit));
    double d = yyjson_is_num(v) ? yyjson_get_num(v) : -1;
    s.limited = v != NULL;
    s.most = v == NULL ? otherwise : d <= 0 ? 0 : d > 1e15 ? (uint64_t)1e15 * by : (uint64_t)d * by;
    return s;
}

static const struct cel_sort *text_sort(struct arena *a, yyjson_val *s) {
    struct str format = json_str(json_get(s, STR("format")));
    yyjson_val *list = json_get(s, STR("enum")), *e;
    if (str_is(format, "duration") || str_is(format, "date") || str_is(format, "date-time")) {
        struct cel_sort t = *cel_sort_of(str_is(format, "duration") ? 'D' : 'T');
        t.most = str_is(format, "duration") ? 32 : str_is(format, "date") ? 12 : 32;
        return make(a, t);
    }
    bool bytes = str_is(format, "byte");
    struct cel_sort t =
        bounded(*cel_sort_of(bytes ? 'y' : 's'), s, "maxLength", bytes ? 1 : 4, REQUEST_BYTES - 2);
    if (!t.limited && yyjson_arr_size(list) > 0) {
        size_t i, n;
        t.most = 0;
        t.limited = true;
        yyjson_arr_foreach(list, i, n, e) {
            t.most = json_str(e).n > t.most ? json_str(e).n : t.most;
        }
    }
    return make(a, t);
}

static bool json_member(const struct cel_shape *s, struct str name, struct arena *a,
                        const struct cel_sort **ret) {
    yyjson_val *schema = (yyjson_val *)(uintptr_t)s->of;
    yyjson_val *p = json_get(json_get(schema, STR("properties")), name);
    struct str below = arena_f(a, "%.*s.%.*s", STR_ARG(s->name), STR_ARG(name));
    const struct cel_sort *t =
        p != NULL ? sort_of(a, p, below, flag(p, "x-kubernetes-embedded-resource")) : NULL;
    *ret = t != NULL ? t : *ret;
    return t != NULL;
}

/* metadata: name and generateName are there always. */
static bool meta_member(const struct cel_shape *s, struct str name, struct arena *a,
                        const struct cel_sort **ret) {
    if (json_member(s, name, a, ret)) {
        return true;
    }
    if (str_is(name, "name") || str_is(name, "generateName")) {
        *ret = make(a, (struct cel_sort){.letter = 's', .most = REQUEST_BYTES - 2});
        return true;
    }
    return false;
}

static bool root_member(const struct cel_shape *s, struct str name, struct arena *a,
                        const struct cel_sort **ret) {
    yyjson_val *schema = (yyjson_val *)(uintptr_t)s->of;
    if (str_is(name, "metadata")) {
        yyjson_val *p = json_get(json_get(schema, STR("properties")), name);
        *ret = object(a, STR("object.metadata"), p, meta_member);
        return true;
    }
    if (str_is(name, "apiVersion") || str_is(name, "kind")) {
        *ret = make(a, (struct cel_sort){.letter = 's', .most = REQUEST_BYTES - 2});
        return true;
    }
    return json_member(s, name, a, ret);
}

/* NULL: expressions do not see it. */
static const struct cel_sort *sort_of(struct arena *a, yyjson_val *s, struct str name, bool root) {
    struct str type = type_at(s);
    yyjson_val *items = json_get(s, STR("items")), *more = json_get(s, STR("additionalProperties"));
    if (!yyjson_is_obj(s) || !arena_charge(a, 10)) {
        return NULL;
    }
    if (flag(s, "x-kubernetes-int-or-string")) {
        return make(a, bounded(cel_dyn, s, "maxLength", 4, REQUEST_BYTES - 2));
    }
    if (str_is(type, "array")) {
        const struct cel_sort *of = items != NULL
                                        ? sort_of(a, items, arena_f(a, "%.*s.@idx", STR_ARG(name)),
                                                  flag(items, "x-kubernetes-embedded-resource"))
                                        : NULL;
        return of == NULL ? NULL
                          : make(a, bounded(*cel_sort_list(a, of), s, "maxItems", 1,
                                            (REQUEST_BYTES - 2) / (min_bytes(items, a, 0) + 1)));
    }
    if (str_is(type, "object") && yyjson_is_obj(more)) {
        const struct cel_sort *of = sort_of(a, more, arena_f(a, "%.*s.@elem", STR_ARG(name)),
                                            flag(more, "x-kubernetes-embedded-resource"));
        return of == NULL ? NULL
                          : make(a, bounded(*cel_sort_map(a, of), s, "maxProperties", 1,
                                            (REQUEST_BYTES - 2) / (min_bytes(more, a, 0) + 6)));
    }
    if (str_is(type, "object") || (root && type.n == 0)) {
        return object(a, name, s, root ? root_member : json_member);
    }
    return str_is(type, "string")    ? text_sort(a, s)
           : str_is(type, "boolean") ? &cel_bool_sort
           : str_is(type, "integer") ? &cel_int_sort
           : str_is(type, "number")  ? cel_sort_of('d')
                                     : NULL;
}

const struct cel_sort *cel_sort_of_json(struct arena *a, yyjson_val *schema, struct str name,
                                        bool root) {
    return sort_of(a, schema, name, root);
}

/* ---- tables of built-in kinds ---- */

static const struct cel_sort *one_of(struct arena *a, const struct field *f, struct str name) {
    switch ((enum field_type)f->type) {
    case FIELD_STRING:
    case FIELD_QUANTITY:
    case FIELD_DURATION:
        return &cel_string_sort;
    case FIELD_BOOL:
        return &cel_bool_sort;
    case FIELD_INT32:
    case FIELD_INT64:
        return &cel_int_sort;
    case FIELD_DOUBLE:
        return cel_sort_of('d');
    case FIELD_BYTES:
        return cel_sort_of('y');
    case FIELD_TIME:
    case FIELD_MICROTIME:
        return cel_sort_of('T');
    case FIELD_OBJECT:
        return cel_sort_of_schema(a, f->of, name);
    case FIELD_INT_OR_STRING:
    case FIELD_ANY:
        break;
    }
    return &cel_dyn;
}

static bool table_member(const struct cel_shape *s, struct str name, struct arena *a,
                         const struct cel_sort **ret) {
    const struct schema *t = s->of;
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->fields[i];
        if (str_is(name, f->json)) {
            struct str below = arena_f(a, "%.*s.%s", STR_ARG(s->name), f->json);
            const struct cel_sort *one = one_of(a, f, below);
            *ret = f->shape == FIELD_LIST  ? cel_sort_list(a, one)
                   : f->shape == FIELD_MAP ? cel_sort_map(a, one)
                                           : one;
            return true;
        }
    }
    return false;
}

const struct cel_sort *cel_sort_of_schema(struct arena *a, const struct schema *s,
                                          struct str name) {
    return object(a, name, s, table_member);
}

/* ---- what policies have ---- */

/* A member and its type: a letter, or a table of members; `many`: 'l' a list of it, 'm' a map. */
struct fixed {
    const char *name;
    char letter, many;
    const struct fixed *of;
};

static bool fixed_member(const struct cel_shape *s, struct str name, struct arena *a,
                         const struct cel_sort **ret) {
    for (const struct fixed *f = s->of; f->name != NULL; f++) {
        if (!str_is(name, f->name)) {
            continue;
        }
        struct str below = arena_f(a, "%.*s.%s", STR_ARG(s->name), f->name);
        const struct cel_sort *one =
            f->of != NULL ? object(a, below, f->of, fixed_member) : cel_sort_of(f->letter);
        one = f->many == 'L' ? cel_sort_list(a, one) : one; /* a map of lists */
        *ret = f->many == 'l'                     ? cel_sort_list(a, one)
               : f->many == 'm' || f->many == 'L' ? cel_sort_map(a, one)
                                                  : one;
        return true;
    }
    return false;
}

static const struct fixed kind_members[] = {
    {"group", 's', 0, NULL}, {"version", 's', 0, NULL}, {"kind", 's', 0, NULL}, {0}};
static const struct fixed resource_members[] = {
    {"group", 's', 0, NULL}, {"version", 's', 0, NULL}, {"resource", 's', 0, NULL}, {0}};
static const struct fixed user_members[] = {{"username", 's', 0, NULL},
                                            {"uid", 's', 0, NULL},
                                            {"groups", 's', 'l', NULL},
                                            {"extra", 's', 'L', NULL},
                                            {0}};
static const struct fixed request_members[] = {{"uid", 's', 0, NULL},
                                               {"kind", 0, 0, kind_members},
                                               {"resource", 0, 0, resource_members},
                                               {"subResource", 's', 0, NULL},
                                               {"requestKind", 0, 0, kind_members},
                                               {"requestResource", 0, 0, resource_members},
                                               {"requestSubResource", 's', 0, NULL},
                                               {"name", 's', 0, NULL},
                                               {"namespace", 's', 0, NULL},
                                               {"operation", 's', 0, NULL},
                                               {"userInfo", 0, 0, user_members},
                                               {"dryRun", 'b', 0, NULL},
                                               {"options", '*', 0, NULL},
                                               {0}};
static const struct fixed namespace_meta_members[] = {{"name", 's', 0, NULL},
                                                      {"generateName", 's', 0, NULL},
                                                      {"namespace", 's', 0, NULL},
                                                      {"labels", 's', 'm', NULL},
                                                      {"annotations", 's', 'm', NULL},
                                                      {"UID", 's', 0, NULL},
                                                      {"uid", 's', 0, NULL},
                                                      {"creationTimestamp", 'T', 0, NULL},
                                                      {"deletionGracePeriodSeconds", 'i', 0, NULL},
                                                      {"deletionTimestamp", 'T', 0, NULL},
                                                      {"generation", 'i', 0, NULL},
                                                      {"resourceVersion", 's', 0, NULL},
                                                      {"finalizers", 's', 'l', NULL},
                                                      {0}};
static const struct fixed namespace_spec_members[] = {{"finalizers", 's', 'l', NULL}, {0}};
static const struct fixed namespace_status_members[] = {{"phase", 's', 0, NULL}, {0}};
static const struct fixed namespace_members[] = {{"metadata", 0, 0, namespace_meta_members},
                                                 {"spec", 0, 0, namespace_spec_members},
                                                 {"status", 0, 0, namespace_status_members},
                                                 {0}};
static const struct fixed patch_members[] = {{"op", 's', 0, NULL},
                                             {"path", 's', 0, NULL},
                                             {"from", 's', 0, NULL},
                                             {"value", '*', 0, NULL},
                                             {0}};

const struct cel_sort *cel_sort_of_request(struct arena *a) {
    return object(a, STR("kubernetes.AdmissionRequest"), request_members, fixed_member);
}

const struct cel_sort *cel_sort_of_namespace(struct arena *a) {
    return object(a, STR("kubernetes.Namespace"), namespace_members, fixed_member);
}

const struct cel_sort *cel_sort_of_patch(struct arena *a) {
    return object(a, STR("JSONPatch"), patch_members, fixed_member);
}

/* Its members are told when it is merged: any name may be written here, as upstream. */
static bool made_member(const struct cel_shape *s, struct str name, struct arena *a,
                        const struct cel_sort **ret) {
    (void)s;
    (void)name;
    (void)a;
    *ret = &cel_dyn;
    return true;
}

const struct cel_sort *cel_sort_of_made(struct arena *a, struct str name) {
    return object(a, name, &cel_dyn, made_member);
}
