/* render: see render.h. */
#include "server/kit/render.h"

#include <stdio.h>

#include "api/protobuf/codec_protobuf.h"
#include "api/schema/codec.h"
#include "wire/json/json.h"
#include "wire/protobuf.h"
#include "wire/yaml.h"

const char *render_type(const struct media *m) {
    return m->yaml       ? "application/yaml"
           : m->protobuf ? "application/vnd.kubernetes.protobuf"
                         : "application/json";
}

const char *render_event_type(const struct media *m) {
    return m->protobuf ? "application/vnd.kubernetes.protobuf;stream=watch" : "application/json";
}

bool render_whole(const struct media *m) {
    return m->yaml || m->protobuf;
}

bool render_protobuf_kind(const struct kind *k, const struct kind_version *kv) {
    return !(k->flags & (KIND_CUSTOM | KIND_COMPUTED)) && codec_has_protobuf(kv->schema);
}

/* Its schema has got defaults since it was written. */
static bool is_stale(const struct render *r, const struct object *o) {
    return o->rv <= r->kv->defaults_since;
}

bool render_plain(const struct render *r) {
    return r->media.shape == SHAPE_OBJECT && r->kv->from_storage == NULL && !r->media.protobuf;
}

static const char *meta_version(const struct render *r) {
    return r->media.v1beta1 ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1";
}

/* The object's tree in the version asked for, as text; without apiVersion and kind for `item`s of
 * built-in lists. */
