/* id_range: see id_range.h. */
#include "server/kit/id_range.h"

static bool parse(struct str text, struct id_range *ret) {
    struct str first, rest;
    uint64_t from, n;
    bool sized = str_cut(text, '/', &first, &rest);

    if ((!sized && !str_cut(text, '-', &first, &rest)) || !str_to_u64(first, &from) ||
        !str_to_u64(rest, &n) || from > INT32_MAX || n > INT32_MAX || (sized && n == 0)) {
        return false;
    }
    *ret = (struct id_range){(int64_t)from, (int64_t)(sized ? from + n - 1 : n)};
    return ret->first <= ret->last && ret->last <= INT32_MAX;
}

static bool is_allowed(const struct id_range *r) {
    return r->first >= ID_RANGE_LEAST &&
           (r->last < ID_RANGE_OWN_FIRST || r->first > ID_RANGE_OWN_LAST);
}

static struct str text_of(const struct object *ns, struct arena *a) {
    yyjson_doc *d;

    if (ns == NULL || !str_contains(ns->json, STR(ID_RANGE_ANNOTATION)) ||
        object_tree(ns, a, &d, NULL) != 0) {
        return STR("");
    }
    return json_str(json_get(json_path(yyjson_doc_get_root(d), "metadata.annotations"),
                             STR(ID_RANGE_ANNOTATION)));
}

int id_range_read(const struct object *ns, struct arena *a, struct id_range *ret, struct err *err) {
    struct str text = text_of(ns, a);

    if (str_empty(text)) {
        return err_set(err, ERR_NOT_FOUND,
                       "the namespace has no range of ids: an administrator may give it one by "
                       "annotation " ID_RANGE_ANNOTATION ", as START/SIZE");
    }
    if (!parse(text, ret) || !is_allowed(ret)) {
        return err_set(err, ERR_INVALID,
                       "annotation " ID_RANGE_ANNOTATION
                       " of the namespace, \"%.*s\", is no range: "
                       "expected START/SIZE from %d on, and outside of %d-%d",
                       STR_ARG(text), ID_RANGE_LEAST, ID_RANGE_OWN_FIRST, ID_RANGE_OWN_LAST);
    }
    return 0;
}

/* ---- a range for a new Namespace ---- */

static void mark(struct id_ranges *g, int64_t first, int64_t last) {
    int64_t from = (first - ID_RANGE_FIRST) / ID_RANGE_SIZE,
            to = (last - ID_RANGE_FIRST) / ID_RANGE_SIZE;

    for (int64_t i = from < 0 ? 0 : from; last >= ID_RANGE_FIRST && i <= to && i < ID_RANGES; i++) {
        g->given[i / 8] = (uint8_t)(g->given[i / 8] | 1 << (i % 8));
    }
}

static bool note(void *ctx, const struct object *o) {
    struct id_range r;
    struct arena a;

    arena_init(&a, 4 << 20);
    if (parse(text_of(o, &a), &r)) {
        mark(ctx, r.first, r.last);
    }
    arena_release(&a);
    return true;
}

int id_range_give(struct id_ranges *g, const struct mirror *m, yyjson_mut_doc *d) {
    yyjson_mut_val *meta = json_mensure(d, yyjson_mut_doc_get_root(d), "metadata");
    yyjson_mut_val *notes = meta ? json_mensure(d, meta, "annotations") : NULL;
    char text[40];

    if (notes == NULL) {
        return ERR_NOMEM;
    }
    if (json_mstr(json_mget(notes, STR(ID_RANGE_ANNOTATION))).n) {
        return 0;
    }
    mirror_scan(m, kind_by_name(STR(""), STR("Namespace")), STR(""), note, g);
    for (int i = 0; i < ID_RANGES; i++) {
        if (!(g->given[i / 8] >> (i % 8) & 1)) {
            int64_t first = ID_RANGE_FIRST + (int64_t)i * ID_RANGE_SIZE;
            mark(g, first, first);
            snprintf(text, sizeof(text), "%lld/%d", (long long)first, ID_RANGE_SIZE);
            return json_mset_str(d, notes, ID_RANGE_ANNOTATION, str_of(text));
        }
    }
    return 0; /* all are taken: its pods run as users of their own alone */
}

