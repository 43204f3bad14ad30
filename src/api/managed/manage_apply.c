/*
 * manage_apply: what an apply takes away, and what it owes to client-side apply.
 *
 * kubectl's client-side apply keeps what it applied in an annotation. A server-side apply by a manager called "kubectl"
 * may take those fields over without a conflict, and keeps the annotation up to date for clients that still read it.
 */
#include <stdlib.h>

#include "api/managed/manage_private.h"
#include "base/limits.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* ---- prune ---- */

static int fields_of(const struct manage *m, const struct form *f, yyjson_mut_val *v,
                     struct fields *ret, struct err *err) {
    struct fields set;
    int r = typed_fields(m->arena, f, v, &set, err);
    if (r == 0) {
        *ret = typed_named(m->arena, f, &set);
    }
    return r;
}

/* All that somebody manages in a version (empty: in any), the applied config included. */
static struct fields managed_in(const struct manage *m, const struct managers *all,
                                struct str api_version) {
    struct fields r = {0};
    for (size_t i = 0; i < all->n; i++) {
        if (api_version.n == 0 || str_eq(all->v[i].api_version, api_version)) {
            r = fields_union(m->arena, &r, &all->v[i].set);
        }
    }
    return r;
}

/* What is in `whole` and not in `less`, and nobody manages. */
static int unowned(const struct manage *m, const struct form *f, const struct fields *managed,
                   yyjson_mut_val *whole, yyjson_mut_val *less, struct fields *ret_gone,
                   struct err *err) {
    struct fields a, b, owned = typed_named(m->arena, f, managed);
    int r = fields_of(m, f, whole, &a, err);
    r = r ? r : fields_of(m, f, less, &b, err);
    if (r == 0) {
        b = fields_union(m->arena, &b, &owned);
        *ret_gone = fields_minus(m->arena, &a, &b);
    }
    return r;
}

/* The object in another version, without what goes there: as a copy in the version of `back`. */
static int prune_in(const struct manage *m, yyjson_mut_doc *d, const struct managers *all,
                    struct str at, struct str api_version, yyjson_mut_val *whole,
                    yyjson_mut_val **less, struct err *err) {
    struct form f;
    bool same = str_eq(api_version, at);
    yyjson_mut_val *x = same ? yyjson_mut_val_mut_copy(d, whole) : NULL, *y = *less;
    struct fields gone, managed = managed_in(m, all, api_version);
    struct fields keep = managed_in(m, all, (struct str){0});
    int r = same && x == NULL ? ERR_NOMEM : m->form_of(m->ctx, api_version, &f);
    if (r == 0 && !same) {
        r = m->convert(m->ctx, whole, at, api_version, &x, err);
        r = r ? r : m->convert(m->ctx, *less, at, api_version, &y, err);
    }
    if (r == ERR_NOT_FOUND) {
        return 0;
    }
    r = r ? r : unowned(m, &f, &managed, x, y, &gone, err);
    r = r ? r : typed_remove(m->arena, &f, x, &gone, &keep, err);
    if (r == 0 && !same) {
        r = m->convert(m->ctx, x, api_version, at, &x, err);
    }
    if (r == 0) {
        *less = x;
    }
    return r;
}

/* Each version of the entries once, that of the last apply first. */
static bool seen_before(const struct managers *all, size_t i, struct str last) {
    bool seen = str_eq(all->v[i].api_version, last);
    for (size_t k = 0; k < i && !seen; k++) {
        seen = str_eq(all->v[k].api_version, all->v[i].api_version);
    }
    return seen;
}

static int give_back(const struct manage *m, yyjson_mut_doc *d, const struct managers *all,
                     struct str at, yyjson_mut_val *whole, yyjson_mut_val **less, struct err *err) {
    int r = prune_in(m, d, all, at, at, whole, less, err);
    for (size_t i = 0; r == 0 && i < all->n; i++) {
        if (!seen_before(all, i, at)) {
            r = prune_in(m, d, all, at, all->v[i].api_version, whole, less, err);
        }
    }
    return r;
}

/* Whether nobody's paths are those of another version. */
static bool in_one_version(const struct manage *m, const struct managers *all) {
    bool one = true;
    for (size_t i = 0; i < all->n && one; i++) {
        one = str_eq(all->v[i].api_version, m->who.api_version);
    }
    return one;
}

/* Where all paths are of one version, what goes is what was applied and nobody manages. */
static int prune_here(const struct manage *m, const struct managers *all,
                      const struct manager *last, yyjson_mut_val *object, struct err *err) {
    const struct manager *own = managers_find(all, &m->who);
    struct fields gone = typed_named(m->arena, &m->form, &last->set);
    struct fields managed = managed_in(m, all, (struct str){0});
    managed = typed_named(m->arena, &m->form, &managed);
    gone = fields_minus(m->arena, &gone, &managed);
    return typed_remove(m->arena, &m->form, object, &gone, &own->set, err);
}

/* In the version of the last apply: takes all of it out, gives back what is somebody's, and takes out what of the rest
 * was the manager's. */
static int prune_at(const struct manage *m, yyjson_mut_doc *d, const struct managers *all,
                    const struct manager *last, const struct form *f, yyjson_mut_val *whole,
                    struct err *err) {
    struct fields all_last = typed_named(m->arena, f, &last->set), a, b;
    const struct manager *own = managers_find(all, &m->who);
    yyjson_mut_val *less = yyjson_mut_val_mut_copy(d, whole);
    int r = less == NULL ? err_set(err, ERR_NOMEM, "out of memory")
                         : typed_remove(m->arena, f, less, &all_last, NULL, err);
    r = r ? r : give_back(m, d, all, last->api_version, whole, &less, err);
    r = r ? r : fields_of(m, f, whole, &a, err);
    r = r ? r : fields_of(m, f, less, &b, err);
    if (r == 0) {
        a = fields_minus(m->arena, &a, &b);
        a = fields_both(m->arena, &a, &all_last);
        r = typed_remove(m->arena, f, whole, &a, &own->set, err);
    }
    return r;
}

