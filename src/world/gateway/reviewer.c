/* reviewer: one TokenReview, then one SubjectAccessReview a project, all at once. See reviewer.h. */
#include "world/gateway/reviewer.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "wire/json/json.h"
#include "world/gateway/key_rows.h"

#define ACCOUNT "system:serviceaccount:"

enum { ARENA_BYTES_MAX = 1 << 20, ANSWER_MS = 4000 };

struct reviewer {
    struct reviewer_options o;
    struct key_store *store;
    struct arena names; /* of projects */
    struct str projects[REVIEW_PROJECTS_MAX];
    size_t n_projects;
    struct token_ask *first; /* under way */
};

struct token_access { /* about one project */
    struct token_ask *q;
    struct kube_call *call; /* NULL: it has come */
    struct str project;
    bool may;
};

struct token_ask {
    struct reviewer *r;
    struct token_ask *next, **link;
    struct arena a;
    unsigned char digest[KEY_DIGEST];
    char *token;
    size_t n_token;
    struct kube_call *call; /* TokenReview */
    struct str user;
    struct token_access *answers;
    size_t n, left;
    bool failed;
};

static void end(struct token_ask *q) {
    if (q->link != NULL) {
        *q->link = q->next;
    }
    if (q->next != NULL) {
        q->next->link = q->link;
    }
    if (q->call != NULL) {
        kube_cancel(q->call);
    }
    for (size_t i = 0; i < q->n; i++) {
        if (q->answers[i].call != NULL) {
            kube_cancel(q->answers[i].call);
        }
    }
    mem_free_secret(q->token, q->n_token);
    arena_release(&q->a);
    mem_free(q);
}

static void fail(struct token_ask *q) {
    key_store_unanswered(q->r->store, q->digest);
    end(q);
}

static int64_t now_s(const struct token_ask *q) {
    struct clock *c = loop_clock(q->r->o.loop);
    return clock_wall(c) / NS_PER_SEC;
}

/* "NS" of "system:serviceaccount:NS:NAME"; empty for others. */
static struct str namespace_of(struct str user) {
    struct str ns = {0}, name;
    return str_starts(user, STR(ACCOUNT)) &&
                   str_cut(str_skip(user, sizeof ACCOUNT - 1), ':', &ns, &name)
               ? ns
               : (struct str){0};
}

static void conclude(struct token_ask *q) {
    struct str *may = ARENA_ARRAY(&q->a, struct str, q->n + 1), home = namespace_of(q->user);
    size_t n = 0;
    if (q->failed || may == NULL) {
        fail(q);
        return;
    }
    for (size_t i = 0; i < q->n; i++) {
        if (q->answers[i].may) {
            may[n++] = q->answers[i].project;
        }
    }
    struct str payer = home.n ? home : n ? may[0] : (struct str){0};
    bool at_home = false;
    for (size_t i = 0; i < n; i++) {
        at_home = at_home || str_eq(may[i], payer);
    }
    struct key_project p = key_project_of(q->r->o.mirror, payer, NULL);
    /* A project that pays may be used as well, so that a payer who may not use its own models has none. */
    const struct gateway_key k = {.number = key_number(q->user),
                                  .name = q->user,
                                  .subject = q->user,
                                  .project = at_home ? payer : (struct str){0},
                                  .projects = may,
                                  .n_projects = n,
                                  .project_limits = p.limits,
                                  .weight = p.weight};
    (void)key_store_answer(q->r->store, q->digest, &k, now_s(q) + REVIEW_YES_S);
    end(q);
}

static void on_access(void *ctx, const struct kube_reply *r) {
    struct token_access *x = ctx;
    struct token_ask *q = x->q;
    yyjson_doc *d;
    x->call = NULL;
    if (r->code == 0 && json_parse(&q->a, r->body, &d, NULL) == 0) {
        x->may = json_bool_at(yyjson_doc_get_root(d), "status.allowed", false);
    } else {
        q->failed = true;
    }
    if (--q->left == 0) {
        conclude(q);
    }
}

static void ask_access(struct token_ask *q, struct token_access *x, yyjson_val *groups) {
    struct buf body;
    struct err err;
    buf_init(&body, ARENA_BYTES_MAX);
    buf_c(&body, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\","
                 "\"spec\":{\"user\":");
    buf_json(&body, q->user);
    if (groups != NULL) {
        buf_c(&body, ",\"groups\":");
        json_write(&body, groups);
    }
    buf_c(&body, ",\"resourceAttributes\":{\"verb\":\"use\",\"group\":\"berth.dev\",\"resource\":"
                 "\"models\",\"namespace\":");
    buf_json(&body, x->project);
    buf_c(&body, "}}}");
    const struct kube_request r = {.method = "POST",
                                   .path =
                                       STR("/apis/authorization.k8s.io/v1/subjectaccessreviews"),
                                   .body = buf_view(&body),
                                   .timeout_ms = ANSWER_MS,
                                   .done = on_access,
                                   .ctx = x};
    if (buf_ok(&body) != 0 || kube_send(q->r->o.kube, &r, &x->call, &err) != 0) {
        q->failed = true;
        q->left--;
    }
    buf_release(&body);
}

