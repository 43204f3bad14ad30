/*
 * scale: the scale subresource: an autoscaling/v1 Scale that stands for three fields of the object.
 *
 * Reading makes one; writing takes its spec.replicas over into the object, which goes through the pipeline as any other
 * write, with the resourceVersion and uid of the Scale as its conditions.
 */
#include "api/schema/crd_kind.h"
#include "api/selector.h"
#include "server/kit/handlers.h"
#include "server/write/body.h"
#include "server/write/pipeline.h"
#include "wire/json/json.h"
#include "wire/json/patch.h"

static int count_at(yyjson_val *root, struct str path, int64_t *ret) {
    char dotted[512];
    yyjson_val *v = str_copy(path, dotted, sizeof(dotted)) ? json_path(root, dotted) : NULL;
    if (yyjson_is_int(v)) {
        *ret = yyjson_get_sint(v);
    }
    return yyjson_is_int(v) ? 0 : ERR_NOT_FOUND;
}

/* A text of its own, or a LabelSelector as one. */
static struct str selector_of(struct arena *a, yyjson_val *v) {
    struct selector s;
    struct buf b;
    if (!yyjson_is_obj(v) || selector_from_json(a, v, &s, NULL) != 0) {
        return json_str(v);
    }
    buf_init(&b, 0);
    selector_write(&s, &b);
    struct str r = buf_ok(&b) == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return r;
}

/* The Scale of an object, as a new document in the arena. */
static yyjson_mut_doc *make(struct arena *a, const struct object *o, const struct scale_paths *at) {
    yyjson_doc *tree;
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *root = d != NULL ? yyjson_mut_obj(d) : NULL;
    static const char *const taken[] = {"name", "namespace", "uid", "resourceVersion",
                                        "creationTimestamp"};
    if (root == NULL || object_tree(o, a, &tree, NULL) != 0) {
        return NULL;
    }
    yyjson_val *obj = yyjson_doc_get_root(tree);
    yyjson_mut_doc_set_root(d, root);
    int64_t want = 0, have = 0;
    char dotted[512];
    (void)count_at(obj, at->spec_path, &want);
    (void)count_at(obj, at->status_path, &have);
    int r = json_mset_str(d, root, "kind", STR("Scale"));
    r = r ? r : json_mset_str(d, root, "apiVersion", STR("autoscaling/v1"));
    yyjson_mut_val *meta = json_mensure(d, root, "metadata");
    for (size_t i = 0; r == 0 && i < sizeof(taken) / sizeof(taken[0]); i++) {
        struct str v = json_str(json_get(json_get(obj, STR("metadata")), str_of(taken[i])));
        r = v.n > 0 ? json_mset_str(d, meta, taken[i], v) : 0;
    }
    r = r ? r : json_mset_i64(d, json_mensure(d, root, "spec"), "replicas", want);
    r = r ? r : json_mset_i64(d, json_mensure(d, root, "status"), "replicas", have);
    if (r == 0 && at->selector_path.n > 0 && str_copy(at->selector_path, dotted, sizeof(dotted))) {
        struct str selector = selector_of(a, json_path(obj, dotted));
        r = selector.n > 0 ? json_mset_str(d, json_mget(root, STR("status")), "selector", selector)
                           : 0;
    }
    return r == 0 ? d : NULL;
}

static void answer_scale(struct call *c, const struct object *o) {
    struct buf b;
    yyjson_mut_doc *d = make(c->arena, o, crd_kind_scale(c->req.kv));
    buf_init(&b, 0);
    if (d == NULL) {
        (void)failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
        call_fail(c);
    } else {
        json_write_mut(&b, yyjson_mut_doc_get_root(d));
        buf_ch(&b, '\n');
        call_json(c, 200, &b);
    }
    buf_release(&b);
}

static void written(struct write *w) {
    struct call *c = write_answered(w);
    if (c != NULL) {
        answer_scale(c, w->obj);
    }
    write_free(w);
}

static int apply(struct write *w, yyjson_mut_doc *scale, yyjson_mut_doc **ret) {
    struct err err = {0};
    yyjson_doc *patch;
    if (w->req->verb == VERB_UPDATE) {
        return body_any(w->arena, w->body, w->type, ret, &w->failure);
    }
    int r = json_parse(w->arena, w->body, &patch, &err);
    r = r                             ? r
        : w->type == BODY_JSON_PATCH  ? patch_json(scale, yyjson_doc_get_root(patch), &err)
        : w->type == BODY_MERGE_PATCH ? patch_merge(scale, yyjson_doc_get_root(patch), &err)
                                      : err_set(&err, ERR_MEDIA_TYPE, "not supported for Scale");
    *ret = scale;
    return r != 0 ? failure_err(&w->failure, w->arena, &err) : 0;
}

/* Sets a dotted path of the document. */
static int set_count(yyjson_mut_doc *d, struct str path, int64_t n) {
    char dotted[512];
    ptrdiff_t dot = str_find_last(path, '.');
    if (dot <= 0 || !str_copy(path, dotted, sizeof(dotted))) {
        return ERR_INVALID;
    }
    dotted[dot] = '\0';
    yyjson_mut_val *up = json_mensure(d, yyjson_mut_doc_get_root(d), dotted);
    return up == NULL ? ERR_NOMEM : json_mset_i64(d, up, dotted + dot + 1, n);
}

