/* convert: see server/kit/convert.h. What is asked and answered is in review.c; where, in write/hook_set.c. */
#include "server/kit/convert.h"

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "net/tls.h"
#include "server/convert/review.h"
#include "server/kit/names.h"
#include "server/write/hook_set.h"

enum {
    REVIEW_OBJECTS = 500,     /* of one review */
    REVIEW_BYTES = 4 << 20,   /* of them */
    ROUNDS_MAX = 32,          /* that one waits */
    ANSWER_BYTES = 128 << 20, /* of the arena of one answer */
    KEY = 32,
};

#define TIMEOUT_S 30
#define ERROR_NS NS_PER_SEC

/* One object in one state, and what it is in another version. */
struct conversion {
    char key[KEY]; /* SHA-256 of all that was asked */
    const struct kind *kind;
    enum { WANTED, ASKED, KNOWN, FAILED } state;
    struct str want; /* "group/version" */
    struct str text; /* WANTED, ASKED: the object; KNOWN: the other one; FAILED: why. All owned */
    int64_t failed;  /* monotonic */
    struct conversion *newer, *older;
    struct conversion *line; /* WANTED: the next one in line */
};

/* The webhook of one kind: of its definition as it is now. */
struct convert_hook {
    struct convert_hook *next, *due_next; /* of all; of those that may be asked */
    bool due;
    const struct kind *kind;
    struct hook_set *set;
    struct conversion *line, **line_end; /* WANTED, in the order in which they came */
    size_t calls;                        /* under way */
};

struct conversions {
    struct server *s;
    struct map all; /* by key */
    struct conversion *newest, *oldest;
    size_t bytes;  /* of all */
    size_t asking; /* of those that are WANTED or ASKED */
    bool deferred, releasing;
    const struct kind *last; /* whose conversion was not known */
    struct convert_wait *waiting;
    struct map by_kind; /* the hooks, by the bytes of the pointer to their kind */
    struct convert_hook *hooks, *due;
    struct convert_call *calls; /* under way */
    size_t n_calls;
};

struct convert_call {
    struct conversions *h;
    struct convert_hook *hook;
    struct hook_set *set;
    struct http_call *http;
    struct arena arena;
    const char *version; /* of the review */
    const struct kind *kind;
    struct str uid, url, want;
    struct conversion **v;
    size_t n;
    struct convert_call *next, **at;
};

static void flush(void *ctx);

/* A webhook that does not answer keeps the objects of its kind in line, not those of others. */
static void flush_soon(struct conversions *h, struct convert_hook *hook) {
    if (h->releasing || hook->line == NULL || hook->calls >= LIMIT_CONVERSION_CALLS) {
        return; /* the end of a call comes here again */
    }
    if (!hook->due) {
        hook->due = true;
        hook->due_next = h->due;
        h->due = hook;
    }
    if (!h->deferred) {
        h->deferred = loop_defer(h->s->o.loop, flush, h) == 0;
    }
}

/* ---- what is known ---- */

static void unlink_one(struct conversions *h, struct conversion *c) {
    *(c->newer ? &c->newer->older : &h->newest) = c->older;
    *(c->older ? &c->older->newer : &h->oldest) = c->newer;
}

static void link_newest(struct conversions *h, struct conversion *c) {
    c->older = h->newest;
    c->newer = NULL;
    *(h->newest ? &h->newest->newer : &h->oldest) = c;
    h->newest = c;
}

static void forget(struct conversions *h, struct conversion *c) {
    (void)map_del(&h->all, str_from(c->key, KEY));
    unlink_one(h, c);
    h->bytes -= c->text.n;
    mem_free((void *)(uintptr_t)c->text.p);
    mem_free((void *)(uintptr_t)c->want.p);
    mem_free(c);
}

/* Those that nobody asked for lately go first; what is being asked stays. */
static void make_room(struct conversions *h) {
    struct conversion *c = h->oldest;
    while (c != NULL && h->bytes > LIMIT_CONVERSION_BYTES) {
        struct conversion *newer = c->newer;
        if (c->state == KNOWN || c->state == FAILED) {
            forget(h, c);
        }
        c = newer;
    }
}

