/* long_note: see long_note.h. */
#include "control/kit/long_note.h"

#include "base/hash/sha256.h"
#include "base/limits.h"
#include "control/kit/template_pod.h"

enum { PART_BYTES = 512 << 10, NAME_HASH_BYTES = 8, NAME_MAX_BYTES = 253 };

struct long_part {
    struct str name, items; /* items: a JSON array */
};

size_t long_note_room(const struct long_note *n, const struct meta *m) {
    size_t used = strlen(n->annotation);
    for (size_t i = 0; i < m->annotations.n; i++) {
        const struct str_pair *x = &m->annotations.v[i];
        used += str_is(x->key, n->annotation) ? 0 : x->key.n + x->value.n;
    }
    return used < LIMIT_ANNOTATION_BYTES ? LIMIT_ANNOTATION_BYTES - used : 0;
}

/* ---- dividing ---- */

static struct str part_name(const struct object *o, struct str items, struct arena *a) {
    uint8_t of[SHA256_BYTES];
    struct str text = arena_f(a, "%.*s%.*s", STR_ARG(o->uid), STR_ARG(items));
    char hex[2 * NAME_HASH_BYTES + 1];
    size_t n = o->name.n < NAME_MAX_BYTES - sizeof(hex) ? o->name.n : NAME_MAX_BYTES - sizeof(hex);
    sha256(text, of);
    for (size_t i = 0; i < NAME_HASH_BYTES; i++) {
        snprintf(hex + 2 * i, 3, "%02x", of[i]);
    }
    while (n > 0 && (o->name.p[n - 1] == '.' || o->name.p[n - 1] == '-')) {
        n--;
    }
    return arena_f(a, "%.*s-%s", (int)n, o->name.p, hex);
}

static void part_end(const struct object *o, struct buf *b, struct arena *a, struct long_part *v,
                     size_t *n) {
    buf_ch(b, ']');
    v[*n].items = arena_str(a, buf_view(b));
    v[*n].name = part_name(o, v[*n].items, a);
    (*n)++;
    b->n = 0;
}

/* Memory is checked once, at the end. */
static int divide(const struct object *o, struct str list, struct arena *a, struct long_part **ret,
                  size_t *ret_n) {
    yyjson_doc *doc;
    yyjson_val *item;
    size_t i, max, n = 0;
    struct buf b;
    struct long_part *v = ARENA_ARRAY(a, struct long_part, list.n / (PART_BYTES / 2) + 2);
    int r = v != NULL ? json_parse(a, list, &doc, NULL) : ERR_NOMEM;
    if (r != 0) {
        return r;
    }
    buf_init(&b, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_arr_foreach(root, i, max, item) {
        buf_ch(&b, b.n == 0 ? '[' : ',');
        json_write(&b, item);
        if (b.n >= PART_BYTES || i + 1 == max) {
            part_end(o, &b, a, v, &n);
        }
    }
    r = buf_ok(&b) != 0 ? buf_ok(&b) : arena_ok(a);
    buf_release(&b);
    *ret = v;
    *ret_n = n;
    return r;
}

/* ---- writing ---- */

static struct str annotation_of(const struct long_part *v, size_t n, struct arena *a) {
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *root = d != NULL ? yyjson_mut_obj(d) : NULL;
    yyjson_mut_val *list = root != NULL ? yyjson_mut_arr(d) : NULL;
    struct buf b;
    if (list == NULL || json_mset(d, root, STR("revisions"), list) != 0) {
        return (struct str){0};
    }
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        ok = yyjson_mut_arr_add_strn(d, list, v[i].name.p, v[i].name.n);
    }
    buf_init(&b, 0);
    json_write_mut(&b, root);
    struct str text = ok && buf_ok(&b) == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return text;
}

static bool owned(const struct object *revision, struct str uid) {
    const struct owner_ref *owner = revision != NULL ? object_controller(revision) : NULL;
    return owner != NULL && str_eq(owner->uid, uid);
}

static const struct object *revision_of(const struct long_note *n, struct str ns, struct str name,
                                        struct str uid) {
    const struct object *o = n->kind != NULL ? mirror_get(n->mirror, n->kind, ns, name) : NULL;
    return owned(o, uid) ? o : NULL;
}

int long_note_make(const struct long_note *n, const struct object *o, const struct meta *m,
                   struct str list, struct arena *a, struct long_text *ret) {
    size_t parts = 0;
    *ret = (struct long_text){.text = list, .bytes = list.n, .room = long_note_room(n, m)};
    if (list.n <= ret->room) {
        return 0;
    }
    int r = n->kind != NULL ? divide(o, list, a, &ret->missing, &parts) : ERR_TOO_LARGE;
    if (r != 0) {
        return r;
    }
    ret->text = annotation_of(ret->missing, parts, a);
    ret->bytes = ret->text.n < list.n ? ret->text.n : list.n;
    for (size_t i = 0; i < parts; i++) {
        if (revision_of(n, o->ns, ret->missing[i].name, o->uid) == NULL) {
            ret->missing[ret->n_missing++] = ret->missing[i];
        }
    }
    return ret->text.n == 0 ? ERR_NOMEM : ret->text.n > ret->room ? ERR_TOO_LARGE : 0;
}

