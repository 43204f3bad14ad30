/* way_ask: our own questions to the API server, in a user's name: who they are, and what they may. See way_int.h. */
#include "base/mem.h"
#include "site/way/way_private.h"

enum { QUESTION_BYTES = 4 << 20, ANSWER_BYTES = 1 << 20, QUESTION_MS = 15000 };

struct way_question {
    struct way *w;
    struct way_question *next, **prev;
    struct http_call *call;
    way_told *told;
    void *ctx;
    struct arena a;
};

static void question_free(struct way_question *q) {
    *q->prev = q->next;
    if (q->next) {
        q->next->prev = q->prev;
    }
    arena_release(&q->a);
    mem_free(q);
}

static int code_of(int status) {
    return status == 401   ? ERR_UNAUTHORIZED
           : status == 403 ? ERR_FORBIDDEN
           : status == 404 ? ERR_NOT_FOUND
           : status == 429 ? ERR_TOO_MANY
                           : ERR_UNAVAILABLE;
}

static void done(void *ctx, const struct http_reply *r) {
    struct way_question *q = ctx;
    struct err err = {0};
    yyjson_doc *doc = NULL;
    int code = r->code;
    q->call = NULL;
    if (code != 0) {
        err_set(&err, ERR_UNAVAILABLE, "the API server of the cluster cannot be asked: %s",
                r->err.text);
    } else if (r->status < 200 || r->status > 299) {
        bool told = json_parse(&q->a, r->body, &doc, NULL) == 0;
        struct str why = told ? json_str_at(yyjson_doc_get_root(doc), "message") : STR("");
        code = err_set(&err, code_of(r->status), "%.*s", STR_ARG(str_head(why, 400)));
    } else {
        code = json_parse(&q->a, r->body, &doc, &err);
    }
    q->told(q->ctx, code, code == 0 ? yyjson_doc_get_root(doc) : NULL, &err);
    question_free(q);
}

struct str way_bearer(struct arena *a, struct str token) {
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] <= ' ' || token.p[i] > '~') {
            return (struct str){0};
        }
    }
    return arena_f(a, "Authorization: Bearer %.*s", STR_ARG(token));
}

int way_ask(struct way *w, struct str token, const char *path, struct str body, way_told *told,
            void *ctx, struct way_question **ret, struct err *err) {
    struct way_question *q = mem_zalloc(sizeof(*q));
    if (q == NULL) {
        return err_set(err, ERR_NOMEM, "no memory to ask");
    }
    *q = (struct way_question){
        .w = w, .told = told, .ctx = ctx, .next = w->questions, .prev = &w->questions};
    if (q->next) {
        q->next->prev = &q->next;
    }
    w->questions = q;
    arena_init(&q->a, QUESTION_BYTES);
    struct str headers[] = {way_bearer(&q->a, token), STR("Content-Type: application/json"),
                            STR("Accept: application/json")};
    struct http_call_options o = {
        .method = "POST",
        .url = arena_f(&q->a, "%s%s", w->server, path),
        .headers = headers,
        .n_headers = sizeof(headers) / sizeof(headers[0]),
        .body = body,
        .timeout_ms = QUESTION_MS,
        .body_max = ANSWER_BYTES,
        .done = done,
        .ctx = q,
    };
    int r = headers[0].n == 0 ? err_set(err, ERR_UNAUTHORIZED, "this is no token")
            : o.url.p == NULL ? err_set(err, ERR_NOMEM, "no memory to ask")
                              : http_client_send(w->http, &o, &q->call, err);
    if (r != 0) {
        question_free(q);
        return r;
    }
    if (ret) {
        *ret = q;
    }
    return 0;
}

void way_ask_cancel(struct way_question *q) {
    if (q) {
        http_call_cancel(q->call);
        question_free(q);
    }
}

void way_ask_release(struct way *w) {
    struct err err;
    err_set(&err, ERR_UNAVAILABLE, "shutting down");
    while (w->questions) {
        struct way_question *q = w->questions;
        http_call_cancel(q->call);
        q->told(q->ctx, ERR_UNAVAILABLE, NULL, &err); /* who waits lets go of what it holds */
        question_free(q);
    }
}

/* ---- whose token is it? ---- */

#define SELF STR("{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}")

struct identifying {
    struct way *w;
    struct dashboard_asking *k;
    struct str token;
    struct arena a;
};

static void identified(void *ctx, int code, yyjson_val *root, const struct err *err) {
    struct identifying *i = ctx;
    struct str groups[SESSION_GROUPS_MAX];
    struct session_who who = {.groups = groups};
    struct err mine = {0};
    yyjson_val *list = json_path(root, "status.userInfo.groups"), *group;
    size_t at, n;
    if (yyjson_is_arr(list)) {
        yyjson_arr_foreach(list, at, n, group) {
            if (who.n_groups < SESSION_GROUPS_MAX && json_str(group).n) {
                groups[who.n_groups++] = json_str(group);
            }
        }
    }
    who.user = json_str_at(root, "status.userInfo.username");
    who.expires_ns = way_token_ends(i->token, &i->a);
    if (code == ERR_NOT_FOUND) {
        code = err_set(&mine, ERR_UNSUPPORTED,
                       "this cluster does not say whose token it is: Kubernetes 1.28 or newer is "
                       "needed");
    } else if (code == ERR_UNAUTHORIZED || (code == 0 && who.user.n == 0)) {
        code = err_set(&mine, ERR_UNAUTHORIZED, "the cluster does not know this token");
    }
    dashboard_identified(i->k, code, &who, mine.code ? &mine : err);
    arena_release(&i->a);
    mem_free(i);
}

void way_identify(struct way *w, struct str token, struct dashboard_asking *k) {
    struct err err = {0};
    struct identifying *i = mem_zalloc(sizeof(*i) + token.n);
    int r = i ? 0 : err_set(&err, ERR_NOMEM, "no memory to ask");
    if (i) {
        memcpy((char *)(i + 1), token.p, token.n);
        *i = (struct identifying){.w = w, .k = k, .token = str_from((char *)(i + 1), token.n)};
        arena_init(&i->a, QUESTION_BYTES);
        r = way_ask(w, token, "/apis/authentication.k8s.io/v1/selfsubjectreviews", SELF, identified,
                    i, NULL, &err);
    }
    if (r != 0) {
        if (i) {
            arena_release(&i->a);
        }
        mem_free(i);
        dashboard_identified(k, r, NULL, &err);
    }
}
