/* hooks: see hooks.h. Here: which configurations there are, and asking. What is asked and answered is in hook_ask.c. */
#include "server/write/hooks.h"

#include "api/schema/codec.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/vec.h"
#include "server/kit/handlers.h"
#include "server/write/hook_ask.h"
#include "server/write/hook_set.h"
#include "wire/json/json.h"

enum {
    ASKED_TWICE = 8 /* how often one webhook is asked again for one write, since the state moved */
};

enum { MUTATING, VALIDATING, HOOK_KINDS };

struct hook_list {
    struct hook_set **v; /* by name */
    size_t n, cap;
};

struct hooks {
    struct server *s;
    const struct kind *kinds[HOOK_KINDS];
    const struct kind *namespaces;
    struct feed *feeds[HOOK_KINDS];
    struct hook_list lists[HOOK_KINDS];
    struct hook_wait *waiting; /* writes that asked something */
    size_t n_calls;            /* under way, of all writes */
};

/* One question to one webhook, for one write. */
struct hook_call {
    struct hook_wait *wait;
    struct hook *hook;
    unsigned char asked[32]; /* SHA-256 of the question */
    struct http_call *http;  /* NULL: answered */
    struct str uid;
    struct hook_answer answer;
    struct hook_call *next;
};

/* What a write has asked so far. Outlives its runs. */
struct hook_wait {
    struct hooks *h;
    struct write *w;
    struct arena arena;
    struct hook_call *calls;
    size_t n_open;
    struct hook_wait *prev, *next;
};

/* ---- configurations ---- */

static void list_release(struct hook_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        hook_set_unref(l->v[i]);
    }
    mem_free(l->v);
    *l = (struct hook_list){0};
}

struct compile {
    struct hooks *h;
    const struct hook_list *was;
    struct hook_list now;
    int code;
};

static bool compile_one(void *ctx, const struct object *o) {
    struct compile *c = ctx;
    struct hook_set *set = NULL;
    c->code = vec_grow((void **)&c->now.v, &c->now.cap, c->now.n, 1, sizeof(*c->now.v));
    for (size_t i = 0; c->code == 0 && i < c->was->n && set == NULL; i++) {
        if (str_eq(c->was->v[i]->name, o->name) && c->was->v[i]->rv == o->rv) {
            set = hook_set_ref(c->was->v[i]);
        }
    }
    if (c->code == 0 && set == NULL) {
        c->code = hook_set_new(c->h->s->o.loop, o, &set);
    }
    if (c->code == 0) {
        c->now.v[c->now.n++] = set;
    }
    return c->code == 0;
}

/* Out of memory: those of before stay, rather than that a webhook is forgotten. */
static void compile(struct hooks *h, int which) {
    struct compile c = {.h = h, .was = &h->lists[which]};
    mirror_scan(h->s->o.mirror, h->kinds[which], (struct str){0}, compile_one, &c);
    if (c.code != 0) {
        list_release(&c.now);
        log_error(h->s->o.log, "webhook configurations: out of memory, those of before stay");
        return;
    }
    list_release(&h->lists[which]);
    h->lists[which] = c.now;
}

static void changed(void *ctx, const struct change *ch) {
    struct hooks *h = ctx;
    compile(h, ch->obj->kind == h->kinds[MUTATING] ? MUTATING : VALIDATING);
}

