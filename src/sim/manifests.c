/* manifests: the steps of a write, without a server. See manifests.h. */
#include "sim/manifests.h"

#include "api/schema/codec.h"
#include "base/limits.h"
#include "wire/yaml.h"

/* What an object has only once it exists: rules refer to it. */
#define NO_UID "00000000-0000-4000-8000-000000000000"

struct manifest_reader {
    struct arena *arena;
    struct manifests *out;
    bool parts;
    struct str unknown; /* path of the first unknown member */
    struct err *err;
};

static void note_unknown(void *ctx, struct str path) {
    struct manifest_reader *r = ctx;
    if (str_empty(r->unknown)) {
        r->unknown = arena_str(r->arena, path);
    }
}

static int push(struct manifest_reader *r, struct manifest m) {
    struct manifests *o = r->out;
    if (o->n == o->cap && ARENA_GROW(r->arena, o->v, o->cap) != 0) {
        return err_set(r->err, ERR_NOMEM, "out of memory");
    }
    o->v[o->n++] = m;
    return 0;
}

/* Rules, on a copy that has what the server would add. */
static int check(struct manifest_reader *r, const struct kind *k, yyjson_mut_doc *d) {
    struct causes causes = {.arena = r->arena};
    yyjson_mut_val *root = yyjson_mut_val_mut_copy(d, yyjson_mut_doc_get_root(d));
    yyjson_mut_val *meta = json_mensure(d, root, "metadata");
    if (meta == NULL || json_mset_str(d, meta, "uid", STR(NO_UID)) != 0) {
        return err_set(r->err, ERR_NOMEM, "out of memory");
    }
    if (k->prepare) {
        k->prepare(d, root, NULL, 0);
    }
    int e = codec_validate(k, root, NULL, &causes);
    if (e != 0) {
        return err_set(r->err, e, "out of memory");
    }
    if (causes.n > 0) {
        return err_set(r->err, ERR_INVALID, "%.*s: %.*s", STR_ARG(causes.v[0].field),
                       STR_ARG(causes.v[0].text));
    }
    return 0;
}

static int finish(struct manifest_reader *r, const struct kind *k, yyjson_mut_doc *d) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    struct manifest m = {.kind = k, .name = json_mstr_at(root, "metadata.name")};
    struct buf b;
    if (k->flags & KIND_NAMESPACED) {
        m.ns = json_mstr_at(root, "metadata.namespace");
        m.ns = str_empty(m.ns) ? STR("default") : m.ns;
        json_mset_str(d, json_mensure(d, root, "metadata"), "namespace", m.ns);
    }
    if (r->parts && str_empty(m.name)) {
        return err_set(r->err, ERR_INVALID, "metadata.name: Required value");
    }
    int e = r->parts ? 0 : codec_default(k, d, r->err);
    e = e || r->parts ? e : check(r, k, d);
    if (e != 0) {
        return e;
    }
    buf_init(&b, LIMIT_OBJECT_BYTES);
    json_write_mut(&b, root);
    e = buf_ok(&b);
    m.json = arena_str(r->arena, buf_view(&b));
    buf_release(&b);
    if (e != 0 || m.json.p == NULL) {
        return err_set(r->err, e ? e : ERR_NOMEM, "the object is too large");
    }
    return push(r, m);
}

static int one(struct manifest_reader *r, yyjson_mut_val *from) {
    struct str api = json_mstr_at(from, "apiVersion"), name = json_mstr_at(from, "kind");
    yyjson_mut_doc *d = json_mut_new(r->arena);
    if (str_empty(api) || str_empty(name)) {
        return err_set(r->err, ERR_INVALID, "apiVersion and kind are needed");
    }
    const struct kind *asked = kind_by_api_version(api, name);
    struct str version = api;
    str_cut(api, '/', &version, &version);
    version = str_find(api, '/') < 0 ? api : version;
    const struct kind_version *v = asked ? kind_version(asked, version) : NULL;
    if (v == NULL || asked->flags & KIND_VIRTUAL) {
        return err_set(r->err, ERR_INVALID, "there is no kind %.*s in %.*s", STR_ARG(name),
                       STR_ARG(api));
    }
    yyjson_mut_val *root = d ? yyjson_mut_val_mut_copy(d, from) : NULL;
    if (root == NULL) {
        return err_set(r->err, ERR_NOMEM, "out of memory");
    }
    yyjson_mut_doc_set_root(d, root);
    struct str id = json_mstr_at(root, "metadata.name");
    r->unknown = (struct str){0};
    yyjson_mut_val *pruned = r->parts ? yyjson_mut_val_mut_copy(d, from) : root;
    int e = pruned ? codec_prune(v->schema, d, pruned, note_unknown, r) : ERR_NOMEM;
    if (e == 0 && r->unknown.n) {
        e = err_set(r->err, ERR_INVALID, "%.*s: unknown field", STR_ARG(r->unknown));
    }
    e = e ? e : v->to_storage ? codec_to_storage(asked, v, d, r->err) : 0;
    e = e ? e : finish(r, kind_stored(asked), d);
    return e ? err_wrap(r->err, "%.*s %.*s", STR_ARG(name), STR_ARG(id)) : 0;
}

static int document(struct manifest_reader *r, yyjson_mut_val *root) {
    size_t i, n;
    yyjson_mut_val *item, *items = json_mget(root, STR("items"));
    if (!yyjson_mut_is_obj(root)) {
        return err_set(r->err, ERR_INVALID, "expected an object");
    }
    if (!str_is(json_mstr_at(root, "kind"), "List") || items == NULL) {
        return one(r, root);
    }
    yyjson_mut_arr_foreach(items, i, n, item) {
        int e = one(r, item);
        if (e) {
            return err_wrap(r->err, "items[%zu]", i);
        }
    }
    return 0;
}

static int documents(struct manifest_reader *r, const char *file, struct str text) {
    struct yaml_docs docs;
    int e = yaml_parse(r->arena, text, &docs, r->err);
    if (e != 0) {
        return err_wrap(r->err, "%s", file);
    }
    for (size_t i = 0; i < docs.n; i++) {
        e = document(r, yyjson_mut_doc_get_root(docs.v[i]));
        if (e != 0) {
            return docs.n > 1 ? err_wrap(r->err, "%s: document %zu", file, i + 1)
                              : err_wrap(r->err, "%s", file);
        }
    }
    return 0;
}

int manifests_read(struct arena *a, const char *file, struct str text, struct manifests *out,
                   struct err *err) {
    struct manifest_reader r = {.arena = a, .out = out, .err = err};
    return documents(&r, file, text);
}

int manifests_read_parts(struct arena *a, const char *file, struct str text, struct manifests *out,
                         struct err *err) {
    struct manifest_reader r = {.arena = a, .out = out, .err = err, .parts = true};
    return documents(&r, file, text);
}
