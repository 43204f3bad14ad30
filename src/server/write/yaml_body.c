/* yaml_body: see yaml_body.h. A job has a copy of the body, since the peer may go away while it is read. */
#include "server/write/yaml_body.h"

#include "base/limits.h"
#include "base/mem.h"
#include "server/write/body.h"
#include "wire/yaml.h"

enum {
    READ_BYTES = 256 << 20, /* memory of one job; nodes are bounded by LIMIT_YAML_NODES */
    JSON_BYTES =
        2 *
        LIMIT_BODY_BYTES /* aliases and characters that JSON writes as \u make it longer than the body */
};

struct yaml_job {
    struct server *s;      /* NULL: gone */
    struct write *w;       /* NULL: nobody waits any more */
    struct yaml_job *next; /* of the server */
    char *user;
    struct str text; /* behind it */
    struct buf json; /* of the thread, then of the loop */
    struct err err;
};

bool yaml_body_is_long(const struct write *w) {
    struct str text = str_trim(w->body);
    bool json = text.n > 0 && text.p[0] == '{'; /* an apply may be either */
    bool yaml = w->type == BODY_YAML || (w->type == BODY_APPLY_PATCH && !json);
    return yaml && w->body.n > LIMIT_YAML_AT_ONCE && w->s->o.offload != NULL;
}

/* On the other thread. */
static void work(void *ctx, const atomic_bool *stop) {
    struct yaml_job *j = ctx;
    struct arena a;
    yyjson_mut_doc *d;
    if (atomic_load(stop)) {
        return;
    }
    arena_init(&a, READ_BYTES);
    if (yaml_parse_one(&a, j->text, &d, &j->err) == 0) {
        json_write_mut(&j->json, yyjson_mut_doc_get_root(d));
        int r = buf_ok(&j->json);
        if (r == ERR_TOO_LARGE) {
            (void)err_set(&j->err, r, "the body has more than %d bytes as JSON", JSON_BYTES);
        } else if (r != 0) {
            (void)err_set(&j->err, r, "out of memory");
        }
    }
    arena_release(&a);
}

static void job_free(struct yaml_job *j) {
    buf_release(&j->json);
    mem_free(j->user);
    mem_free(j);
}

static void unlink_job(struct yaml_job *j) {
    struct yaml_job **at = &j->s->yaml_jobs;
    while (*at != j) {
        at = &(*at)->next;
    }
    *at = j->next;
    j->s->n_yaml_jobs--;
}

static void go_on(struct yaml_job *j, struct write *w) {
    struct call *c = w->call;
    struct str json = j->err.code == 0 ? arena_str(c->arena, buf_view(&j->json)) : STR("");
    c->detach = write_orphan;
    c->detach_ctx = w;
    w->body = json;
    w->type = w->type == BODY_YAML ? BODY_JSON : w->type;
    if (j->err.code != 0) {
        (void)body_bad(w, &j->err);
    } else if (json.p == NULL) {
        (void)failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    if (w->failure.code != 0) {
        write_finish(w);
    } else {
        write_run(w);
    }
}

static void done(void *ctx) {
    struct yaml_job *j = ctx;
    struct write *w = j->w;
    if (j->s != NULL) {
        unlink_job(j);
    }
    if (w != NULL) {
        go_on(j, w);
    }
    job_free(j);
}

static void peer_gone(struct call *c, void *ctx) {
    struct yaml_job *j = ctx;
    (void)c;
    write_free(j->w);
    j->w = NULL;
}

static int refuse(struct write *w) {
    (void)failure_set(&w->failure, w->arena, ERR_TOO_MANY,
                      "too many long YAML bodies are being read; send JSON, or try again");
    w->failure.retry_after = 1;
    return w->failure.code;
}

int yaml_body_run(struct write *w) {
    struct server *s = w->s;
    struct err err = {0};
    struct offload_job *started;
    struct str account = user_account(&w->req->user);
    size_t own = 0;
    for (const struct yaml_job *j = s->yaml_jobs; j != NULL; j = j->next) {
        own += str_is(account, j->user);
    }
    if (own >= LIMIT_YAML_WAITING_USER || s->n_yaml_jobs >= LIMIT_YAML_WAITING) {
        return refuse(w);
    }
    struct yaml_job *j = mem_zalloc(sizeof(*j) + w->body.n);
    char *user = mem_cstr(account);
    if (j == NULL || user == NULL) {
        mem_free(j);
        mem_free(user);
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    memcpy((char *)(j + 1), w->body.p, w->body.n);
    j->text = str_from((char *)(j + 1), w->body.n);
    j->s = s;
    j->w = w;
    j->user = user;
    buf_init(&j->json, JSON_BYTES);
    if (s->o.offload->start(s->o.offload, work, done, j, &started, &err) != 0) {
        job_free(j);
        return err.code == ERR_TOO_MANY ? refuse(w) : failure_err(&w->failure, w->arena, &err);
    }
    j->next = s->yaml_jobs;
    s->yaml_jobs = j;
    s->n_yaml_jobs++;
    w->call->detach = peer_gone;
    w->call->detach_ctx = j;
    return 0;
}

void yaml_body_release(struct server *s) {
    for (struct yaml_job *j = s->yaml_jobs; j != NULL; j = j->next) {
        j->s = NULL;
        j->w = NULL;
    }
    s->yaml_jobs = NULL;
    s->n_yaml_jobs = 0;
}
