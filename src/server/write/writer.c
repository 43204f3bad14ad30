/*
 * writer: controllers' writes, through the pipeline of HTTP requests.
 *
 * A write that fails, or changes nothing, ends inside write_run; its `done` is put off to the end of the loop's turn,
 * because a controller must not be called back inside its own call. Each write has an arena that is kept for the next.
 */
#include "base/mem.h"
#include "server/kit/handlers.h"
#include "server/write/pipeline.h"

enum { ARENA_BYTES = 64 << 20, SPARES = 64 };

struct server_writer {
    struct writer w;
    struct server *s;
    struct write_job *spare, *all;
    size_t n_spare;
};

struct write_job {
    struct server_writer *owner; /* NULL: released, with an answer that waits for its turn */
    struct arena arena;
    struct api_request req;
    struct delete_options options;
    struct write *write;
    write_done *done;
    void *ctx;
    struct write_result result;
    const struct object *obj; /* one reference, of a result that waits */
    bool running;             /* inside write_run */
    bool deferred;
    struct write_job *next; /* spares */
    struct write_job *all_next, *all_prev;
};

static struct write_job *job_new(struct server_writer *sw) {
    struct write_job *j = sw->spare;
    if (j != NULL) {
        sw->spare = j->next;
        sw->n_spare--;
    } else if ((j = mem_zalloc(sizeof(*j))) != NULL) {
        arena_init(&j->arena, ARENA_BYTES);
        j->owner = sw;
        j->all_next = sw->all;
        if (sw->all != NULL) {
            sw->all->all_prev = j;
        }
        sw->all = j;
    }
    return j;
}

static void job_unlink(struct write_job *j) {
    if (j->all_prev != NULL) {
        j->all_prev->all_next = j->all_next;
    } else {
        j->owner->all = j->all_next;
    }
    if (j->all_next != NULL) {
        j->all_next->all_prev = j->all_prev;
    }
    j->owner = NULL;
    if (!j->deferred) {
        arena_release(&j->arena);
        mem_free(j);
    }
}

static void job_free(struct write_job *j) {
    struct server_writer *sw = j->owner;
    object_unref(j->obj);
    if (sw->n_spare >= SPARES) {
        job_unlink(j);
        return;
    }
    arena_reset(&j->arena);
    j->obj = NULL;
    j->next = sw->spare;
    sw->spare = j;
    sw->n_spare++;
}

static void audit(struct write_job *j, int http) {
    struct server *s = j->owner->s;
    if (s->o.guard == NULL || s->o.guard->audit == NULL || str_is(j->req.plural, "events")) {
        return; /* Events tell of other writes, which have their line; upstream's policies leave them out as well */
    }
    struct audit_record rec = {
        .req = &j->req, .status = http, .message = str_of(j->result.err.text)};
    rec.started_ns = rec.ended_ns = server_now(s);
    s->o.guard->audit(s->o.guard, &rec);
}

static void report(void *ctx) {
    struct write_job *j = ctx;
    j->deferred = false;
    if (j->owner == NULL) { /* nobody is told by a writer that is gone */
        arena_release(&j->arena);
        mem_free(j);
        return;
    }
    j->result.obj = j->obj;
    j->done(j->ctx, &j->result);
    job_free(j);
}

static void written(struct write *w) {
    struct write_job *j = w->ctx;
    j->result = (struct write_result){.code = w->failure.code};
    if (w->failure.code != 0) {
        failure_to_err(&w->failure, &j->result.err);
    }
    j->obj = w->obj != NULL && w->failure.code == 0 ? object_ref(w->obj) : NULL;
    audit(j, w->failure.code != 0 ? w->failure.http : w->http);
    write_free(w);
    if (!j->running) {
        report(j);
        return;
    }
    j->deferred = true;
    if (loop_defer(j->owner->s->o.loop, report, j) != 0) {
        report(j); /* out of memory: better early than never */
    }
}

/* Of every service account of kube-system, whose names controllers have. */
static const struct str account_groups[] = {{"system:serviceaccounts", 22},
                                            {"system:serviceaccounts:kube-system", 34},
                                            {"system:authenticated", 20}};

static struct write_job *begin(struct writer *w, const char *who, const struct kind *k,
                               struct str ns, struct str name, enum verb verb,
                               const char *verb_name) {
    struct server_writer *sw = (struct server_writer *)w;
    struct write_job *j = job_new(sw);
    struct write *op = j != NULL ? write_new(sw->s) : NULL;
    if (op == NULL) {
        if (j != NULL) {
            job_free(j);
        }
        return NULL;
    }
    struct arena *a = &j->arena;
    j->write = op;
    j->req = (struct api_request){
        .user = {.name = arena_f(a, "system:serviceaccount:kube-system:%.*s", STR_ARG(str_of(who))),
                 .groups = {(struct str *)(uintptr_t)account_groups, 3}},
        .resource = true,
        .verb = verb,
        .verb_name = str_of(verb_name),
        .group = str_of(k->group),
        .version = str_of(kind_storage(k)->version),
        .plural = str_of(k->plural),
        .ns = arena_str(a, ns),
        .name = arena_str(a, name),
        .kind = k,
        .kv = kind_storage(k),
    };
    j->req.opt.field_manager = str_of(who);
    j->req.opt.timeout_seconds = j->req.opt.grace_seconds = -1;
    op->req = &j->req;
    op->arena = a;
    op->behalf = WRITE_FOR_SYSTEM;
    op->done = written;
    op->ctx = j;
    return j;
}