static int write_converted(const struct render *r, const struct object *o, bool item,
                           struct buf *out, struct err *err) {
    yyjson_doc *doc;
    int code = object_tree(o, r->scratch, &doc, err);
    if (code != 0) {
        return code;
    }
    yyjson_mut_doc *d = json_mut_copy(r->scratch, yyjson_doc_get_root(doc));
    if (d == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    code = codec_from_storage(r->kind, r->kv, d, err);
    if (code == 0 && is_stale(r, o)) {
        code = codec_default_in(r->kind, r->kv, d, err);
    }
    if (code != 0) {
        return code;
    }
    if (item) {
        json_mdel(yyjson_mut_doc_get_root(d), STR("apiVersion"));
        json_mdel(yyjson_mut_doc_get_root(d), STR("kind"));
    }
    json_write_mut(out, yyjson_mut_doc_get_root(d));
    return 0;
}

static int converted_tree(const struct render *r, const struct object *o, yyjson_val **ret,
                          struct err *err) {
    struct buf b;
    yyjson_doc *doc;
    buf_init(&b, 0);
    int code = write_converted(r, o, false, &b, err);
    struct str text = code == 0 ? arena_str(r->scratch, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    code = code ? code : json_parse(r->scratch, text, &doc, err);
    if (code == 0) {
        *ret = yyjson_doc_get_root(doc);
    }
    return code;
}

static int write_metadata(const struct render *r, const struct object *o, struct buf *out,
                          struct err *err) {
    yyjson_doc *doc;
    int code = object_tree(o, r->scratch, &doc, err);
    if (code != 0) {
        return code;
    }
    buf_f(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"%s\",\"metadata\":",
          meta_version(r));
    json_write(out, json_path(yyjson_doc_get_root(doc), "metadata"));
    buf_ch(out, '}');
    return 0;
}

static int write_object(const struct render *r, const struct object *o, bool item, struct buf *out,
                        struct err *err) { /* as JSON */
    bool bare = item && !(r->kind->flags & KIND_CUSTOM);
    if (r->kv->from_storage != NULL || is_stale(r, o)) {
        return write_converted(r, o, bare, out, err);
    }
    if (bare) {
        object_emit_item(o, out);
    } else {
        object_emit(o, out);
    }
    return 0;
}

static struct str api_version(const struct render *r) {
    return arena_f(r->scratch, "%s%s%s", r->kind->group, r->kind->group[0] ? "/" : "",
                   r->kv->version);
}

/* The object's message, without an envelope. */
static int write_message(const struct render *r, const struct object *o, struct buf *out,
                         struct err *err) {
    yyjson_doc *doc;
    struct buf text;
    int code;
    buf_init(&text, 0);
    code = write_object(r, o, false, &text, err);
    code = code ? code : buf_ok(&text);
    code = code ? code : json_parse(r->scratch, buf_view(&text), &doc, err);
    code = code ? code
                : codec_to_protobuf(r->kv->schema, yyjson_doc_get_root(doc), r->scratch, out, err);
    buf_release(&text);
    return code;
}

/* The cell conditions of a row: pods that ended are marked, so that kubectl can tell them from
 * live ones. */
static void write_row_conditions(const struct render *r, yyjson_val *obj, struct buf *out) {
    if (r->kind->group[0] != '\0' || !str_is(str_of(r->kind->kind), "Pod")) {
        return;
    }
    struct str phase = json_str_at(obj, "status.phase");
    if (str_is(phase, "Succeeded") || str_is(phase, "Failed")) {
        buf_f(out,
              ",\"conditions\":[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"%.*s\"}]",
              STR_ARG(phase));
    }
}

static int write_row(const struct render *r, const struct object *o, struct buf *out,
                     struct err *err) {
    arena_reset(r->scratch);
    yyjson_doc *doc;
    int code = object_tree(o, r->scratch, &doc, err);
    if (code != 0) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (r->kv->converts || r->kv->asks ||
        is_stale(r, o)) { /* columns are of the version asked for */
        code = converted_tree(r, o, &root, err);
        if (code != 0) {
            return code;
        }
    }
    buf_c(out, "{\"cells\":");
    codec_cells(r->kind, r->kv, root, r->now, out);
    write_row_conditions(r, root, out);
    if (str_is(r->include_object, "Object")) {
        buf_c(out, ",\"object\":");
        code = write_object(r, o, false, out, err);
    } else if (!str_is(r->include_object, "None")) {
        buf_f(out,
              ",\"object\":{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"%s\",\"metadata\":",
              meta_version(r));
        json_write(out, json_path(root, "metadata"));
        buf_ch(out, '}');
    }
    buf_ch(out, '}');
    return code;
}

static void write_columns(const struct render *r, struct buf *out) {
    buf_c(out, "\"columnDefinitions\":[");
    size_t n;
    const struct column *columns = codec_columns(r->kind, r->kv, &n);
    for (size_t i = 0; i < n; i++) {
        const struct column *c = &columns[i];
        buf_c(out, i ? ",{\"name\":" : "{\"name\":");
        buf_json(out, str_of(c->name));
        buf_c(out, ",\"type\":");
        buf_json(out, str_of(c->type));
        buf_c(out, ",\"format\":");
        buf_json(out, str_of(c->format));
        buf_c(out, ",\"description\":");
        buf_json(out, str_of(c->doc));
        buf_f(out, ",\"priority\":%d}", c->priority);
    }
    buf_ch(out, ']');
}

static void list_metadata(uint64_t rv, struct str token, int64_t remaining, struct buf *out) {
    buf_f(out, "\"metadata\":{\"resourceVersion\":\"%llu\"", (unsigned long long)rv);
    if (token.n > 0) {
        buf_c(out, ",\"continue\":");
        buf_json(out, token);
    }
    if (remaining > 0) {
        buf_f(out, ",\"remainingItemCount\":%lld", (long long)remaining);
    }
    buf_ch(out, '}');
}

static void protobuf_list_head(uint64_t rv, struct str token, int64_t remaining, struct buf *out) {
    char text[24];
    size_t at = pb_begin(out, 1);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)rv);
    pb_put_bytes(out, 2, str_of(text));
    if (token.n > 0) {
        pb_put_bytes(out, 3, token);
    }
    if (remaining > 0) {
        pb_put_varint(out, 4, (uint64_t)remaining);
    }
    pb_end(out, at);
}

void render_list_head(const struct render *r, uint64_t rv, struct str token, int64_t remaining,
                      struct buf *out) {
    if (r->media.protobuf) {
        protobuf_list_head(rv, token, remaining, out);
        return;
    }
    switch (r->media.shape) {
    case SHAPE_TABLE:
        buf_f(out, "{\"kind\":\"Table\",\"apiVersion\":\"%s\",", meta_version(r));
        list_metadata(rv, token, remaining, out);
        buf_ch(out, ',');
        write_columns(r, out);
        buf_c(out, ",\"rows\":[");
        return;
    case SHAPE_METADATA:
        buf_f(out, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"%s\",",
              meta_version(r));
        break;
    case SHAPE_OBJECT:
    case SHAPE_DISCOVERY:
        buf_f(out, "{\"kind\":\"%s%s\",\"apiVersion\":\"%s%s%s\",",
              r->kind->list_kind ? r->kind->list_kind : r->kind->kind,
              r->kind->list_kind ? "" : "List", r->kind->group, r->kind->group[0] ? "/" : "",
              r->kv->version);
        break;
    }
    list_metadata(rv, token, remaining, out);
    buf_c(out, ",\"items\":[");
}

