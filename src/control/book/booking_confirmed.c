/* booking_confirmed: a map and a tree of the same rows. See booking_confirmed.h. */
#include "control/book/booking_confirmed.h"

#include "base/err.h"
#include "base/mem.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

static int by_start(const void *key, const void *item) {
    const struct booking_confirmed_row *a = key, *b = item;
    int order = str_cmp(a->ns, b->ns);
    if (order == 0 && a->start != b->start) {
        order = a->start < b->start ? -1 : 1;
    }
    return order != 0 ? order : str_cmp(a->uid, b->uid);
}

void booking_confirmed_init(struct booking_confirmed *x) {
    map_init(&x->by_uid);
    tree_init(&x->by_start, by_start);
}

void booking_confirmed_release(struct booking_confirmed *x) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&x->by_uid, &i)) != NULL;) {
        mem_free(e->value);
    }
    map_release(&x->by_uid);
    tree_release(&x->by_start);
}

void booking_confirmed_del(struct booking_confirmed *x, struct str uid) {
    struct booking_confirmed_row *row = map_get(&x->by_uid, uid);
    if (row != NULL) {
        map_del(&x->by_uid, row->uid);
        tree_del(&x->by_start, row);
        mem_free(row);
    }
}

static struct booking_confirmed_row *row_new(const struct object *o, int64_t start) {
    struct booking_confirmed_row *row = mem_alloc(sizeof(*row) + o->ns.n + o->uid.n + o->name.n);
    if (row == NULL) {
        return NULL;
    }
    struct str *to[] = {&row->ns, &row->uid, &row->name};
    const struct str from[] = {o->ns, o->uid, o->name};
    char *at = row->text;
    row->start = start;
    row->note = 0;
    for (size_t i = 0; i < 3; i++) {
        *to[i] = (struct str){at, from[i].n};
        if (from[i].n > 0) {
            memcpy(at, from[i].p, from[i].n);
        }
        at += from[i].n;
    }
    return row;
}

/* When it starts: what was agreed, else what was asked for. 0: it is not confirmed. */
static int read_start(const struct object *o, struct arena *a, int64_t *ret) {
    yyjson_doc *doc;
    int64_t start = 0;
    arena_reset(a);
    int r = object_tree(o, a, &doc, NULL);
    if (r != 0) {
        return r;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (str_is(json_str_at(root, "status.phase"), "Confirmed") &&
        time_parse(json_str_at(root, "status.start"), &start, NULL) != 0) {
        (void)time_parse(json_str_at(root, "spec.start"), &start, NULL);
    }
    *ret = start;
    return 0;
}

int booking_confirmed_put(struct booking_confirmed *x, const struct object *o, struct arena *a) {
    int64_t start = 0;
    booking_confirmed_del(x, o->uid);
    if (o->deleting_ns != 0 || !str_contains(o->json, STR("\"Confirmed\""))) {
        return 0; /* most changes are of others */
    }
    int r = read_start(o, a, &start);
    if (r != 0 || start == 0) {
        return r;
    }
    struct booking_confirmed_row *row = row_new(o, start);
    if (row == NULL || map_put(&x->by_uid, row->uid, row, NULL) != 0) {
        mem_free(row);
        return ERR_NOMEM;
    }
    if (tree_put(&x->by_start, row, row, NULL) != 0) {
        map_del(&x->by_uid, row->uid);
        mem_free(row);
        return ERR_NOMEM;
    }
    return 0;
}

struct tree_pos booking_confirmed_seek(const struct booking_confirmed *x, struct str ns,
                                       int64_t start) {
    struct booking_confirmed_row key = {.ns = ns, .start = start};
    return tree_seek(&x->by_start, &key);
}

struct booking_confirmed_row *booking_confirmed_next(const struct booking_confirmed *x,
                                                     struct str ns, int64_t start,
                                                     struct tree_pos *pos) {
    struct booking_confirmed_row *row = tree_next(&x->by_start, pos);
    return row != NULL && row->start == start && str_eq(row->ns, ns) ? row : NULL;
}
