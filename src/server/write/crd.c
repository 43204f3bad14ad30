/* crd: see crd.h. Everything happens on the loop thread; writes go through the pipeline as a controller's. */
#include "server/write/crd.h"

#include "api/schema/crd_kind.h"
#include "api/schema/crd_schema.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/kit/handlers.h"
#include "server/write/crd_status.h"
#include "wire/json/json.h"

enum { SCRATCH = 64 << 20, BURST = 200 };

#define WHO "crd-controller"
#define FINALIZER "customresourcecleanup.apiextensions.k8s.io"

/* One definition that goes, until it is gone. */
struct cleanup {
    struct cleanup *next;
    struct server *s;
    const struct kind *kind; /* NULL: it was never served */
    struct str name;         /* owned */
    struct feed *feed;       /* of the kind: something may have gone */
    size_t under_way;
    bool deferred, finishing, gone;
};

struct crds {
    struct server *s;
    struct feed *feed;
    struct cleanup *cleanups;
    size_t bytes; /* of all definitions */
    struct arena arena;
};

static void sweep(struct cleanup *u);

static const struct kind *definition(void) {
    static const struct kind *k;
    if (k == NULL) {
        k = kind_by_name(STR("apiextensions.k8s.io"), STR("CustomResourceDefinition"));
    }
    return k;
}

bool crd_is_definition(const struct kind *k) {
    return k == definition();
}

/* ---- kinds ---- */

static bool is_served(const struct kind *k) {
    size_t n;
    const struct kind *const *all = kinds_all(&n);
    for (size_t i = 0; i < n; i++) {
        if (all[i] == k) {
            return true;
        }
    }
    return false;
}

/* Another row, not made from this definition, has the group and the plural or the kind. */
static const struct kind *built_in(yyjson_val *crd) {
    size_t n;
    const struct kind *const *all = kinds_all(&n);
    struct str group = json_str_at(crd, "spec.group");
    struct str plural = json_str_at(crd, "spec.names.plural");
    struct str kind = json_str_at(crd, "spec.names.kind");
    for (size_t i = 0; i < n; i++) {
        if (str_is(group, all[i]->group) &&
            (str_is(plural, all[i]->plural) || str_is(kind, all[i]->kind)) &&
            crd_kind_find(str_of(all[i]->group), str_of(all[i]->plural)) != all[i]) {
            return all[i];
        }
    }
    return NULL;
}

static int serve(yyjson_val *crd, struct err *err) {
    const struct kind *k;
    if (built_in(crd) != NULL) {
        return 0;
    }
    int r = crd_kind_make(crd, &k, err);
    return r == 0 && !is_served(k) ? kinds_add(k, err) : r;
}

static void withdraw(struct server *s, yyjson_val *crd) {
    const struct kind *k =
        crd_kind_find(json_str_at(crd, "spec.group"), json_str_at(crd, "spec.names.plural"));
    if (k != NULL && is_served(k)) {
        kinds_remove(k);
        watch_stop_kind(s, k);
    }
}

struct recovery {
    struct arena arena;
    int code;
    struct err *err;
};

static bool recover_one(void *ctx, const struct object *o) {
    struct recovery *r = ctx;
    yyjson_doc *doc;
    arena_reset(&r->arena);
    r->code = object_tree(o, &r->arena, &doc, r->err);
    if (r->code == 0 && crd_is_established(yyjson_doc_get_root(doc))) {
        r->code = serve(yyjson_doc_get_root(doc), r->err);
    }
    return r->code == 0;
}

int server_recover_kinds(struct mirror *m, struct err *err) {
    struct recovery r = {.err = err};
    arena_init(&r.arena, SCRATCH);
    mirror_scan(m, definition(), (struct str){0}, recover_one, &r);
    arena_release(&r.arena);
    return r.code;
}

/* ---- status ---- */

static void ignore(void *ctx, const struct write_result *r) {
    (void)ctx;
    (void)r; /* a conflict means that a newer state is looked at anyway */
}

struct others {
    struct crd_names *names;
    const struct object *self;
    struct arena *arena;
};

/* Definitions are called <plural>.<group>. */
static bool same_group(const struct object *a, const struct object *b) {
    return str_eq(str_skip(a->name, (size_t)(str_find(a->name, '.') + 1)),
                  str_skip(b->name, (size_t)(str_find(b->name, '.') + 1)));
}