bool manage_drops(const struct manage *m, const struct manager *last, const struct manager *own) {
    if (!str_eq(last->api_version, own->api_version)) {
        return !fields_empty(&last->set);
    }
    struct fields dropped = fields_minus(m->arena, &last->set, &own->set);
    return !fields_empty(&dropped);
}

int manage_prune(const struct manage *m, yyjson_mut_doc *d, const struct managers *all,
                 const struct manager *last, yyjson_mut_val **object, struct err *err) {
    bool other = !str_eq(last->api_version, m->who.api_version);
    struct form f = m->form;
    yyjson_mut_val *whole = *object;
    if (!other && in_one_version(m, all)) {
        return prune_here(m, all, last, whole, err);
    }
    int r = other ? m->form_of(m->ctx, last->api_version, &f) : 0;
    if (r == 0 && other) {
        r = m->convert(m->ctx, whole, m->who.api_version, last->api_version, &whole, err);
    }
    if (r == ERR_NOT_FOUND) {
        return 0;
    }
    r = r ? r : prune_at(m, d, all, last, &f, whole, err);
    if (r == 0 && other) {
        r = m->convert(m->ctx, whole, last->api_version, m->who.api_version, &whole, err);
    }
    if (r == 0) {
        *object = whole;
    }
    return r;
}

/* ---- client-side apply ---- */

static yyjson_mut_val *annotations_of(yyjson_mut_val *object) {
    return json_mget(json_mget(object, STR("metadata")), STR("annotations"));
}

struct fields manage_left_by_client(const struct manage *m, yyjson_mut_val *was) {
    struct fields set = {0};
    struct typed_change change;
    yyjson_mut_doc *d;
    struct str text = json_mstr(json_mget(annotations_of(was), STR(LAST_APPLIED)));
    if (text.n == 0 || json_parse_mut(m->arena, text, &d, NULL) != 0) {
        return set;
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    if (!str_eq(json_mstr_at(root, "apiVersion"), m->who.api_version) ||
        typed_config(m->arena, &m->form, root, &set, NULL) != 0 ||
        typed_compare(m->arena, &m->form, root, was, &change, NULL) != 0) {
        return (struct fields){0};
    }
    set = fields_minus(m->arena, &set, &change.modified);
    set = fields_minus(m->arena, &set, &change.added);
    return fields_minus(m->arena, &set, &change.removed);
}

struct sorted_member {
    struct str name;
    yyjson_mut_val *v;
};

static int member_cmp(const void *a, const void *b) {
    const struct sorted_member *x = a, *y = b;
    return str_cmp(x->name, y->name);
}

/* JSON with members in order of their names; of `annotations` all but the one. */
static void write_sorted(struct arena *a, yyjson_mut_val *v, const yyjson_mut_val *annotations,
                         struct buf *b) {
    size_t i, n, used = 0;
    yyjson_mut_val *key, *e;
    if (yyjson_mut_is_arr(v)) {
        buf_ch(b, '[');
        yyjson_mut_arr_foreach(v, i, n, e) {
            buf_c(b, i > 0 ? "," : "");
            write_sorted(a, e, annotations, b);
        }
        buf_ch(b, ']');
        return;
    }
    if (!yyjson_mut_is_obj(v)) {
        json_write_mut(b, v);
        return;
    }
    struct sorted_member *all = ARENA_ARRAY(a, struct sorted_member, yyjson_mut_obj_size(v) + 1);
    yyjson_mut_obj_foreach(v, i, n, key, e) {
        if (all != NULL && (v != annotations || !str_is(json_mstr(key), LAST_APPLIED))) {
            all[used++] = (struct sorted_member){json_mstr(key), e};
        }
    }
    if (used > 1) {
        qsort(all, used, sizeof(*all), member_cmp);
    }
    buf_ch(b, '{');
    for (i = 0; i < used && arena_charge(a, 1); i++) {
        buf_c(b, i > 0 ? "," : "");
        buf_json(b, all[i].name);
        buf_ch(b, ':');
        write_sorted(a, all[i].v, annotations, b);
    }
    buf_ch(b, '}');
}

struct str manage_client_text(const struct manage *m, yyjson_mut_val *config) {
    struct buf b;
    struct str r = {0};
    if (!str_is(m->who.name, "kubectl")) {
        return r;
    }
    buf_init(&b, LIMIT_OBJECT_BYTES);
    write_sorted(m->arena, config, annotations_of(config), &b);
    buf_ch(&b, '\n');
    if (buf_ok(&b) == 0) {
        r = arena_str(m->arena, buf_view(&b));
    }
    buf_release(&b);
    return r;
}

int manage_tell_client(yyjson_mut_doc *d, yyjson_mut_val *object, struct str text) {
    yyjson_mut_val *annotations = annotations_of(object);
    struct str had = json_mstr(json_mget(annotations, STR(LAST_APPLIED)));
    if (text.n == 0 || had.n == 0) {
        return 0;
    }
    if (text.n > LIMIT_ANNOTATION_BYTES) {
        json_mdel(annotations, STR(LAST_APPLIED));
        return 0;
    }
    return json_mset_str(d, annotations, LAST_APPLIED, text);
}