static void set_text(struct conversions *h, struct conversion *c, struct str text) {
    char *copy = mem_cstr(text);
    h->bytes -= c->text.n;
    mem_free((void *)(uintptr_t)c->text.p);
    c->text = copy != NULL ? str_from(copy, text.n) : (struct str){0};
    h->bytes += c->text.n;
}

static struct str kind_key(const struct kind *const *k) {
    return str_from((const char *)k, sizeof(*k));
}

/* NULL: out of memory. */
static struct convert_hook *hook_for(struct conversions *h, const struct kind *k) {
    struct convert_hook *hook = map_get(&h->by_kind, kind_key(&k));
    if (hook != NULL || (hook = mem_zalloc(sizeof(*hook))) == NULL) {
        return hook;
    }
    hook->kind = k;
    hook->line_end = &hook->line;
    if (map_put(&h->by_kind, kind_key(&hook->kind), hook, NULL) != 0) {
        mem_free(hook);
        return NULL;
    }
    hook->next = h->hooks;
    h->hooks = hook;
    return hook;
}

static struct conversion *want_one(struct conversions *h, const struct kind *k, const char key[KEY],
                                   struct str want, struct str text) {
    struct convert_hook *hook = hook_for(h, k);
    struct conversion *c = hook != NULL ? mem_zalloc(sizeof(*c)) : NULL;
    if (c == NULL) {
        return NULL;
    }
    char *copy = mem_cstr(want);
    memcpy(c->key, key, KEY);
    c->kind = k;
    c->want = copy != NULL ? str_from(copy, want.n) : (struct str){0};
    link_newest(h, c);
    set_text(h, c, text);
    if (copy == NULL || c->text.p == NULL ||
        map_put(&h->all, str_from(c->key, KEY), c, NULL) != 0) {
        forget(h, c);
        return NULL;
    }
    h->asking += c->text.n;
    *hook->line_end = c;
    hook->line_end = &c->line;
    flush_soon(h, hook);
    return c;
}

/* It is answered, one way or the other. */
static void end_asking(struct conversions *h, struct conversion *c, bool known) {
    h->asking -= c->text.n;
    c->state = known ? KNOWN : FAILED;
}

/* ---- converting ---- */

static const struct object *definition_of(struct conversions *h, const struct kind *k,
                                          struct arena *a) {
    static const struct kind *definitions;
    if (definitions == NULL) {
        definitions = kind_by_name(STR("apiextensions.k8s.io"), STR("CustomResourceDefinition"));
    }
    struct str name = arena_f(a, "%s.%s", k->plural, k->group);
    return mirror_get(h->s->o.mirror, definitions, (struct str){0}, name);
}

static void make_key(uint64_t generation, struct str want, struct str text, char key[KEY]) {
    struct buf b;
    buf_init(&b, 0);
    buf_u64(&b, generation);
    buf_ch(&b, '\n');
    buf_str(&b, want);
    buf_ch(&b, '\n');
    buf_str(&b, text);
    tls_sha256(buf_view(&b), (unsigned char *)key);
    buf_release(&b);
}

