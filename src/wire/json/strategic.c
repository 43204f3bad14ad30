/*
 * strategic: Kubernetes' strategic merge patch. See strategic.h.
 *
 * Objects merge member by member. A list that merges is taken apart into items with keys (the text of the merge key, or
 * of the scalar itself) and an index over them, changed, and put together again in the order that Kubernetes defines:
 *
 *     listed    items named by the order ($setElementOrder, or else the patch's own elements), in that order
 *     others    items that only the server has, in their old order
 *
 * are merged like two sorted lists: one of `others` goes first when it stood before the next listed item on the server;
 * in doubt the listed item does. Recursion is as deep as the patch, which parsing bounds.
 */
#include "wire/json/strategic.h"

#include "base/map.h"
#include "wire/json/json_edit.h"

#define NOT_ON_SERVER SIZE_MAX

enum {
    MAX_ORDERS = 200
}; /* $setElementOrder directives in one object: no kind has as many lists */

struct smp {
    yyjson_mut_doc *doc;
    const struct strategic_schema *schema;
    struct err *err;
};

static const struct str PATCH = {"$patch", 6}, RETAIN_KEYS = {"$retainKeys", 11};
static const struct str SET_ORDER = {"$setElementOrder/", 17};
static const struct str DELETE_FROM = {"$deleteFromPrimitiveList/", 25};

static int no_memory(struct smp *s) {
    return err_set(s->err, ERR_NOMEM, "no memory to patch");
}

static void *scratch(struct smp *s, size_t count, size_t size) {
    size_t n;
    if (__builtin_mul_overflow(count ? count : 1, size, &n)) {
        return NULL;
    }
    void *p = s->doc->alc.malloc(s->doc->alc.ctx, n);
    return p ? memset(p, 0, n) : NULL;
}

static struct strategic_field field_of(struct smp *s, const void *node, struct str name) {
    struct strategic_field f = {0};
    s->schema->field(node, name, &f);
    return f;
}

static bool is_directive(struct str name) {
    return str_eq(name, PATCH) || str_eq(name, RETAIN_KEYS) || str_starts(name, SET_ORDER) ||
           str_starts(name, DELETE_FROM);
}

/* ---- values that are new: no directives, no nulls ---- */

static yyjson_mut_val *fresh(struct smp *s, yyjson_val *v);

static yyjson_mut_val *fresh_object(struct smp *s, yyjson_val *v) {
    yyjson_mut_val *obj = yyjson_mut_obj(s->doc);
    struct json_edit e;
    size_t i, max;
    yyjson_val *key, *val;
    int r = obj ? json_edit_begin(&e, s->doc, obj, yyjson_obj_size(v)) : ERR_NOMEM;
    yyjson_obj_foreach(v, i, max, key, val) {
        if (r == 0 && !is_directive(json_str(key)) && !yyjson_is_null(val)) {
            yyjson_mut_val *copy = fresh(s, val);
            r = copy ? json_edit_set(&e, json_str(key), copy) : ERR_NOMEM;
        }
    }
    if (obj) {
        json_edit_end(&e);
    }
    return r == 0 ? obj : NULL;
}

static yyjson_mut_val *fresh(struct smp *s, yyjson_val *v) {
    if (yyjson_is_obj(v)) {
        return fresh_object(s, v);
    }
    if (!yyjson_is_arr(v)) {
        return yyjson_val_mut_copy(s->doc, v);
    }
    yyjson_mut_val *arr = yyjson_mut_arr(s->doc);
    size_t i, max;
    yyjson_val *val;
    yyjson_arr_foreach(v, i, max, val) {
        if (arr && json_get(val, PATCH) ==
                       NULL) { /* elements that are directives have nothing to act on */
            yyjson_mut_val *copy = fresh(s, val);
            arr = copy && yyjson_mut_arr_append(arr, copy) ? arr : NULL;
        }
    }
    return arr;
}

static int set_fresh(struct smp *s, struct json_edit *target, struct str name, yyjson_val *v) {
    yyjson_mut_val *copy = fresh(s, v);
    return copy && json_edit_set(target, name, copy) == 0 ? 0 : no_memory(s);
}

/* ---- lists as items ---- */

struct strategic_item {
    struct str key;
    yyjson_mut_val *v;           /* NULL: deleted */
    size_t server_at;            /* index on the server, or NOT_ON_SERVER */
    struct strategic_item *same; /* the next item with this key */
    bool listed;                 /* of the first with this key: all of them are */
};