/* What an applied Scale says of the object: its replicas, and of which object. */
static int config_of(struct write *w, yyjson_mut_val *scale, const struct scale_paths *at) {
    static const char *const taken[] = {"uid", "resourceVersion"};
    yyjson_mut_doc *d = json_mut_new(w->arena);
    yyjson_mut_val *root = d != NULL ? yyjson_mut_obj(d) : NULL;
    yyjson_mut_val *replicas = json_mpath(scale, "spec.replicas");
    if (root == NULL) {
        return ERR_NOMEM;
    }
    yyjson_mut_doc_set_root(d, root);
    struct str group = str_of(w->req->kind->group);
    int r = json_mset_str(
        d, root, "apiVersion",
        arena_f(w->arena, "%.*s%s%s", STR_ARG(group), group.n > 0 ? "/" : "", w->req->kv->version));
    r = r ? r : json_mset_str(d, root, "kind", str_of(w->req->kind->kind));
    yyjson_mut_val *meta = json_mensure(d, root, "metadata");
    r = r || meta == NULL ? ERR_NOMEM : json_mset_str(d, meta, "name", w->req->name);
    for (size_t i = 0; r == 0 && i < sizeof(taken) / sizeof(taken[0]); i++) {
        struct str v = json_mstr(json_mget(json_mget(scale, STR("metadata")), str_of(taken[i])));
        r = v.n > 0 ? json_mset_str(d, meta, taken[i], v) : 0;
    }
    if (r == 0 && replicas != NULL) {
        r = set_count(d, at->spec_path, yyjson_mut_get_sint(replicas));
    }
    w->doc = d;
    return r;
}

/* Server-side apply of a Scale is one of its replicas to the object, by a manager of the subresource. */
static int scale_lay(struct write *w, const struct scale_paths *at) {
    yyjson_mut_doc *scale = NULL;
    int r = write_load(w);
    r = r ? r : body_any(w->arena, w->body, BODY_YAML, &scale, &w->failure);
    if (r != 0) {
        return r;
    }
    yyjson_mut_val *root = scale != NULL ? yyjson_mut_doc_get_root(scale) : NULL;
    if (!str_is(json_mstr_at(root, "kind"), "Scale") ||
        !str_is(json_mstr_at(root, "apiVersion"), "autoscaling/v1")) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                           "invalid object type: an apply of a scale is of an autoscaling/v1, "
                           "Kind=Scale");
    }
    if (config_of(w, root, at) != 0) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    return write_lay(w);
}

static int scale_apply(struct write *w, const struct scale_paths *at) {
    yyjson_mut_doc *scale, *want = NULL;
    if (w->type == BODY_APPLY_PATCH) {
        return scale_lay(w, at);
    }
    int r = write_load(w);
    if (r != 0) {
        return r;
    }
    w->doc = json_mut_copy(w->arena, w->old_tree);
    scale = make(w->arena, w->old, at);
    if (w->doc == NULL || scale == NULL) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    r = apply(w, scale, &want);
    if (r != 0 || want == NULL) {
        return r ? r : failure_set(&w->failure, w->arena, ERR_BAD_REQUEST, "no Scale is given");
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(want);
    yyjson_mut_val *meta = json_mensure(w->doc, yyjson_mut_doc_get_root(w->doc), "metadata");
    int64_t n = yyjson_mut_get_sint(json_mpath(root, "spec.replicas"));
    if (n < 0 || n > INT32_MAX) {
        return failure_invalid_one(&w->failure, w->arena, "autoscaling", "Scale", w->old->name,
                                   CAUSE_INVALID, "spec.replicas",
                                   "Invalid value: %lld: must be greater than or equal to 0",
                                   (long long)n);
    }
    static const char *const conditions[] = {"resourceVersion", "uid"};
    for (size_t i = 0; r == 0 && i < 2; i++) {
        struct str v =
            json_mstr(json_mget(json_mget(root, STR("metadata")), str_of(conditions[i])));
        r = v.n > 0 ? json_mset_str(w->doc, meta, conditions[i], v) : 0;
    }
    r = r ? r : set_count(w->doc, at->spec_path, n);
    return r != 0 ? failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory") : 0;
}

static void scale_steps(struct write *w) {
    const struct scale_paths *at = crd_kind_scale(w->req->kv);
    if (scale_apply(w, at) != 0) {
        write_finish(w);
    } else {
        write_replace(w);
    }
}

static void scale_write(struct call *c) {
    struct err err = {0};
    struct write *w = write_new(c->s);
    struct str type = http_header(c->http, "Content-Type");
    int r = w == NULL ? err_set(&err, ERR_NOMEM, "out of memory") : 0;
    if (r == 0) {
        r = c->req.verb == VERB_PATCH ? negotiate_patch(type, true, &w->type, &err)
                                      : negotiate_body(type, &w->type, &err);
    }
    if (r != 0) {
        write_free(w);
        (void)failure_err(&c->failure, c->arena, &err);
        call_fail(c);
        return;
    }
    w->req = &c->req;
    w->arena = c->arena;
    w->body = http_body(c->http);
    w->call = c;
    w->steps = scale_steps;
    w->done = written;
    c->detach = write_orphan;
    c->detach_ctx = w;
    write_run(w);
}

void scale_request(struct call *c) {
    const struct api_request *q = &c->req;
    const struct scale_paths *at = crd_kind_scale(q->kv);
    const struct object *o =
        mirror_get(c->s->o.mirror, kind_stored(q->kind), request_key_ns(q), q->name);
    if (at == NULL) {
        (void)failure_unknown_path(&c->failure);
    } else if (q->verb == VERB_UPDATE || q->verb == VERB_PATCH) {
        scale_write(c);
        return;
    } else if (q->verb != VERB_GET) {
        (void)failure_method(&c->failure);
    } else if (o == NULL) {
        (void)failure_not_found(&c->failure, c->arena, q->kind, q->name);
    } else {
        answer_scale(c, o);
        return;
    }
    call_fail(c);
}
