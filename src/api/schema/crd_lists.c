/*
 * crd_lists: lists that are sets or maps name nothing twice. See crd_validate.h.
 *
 * The names of a list's elements are compared as text, by a table, so that long lists cost what they are long.
 */
#include "api/schema/check.h"
#include "api/schema/crd_validate.h"
#include "base/map.h"

static void visit(struct causes *c, const struct crd_node *n, yyjson_mut_val *x,
                  const struct path *at);

/* What an element is known by: the whole in a set, an object of its keys in a map. */
static void write_name(const struct crd_node *n, yyjson_mut_val *e, struct buf *b) {
    if (n->flags & CRD_LIST_SET) {
        json_write_mut(b, e);
        return;
    }
    size_t written = 0;
    buf_ch(b, '{');
    for (size_t i = 0; i < n->n_keys; i++) {
        yyjson_mut_val *v = json_mget(e, n->keys[i]);
        if (v != NULL) {
            buf_c(b, written++ ? "," : "");
            buf_json(b, n->keys[i]);
            buf_ch(b, ':');
            json_write_mut(b, v);
        }
    }
    buf_ch(b, '}');
}

static void check_unique(struct causes *c, const struct crd_node *n, yyjson_mut_val *list,
                         const struct path *at) {
    static char once, twice;
    struct map seen;
    struct buf b;
    map_init(&seen);
    buf_init(&b, 0);
    yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(list);
    yyjson_mut_val *e;
    for (size_t i = 0; (e = yyjson_mut_arr_iter_next(&it)) != NULL; i++) {
        struct path here = path_index(at, i);
        if ((n->flags & CRD_LIST_MAP) && !yyjson_mut_is_obj(e) && !yyjson_mut_is_null(e)) {
            cause_invalid_json(c, &here, e, "must be an object for an array of list-type map");
            break;
        }
        buf_reset(&b);
        write_name(n, e, &b);
        void *times = map_get(&seen, buf_view(&b));
        if (times == &once) {
            causes_add(c, CAUSE_DUPLICATE, path_text(&here, c->arena), "Duplicate value: %.*s",
                       STR_ARG(buf_view(&b)));
        }
        struct str name = arena_str(c->arena, buf_view(&b));
        if (name.p == NULL || map_put(&seen, name, times == NULL ? &once : &twice, NULL) != 0) {
            c->arena->failed = ERR_NOMEM;
            break;
        }
    }
    buf_release(&b);
    map_release(&seen);
}

static void visit(struct causes *c, const struct crd_node *n, yyjson_mut_val *x,
                  const struct path *at) {
    if (!(n->flags & CRD_LISTS)) {
        return;
    }
    if (yyjson_mut_is_arr(x)) {
        if (n->flags & (CRD_LIST_SET | CRD_LIST_MAP)) {
            check_unique(c, n, x, at);
        }
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(x);
        yyjson_mut_val *e;
        for (size_t i = 0; n->items && (e = yyjson_mut_arr_iter_next(&it)) != NULL; i++) {
            struct path here = path_index(at, i);
            visit(c, n->items, e, &here);
        }
    } else if (yyjson_mut_is_obj(x)) {
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(x);
        yyjson_mut_val *k;
        while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
            const struct crd_node *m = crd_member(n, json_mstr(k));
            struct path here = {.up = at, .step = PATH_MEMBER, .name = json_mstr(k)};
            if (m != NULL) {
                visit(c, m, yyjson_mut_obj_iter_get_val(k), &here);
            }
        }
    }
}

void crd_validate_lists(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *obj,
                        yyjson_val *old) {
    size_t before = v->c->n;
    visit(v->c, n, obj, NULL);
    if (v->c->n == before || old == NULL) {
        return;
    }
    struct causes was = {.arena = v->c->arena};
    yyjson_mut_doc *d = json_mut_copy(v->c->arena, old);
    if (d != NULL) {
        visit(&was, n, yyjson_mut_doc_get_root(d), NULL);
    }
    if (was.n > 0) {
        v->c->n = before;
    }
}