/* ---- a pod ---- */

struct id_look {
    const struct object *ns;
    struct arena *arena;
    struct id_range range;
    bool read;
    int64_t user, group; /* of the pod, by whoever says it first; -1: nobody has */
    struct err *err;
};

/* One id, at a path. */
static int judge(struct id_look *l, const char *at, int64_t id) {
    struct err why;

    if (!l->read && id_range_read(l->ns, l->arena, &l->range, &why)) {
        return err_set(l->err, ERR_FORBIDDEN, "%s: Forbidden: %s", at, why.text);
    }
    l->read = true;
    if (id < l->range.first || id > l->range.last) {
        return err_set(l->err, ERR_FORBIDDEN,
                       "%s: Invalid value: %lld: must be in the range of the namespace, %lld-%lld "
                       "(annotation " ID_RANGE_ANNOTATION ")",
                       at, (long long)id, (long long)l->range.first, (long long)l->range.last);
    }
    return 0;
}

/* The same id for all: a pod's processes are one user's. */
static int take(struct id_look *l, const char *at, yyjson_mut_val *v, int64_t *one) {
    int64_t id = yyjson_mut_get_sint(v);

    if (!yyjson_mut_is_int(v)) {
        return 0;
    }
    if (*one >= 0 && *one != id) {
        return err_set(
            l->err, ERR_FORBIDDEN,
            "%s: Invalid value: %lld: all containers of a pod run as one user and group, "
            "and another says %lld",
            at, (long long)id, (long long)*one);
    }
    *one = id;
    return judge(l, at, id);
}

static int check_context(struct id_look *l, const char *at, yyjson_mut_val *context) {
    char path[120];

    snprintf(path, sizeof(path), "%s.runAsUser", at);
    int code = take(l, path, json_mget(context, STR("runAsUser")), &l->user);
    snprintf(path, sizeof(path), "%s.runAsGroup", at);
    return code ? code : take(l, path, json_mget(context, STR("runAsGroup")), &l->group);
}

static int check_groups(struct id_look *l, yyjson_mut_val *context) {
    yyjson_mut_arr_iter it =
        yyjson_mut_arr_iter_with(json_mget(context, STR("supplementalGroups")));
    char path[80];
    int code = 0, i = 0;

    for (yyjson_mut_val *v; code == 0 && (v = yyjson_mut_arr_iter_next(&it)); i++) {
        snprintf(path, sizeof(path), "spec.securityContext.supplementalGroups[%d]", i);
        code = judge(l, path, yyjson_mut_get_sint(v));
    }
    return code;
}

int id_range_check(yyjson_mut_val *spec, const struct object *ns, struct arena *a,
                   struct err *err) {
    static const char *const lists[] = {"initContainers", "containers"};
    struct id_look l = {.ns = ns, .arena = a, .user = -1, .group = -1, .err = err};
    yyjson_mut_val *pod = json_mget(spec, STR("securityContext"));
    char path[80];
    int code = check_context(&l, "spec.securityContext", pod);

    yyjson_mut_val *fs = json_mget(pod, STR("fsGroup"));
    code = code ? code : check_groups(&l, pod);
    if (code == 0 && yyjson_mut_get_sint(fs) >= ID_RANGE_LEAST) {
        code = judge(&l, "spec.securityContext.fsGroup", yyjson_mut_get_sint(fs));
    }
    for (int k = 0; k < 2 && code == 0; k++) {
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(json_mget(spec, str_of(lists[k])));
        int i = 0;
        for (yyjson_mut_val *c; code == 0 && (c = yyjson_mut_arr_iter_next(&it)); i++) {
            snprintf(path, sizeof(path), "spec.%s[%d].securityContext", lists[k], i);
            code = check_context(&l, path, json_mget(c, STR("securityContext")));
        }
    }
    return code;
}

bool id_range_has_fs_group(yyjson_mut_val *spec, const struct object *ns, struct arena *a) {
    yyjson_mut_val *v = json_mget(json_mget(spec, STR("securityContext")), STR("fsGroup"));
    int64_t id = yyjson_mut_get_sint(v);
    struct id_range r;

    return !yyjson_mut_is_int(v) ||
           (id_range_read(ns, a, &r, NULL) == 0 && id >= r.first && id <= r.last);
}
