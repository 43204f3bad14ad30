/*
 * bootstrap (server): objects that are there from the start, and default roles that follow the program. See server.h.
 *
 * A default role that is stored has the rules of the program that stored it, which may be more than the one that runs
 * now would give. So each start writes the rules anew, unless an administrator said that the role is theirs.
 */
#include "server/kit/handlers.h"
#include "server/write/pipeline.h"
#include "wire/json/json.h"

#define AUTOUPDATE "rbac.authorization.kubernetes.io/autoupdate"

enum { BOOTSTRAP_BYTES = 16 << 20 };

struct bootstrap {
    int code;
    struct err err;
    bool done;
};

static void bootstrap_done(struct write *w) {
    struct bootstrap *b = w->ctx;
    if (b != NULL) {
        b->done = true;
        b->code = w->failure.code;
        if (b->code != 0) {
            failure_to_err(&w->failure, &b->err);
        }
    }
    write_free(w);
}

static int request_of(yyjson_val *root, struct api_request *q, struct err *err) {
    struct str api = json_str_at(root, "apiVersion"), group, version;
    if (!str_cut(api, '/', &group, &version)) {
        version = api;
        group = STR("");
    }
    *q = (struct api_request){.resource = true,
                              .verb = VERB_CREATE,
                              .verb_name = STR("create"),
                              .group = group,
                              .version = version};
    q->kind = kind_by_api_version(api, json_str_at(root, "kind"));
    q->kv = q->kind != NULL ? kind_version(q->kind, version) : NULL;
    if (q->kv == NULL) {
        return err_set(err, ERR_INVALID, "no such kind");
    }
    q->ns = json_str_at(root, "metadata.namespace");
    q->name = json_str_at(root, "metadata.name");
    q->user.name = STR("system:apiserver");
    return 0;
}

/* *ret_changed: it was staged. */
static int write_now(struct server *s, struct arena *a, const struct api_request *q,
                     struct str body, enum body_type type, bool *ret_changed, struct err *err) {
    struct bootstrap b = {0};
    struct write *w = write_new(s);
    if (w == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    w->req = q;
    w->arena = a;
    w->body = body;
    w->type = type;
    w->behalf = WRITE_FOR_SYSTEM;
    w->orphaned = true;
    w->unasked = true;
    w->done = bootstrap_done;
    w->ctx = &b;
    write_run(w);
    *ret_changed = !b.done;
    if (!b.done) {
        w->ctx = NULL; /* staged: it is freed when it commits */
    }
    return b.code != 0 ? err_set(err, b.code, "%s", b.err.text) : 0;
}

static struct str autoupdate(yyjson_val *root) {
    yyjson_val *meta = json_get(root, STR("metadata"));
    return json_str(json_get(json_get(meta, STR("annotations")), STR(AUTOUPDATE)));
}

/* The rules of a default role, as its manifest has them, instead of those that are stored. Those of an aggregated role
 * are its controller's to write. */
static int bring_up_to_date(struct server *s, struct arena *a, struct api_request *q,
                            yyjson_val *root, const struct object *old, struct err *err) {
    yyjson_val *rules = json_get(root, STR("rules"));
    yyjson_doc *stored;
    struct buf body;
    struct err why = {0};
    bool changed = false;
    if (rules == NULL || !str_is(autoupdate(root), "true") ||
        json_get(root, STR("aggregationRule")) != NULL) {
        return 0;
    }
    int r = object_tree(old, a, &stored, err);
    if (r != 0 || str_is(autoupdate(yyjson_doc_get_root(stored)), "false")) {
        return r;
    }
    buf_init(&body, 0);
    buf_c(&body, "{\"rules\":");
    json_write(&body, rules);
    buf_ch(&body, '}');
    q->verb = VERB_PATCH;
    q->verb_name = STR("patch");
    r = buf_ok(&body) == 0 ? write_now(s, a, q, buf_view(&body), BODY_MERGE_PATCH, &changed, &why)
                           : err_set(&why, ERR_NOMEM, "out of memory");
    buf_release(&body);
    if (changed && s->o.log != NULL) {
        log_info(s->o.log, "%s %.*s: its rules are those of this version now", q->kind->kind,
                 STR_ARG(q->name));
    }
    /* What else the role says may be refused by this version: that must not keep the server from starting. */
    if (r != 0 && r != ERR_NOMEM && s->o.log != NULL) {
        log_warn(s->o.log, "%s %.*s: its rules stay as an earlier version wrote them: %s",
                 q->kind->kind, STR_ARG(q->name), why.text);
    }
    return r == ERR_NOMEM ? err_set(err, r, "%s", why.text) : 0;
}

int server_bootstrap(struct server *s, struct str json, struct err *err) {
    struct arena a;
    struct api_request q;
    yyjson_doc *doc;
    bool made;
    arena_init(&a, BOOTSTRAP_BYTES);
    int r = json_parse(&a, json, &doc, err);
    yyjson_val *root = r == 0 ? yyjson_doc_get_root(doc) : NULL;
    if (r == 0) {
        r = request_of(root, &q, err);
    }
    const struct object *old =
        r == 0 ? mirror_pending(s->o.mirror, kind_stored(q.kind), request_key_ns(&q), q.name)
               : NULL;
    if (old != NULL) {
        r = bring_up_to_date(s, &a, &q, root, old, err);
    } else if (r == 0) {
        r = write_now(s, &a, &q, json, BODY_JSON, &made, err);
    }
    arena_release(&a);
    return r;
}