static bool other_names(void *ctx, const struct object *o) {
    struct others *x = ctx;
    yyjson_doc *doc;
    if (!str_eq(o->name, x->self->name) && same_group(o, x->self) &&
        object_tree(o, x->arena, &doc, NULL) == 0) {
        crd_names_take(x->names, yyjson_doc_get_root(doc));
    }
    return true;
}

static void write_status(struct crds *c, const struct object *o, yyjson_val *crd,
                         struct crd_names *names) {
    struct buf b;
    buf_init(&b, 0);
    if (crd_status_patch(crd, o->rv, names, server_now(c->s), &b)) {
        writer_patch(server_writer(c->s), WHO, definition(), (struct str){0}, o->name, "status",
                     PATCH_MERGE, buf_view(&b), ignore, NULL);
    }
    buf_release(&b);
}

/* ---- deletion ---- */

/* Nobody will call back with it any more: no write is under way, and no look is to come. */
static void free_if_over(struct cleanup *u) {
    if (u->gone && u->under_way == 0 && !u->deferred) {
        mem_free(u);
    }
}

static void finished(void *ctx, const struct write_result *r) {
    struct cleanup *u = ctx;
    u->under_way--;
    u->finishing = false;
    if (u->gone) {
        free_if_over(u);
    } else if (r->code == ERR_CONFLICT) {
        sweep(u);
    }
}

/* The last object is gone: the definition may go, too. */
static void let_go(struct cleanup *u) {
    const struct object *o = mirror_get(u->s->o.mirror, definition(), (struct str){0}, u->name);
    struct buf b;
    if (o == NULL || u->finishing) {
        return;
    }
    buf_init(&b, 0);
    crd_finalizer_patch(o, &u->s->crds->arena, FINALIZER, &b);
    u->finishing = true;
    u->under_way++;
    writer_patch(server_writer(u->s), WHO, definition(), (struct str){0}, u->name, "", PATCH_MERGE,
                 buf_view(&b), finished, u);
    buf_release(&b);
}

static void sweep_again(void *ctx) {
    struct cleanup *u = ctx;
    u->deferred = false;
    if (u->gone) {
        free_if_over(u);
    } else {
        sweep(u);
    }
}

static void sweep_soon(struct cleanup *u) {
    if (!u->deferred && !u->gone && loop_defer(u->s->o.loop, sweep_again, u) == 0) {
        u->deferred = true;
    }
}

static void removed(void *ctx, const struct write_result *r) {
    struct cleanup *u = ctx;
    (void)r;
    if (--u->under_way == 0 && !u->gone) {
        sweep_soon(u);
    }
    free_if_over(u);
}

struct burst {
    const struct object *v[BURST];
    size_t n;
};

static bool gather(void *ctx, const struct object *o) {
    struct burst *b = ctx;
    if (o->deleting_ns == 0) {
        b->v[b->n++] = object_ref(o);
    }
    return b->n < BURST;
}

/* Deletes some of what is left; the rest follows when they are gone. */
static void sweep(struct cleanup *u) {
    struct burst b = {.n = 0};
    struct mirror *m = u->s->o.mirror;
    if (u->under_way > 0) {
        return;
    }
    if (u->kind == NULL || mirror_count(m, u->kind) == 0) {
        let_go(u);
        return;
    }
    mirror_scan(m, u->kind, (struct str){0}, gather, &b);
    u->under_way = b.n;
    for (size_t i = 0; i < b.n; i++) {
        struct delete_options o = {.uid = b.v[i]->uid, .grace_seconds = -1};
        writer_remove(server_writer(u->s), WHO, u->kind, b.v[i]->ns, b.v[i]->name, &o, removed, u);
        object_unref(b.v[i]);
    }
}

static void instance_changed(void *ctx, const struct change *ch) {
    struct cleanup *u = ctx;
    if (ch->type == CHANGE_DELETED) {
        sweep_soon(u);
    }
}

static struct cleanup **find_cleanup(struct crds *c, struct str name) {
    struct cleanup **at = &c->cleanups;
    while (*at != NULL && !str_eq((*at)->name, name)) {
        at = &(*at)->next;
    }
    return at;
}

