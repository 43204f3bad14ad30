/* writer (kube): mirror/writer.h as requests to an API server. See reflector.h. */
#include "base/mem.h"
#include "kube/client_int.h"
#include "kube/path.h"
#include "kube/reflector.h"

enum { PATH_MAX_BYTES = 4096, TREE_MAX = 32 << 20 };

struct kube_writer {
    struct writer writer; /* first: a writer is cast back */
    struct kube_client *client;
    struct pending *first;
};

/* One write under way. */
struct pending {
    struct kube_writer *owner;
    struct pending *next, **prev;
    struct kube_call *call;
    const struct kind *kind;
    write_done *done;
    void *ctx;
    struct write_result early; /* of a request that could not be sent */
};

static void pending_unlink(struct pending *p) {
    if (p->prev) {
        *p->prev = p->next;
    }
    if (p->next) {
        p->next->prev = p->prev;
    }
    p->next = NULL;
    p->prev = NULL;
}

static void pending_free(struct pending *p) {
    pending_unlink(p);
    mem_free(p);
}

/* The object of an answer; NULL for a Status and for what cannot be read. */
static struct object *object_of(const struct kind *k, struct str body) {
    struct arena a;
    struct object *obj = NULL;
    yyjson_mut_doc *doc = NULL;
    arena_init(&a, TREE_MAX);
    if (json_parse_mut(&a, body, &doc, NULL) == 0) {
        yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
        if (str_is(json_mstr(json_mget(root, STR("kind"))), k->kind) &&
            object_new_mut(k, root, &obj, NULL) != 0) {
            obj = NULL;
        }
    }
    arena_release(&a);
    return obj;
}

static void on_reply(void *ctx, const struct kube_reply *r) {
    struct pending *p = ctx;
    struct write_result result = {.code = r->code, .err = r->err};
    write_done *done = p->done;
    void *done_ctx = p->ctx;
    struct object *obj = r->code == 0 && done ? object_of(p->kind, r->body) : NULL;
    pending_free(p);
    result.obj = obj;
    if (done) {
        done(done_ctx, &result);
    }
    object_unref(obj);
}

static void fail_later(void *ctx) {
    struct pending *p = ctx;
    struct write_result result = p->early;
    write_done *done = p->done;
    void *done_ctx = p->ctx;
    pending_free(p);
    if (done) {
        done(done_ctx, &result);
    }
}

static struct kube_writer *writer_of(struct writer *w) {
    return (struct kube_writer *)w;
}

/* Sends; a failure to send is told later, like every other. */
static void submit(struct writer *w, const struct kind *k, const char *method, struct buf *path,
                   struct str body, const char *content_type, write_done *done, void *ctx) {
    struct kube_writer *kw = writer_of(w);
    struct pending *p = mem_zalloc(sizeof(*p));
    if (!p) { /* nothing left to remember it with: told at once */
        struct write_result result = {.code = ERR_NOMEM};
        err_set(&result.err, ERR_NOMEM, "no memory");
        if (done) {
            done(ctx, &result);
        }
        return;
    }
    *p = (struct pending){.owner = kw, .kind = k, .done = done, .ctx = ctx, .next = kw->first,
                          .prev = &kw->first};
    if (p->next) {
        p->next->prev = &p->next;
    }
    kw->first = p;
    struct kube_request r = {.method = method, .path = buf_view(path), .body = body,
                             .content_type = content_type, .done = on_reply, .ctx = p};
    int code = buf_ok(path);
    code = code ? err_set(&p->early.err, code, "the name is too long")
                : kube_send(kw->client, &r, &p->call, &p->early.err);
    if (code != 0) {
        p->early.code = code;
        if (loop_defer(kube_client_loop(kw->client), fail_later, p) != 0) {
            fail_later(p);
        }
    }
}

static void begin_path(struct buf *b, const struct kind *k, struct str ns, struct str name,
                       const char *subresource) {
    buf_init(b, PATH_MAX_BYTES);
    kube_kind_path(b, k, ns, name, str_of(subresource));
}

static void create(struct writer *w, const char *who, const struct kind *k, struct str ns,
                   struct str json, write_done *done, void *ctx) {
    struct buf path;
    begin_path(&path, k, ns, (struct str){0}, NULL);
    kube_query(&path, "fieldManager", str_of(who));
    submit(w, k, "POST", &path, json, "application/json", done, ctx);
    buf_release(&path);
}

static void patch(struct writer *w, const char *who, const struct kind *k, struct str ns,
                  struct str name, const char *subresource, enum patch_type type, struct str body,
                  write_done *done, void *ctx) {
    static const char *const content_types[] = {
        [PATCH_MERGE] = "application/merge-patch+json",
        [PATCH_JSON] = "application/json-patch+json",
        [PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
        [PATCH_APPLY] = "application/apply-patch+yaml",
    };
    struct buf path;
    begin_path(&path, k, ns, name, subresource);
    kube_query(&path, "fieldManager", str_of(who));
    if (type == PATCH_APPLY) {
        kube_query(&path, "force", STR("true"));
    }
    submit(w, k, "PATCH", &path, body, content_types[type], done, ctx);
    buf_release(&path);
}

static void add_delete_options(struct buf *b, const struct delete_options *o) {
    buf_c(b, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"");
    if (o->grace_seconds >= 0) {
        buf_f(b, ",\"gracePeriodSeconds\":%lld", (long long)o->grace_seconds);
    }
    if (o->propagation.n) {
        buf_c(b, ",\"propagationPolicy\":");
        buf_json(b, o->propagation);
    }
    if (o->uid.n || o->rv) {
        buf_c(b, ",\"preconditions\":{");
        if (o->uid.n) {
            buf_c(b, "\"uid\":");
            buf_json(b, o->uid);
        }
        if (o->rv) {
            buf_f(b, "%s\"resourceVersion\":\"%llu\"", o->uid.n ? "," : "",
                  (unsigned long long)o->rv);
        }
        buf_ch(b, '}');
    }
    buf_ch(b, '}');
}

static void remove_object(struct writer *w, const char *who, const struct kind *k, struct str ns,
                          struct str name, const struct delete_options *o, write_done *done,
                          void *ctx) {
    static const struct delete_options plain = {.grace_seconds = -1};
    struct buf path, body;
    begin_path(&path, k, ns, name, NULL);
    buf_init(&body, 0);
    add_delete_options(&body, o ? o : &plain);
    submit(w, k, "DELETE", &path, buf_view(&body), "application/json", done, ctx);
    buf_release(&body);
    buf_release(&path);
}

struct writer *kube_writer_new(struct kube_client *c, struct err *err) {
    struct kube_writer *w = mem_zalloc(sizeof(*w));
    if (!w) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    w->writer = (struct writer){.create = create, .patch = patch, .remove = remove_object};
    w->client = c;
    return &w->writer;
}

void kube_writer_free(struct writer *writer) {
    if (!writer) {
        return;
    }
    struct kube_writer *w = writer_of(writer);
    for (struct pending *p; (p = w->first);) {
        pending_unlink(p);
        p->done = NULL;
        if (p->call) { /* else fail_later is on its way, and frees it */
            kube_cancel(p->call);
            mem_free(p);
        }
    }
    mem_free(w);
}