int hooks_init(struct server *s, struct err *err) {
    static const char *const names[HOOK_KINDS] = {"MutatingWebhookConfiguration",
                                                  "ValidatingWebhookConfiguration"};
    struct hooks *h = mem_zalloc(sizeof(*h));
    if (h == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    h->s = s;
    h->namespaces = kind_by_name(STR(""), STR("Namespace"));
    s->hooks = h;
    for (int i = 0; i < HOOK_KINDS; i++) {
        h->kinds[i] = kind_by_name(STR("admissionregistration.k8s.io"), str_of(names[i]));
        h->feeds[i] = mirror_feed(s->o.mirror, h->kinds[i], changed, h);
        if (h->feeds[i] == NULL) {
            return err_set(err, ERR_NOMEM, "out of memory");
        }
        compile(h, i);
    }
    return 0;
}

static void wait_free(struct hook_wait *wait) {
    for (struct hook_call *c = wait->calls; c != NULL; c = c->next) {
        if (c->http != NULL) {
            http_call_cancel(c->http);
            wait->h->n_calls--;
        }
        hook_set_unref(c->hook->set);
    }
    if (wait->next != NULL) {
        wait->next->prev = wait->prev;
    }
    if (wait->prev != NULL) {
        wait->prev->next = wait->next;
    } else {
        wait->h->waiting = wait->next;
    }
    wait->w->asked = NULL;
    arena_release(&wait->arena);
    mem_free(wait);
}

void hooks_forget(struct write *w) {
    if (w->asked != NULL) {
        wait_free(w->asked);
    }
}

void hooks_release(struct server *s) {
    struct hooks *h = s->hooks;
    if (h == NULL) {
        return;
    }
    while (h->waiting != NULL) {
        write_free(h->waiting->w);
    }
    for (int i = 0; i < HOOK_KINDS; i++) {
        feed_free(h->feeds[i]);
        list_release(&h->lists[i]);
    }
    mem_free(h);
    s->hooks = NULL;
}

void hooks_abandon(struct write *w) {
    if (w->asked == NULL || w->asked->n_open == 0) {
        return;
    }
    hooks_forget(w);
    w->failure = (struct failure){.code = ERR_GONE, .http = 500, .reason = "InternalError"};
    write_finish(w);
}

void hooks_abandon_all(struct server *s, const void *ctx) {
    struct hook_wait *next;
    for (struct hook_wait *i = s->hooks->waiting; i != NULL; i = next) {
        next = i->next;
        if (i->w->ctx == ctx) {
            hooks_abandon(i->w);
        }
    }
}

/* ---- asking ---- */

static void answered(void *ctx, const struct http_reply *r) {
    struct hook_call *c = ctx;
    struct hook_wait *wait = c->wait;
    c->http = NULL;
    hook_read_answer(&wait->arena, c->uid, r, &c->answer);
    wait->h->n_calls--;
    if (--wait->n_open == 0) {
        write_again(wait->w);
    }
}

static struct hook_wait *wait_of(struct hooks *h, struct write *w) {
    if (w->asked == NULL && (w->asked = mem_zalloc(sizeof(*w->asked))) != NULL) {
        arena_init(&w->asked->arena, LIMIT_WEBHOOK_ANSWERS);
        w->asked->h = h;
        w->asked->w = w;
        w->asked->next = h->waiting;
        if (h->waiting != NULL) {
            h->waiting->prev = w->asked;
        }
        h->waiting = w->asked;
    }
    return w->asked;
}

/* The call that asked this, or NULL; *ret_n: how often this webhook was asked already. */
static struct hook_call *find(struct hook_wait *wait, const struct hook *hook,
                              const unsigned char asked[32], size_t *ret_n) {
    struct hook_call *found = NULL;
    for (struct hook_call *c = wait->calls; c != NULL; c = c->next) {
        *ret_n += c->hook == hook;
        if (c->hook == hook && memcmp(c->asked, asked, sizeof(c->asked)) == 0) {
            found = c;
        }
    }
    return found;
}

static int send_call(struct hook_call *c, struct str body, struct err *err) {
    static const struct str headers[] = {{"Content-Type: application/json", 30},
                                         {"Accept: application/json", 24}};
    struct hooks *h = c->wait->h;
    struct http_client *client;
    struct str url;
    if (h->n_calls >= LIMIT_WEBHOOK_CALLS) {
        return err_set(err, ERR_TOO_MANY, "too many webhooks are being asked");
    }
    int r = hook_target(c->hook, h->s->o.mirror, &c->wait->arena, &client, &url, err);
    struct http_call_options o = {
        .method = "POST",
        .url = arena_f(&c->wait->arena, "%.*s%ctimeout=%llds", STR_ARG(url),
                       str_find(url, '?') >= 0 ? '&' : '?', (long long)c->hook->timeout_s),
        .headers = headers,
        .n_headers = 2,
        .body = body,
        .timeout_ms = c->hook->timeout_s * 1000,
        .body_max = LIMIT_BODY_BYTES,
        .done = answered,
        .ctx = c,
    };
    return r ? r : http_client_send(client, &o, &c->http, err);
}

/* What its matchConditions say. 0: it is not asked, or *ret is set; else w->failure is filled. */
static int meets(struct write *w, struct hook *hook, struct str question, bool *ret) {
    struct err err = {0};
    int r = hook_meets(w, json_get(hook->tree, STR("matchConditions")), question, ret, &err);
    if (r == ERR_INVALID && hook->ignore) {
        *ret = false;
        return 0;
    }
    if (r == ERR_INVALID) {
        struct str name = w->doc != NULL
                              ? json_mstr_at(yyjson_mut_doc_get_root(w->doc), "metadata.name")
                              : w->old->name;
        return failure_forbidden(&w->failure, w->arena, w->req->kind, name, "%s", err.text);
    }
    return r == 0 ? 0 : failure_err(&w->failure, w->arena, &err);
}

/* Asks unless it is known: *ret is the answer, or NULL with ERR_AGAIN. Else w->failure is filled. */
static int ask(struct write *w, struct hook *hook, const struct kind_version *kv,
               struct hook_answer **ret) {
    static struct hook_answer unasked = {.allowed = true};
    struct hooks *h = w->s->hooks;
    struct hook_wait *wait = wait_of(h, w);
    struct str question, body;
    bool met;
    unsigned char asked[32];
    struct err err = {0};
    size_t n = 0;
    int r = wait == NULL ? failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory")
                         : hook_question(w, kv, &question);
    r = r ? r : meets(w, hook, question, &met);
    if (r != 0 || !met) {
        *ret = &unasked;
        return r;
    }
    tls_sha256(question, asked);
    struct hook_call *c = find(wait, hook, asked, &n);
    if (c != NULL) {
        *ret = &c->answer;
        return c->http != NULL ? ERR_AGAIN : 0;
    }
    if (n >= ASKED_TWICE) {
        return failure_set(&w->failure, w->arena, ERR_CONFLICT,
                           "the object changed again and again while webhook \"%.*s\" was asked",
                           STR_ARG(hook->name));
    }
    c = ARENA_NEW(&wait->arena, struct hook_call);
    if (c == NULL || hook_body(w, &wait->arena, question, &c->uid, &body) != 0) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    memcpy(c->asked, asked, sizeof(asked));
    c->wait = wait;
    c->hook = hook;
    (void)hook_set_ref(hook->set);
    c->next = wait->calls;
    wait->calls = c;
    *ret = &c->answer;
    if (send_call(c, body, &err) != 0) {
        c->answer.error = arena_str(&wait->arena, str_of(err.text));
        return 0;
    }
    wait->n_open++;
    h->n_calls++;
    return ERR_AGAIN;
}

/* ---- what the pipeline asks for ---- */

static bool is_asked_about(const struct write *w) {
    const struct kind *k = w->req->kind;
    return !w->unasked && !w->whole &&
           !str_is(str_of(k->group), "admissionregistration.k8s.io"); /* nor about policies */
}

/* Labels of a tree that is still being changed. */
static int read_labels(struct arena *a, yyjson_mut_val *root, struct str_map *ret) {
    yyjson_mut_val *map = json_mpath(root, "metadata.labels"), *key, *v;
    size_t i, n;
    ret->n = 0;
    ret->v = ARENA_ARRAY(a, struct str_pair, yyjson_mut_obj_size(map) + 1);
    if (ret->v == NULL) {
        return ERR_NOMEM;
    }
    if (yyjson_mut_is_obj(map)) {
        yyjson_mut_obj_foreach(map, i, n, key, v) {
            ret->v[ret->n++] = (struct str_pair){json_mstr(key), json_mstr(v)};
        }
    }
    return 0;
}

int hooks_labels(struct write *w, bool removes, struct hook_labels *l) {
    static const struct str_map none;
    const struct hooks *h = w->s->hooks;
    const struct api_request *q = w->req;
    *l = (struct hook_labels){.m = {.kind = q->kind,
                                    .version = q->version,
                                    .subresource = removes ? (struct str){0} : q->subresource,
                                    .operation = removes          ? STR("DELETE")
                                                 : w->old != NULL ? STR("UPDATE")
                                                                  : STR("CREATE")}};
    if (!removes) {
        if (read_labels(w->arena, yyjson_mut_doc_get_root(w->doc), &l->now) != 0) {
            return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
        }
        l->m.labels = &l->now;
    }
    if (w->old != NULL) {
        l->m.old_labels = &w->old->labels;
    }
    if (q->kind == h->namespaces) {
        l->m.namespace_labels = removes ? l->m.old_labels : l->m.labels;
    } else if (q->kind->flags & KIND_NAMESPACED) {
        const struct object *ns =
            mirror_pending(w->s->o.mirror, h->namespaces, (struct str){0}, q->ns);
        l->m.namespace_labels = ns != NULL ? &ns->labels : &none;
    }
    return 0;
}

/* What an answer means for the write: 0, or w->failure. */
static int settle(struct write *w, const struct hook *hook, const struct hook_answer *a) {
    if (w->call != NULL && a->n_warnings > 0) {
        bool quiet = w->call->quiet;
        w->call->quiet = a->warned;
        for (size_t i = 0; i < a->n_warnings; i++) {
            call_warn(w->call, a->warnings[i]);
        }
        w->call->quiet = quiet;
        ((struct hook_answer *)(uintptr_t)a)->warned = true;
    }
    if (a->error.n > 0) {
        if (hook->ignore) {
            return 0;
        }
        return failure_set(&w->failure, w->arena, ERR_INTERNAL,
                           "Internal error occurred: failed calling webhook \"%.*s\": %.*s",
                           STR_ARG(hook->name), STR_ARG(a->error));
    }
    return a->allowed ? 0 : hook_denied(w, hook->name, a);
}

static int mutate_one(struct write *w, struct hook *hook, const struct kind_version *kv,
                      bool *ret_changed) {
    struct hook_answer *a;
    int r = ask(w, hook, kv, &a);
    r = r ? r : settle(w, hook, a);
    if (r == 0 && a->patch.n > 0 && w->doc != NULL) {
        struct err err = {0};
        r = hook_patch(w, kv, a->patch, &err);
        if (r != 0 && hook->ignore) {
            return 0;
        }
        *ret_changed = true;
        if (r != 0) {
            r = failure_set(&w->failure, w->arena, ERR_INTERNAL,
                            "Internal error occurred: webhook \"%.*s\": %s", STR_ARG(hook->name),
                            err.text);
        }
    }
    return r;
}

int hooks_mutate(struct write *w, bool *ret_changed) {
    struct hooks *h = w->s->hooks;
    const struct hook_list *list = &h->lists[MUTATING];
    const struct kind_version *kv;
    struct hook_labels l;
    bool any = false;
    *ret_changed = false;
    if (list->n == 0 || !is_asked_about(w)) {
        return 0;
    }
    int r = hooks_labels(w, false, &l);
    for (int pass = 0; pass < 2 && r == 0; pass++) {
        bool changed = false;
        for (size_t i = 0; i < list->n && r == 0; i++) {
            for (size_t k = 0; k < list->v[i]->n && r == 0; k++) {
                struct hook *hook = &list->v[i]->v[k];
                if ((pass == 0 || hook->again) && hook_matches(hook, &l.m, &kv)) {
                    r = mutate_one(w, hook, kv, &changed);
                    r = r ? r : hooks_labels(w, false, &l); /* labels may have changed */
                }
            }
        }
        any = any || changed;
        if (!changed) {
            break;
        }
    }
    *ret_changed = any;
    return r;
}

/* All of a list, at once; the first of them that says no counts. */
static int ask_all(struct write *w, const struct hook_list *list, bool removes) {
    const struct kind_version *kv;
    struct hook_answer *a;
    struct hook_labels l;
    bool open = false;
    int r = list->n > 0 && is_asked_about(w) ? hooks_labels(w, removes, &l) : 0;
    if (list->n == 0 || r != 0 || !is_asked_about(w)) {
        return r;
    }
    for (size_t i = 0; i < list->n; i++) {
        for (size_t k = 0; k < list->v[i]->n; k++) {
            struct hook *hook = &list->v[i]->v[k];
            if (!hook_matches(hook, &l.m, &kv)) {
                continue;
            }
            int one = ask(w, hook, kv, &a);
            open = open || one == ERR_AGAIN;
            one = one == 0 ? settle(w, hook, a) : one;
            if (one != 0 && one != ERR_AGAIN && r == 0) {
                r = one;
            }
        }
    }
    return open ? ERR_AGAIN : r;
}

int hooks_validate(struct write *w) {
    return ask_all(w, &w->s->hooks->lists[VALIDATING], false);
}

/* The first webhook that must be asked before a session with a pod, or NULL. */
static const struct hook *asks_of_connect(const struct hook_list *list,
                                          const struct hook_match *m) {
    const struct kind_version *kv;
    for (size_t i = 0; i < list->n; i++) {
        for (size_t k = 0; k < list->v[i]->n; k++) {
            const struct hook *hook = &list->v[i]->v[k];
            if (!hook->ignore && hook_matches(hook, m, &kv)) {
                return hook;
            }
        }
    }
    return NULL;
}

int hooks_connect(struct call *c) {
    static const struct str_map none;
    const struct hooks *h = c->s->hooks;
    const struct api_request *q = &c->req;
    const struct object *ns = mirror_get(c->s->o.mirror, h->namespaces, (struct str){0}, q->ns);
    struct hook_match m = {.kind = q->kind,
                           .version = q->version,
                           .subresource = q->subresource,
                           .operation = STR("CONNECT"),
                           .namespace_labels = ns != NULL ? &ns->labels : &none};
    const struct hook *hook = asks_of_connect(&h->lists[MUTATING], &m);
    hook = hook != NULL ? hook : asks_of_connect(&h->lists[VALIDATING], &m);
    if (hook == NULL) {
        return 0;
    }
    return failure_forbidden(
        &c->failure, c->arena, q->kind, q->name,
        "webhook \"%.*s\" is to be asked about CONNECT of pods/%.*s, and this "
        "server cannot ask it: take CONNECT and \"*\" out of its operations, or "
        "set its failurePolicy to Ignore",
        STR_ARG(hook->name), STR_ARG(q->subresource));
}

int hooks_remove(struct write *w) {
    yyjson_mut_doc *doc = w->doc;
    w->doc = NULL; /* the question is about what is there */
    int r = ask_all(w, &w->s->hooks->lists[MUTATING], true);
    r = r ? r : ask_all(w, &w->s->hooks->lists[VALIDATING], true);
    w->doc = doc;
    return r;
}