static void no_memory(write_done *done, void *ctx) {
    struct write_result r = {.code = ERR_NOMEM};
    (void)err_set(&r.err, ERR_NOMEM, "out of memory");
    done(ctx, &r);
}

static void run(struct write_job *j, write_done *done, void *ctx) {
    if (arena_ok(&j->arena) != 0) { /* the name, the body or a precondition could not be copied */
        write_free(j->write);
        job_free(j);
        no_memory(done, ctx);
        return;
    }
    j->done = done;
    j->ctx = ctx;
    j->running = true;
    struct write *op = j->write;
    write_run(op);
    j->running = false;
}

/* No controller has pods of its own, nor what describes some: what they create of that is what a user's template
 * says. */
static enum write_for behalf_of(const struct kind *k) {
    bool made = (k->group[0] == '\0' && strcmp(k->kind, "Pod") == 0) ||
                strcmp(k->group, "batch") == 0 || strcmp(k->group, "apps") == 0;
    return made ? WRITE_FOR_TEMPLATE : WRITE_FOR_SYSTEM;
}

static void create(struct writer *w, const char *who, const struct kind *k, struct str ns,
                   struct str json, write_done *done, void *ctx) {
    struct write_job *j = begin(w, who, k, ns, (struct str){0}, VERB_CREATE, "create");
    if (j == NULL) {
        no_memory(done, ctx);
        return;
    }
    j->write->body = arena_str(&j->arena, json);
    j->write->behalf = behalf_of(k);
    run(j, done, ctx);
}

/* A served model's Deployment follows what its author, and that of its runtime, write. */
static bool changes_template(const struct kind *k, const char *subresource) {
    return strcmp(k->group, "apps") == 0 && strcmp(k->kind, "Deployment") == 0 &&
           subresource[0] == '\0';
}

static void patch(struct writer *w, const char *who, const struct kind *k, struct str ns,
                  struct str name, const char *subresource, enum patch_type type, struct str body,
                  write_done *done, void *ctx) {
    static const enum body_type types[] = {
        [PATCH_MERGE] = BODY_MERGE_PATCH,
        [PATCH_JSON] = BODY_JSON_PATCH,
        [PATCH_STRATEGIC] = BODY_STRATEGIC_PATCH,
        [PATCH_APPLY] = BODY_APPLY_PATCH,
    };
    struct write_job *j = begin(w, who, k, ns, name, VERB_PATCH, "patch");
    if (j == NULL) {
        no_memory(done, ctx);
        return;
    }
    j->req.subresource = str_of(subresource);
    j->write->body = arena_str(&j->arena, body);
    j->write->type = types[type];
    if (changes_template(k, subresource)) {
        j->write->behalf = WRITE_FOR_TEMPLATE;
    }
    j->req.opt.force = (struct opt_bool){type == PATCH_APPLY, true}; /* of its own it is sure */
    run(j, done, ctx);
}

static void remove_object(struct writer *w, const char *who, const struct kind *k, struct str ns,
                          struct str name, const struct delete_options *o, write_done *done,
                          void *ctx) {
    struct write_job *j = begin(w, who, k, ns, name, VERB_DELETE, "delete");
    if (j == NULL) {
        no_memory(done, ctx);
        return;
    }
    j->options = o != NULL ? *o : (struct delete_options){.grace_seconds = -1};
    j->options.uid = arena_str(&j->arena, j->options.uid);
    j->options.propagation = arena_str(&j->arena, j->options.propagation);
    j->write->delete_options = &j->options;
    run(j, done, ctx);
}

int writer_init(struct server *s, struct err *err) {
    struct server_writer *sw = mem_zalloc(sizeof(*sw));
    if (sw == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    sw->w = (struct writer){create, patch, remove_object};
    sw->s = s;
    s->writer = sw;
    return 0;
}

void writer_release(struct server *s) {
    if (s->writer == NULL) {
        return;
    }
    while (s->writer->all != NULL) {
        object_unref(s->writer->all->obj);
        job_unlink(s->writer->all);
    }
    mem_free(s->writer);
    s->writer = NULL;
}

struct writer *server_writer(struct server *s) {
    return &s->writer->w;
}
