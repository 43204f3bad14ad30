/* scale_target: by the paths that a kind's version says for its scale. */
#include "control/scale/scale_target.h"

#include "api/schema/crd_kind.h"
#include "api/selector.h"
#include "core/scale/hpa.h"

enum { PATH_BYTES = 512 };

static yyjson_val *at(yyjson_val *tree, struct str path) {
    char dotted[PATH_BYTES];
    return path.n > 0 && str_copy(path, dotted, sizeof(dotted)) ? json_path(tree, dotted) : NULL;
}

static int32_t count_at(yyjson_val *tree, struct str path) {
    int64_t n = yyjson_get_sint(at(tree, path));
    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

/* A text of its own, or a LabelSelector as one. */
static struct str selector_at(yyjson_val *tree, struct str path, struct arena *a) {
    yyjson_val *v = at(tree, path);
    struct selector s;
    struct buf b;
    if (!yyjson_is_obj(v) || selector_from_json(a, v, &s, NULL) != 0) {
        return json_str(v);
    }
    buf_init(&b, 0);
    selector_write(&s, &b);
    struct str text = arena_str(a, buf_view(&b));
    buf_release(&b);
    return text;
}

static struct str group_of(struct str api_version) {
    ptrdiff_t slash = str_find(api_version, '/');
    return slash < 0 ? STR("") : str_head(api_version, (size_t)slash);
}

struct scale_target scale_target_read(const struct mirror *m, struct arena *a,
                                      struct str api_version, struct str kind, struct str ns,
                                      struct str name) {
    struct scale_target t = {.error = hpa_version_error(a, api_version)};
    struct str group = group_of(api_version);
    const struct kind *k = kind_by_api_version(api_version, kind);
    k = k != NULL ? k : kind_by_name(group, kind);
    const struct scale_paths *paths = k != NULL ? crd_kind_scale(kind_storage(k)) : NULL;
    yyjson_doc *d;
    if (t.error.n > 0) {
        return t;
    }
    if (k == NULL || paths == NULL) {
        t.error = k == NULL ? arena_f(a, "no matches for kind \"%.*s\" in group \"%.*s\"",
                                      STR_ARG(kind), STR_ARG(group))
                            : STR("the server could not find the requested resource");
        return t;
    }
    t.object = mirror_get(m, k, ns, name);
    if (t.object == NULL || object_tree(t.object, a, &d, NULL) != 0) {
        t.error = arena_f(a, "%s%s%.*s \"%.*s\" not found", k->plural, group.n ? "." : "",
                          STR_ARG(group), STR_ARG(name));
        t.object = NULL;
        return t;
    }
    t.spec_replicas = count_at(yyjson_doc_get_root(d), paths->spec_path);
    t.status_replicas = count_at(yyjson_doc_get_root(d), paths->status_path);
    t.selector = selector_at(yyjson_doc_get_root(d), paths->selector_path, a);
    return t;
}