struct items {
    struct strategic_item *v;
    size_t n;
    struct map by_key; /* first item of a key */
};

/* The text of a scalar that serves as a key; false for anything else. */
static bool key_text(struct smp *s, yyjson_mut_val *v, struct str *ret) {
    if (yyjson_mut_is_str(v)) {
        *ret = json_mstr(v);
        return true;
    }
    if (v == NULL || yyjson_mut_is_ctn(v) || yyjson_mut_is_null(v)) {
        return false;
    }
    char *out = scratch(s, 32, 1);
    if (out == NULL) {
        return false;
    }
    int n;
    if (yyjson_mut_is_bool(v)) {
        n = snprintf(out, 32, "%s", yyjson_mut_get_bool(v) ? "true" : "false");
    } else if (yyjson_mut_is_real(v)) {
        n = snprintf(out, 32, "%.17g", yyjson_mut_get_real(v));
    } else if (yyjson_mut_is_uint(v)) {
        n = snprintf(out, 32, "%llu", (unsigned long long)yyjson_mut_get_uint(v));
    } else {
        n = snprintf(out, 32, "%lld", (long long)yyjson_mut_get_sint(v));
    }
    *ret = str_from(out, (size_t)n);
    return true;
}

static int add_item(struct smp *s, struct items *it, struct str key, yyjson_mut_val *v, size_t at) {
    struct strategic_item *item = &it->v[it->n], *first = map_get(&it->by_key, key);
    *item = (struct strategic_item){.key = key, .v = v, .server_at = at};
    if (first) {
        item->same = first->same;
        first->same = item;
    } else if (map_put(&it->by_key, key, item, NULL) != 0) {
        return no_memory(s);
    }
    it->n++;
    return 0;
}