static int revision_write(const struct long_note *n, const struct object *o,
                          const struct long_part *part, struct arena *a, struct buf *out) {
    yyjson_doc *items;
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *root = d != NULL ? yyjson_mut_obj(d) : NULL;
    if (root == NULL || json_parse(a, part->items, &items, NULL) != 0) {
        return ERR_NOMEM;
    }
    yyjson_mut_doc_set_root(d, root);
    yyjson_mut_val *meta = json_mensure(d, root, "metadata"), *owners = yyjson_mut_arr(d);
    yyjson_mut_val *labels = json_mensure(d, root, "metadata.labels");
    yyjson_mut_val *data = json_mensure(d, root, "data");
    yyjson_mut_val *copy = yyjson_val_mut_copy(d, yyjson_doc_get_root(items));
    if (meta == NULL || owners == NULL || labels == NULL || data == NULL || copy == NULL ||
        json_mset_str(d, root, "apiVersion", STR("apps/v1")) != 0 ||
        json_mset_str(d, root, "kind", STR("ControllerRevision")) != 0 ||
        json_mset_str(d, meta, "name", part->name) != 0 ||
        json_mset_str(d, meta, "namespace", o->ns) != 0 ||
        json_mset_str(d, labels, n->label, STR("true")) != 0 ||
        template_pod_own(d, owners, o) != 0 ||
        json_mset(d, meta, STR("ownerReferences"), owners) != 0 ||
        json_mset(d, data, str_of(n->member), copy) != 0 ||
        json_mset_i64(d, root, "revision", 1) != 0) {
        return ERR_NOMEM;
    }
    json_write_mut(out, root);
    return buf_ok(out);
}

void long_note_create(const struct long_note *n, const struct object *o, const struct long_text *t,
                      struct arena *a, struct round *r) {
    struct buf b;
    for (size_t i = 0; i < t->n_missing; i++) {
        buf_init(&b, LIMIT_OBJECT_BYTES);
        int code = revision_write(n, o, &t->missing[i], a, &b);
        if (code == 0) {
            round_create(r, n->kind, o->ns, buf_view(&b));
        } else {
            round_fail(r, code);
        }
        buf_release(&b);
    }
}

/* ---- reading ---- */

static yyjson_val *names_of(yyjson_val *root) {
    return json_get(root, STR("revisions")); /* NULL: it has the items themselves */
}

/* As names_of; NULL also when it is no JSON. */
static yyjson_val *names_in(struct str text, struct arena *a) {
    yyjson_doc *doc;
    return text.n > 0 && text.p[0] == '{' && json_parse(a, text, &doc, NULL) == 0
               ? names_of(yyjson_doc_get_root(doc))
               : NULL;
}

bool long_note_divided(struct str text, struct arena *a) {
    return names_in(text, a) != NULL;
}

int long_note_read(const struct long_note *n, struct str ns, struct str uid, struct str text,
                   struct arena *a, yyjson_val ***ret, size_t *ret_n, struct err *err) {
    yyjson_doc *doc;
    yyjson_val *name;
    size_t i, max;
    int r = json_parse(a, text, &doc, err);
    if (r != 0) {
        return r;
    }
    yyjson_val *root = yyjson_doc_get_root(doc), *names = names_of(root);
    yyjson_val **v = ARENA_ARRAY(a, yyjson_val *, yyjson_arr_size(names) + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    *ret = v;
    *ret_n = 0;
    if (names == NULL) {
        v[(*ret_n)++] = root;
        return 0;
    }
    yyjson_arr_foreach(names, i, max, name) {
        const struct object *o = revision_of(n, ns, json_str(name), uid);
        if (o == NULL) {
            (void)err_set(err, ERR_INVALID,
                          "ControllerRevision %.*s: expected one that the object owns",
                          STR_ARG(json_str(name)));
            continue;
        }
        r = object_tree(o, a, &doc, err);
        if (r != 0) {
            return r;
        }
        v[(*ret_n)++] =
            json_get(json_get(yyjson_doc_get_root(doc), STR("data")), str_of(n->member));
    }
    return 0;
}

/* ---- what is named no longer ---- */

static bool named(yyjson_val *names, struct str name) {
    size_t i, max;
    yyjson_val *v;
    yyjson_arr_foreach(names, i, max, v) {
        if (str_eq(json_str(v), name)) {
            return true;
        }
    }
    return false;
}

void long_note_drop(const struct long_note *n, const struct object *o, struct str was,
                    struct arena *a, struct round *r) {
    yyjson_doc *doc;
    yyjson_val *name, *names = names_in(was, a);
    size_t i, max;
    if (names == NULL || object_tree(o, a, &doc, NULL) != 0) {
        return;
    }
    yyjson_val *notes = json_path(yyjson_doc_get_root(doc), "metadata.annotations");
    yyjson_val *now = names_in(json_str(json_get(notes, str_of(n->annotation))), a);
    yyjson_arr_foreach(names, i, max, name) {
        const struct object *old = revision_of(n, o->ns, json_str(name), o->uid);
        if (old != NULL && !named(now, json_str(name))) {
            struct delete_options how = {
                .uid = old->uid, .grace_seconds = -1, .propagation = STR("Background")};
            round_remove(r, old->kind, old->ns, old->name, &how);
        }
    }
}