static void ask_projects(struct token_ask *q, yyjson_val *groups) {
    struct reviewer *r = q->r;
    q->answers = ARENA_ARRAY(&q->a, struct token_access, r->n_projects + 1);
    if (q->answers == NULL) {
        fail(q);
        return;
    }
    q->n = q->left = r->n_projects;
    for (size_t i = 0; i < q->n; i++) {
        q->answers[i] = (struct token_access){.q = q, .project = arena_str(&q->a, r->projects[i])};
    }
    for (size_t i = 0; i < q->n; i++) {
        ask_access(q, &q->answers[i], groups);
    }
    if (q->left == 0) {
        conclude(q);
    }
}

static void on_review(void *ctx, const struct kube_reply *reply) {
    struct token_ask *q = ctx;
    yyjson_doc *d;
    q->call = NULL;
    if (reply->code != 0 || json_parse(&q->a, arena_str(&q->a, reply->body), &d, NULL) != 0) {
        fail(q);
        return;
    }
    yyjson_val *root = yyjson_doc_get_root(d);
    q->user = json_str_at(root, "status.user.username");
    if (!json_bool_at(root, "status.authenticated", false) || q->user.n == 0) {
        (void)key_store_answer(q->r->store, q->digest, NULL, now_s(q) + REVIEW_NO_S);
        end(q);
        return;
    }
    ask_projects(q, json_path(root, "status.user.groups"));
}

/* On the loop. */
static void begin(void *ctx) {
    struct token_ask *q = ctx;
    struct reviewer *r = q->r;
    struct buf body;
    struct err err;
    q->next = r->first;
    q->link = &r->first;
    if (r->first != NULL) {
        r->first->link = &q->next;
    }
    r->first = q;
    buf_init(&body, ARENA_BYTES_MAX);
    buf_c(&body, "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\",\"spec\":{"
                 "\"token\":");
    buf_json(&body, (struct str){q->token, q->n_token});
    buf_c(&body, "}}");
    const struct kube_request ask = {.method = "POST",
                                     .path = STR("/apis/authentication.k8s.io/v1/tokenreviews"),
                                     .body = buf_view(&body),
                                     .timeout_ms = ANSWER_MS,
                                     .done = on_review,
                                     .ctx = q};
    bool sent = buf_ok(&body) == 0 && kube_send(r->o.kube, &ask, &q->call, &err) == 0;
    buf_release(&body);
    if (!sent) {
        fail(q);
    }
}

bool reviewer_ask(void *ctx, const unsigned char digest[KEY_DIGEST], struct str token) {
    struct reviewer *r = ctx;
    struct token_ask *q = mem_zalloc(sizeof *q);
    char *copy = q ? mem_cstr(token) : NULL;
    if (copy == NULL) {
        mem_free(q);
        return false;
    }
    q->r = r;
    q->token = copy;
    q->n_token = token.n;
    memcpy(q->digest, digest, KEY_DIGEST);
    arena_init(&q->a, ARENA_BYTES_MAX);
    if (loop_post(r->o.loop, begin, q) != 0) {
        mem_free_secret(copy, token.n);
        arena_release(&q->a);
        mem_free(q);
        return false;
    }
    return true;
}

int reviewer_projects(struct reviewer *r, const struct str *v, size_t n) {
    arena_reset(&r->names);
    r->n_projects = n < REVIEW_PROJECTS_MAX ? n : REVIEW_PROJECTS_MAX;
    for (size_t i = 0; i < r->n_projects; i++) {
        r->projects[i] = arena_str(&r->names, v[i]);
    }
    if (arena_ok(&r->names) != 0) {
        r->n_projects = 0;
        return ERR_NOMEM;
    }
    return 0;
}

void reviewer_to(struct reviewer *r, struct key_store *s) {
    r->store = s;
}

struct reviewer *reviewer_new(const struct reviewer_options *o) {
    struct reviewer *r = mem_zalloc(sizeof *r);
    if (r != NULL) {
        r->o = *o;
        arena_init(&r->names, ARENA_BYTES_MAX);
    }
    return r;
}

void reviewer_free(struct reviewer *r) {
    if (r == NULL) {
        return;
    }
    while (r->first != NULL) {
        end(r->first);
    }
    arena_release(&r->names);
    mem_free(r);
}