int render_list_item(const struct render *r, const struct object *o, bool first, struct buf *out,
                     struct err *err) {
    if (r->media.protobuf) {
        arena_reset(r->scratch);
        size_t at = pb_begin(out, 2);
        int code = write_message(r, o, out, err);
        pb_end(out, at);
        return code;
    }
    if (!first) {
        buf_ch(out, ',');
    }
    if (!render_plain(r) || is_stale(r, o)) {
        arena_reset(r->scratch);
    }
    if (render_plain(r)) {
        return write_object(r, o, true, out, err);
    }
    switch (r->media.shape) {
    case SHAPE_TABLE:
        return write_row(r, o, out, err);
    case SHAPE_METADATA:
        return write_metadata(r, o, out, err);
    case SHAPE_OBJECT:
    case SHAPE_DISCOVERY:
        break;
    }
    return write_object(r, o, true, out, err);
}

void render_list_tail(const struct render *r, struct buf *out) {
    if (r->media.protobuf) {
        arena_reset(r->scratch);
        pb_put_envelope(out, 0, api_version(r), arena_f(r->scratch, "%sList", r->kind->kind));
        return;
    }
    buf_c(out, "]}\n");
}

int render_object(const struct render *r, const struct object *o, struct buf *out,
                  struct err *err) {
    if (render_plain(r) && !is_stale(r, o)) {
        object_emit(o, out);
        return 0;
    }
    arena_reset(r->scratch);
    if (r->media.protobuf) {
        size_t from = out->n;
        int code = write_message(r, o, out, err);
        pb_put_envelope(out, from, api_version(r), str_of(r->kind->kind));
        return code;
    }
    switch (r->media.shape) {
    case SHAPE_TABLE: {
        render_list_head(r, o->rv, (struct str){0}, 0, out);
        int code = write_row(r, o, out, err);
        buf_c(out, "]}");
        return code;
    }
    case SHAPE_METADATA:
        return write_metadata(r, o, out, err);
    case SHAPE_OBJECT:
    case SHAPE_DISCOVERY:
        break;
    }
    return write_object(r, o, false, out, err);
}

void render_event(const struct media *m, const char *type, struct str object, struct buf *out) {
    if (!m->protobuf) {
        buf_f(out, "{\"type\":\"%s\",\"object\":", type);
        buf_str(out, object);
        buf_c(out, "}\n");
        return;
    }
    struct buf event;
    buf_init(&event, 0);
    pb_put_bytes(&event, 1, str_of(type));
    size_t at = pb_begin(&event, 2);
    pb_put_bytes(&event, 1, object);
    pb_end(&event, at);
    for (int shift = 24; shift >= 0; shift -= 8) {
        buf_ch(out, (char)(event.n >> shift));
    }
    buf_str(out, buf_view(&event));
    out->failed = out->failed ? out->failed : buf_ok(&event);
    buf_release(&event);
}

int render_protobuf(struct buf *b, struct arena *a, struct err *err) {
    yyjson_doc *doc;
    struct buf out;
    int code = buf_ok(b);
    if (code != 0 || pb_is_envelope(buf_view(b)) || b->n == 0) {
        return code;
    }
    code = json_parse(a, buf_view(b), &doc, err);
    if (code != 0) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    struct str api = json_str_at(root, "apiVersion"), name = json_str_at(root, "kind"), group,
               version;
    const struct kind *k = kind_by_api_version(api, name);
    version = str_cut(api, '/', &group, &version) ? version : api;
    const struct kind_version *kv = k ? kind_version(k, version) : NULL;
    if (kv == NULL || !codec_has_protobuf(kv->schema)) {
        return 0;
    }
    buf_init(&out, 0);
    code = codec_to_protobuf(kv->schema, root, a, &out, err);
    pb_put_envelope(&out, 0, api, name);
    if (code == 0 && (code = buf_ok(&out)) == 0) {
        buf_reset(b);
        buf_str(b, buf_view(&out));
        code = buf_ok(b);
    }
    buf_release(&out);
    return code == ERR_UNSUPPORTED ? 0 : code;
}

int render_yaml(struct buf *b, struct arena *a, struct err *err) {
    yyjson_doc *doc;
    int code = buf_ok(b);
    if (code == 0) {
        code = json_parse(a, buf_view(b), &doc, err);
    }
    if (code != 0) {
        return code;
    }
    buf_reset(b);
    yaml_write(b, yyjson_doc_get_root(doc));
    return buf_ok(b);
}