/* Takes the server's list apart. Elements without a key stay where they are, under a key nobody can name. */
static int take_apart(struct smp *s, struct items *it, yyjson_mut_val *list, size_t more,
                      const char *merge_key) {
    size_t n = yyjson_mut_arr_size(list);
    it->v = scratch(s, n + more, sizeof(*it->v));
    if (it->v == NULL) {
        return no_memory(s);
    }
    yyjson_mut_val *elem = yyjson_mut_arr_get_first(list);
    for (size_t i = 0; i < n; i++, elem = elem->next) {
        struct str key;
        yyjson_mut_val *named = merge_key ? json_mget(elem, str_of(merge_key)) : elem;
        key = key_text(s, named, &key) ? key : STR("\xff");
        int r = add_item(s, it, key, elem, i);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

static int by_server(const void *a, const void *b) {
    const struct strategic_item *x = *(struct strategic_item *const *)a,
                                *y = *(struct strategic_item *const *)b;
    return (x->server_at > y->server_at) - (x->server_at < y->server_at);
}

/* Appends the items of one key that are there, in the server's order, when it is named for the first time. */
static size_t list_key(struct smp *s, struct strategic_item *first, struct strategic_item **listed,
                       size_t n) {
    size_t from = n;
    if (first == NULL || first->listed) {
        return n;
    }
    for (struct strategic_item *i = first; i; i = i->same) {
        (void)arena_charge(json_arena(s->doc), 1);
        i->listed = true;
        if (i->v) {
            listed[n++] = i;
        }
    }
    if (n - from > 1) {
        qsort(listed + from, n - from, sizeof(*listed), by_server);
    }
    return n;
}

/* Fills `list` with the items: those named by order[0..n_order) and the others, as the opening comment says. */
static int put_together(struct smp *s, struct items *it, const struct str *order, size_t n_order,
                        yyjson_mut_val *list) {
    struct strategic_item **listed = scratch(s, it->n, sizeof(*listed)),
                          **others = scratch(s, it->n, sizeof(*others));
    size_t n_listed = 0, n_others = 0, i = 0, k = 0;
    if (listed == NULL || others == NULL) {
        return no_memory(s);
    }
    for (size_t o = 0; o < n_order; o++) {
        n_listed = list_key(s, map_get(&it->by_key, order[o]), listed, n_listed);
    }
    for (size_t j = 0; j < it->n; j++) {
        if (it->v[j].v && !it->v[j].listed) {
            others[n_others++] = &it->v[j];
        }
    }
    yyjson_mut_arr_clear(list);
    while (i < n_others || k < n_listed) {
        bool other = k == n_listed || (i < n_others && listed[k]->server_at != NOT_ON_SERVER &&
                                       others[i]->server_at < listed[k]->server_at);
        yyjson_mut_arr_append(list, other ? others[i++]->v : listed[k++]->v);
    }
    return 0;
}

/* ---- merging lists ---- */

static int merge_map(struct smp *s, const void *node, yyjson_mut_val *target, yyjson_val *patch);

struct list_merge {
    struct strategic_field field;
    yyjson_val *patch; /* elements to merge, or NULL */
    yyjson_val *order; /* $setElementOrder, or NULL */
    struct items items;
    struct str *keys; /* of the patch's elements, without directives */
    size_t n_keys;
    bool replace; /* an element says $patch: replace */
};

/* Before anything is added: where the first is gone, all are. */
static void delete_key(struct smp *s, struct items *it, struct str key) {
    struct strategic_item *first = map_get(&it->by_key, key);
    for (struct strategic_item *i = first && first->v ? first : NULL; i; i = i->same) {
        (void)arena_charge(json_arena(s->doc), 1);
        i->v = NULL;
    }
}

/* The key of an element of the patch: of its member `merge_key`, or of the element itself. */
static int patch_key(struct smp *s, const char *merge_key, yyjson_val *elem, struct str *ret) {
    yyjson_val *named = merge_key ? json_get(elem, str_of(merge_key)) : elem;
    yyjson_mut_val *v = named && !yyjson_is_ctn(named) ? yyjson_val_mut_copy(s->doc, named) : NULL;
    if (v && key_text(s, v, ret)) {
        return 0;
    }
    if (merge_key) {
        return err_set(s->err, ERR_INVALID,
                       "a list element does not contain declared merge key: %s", merge_key);
    }
    return err_set(s->err, ERR_INVALID, "cannot merge a list whose elements are not scalars");
}

/* First the directives: deletions act on what the server has, whatever their place in the patch. */
static int apply_directives(struct smp *s, struct list_merge *m) {
    size_t i, max;
    yyjson_val *elem;
    yyjson_arr_foreach(m->patch, i, max, elem) {
        yyjson_val *directive = json_get(elem, PATCH);
        struct str key;
        if (directive == NULL || str_is(json_str(directive), "merge")) {
            continue;
        }
        if (str_is(json_str(directive), "replace")) {
            m->replace = true;
        } else if (str_is(json_str(directive), "delete")) {
            int r = patch_key(s, m->field.merge_key, elem, &key);
            if (r != 0) {
                return r;
            }
            delete_key(s, &m->items, key);
        } else {
            return err_set(s->err, ERR_BAD_REQUEST, "unknown patch type found: $patch: %.*s",
                           STR_ARG(json_str(directive)));
        }
    }
    for (size_t k = 0; m->replace && k < m->items.n; k++) {
        m->items.v[k].v = NULL;
    }
    return 0;
}

/* The first on the server. Those of one key are deleted together, and then one is added behind the first. */
static struct strategic_item *live(struct items *it, struct str key) {
    struct strategic_item *first = map_get(&it->by_key, key);
    struct strategic_item *next = first ? first->same : NULL;
    return first && first->v ? first : next && next->v ? next : NULL;
}

static int merge_element(struct smp *s, struct list_merge *m, yyjson_val *elem) {
    struct str key;
    int r = patch_key(s, m->field.merge_key, elem, &key);
    if (r != 0) {
        return r;
    }
    m->keys[m->n_keys++] = key;
    struct strategic_item *item = live(&m->items, key);
    if (item) {
        return m->field.merge_key ? merge_map(s, m->field.node, item->v, elem) : 0;
    }
    yyjson_mut_val *v = fresh(s, elem);
    return v ? add_item(s, &m->items, key, v, NOT_ON_SERVER) : no_memory(s);
}

/* The keys of $setElementOrder, which must name every element of the patch. */
static int read_order(struct smp *s, struct list_merge *m, struct str *keys, size_t *ret_n) {
    struct map named = {0};
    size_t i, max, n = 0;
    yyjson_val *elem;
    int r = 0;
    yyjson_arr_foreach(m->order, i, max, elem) {
        r = r ? r : patch_key(s, m->field.merge_key, elem, &keys[n]);
        r = r ? r : map_put(&named, keys[n], m, NULL);
        n += r == 0;
    }
    for (size_t k = 0; r == 0 && k < m->n_keys; k++) {
        if (map_get(&named, m->keys[k]) == NULL) {
            r = err_set(s->err, ERR_BAD_REQUEST,
                        "$setElementOrder does not name the element \"%.*s\" of the patch",
                        STR_ARG(str_head(m->keys[k], 128)));
        }
    }
    map_release(&named);
    *ret_n = n;
    return r;
}

static int run_merge(struct smp *s, struct list_merge *m, yyjson_mut_val *list) {
    size_t i, max, n_patch = yyjson_arr_size(m->patch);
    yyjson_val *elem;
    m->keys = scratch(s, n_patch, sizeof(*m->keys));
    int r = m->keys ? take_apart(s, &m->items, list, n_patch, m->field.merge_key) : no_memory(s);
    r = r ? r : apply_directives(s, m);
    yyjson_arr_foreach(m->patch, i, max, elem) {
        bool plain =
            json_get(elem, PATCH) == NULL || str_is(json_str(json_get(elem, PATCH)), "merge");
        r = r == 0 && plain ? merge_element(s, m, elem) : r;
    }
    if (r != 0 || m->order == NULL) {
        return r ? r : put_together(s, &m->items, m->keys, m->n_keys, list);
    }
    size_t n_order = 0;
    struct str *order = scratch(s, yyjson_arr_size(m->order), sizeof(*order));
    r = order ? read_order(s, m, order, &n_order) : no_memory(s);
    return r ? r : put_together(s, &m->items, order, n_order, list);
}

/* Merges `patch` (may be NULL) into the list `name` of target, in the order `order` (may be NULL). */
static int merge_list(struct smp *s, const void *node, struct json_edit *target, struct str name,
                      yyjson_val *patch, yyjson_val *order) {
    struct list_merge m = {.field = field_of(s, node, name), .patch = patch, .order = order};
    yyjson_mut_val *list = json_edit_get(target, name);
    if (!m.field.merge) {
        return patch ? set_fresh(s, target, name, patch) : 0;
    }
    if (!yyjson_mut_is_arr(list)) {
        if (patch == NULL) {
            return 0;
        }
        list = yyjson_mut_arr(s->doc);
        if (list == NULL || json_edit_set(target, name, list) != 0) {
            return no_memory(s);
        }
    }
    int r = run_merge(s, &m, list);
    map_release(&m.items.by_key);
    return r;
}

/* ---- directives in an object ---- */

static int delete_scalars(struct smp *s, struct json_edit *target, struct str name,
                          yyjson_val *gone) {
    yyjson_mut_val *list = json_edit_get(target, name);
    struct items items = {0};
    size_t i, max;
    yyjson_val *elem;
    if (!yyjson_is_arr(gone)) {
        return err_set(s->err, ERR_BAD_REQUEST, "$deleteFromPrimitiveList/%.*s must be a list",
                       STR_ARG(str_head(name, 128)));
    }
    if (!yyjson_mut_is_arr(list)) {
        return 0;
    }
    int r = take_apart(s, &items, list, 0, NULL);
    yyjson_arr_foreach(gone, i, max, elem) {
        struct str key;
        r = r ? r : patch_key(s, NULL, elem, &key);
        if (r == 0) {
            delete_key(s, &items, key);
        }
    }
    r = r ? r : put_together(s, &items, NULL, 0, list);
    map_release(&items.by_key);
    return r;
}

static bool names(yyjson_val *list, struct str name) {
    size_t i, max;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, max, v) {
        if (str_eq(json_str(v), name)) {
            return true;
        }
    }
    return false;
}

static int retain_keys(struct smp *s, yyjson_mut_val *target, yyjson_val *patch) {
    yyjson_val *keep = json_get(patch, RETAIN_KEYS), *key, *val;
    size_t i, max;
    if (keep == NULL) {
        return 0;
    }
    /* Unions have a handful of members; a longer list is no use but would be walked for every member. */
    if (!yyjson_is_arr(keep) || yyjson_arr_size(keep) > 200) {
        return err_set(s->err, ERR_BAD_REQUEST, "$retainKeys must be a list of names");
    }
    yyjson_obj_foreach(patch, i, max, key, val) {
        struct str name = json_str(key);
        if (!is_directive(name) && !yyjson_is_null(val) && !names(keep, name)) {
            return err_set(s->err, ERR_BAD_REQUEST,
                           "invalid patch format of retainKeys: \"%.*s\" is not in it",
                           STR_ARG(str_head(name, 128)));
        }
    }
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(target);
    for (yyjson_mut_val *k; (k = yyjson_mut_obj_iter_next(&it));) {
        if (!names(keep, json_mstr(k))) {
            yyjson_mut_obj_iter_remove(&it);
        }
    }
    return 0;
}

/* $patch in an object. *ret_done: nothing is left to merge. */
static int patch_directive(struct smp *s, yyjson_mut_val *target, yyjson_val *patch,
                           bool *ret_done) {
    yyjson_val *directive = json_get(patch, PATCH), *key, *val;
    struct str what = json_str(directive);
    size_t i, max;
    int r = 0;
    *ret_done = directive && !str_is(what, "merge");
    if (!*ret_done) {
        return 0;
    }
    if (!str_is(what, "replace") && !str_is(what, "delete")) {
        return err_set(s->err, ERR_BAD_REQUEST, "unknown patch type found: $patch: %.*s",
                       STR_ARG(str_head(what, 128)));
    }
    yyjson_mut_obj_clear(target);
    if (str_is(what, "delete")) {
        return 0;
    }
    struct json_edit e;
    r = json_edit_begin(&e, s->doc, target, yyjson_obj_size(patch));
    yyjson_obj_foreach(patch, i, max, key, val) {
        if (r == 0 && !is_directive(json_str(key)) && !yyjson_is_null(val)) {
            r = set_fresh(s, &e, json_str(key), val);
        }
    }
    json_edit_end(&e);
    return r;
}

/* ---- objects ---- */

static int merge_member(struct smp *s, const void *node, struct json_edit *target, struct str name,
                        yyjson_val *val, yyjson_val *patch) {
    if (str_starts(name, DELETE_FROM)) {
        return delete_scalars(s, target, str_skip(name, DELETE_FROM.n), val);
    }
    if (str_starts(name, SET_ORDER)) {
        struct str list = str_skip(name, SET_ORDER.n);
        if (!yyjson_is_arr(val)) {
            return err_set(s->err, ERR_BAD_REQUEST, "%.*s must be a list",
                           STR_ARG(str_head(name, 128)));
        }
        yyjson_val *elems = json_get(patch, list);
        return yyjson_is_arr(elems) || elems == NULL ? merge_list(s, node, target, list, elems, val)
                                                     : 0;
    }
    if (is_directive(name)) {
        return 0;
    }
    if (yyjson_is_null(val)) {
        json_edit_del(target, name);
        return 0;
    }
    yyjson_mut_val *old = json_edit_get(target, name);
    if (yyjson_is_obj(val) && yyjson_mut_is_obj(old)) {
        return merge_map(s, field_of(s, node, name).node, old, val);
    }
    if (yyjson_is_arr(val) && yyjson_mut_is_arr(old)) {
        return merge_list(s, node, target, name, val, NULL);
    }
    return set_fresh(s, target, name, val);
}

/* The names of the lists for which the patch has an order: they are merged once, with it. */
static int find_orders(struct smp *s, yyjson_val *patch, struct map *ordered) {
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(patch, i, max, key, val) {
        struct str name = json_str(key);
        if (str_starts(name, SET_ORDER) &&
            map_put(ordered, str_skip(name, SET_ORDER.n), val, NULL) != 0) {
            return no_memory(s);
        }
    }
    return map_count(ordered) <= MAX_ORDERS
               ? 0
               : err_set(s->err, ERR_BAD_REQUEST, "too many $setElementOrder directives");
}

static int merge_map(struct smp *s, const void *node, yyjson_mut_val *target, yyjson_val *patch) {
    struct json_edit e;
    struct map ordered = {0};
    size_t i, max;
    yyjson_val *key, *val;
    bool done;
    int r = patch_directive(s, target, patch, &done);
    r = r == 0 && !done ? retain_keys(s, target, patch) : r;
    if (r != 0 || done) {
        return r;
    }
    r = find_orders(s, patch, &ordered);
    if (r == 0 && json_edit_begin(&e, s->doc, target, yyjson_obj_size(patch)) != 0) {
        r = no_memory(s);
    }
    if (r == 0) {
        yyjson_obj_foreach(patch, i, max, key, val) {
            bool later = yyjson_is_arr(val) && map_get(&ordered, json_str(key));
            r = r || later ? r : merge_member(s, node, &e, json_str(key), val, patch);
        }
        json_edit_end(&e);
    }
    map_release(&ordered);
    return r;
}

int patch_strategic(yyjson_mut_doc *d, yyjson_val *patch, const struct strategic_schema *schema,
                    const void *root, struct err *err) {
    struct smp s = {.doc = d, .schema = schema, .err = err};
    if (!yyjson_is_obj(patch) || !yyjson_mut_is_obj(d->root)) {
        return err_set(err, ERR_BAD_REQUEST, "a strategic merge patch must be an object");
    }
    return merge_map(&s, root, d->root, patch);
}
