/* virtual_items: see virtual_items.h. */
#include "port/virtual_items.h"

#include "base/keyed_hash.h"
#include "base/mem.h"
#include "wire/json/json.h"

enum { KEY_MAX = 1024 };

static void item_free(struct virtual_items *t, struct virtual_item *x) {
    t->bytes -= x->text.n;
    mem_free((void *)(uintptr_t)x->text.p);
    mem_free(x);
}

void virtual_items_release(struct virtual_items *t) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&t->map, &i)) != NULL;) {
        item_free(t, e->value);
    }
    map_release(&t->map);
}

void virtual_items_forget(struct virtual_items *t, uint64_t seen) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&t->map, &i)) != NULL;) {
        struct virtual_item *x = e->value;
        if (x->gone != 0 && x->gone <= seen) {
            (void)map_del(&t->map, str_from(x->key, x->n_key));
            item_free(t, x);
        }
    }
}

/* What counts of an object: all but when it was made. */
static void write_same(yyjson_val *obj, bool top, struct buf *out) {
    size_t i, max, n = 0;
    yyjson_val *k, *v;
    buf_ch(out, '{');
    yyjson_obj_foreach(obj, i, max, k, v) {
        if (str_is(json_str(k), "computed")) {
            continue;
        }
        buf_c(out, n++ > 0 ? "," : "");
        buf_json(out, json_str(k));
        buf_ch(out, ':');
        if (top && str_is(json_str(k), "status") && yyjson_is_obj(v)) {
            write_same(v, false, out);
        } else {
            json_write(out, v);
        }
    }
    buf_ch(out, '}');
}

static struct virtual_item *item_new(struct virtual_items *t, struct str key) {
    struct virtual_item *x = mem_zalloc(sizeof(*x) + key.n + 1);
    if (x == NULL) {
        return NULL;
    }
    memcpy(x->key, key.p, key.n);
    x->n_key = key.n;
    if (map_put(&t->map, str_from(x->key, key.n), x, NULL) != 0) {
        mem_free(x);
        return NULL;
    }
    return x;
}

static int too_large(const struct buf *b, struct err *err) {
    return err_set(err, buf_ok(b) == ERR_NOMEM ? ERR_NOMEM : ERR_TOO_LARGE,
                   "the answer is too large to be watched: ask for less");
}

static int item_set(struct virtual_items *t, yyjson_val *obj, struct buf *b, struct err *err) {
    struct str ns = json_str_at(obj, "metadata.namespace");
    struct str name = json_str_at(obj, "metadata.name");
    uint64_t version = t->version + 1;
    char key[KEY_MAX];
    if (!yyjson_is_obj(obj) || ns.n + name.n + 1 > sizeof(key)) {
        return err_set(err, ERR_SYNTAX, "the answer is no list of objects with names");
    }
    memcpy(key, ns.p != NULL ? ns.p : "", ns.n);
    key[ns.n] = '/';
    memcpy(key + ns.n + 1, name.p != NULL ? name.p : "", name.n);
    struct str id = str_from(key, ns.n + 1 + name.n);
    struct virtual_item *x = map_get(&t->map, id);
    size_t others = t->bytes - (x != NULL ? x->text.n : 0);
    buf_reset(b);
    write_same(obj, true, b);
    if (buf_ok(b) != 0) {
        return too_large(b, err);
    }
    uint64_t hash = keyed_hash(buf_view(b));
    bool is_new = x == NULL || x->gone != 0;
    if (!is_new && x->hash == hash) {
        x->seen = t->answers;
        return 0;
    }
    buf_reset(b);
    json_write(b, obj);
    if (buf_ok(b) != 0 || others + b->n > t->max) {
        return too_large(b, err);
    }
    x = x != NULL ? x : item_new(t, id);
    char *text = x != NULL ? mem_cstr(buf_view(b)) : NULL;
    if (text == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    t->bytes = others + b->n;
    mem_free((void *)(uintptr_t)x->text.p);
    x->text = str_from(text, b->n);
    x->hash = hash;
    x->seen = t->answers;
    x->added = is_new ? version : x->added;
    x->first = x->first > 0 ? x->first : version;
    x->changed = version;
    x->gone = 0;
    return 1;
}

/* What this answer does not have any more. */
static int mark_gone(struct virtual_items *t) {
    const struct map_entry *e;
    int n = 0;
    for (size_t i = 0; (e = map_next(&t->map, &i)) != NULL;) {
        struct virtual_item *x = e->value;
        if (x->seen != t->answers && x->gone == 0) {
            x->gone = t->version + 1;
            n = 1;
        }
    }
    return n;
}

static int set_all(struct virtual_items *t, yyjson_val *root, struct err *err) {
    yyjson_val *items = json_get(root, STR("items")), *item;
    struct buf b;
    size_t i, n;
    int r = 0, news = 0;
    buf_init(&b, t->max);
    if (root != NULL && items == NULL) {
        r = item_set(t, root, &b, err);
        news = r > 0;
    }
    yyjson_arr_foreach(items, i, n, item) {
        r = item_set(t, item, &b, err);
        news |= r > 0;
        if (r < 0) {
            break;
        }
    }
    buf_release(&b);
    return r < 0 ? r : news;
}

int virtual_items_set(struct virtual_items *t, struct str json, struct err *err) {
    struct arena a;
    yyjson_doc *doc = NULL;
    /* A tree takes 16 bytes for each value, and a value at least two. */
    arena_init(&a, 16 * t->max + json.n);
    int r = json.n > t->max
                ? err_set(err, ERR_TOO_LARGE, "the answer is too large to be watched: ask for less")
            : json.n > 0 ? json_parse(&a, json, &doc, err)
                         : 0;
    if (r == 0) {
        t->answers++;
        r = set_all(t, doc != NULL ? yyjson_doc_get_root(doc) : NULL, err);
    }
    arena_release(&a);
    if (r < 0) {
        return r;
    }
    t->version += (r | mark_gone(t)) != 0;
    return 0;
}