static void start_cleanup(struct crds *c, const struct object *o, yyjson_val *crd) {
    if (*find_cleanup(c, o->name) != NULL) {
        sweep_soon(*find_cleanup(c, o->name));
        return;
    }
    struct cleanup *u = mem_zalloc(sizeof(*u));
    char *name = mem_cstr(o->name);
    if (u == NULL || name == NULL) {
        mem_free(u);
        mem_free(name);
        return;
    }
    u->s = c->s;
    u->name = str_of(name);
    u->kind = built_in(crd) != NULL ? NULL
                                    : crd_kind_find(json_str_at(crd, "spec.group"),
                                                    json_str_at(crd, "spec.names.plural"));
    if (u->kind != NULL) {
        u->feed = mirror_feed(c->s->o.mirror, u->kind, instance_changed, u);
    }
    u->next = c->cleanups;
    c->cleanups = u;
    sweep_soon(u);
}

static void end_cleanup(struct cleanup **at) {
    struct cleanup *u = *at;
    *at = u->next;
    feed_free(u->feed);
    mem_free((void *)(uintptr_t)u->name.p);
    u->feed = NULL;
    u->gone = true;
    free_if_over(u);
}

/* ---- the feed ---- */

static void look_at(struct crds *c, const struct object *o) {
    yyjson_doc *doc;
    struct err err = {0};
    arena_reset(&c->arena);
    if (object_tree(o, &c->arena, &doc, &err) != 0) {
        return;
    }
    yyjson_val *crd = yyjson_doc_get_root(doc);
    struct crd_names names = {.self = crd};
    struct others x = {&names, o, &c->arena};
    mirror_scan(c->s->o.mirror, definition(), (struct str){0}, other_names, &x);
    if (o->deleting_ns != 0) {
        start_cleanup(c, o, crd);
        return;
    }
    if (names.n_conflicts == 0 || crd_is_established(crd)) {
        if (serve(crd, &err) != 0) {
            log_warn(c->s->o.log, "%.*s is not served: %s", STR_ARG(o->name), err.text);
            return;
        }
    }
    write_status(c, o, crd, &names);
}

static bool look_again(void *ctx, const struct object *o) {
    ((struct crds *)ctx)->bytes += o->json.n;
    look_at(ctx, o);
    return true;
}

struct freed {
    struct crds *c;
    const struct object *gone;
};

static bool look_at_group(void *ctx, const struct object *o) {
    struct freed *f = ctx;
    if (same_group(o, f->gone)) {
        look_at(f->c, o);
    }
    return true;
}

static void changed(void *ctx, const struct change *ch) {
    struct crds *c = ctx;
    yyjson_doc *doc;
    c->bytes -= ch->old != NULL ? ch->old->json.n : 0;
    c->bytes += ch->type != CHANGE_DELETED ? ch->obj->json.n : 0;
    if (ch->type != CHANGE_DELETED) {
        look_at(c, ch->obj);
        return;
    }
    struct cleanup **at = find_cleanup(c, ch->obj->name);
    if (*at != NULL) {
        end_cleanup(at);
    }
    arena_reset(&c->arena);
    if (object_tree(ch->obj, &c->arena, &doc, NULL) == 0) {
        withdraw(c->s, yyjson_doc_get_root(doc));
    }
    struct freed f = {c, ch->obj}; /* its names are free for others */
    mirror_scan(c->s->o.mirror, definition(), (struct str){0}, look_at_group, &f);
}