static int use(struct conversions *h, struct conversion *c, yyjson_mut_doc *d, struct err *err) {
    yyjson_doc *doc;
    unlink_one(h, c);
    link_newest(h, c);
    if (c->state == FAILED) {
        return err_set(err, ERR_INTERNAL, "%.*s", STR_ARG(c->text));
    }
    int r = json_parse(json_arena(d), c->text, &doc, err);
    yyjson_mut_val *root = r == 0 ? yyjson_val_mut_copy(d, yyjson_doc_get_root(doc)) : NULL;
    if (root == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    yyjson_mut_doc_set_root(d, root);
    return 0;
}

static int ask(struct conversions *h, const struct kind *k, const char key[KEY], struct str want,
               struct str text, struct err *err) {
    if (h->asking > LIMIT_CONVERSION_BYTES) {
        return err_set(err, ERR_TOO_MANY, "too much waits for conversion webhooks");
    }
    if (text.n > LIMIT_OBJECT_BYTES * 2 || want_one(h, k, key, want, text) == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    h->last = k;
    return err_set(err, ERR_AGAIN, "a conversion webhook is being asked");
}

static int convert(void *ctx, const struct kind *k, const char *version, yyjson_mut_doc *d,
                   struct err *err) {
    struct conversions *h = ctx;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    struct arena *a = json_arena(d);
    struct str want = arena_f(a, "%s/%s", k->group, version);
    char key[KEY];
    struct buf b;
    if (str_eq(json_mstr_at(root, "apiVersion"), want)) {
        return 0;
    }
    const struct object *crd = definition_of(h, k, a);
    if (crd == NULL || arena_ok(a) != 0) {
        return err_set(err, ERR_NOMEM, "the definition of %s.%s is not there", k->plural, k->group);
    }
    buf_init(&b, 0);
    json_write_mut(&b, root);
    int r = buf_ok(&b) != 0 ? err_set(err, ERR_NOMEM, "out of memory") : 0;
    if (r == 0) {
        make_key(crd->rv, want, buf_view(&b), key);
        struct conversion *c = map_get(&h->all, str_from(key, KEY));
        if (c != NULL && c->state == FAILED &&
            clock_mono(h->s->clock) - c->failed > ERROR_NS) { /* perhaps it can by now */
            forget(h, c);
            c = NULL;
        }
        if (c == NULL) {
            r = ask(h, k, key, want, buf_view(&b), err);
        } else if (c->state == WANTED || c->state == ASKED) {
            h->last = k;
            r = err_set(err, ERR_AGAIN, "a conversion webhook is being asked");
        } else {
            r = use(h, c, d, err);
        }
    }
    buf_release(&b);
    return r;
}

/* ---- waiting ---- */

bool convert_await(struct server *s, struct convert_wait *w) {
    struct conversions *h = s->conversions;
    if (w->at != NULL) {
        return true;
    }
    if (h->releasing || ++w->rounds > ROUNDS_MAX) {
        return false;
    }
    w->kind = h->last;
    w->next = h->waiting;
    w->at = &h->waiting;
    if (w->next != NULL) {
        w->next->at = &w->next;
    }
    h->waiting = w;
    return true;
}

void convert_forget(struct convert_wait *w) {
    if (w->at != NULL) {
        *w->at = w->next;
        if (w->next != NULL) {
            w->next->at = w->at;
        }
        w->at = NULL;
        w->next = NULL;
    }
}

/* Those who wait for objects of this kind; whoever waits again meanwhile does so for the next answer. */
static void wake(struct conversions *h, const struct kind *k) {
    struct convert_wait *ready = NULL, *next;
    for (struct convert_wait *w = h->waiting; w != NULL; w = next) {
        next = w->next;
        if (w->kind == k) {
            convert_forget(w);
            w->next = ready;
            w->at = &ready;
            if (ready != NULL) {
                ready->at = &w->next;
            }
            ready = w;
        }
    }
    while (ready != NULL) {
        struct convert_wait *w = ready;
        convert_forget(w);
        w->ready(w);
    }
}

/* ---- asking ---- */

static void fail(struct conversions *h, struct conversion *c, struct str from, const char *why) {
    char text[700];
    (void)snprintf(text, sizeof(text), "conversion webhook for %.*s, Kind=%s %s", STR_ARG(from),
                   c->kind->kind, why);
    if (c->state == WANTED || c->state == ASKED) {
        end_asking(h, c, false);
    }
    c->state = FAILED;
    c->failed = clock_mono(h->s->clock);
    set_text(h, c, str_of(text));
}

/* The version that the object is in, as it was asked about. */
static struct str version_in(struct arena *a, const struct conversion *c) {
    yyjson_doc *doc;
    return json_parse(a, c->text, &doc, NULL) == 0
               ? json_str_at(yyjson_doc_get_root(doc), "apiVersion")
               : (struct str){0};
}

static void fail_all(struct convert_call *call, const struct err *err) {
    char why[600];
    (void)snprintf(why, sizeof(why), "failed: %s", err->text);
    for (size_t i = 0; i < call->n; i++) {
        fail(call->h, call->v[i], version_in(&call->arena, call->v[i]), why);
    }
}

static void call_free(struct convert_call *c) {
    *c->at = c->next;
    if (c->next != NULL) {
        c->next->at = c->at;
    }
    c->h->n_calls--;
    c->hook->calls--;
    flush_soon(c->h, c->hook);
    hook_set_unref(c->set);
    arena_release(&c->arena);
    mem_free(c);
}

/* One object that came back, or the reason why it counts for nothing. */
static void settle(struct convert_call *call, struct conversion *c, yyjson_val *got) {
    struct err err = {0};
    struct buf b;
    buf_init(&b, 0);
    if (review_settle(&call->arena, c->text, got, call->want, &b, &err) != 0) {
        fail(call->h, c, version_in(&call->arena, c), err.text);
    } else {
        end_asking(call->h, c, true);
        set_text(call->h, c, buf_view(&b));
        if (c->text.p == NULL) {
            fail(call->h, c, (struct str){0}, "failed: out of memory");
        }
    }
    buf_release(&b);
}

static void answered(void *ctx, const struct http_reply *r) {
    struct convert_call *call = ctx;
    struct conversions *h = call->h;
    const struct kind *kind = call->kind;
    struct err err = {0};
    yyjson_val *list = NULL, *got;
    size_t i, n;
    call->http = NULL;
    int code = review_answer(&call->arena, call->version, call->uid, call->url, r, &list, &err);
    if (code == 0 && yyjson_arr_size(list) != call->n) {
        (void)err_set(&err, ERR_INTERNAL, "returned %zu objects, expected %zu",
                      yyjson_arr_size(list), call->n);
        code = ERR_INTERNAL;
    }
    if (code != 0) {
        fail_all(call, &err);
    }
    yyjson_arr_foreach(list, i, n, got) {
        if (code == 0) {
            settle(call, call->v[i], got);
        }
    }
    call_free(call);
    make_room(h);
    wake(h, kind);
}

/* The webhook of the definition as it is now: a set of one hook. */
static struct hook_set *hook_of(struct conversions *h, struct convert_hook *hook, struct arena *a,
                                struct err *err) {
    const struct object *crd = definition_of(h, hook->kind, a);
    if (crd == NULL) {
        (void)err_set(err, ERR_NOT_FOUND, "the definition is gone");
        return NULL;
    }
    if (hook->set == NULL || hook->set->rv != crd->rv) {
        hook_set_unref(hook->set);
        hook->set = NULL;
        (void)hook_set_of_conversion(h->s->o.loop, crd, &hook->set);
    }
    if (hook->set == NULL) {
        (void)err_set(err, ERR_NOMEM, "out of memory");
    }
    return hook->set;
}

static int send_call(struct convert_call *call, struct str objects, struct err *err) {
    static const struct str headers[] = {{"Content-Type: application/json", 30},
                                         {"Accept: application/json", 24}};
    struct conversions *h = call->h;
    struct http_client *client;
    char uid[UID_TEXT_MAX];
    struct buf body;
    struct str url;
    if (h->n_calls > LIMIT_WEBHOOK_CALLS) {
        return err_set(err, ERR_TOO_MANY, "too many webhooks are being asked");
    }
    struct hook_set *set = hook_of(h, call->hook, &call->arena, err);
    if (set == NULL) {
        return err->code;
    }
    call->set = hook_set_ref(set);
    call->version = set->n > 0 ? review_version(set->v[0].tree) : NULL;
    if (call->version == NULL) {
        return err_set(err, ERR_INTERNAL, "no supported conversion review versions");
    }
    int r = names_uid(h->s, uid, err);
    r = r ? r : hook_target(&set->v[0], h->s->o.mirror, &call->arena, &client, &url, err);
    if (r != 0) {
        return r;
    }
    call->uid = arena_str(&call->arena, str_of(uid));
    call->url = arena_f(&call->arena, "%.*s%ctimeout=%ds", STR_ARG(url),
                        str_find(url, '?') >= 0 ? '&' : '?', TIMEOUT_S);
    buf_init(&body, 0);
    review_body(call->version, call->uid, call->want, objects, &body);
    struct http_call_options o = {
        .method = "POST",
        .url = call->url,
        .headers = headers,
        .n_headers = 2,
        .body = buf_view(&body),
        .timeout_ms = TIMEOUT_S * 1000,
        .body_max = LIMIT_WEBHOOK_BODY_BYTES,
        .done = answered,
        .ctx = call,
    };
    r = buf_ok(&body) != 0 || arena_ok(&call->arena) != 0
            ? err_set(err, ERR_NOMEM, "out of memory")
            : http_client_send(client, &o, &call->http, err);
    buf_release(&body);
    return r;
}

static struct convert_call *call_new(struct conversions *h, struct convert_hook *hook) {
    struct convert_call *c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        return NULL;
    }
    c->h = h;
    c->hook = hook;
    c->kind = hook->kind;
    arena_init(&c->arena, ANSWER_BYTES);
    c->want = arena_str(&c->arena, hook->line->want);
    c->v = ARENA_ARRAY(&c->arena, struct conversion *, REVIEW_OBJECTS);
    c->next = h->calls;
    c->at = &h->calls;
    if (c->next != NULL) {
        c->next->at = &c->next;
    }
    h->calls = c;
    h->n_calls++;
    hook->calls++;
    return c;
}

/* Out of the line. */
static struct conversion *take_from(struct convert_hook *hook, struct conversion **at) {
    struct conversion *c = *at;
    *at = c->line;
    hook->line_end = *at == NULL ? at : hook->line_end;
    c->line = NULL;
    c->state = ASKED;
    return c;
}

/* All that is wanted in the version that the first in line is wanted in, as far as a review goes. */
static void gather(struct convert_call *call, struct buf *out) {
    struct convert_hook *hook = call->hook;
    for (struct conversion **at = &hook->line; *at != NULL && call->n < REVIEW_OBJECTS;) {
        struct conversion *c = *at;
        if (!str_eq(c->want, call->want) || (call->n > 0 && out->n + c->text.n > REVIEW_BYTES)) {
            at = &c->line;
            continue;
        }
        buf_c(out, call->n > 0 ? "," : "");
        buf_str(out, c->text);
        call->v[call->n++] = take_from(hook, at);
    }
}

/* The next review of a kind's line. False: nothing was asked, and those that it was about have failed. */
static bool ask_together(struct conversions *h, struct convert_hook *hook) {
    struct convert_call *call = call_new(h, hook);
    struct err err = {0};
    struct buf b;
    if (call == NULL || call->v == NULL || call->want.p == NULL) {
        fail(h, take_from(hook, &hook->line), (struct str){0}, "failed: out of memory");
        if (call != NULL) {
            call_free(call);
        }
        return false;
    }
    buf_init(&b, 0);
    gather(call, &b);
    int r = buf_ok(&b) != 0 ? err_set(&err, ERR_NOMEM, "out of memory")
                            : send_call(call, buf_view(&b), &err);
    buf_release(&b);
    if (r != 0) {
        fail_all(call, &err);
        call_free(call);
    }
    return r == 0;
}

static void flush(void *ctx) {
    struct conversions *h = ctx;
    h->deferred = false;
    if (h->releasing) {
        mem_free(h);
        return;
    }
    while (h->due != NULL) {
        struct convert_hook *hook = h->due;
        h->due = hook->due_next;
        hook->due = false;
        bool failed = false;
        while (hook->line != NULL && hook->calls < LIMIT_CONVERSION_CALLS) {
            failed = !ask_together(h, hook) || failed;
        }
        if (failed) {
            wake(h, hook->kind);
        }
    }
}

/* ---- life ---- */

int convert_init(struct server *s, struct err *err) {
    struct conversions *h = mem_zalloc(sizeof(*h));
    if (h == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    h->s = s;
    map_init(&h->all);
    map_init(&h->by_kind);
    s->conversions = h;
    kinds_converter(convert, h);
    return 0;
}

void convert_release(struct server *s) {
    struct conversions *h = s->conversions;
    if (h == NULL) {
        return;
    }
    kinds_converter(NULL, NULL);
    h->releasing = true;
    while (h->waiting != NULL) {
        struct convert_wait *w = h->waiting;
        convert_forget(w);
        if (w->drop != NULL) {
            w->drop(w);
        }
    }
    while (h->calls != NULL) {
        if (h->calls->http != NULL) {
            http_call_cancel(h->calls->http);
        }
        call_free(h->calls);
    }
    while (h->newest != NULL) {
        forget(h, h->newest);
    }
    while (h->hooks != NULL) {
        struct convert_hook *hook = h->hooks;
        h->hooks = hook->next;
        hook_set_unref(hook->set);
        mem_free(hook);
    }
    map_release(&h->all);
    map_release(&h->by_kind);
    s->conversions = NULL;
    if (!h->deferred) {
        mem_free(h);
    }
}