int crds_init(struct server *s, struct err *err) {
    struct crds *c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    c->s = s;
    arena_init(&c->arena, SCRATCH);
    s->crds = c;
    c->feed = mirror_feed(s->o.mirror, definition(), changed, c);
    if (c->feed == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    mirror_scan(s->o.mirror, definition(), (struct str){0}, look_again, c);
    return 0;
}

void crds_release(struct server *s) {
    struct crds *c = s->crds;
    if (c == NULL) {
        return;
    }
    feed_free(c->feed);
    while (c->cleanups != NULL) {
        c->cleanups->under_way =
            0; /* the writer is gone: nobody calls back; its turn, if one waits, frees it */
        end_cleanup(&c->cleanups);
    }
    arena_release(&c->arena);
    mem_free(c);
    s->crds = NULL;
}

/* ---- in the pipeline ---- */

static void warn(struct write *w, struct str text) {
    if (w->call != NULL) {
        call_warn(w->call, str_head(text, 1000));
    }
}

static int try_schema(struct write *w, yyjson_val *version) {
    struct crd_schema *s;
    struct err err = {0};
    int r = crd_schema_new(json_path(version, "schema.openAPIV3Schema"), &s, &err);
    if (r != 0) {
        return r == ERR_NOMEM ? failure_err(&w->failure, w->arena, &err)
                              : failure_invalid_one(&w->failure, w->arena, w->req->kind->group,
                                                    w->req->kind->kind, w->req->name, CAUSE_INVALID,
                                                    "spec.versions.schema.openAPIV3Schema",
                                                    "Invalid value: \"\": %s", err.text);
    }
    for (size_t i = 0; i < s->n_warnings; i++) {
        warn(w, arena_f(w->arena, "%.*s: %.*s", STR_ARG(json_str_at(version, "name")),
                        STR_ARG(s->warnings[i])));
    }
    crd_schema_free(s);
    return 0;
}

int crd_admit(struct write *w) {
    struct err err = {0};
    struct buf b;
    yyjson_doc *doc;
    if (str_is(w->req->subresource, "status") || w->behalf != WRITE_FOR_USER) {
        return 0;
    }
    if (w->old == NULL && mirror_count(w->s->o.mirror, definition()) >= LIMIT_CRDS) {
        return failure_set(&w->failure, w->arena, ERR_FORBIDDEN,
                           "there are %d CustomResourceDefinitions already", LIMIT_CRDS);
    }
    buf_init(&b, 0);
    json_write_mut(&b, yyjson_mut_doc_get_root(w->doc));
    struct str text = arena_str(w->arena, buf_view(&b));
    buf_release(&b);
    size_t others = w->s->crds->bytes - (w->old != NULL ? w->old->json.n : 0);
    if (text.n + others > LIMIT_CRDS_BYTES && (w->old == NULL || text.n > w->old->json.n)) {
        return failure_set(&w->failure, w->arena, ERR_FORBIDDEN,
                           "all CustomResourceDefinitions together would have %zu bytes; at most "
                           "%d are served",
                           text.n + others, LIMIT_CRDS_BYTES);
    }
    int r = json_parse(w->arena, text, &doc, &err);
    if (r != 0) {
        return failure_err(&w->failure, w->arena, &err);
    }
    yyjson_val *crd = yyjson_doc_get_root(doc), *v;
    const struct kind *k = built_in(crd);
    if (k != NULL) {
        warn(w, arena_f(w->arena,
                        "%s.%s is built in and served as such; this definition has no effect",
                        k->plural, k->group));
        return 0;
    }
    size_t i, n;
    yyjson_val *versions = json_path(crd, "spec.versions");
    yyjson_arr_foreach(versions, i, n, v) {
        r = r ? r : try_schema(w, v);
    }
    return r;
}

int crd_admit_instance(struct write *w) {
    const struct crds *c = w->s->crds;
    for (const struct cleanup *u = c != NULL ? c->cleanups : NULL; u != NULL; u = u->next) {
        if (u->kind == w->req->kind) {
            return failure_set(&w->failure, w->arena, ERR_METHOD,
                               "create not allowed while custom resource definition is "
                               "terminating");
        }
    }
    return 0;
}

int crd_mark_terminating(struct write *w) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    yyjson_mut_val *meta = json_mensure(w->doc, root, "metadata");
    yyjson_mut_val *list = json_mget(meta, STR("finalizers"));
    if (w->old->deleting_ns != 0) {
        return 0;
    }
    if (list == NULL && (list = yyjson_mut_arr(w->doc)) != NULL &&
        json_mset(w->doc, meta, STR("finalizers"), list) != 0) {
        return ERR_NOMEM;
    }
    (void)crd_set_condition(w->doc, root, "Terminating", "True", "InstanceDeletionPending",
                            STR("CustomResourceDefinition marked for deletion; CustomResource "
                                "deletion will begin soon"),
                            w->now);
    return list != NULL && yyjson_mut_arr_add_str(w->doc, list, FINALIZER) ? 0 : ERR_NOMEM;
}
