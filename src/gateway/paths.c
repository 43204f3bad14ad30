/* paths: see paths.h. */
#include "gateway/paths.h"

#include "gateway/routes.h"

/* clang-format off */
static const struct paths_rule rules[] = {
    {"POST", "/v1/chat/completions", PATHS_IN_BODY, ROUTES_OPENAI, "chat", .usage = true},
    {"POST", "/v1/completions", PATHS_IN_BODY, ROUTES_OPENAI, "text_completion", .usage = true},
    {"POST", "/v1/embeddings", PATHS_IN_BODY, ROUTES_OPENAI, "embeddings"},
    {"POST", "/v1/responses", PATHS_IN_BODY, ROUTES_OPENAI, "responses", .stores = true},
    {"POST", "/v1/responses/input_tokens", PATHS_IN_BODY, ROUTES_OPENAI, "input_tokens"},
    {"POST", "/v1/messages", PATHS_IN_BODY, ROUTES_OPENAI, "chat", .anthropic = true},
    {"POST", "/v1/messages/count_tokens", PATHS_IN_BODY, ROUTES_OPENAI, "count_tokens",
     .anthropic = true},
    {"POST", "/anthropic/v1/messages", PATHS_IN_BODY, ROUTES_OPENAI, "chat", "/v1/messages",
     .anthropic = true},
    {"POST", "/anthropic/v1/messages/count_tokens", PATHS_IN_BODY, ROUTES_OPENAI, "count_tokens",
     "/v1/messages/count_tokens", .anthropic = true},
    {"POST", "/v1/rerank", PATHS_IN_BODY, ROUTES_OPENAI, "rerank"},
    {"POST", "/v2/rerank", PATHS_IN_BODY, ROUTES_OPENAI, "rerank"},
    {"POST", "/rerank", PATHS_IN_BODY, ROUTES_OPENAI, "rerank"},
    {"POST", "/v1/moderations", PATHS_IN_BODY, ROUTES_OPENAI, "moderations"},
    {"POST", "/v1/audio/transcriptions", PATHS_IN_BODY, ROUTES_OPENAI, "transcriptions"},
    {"POST", "/v1/audio/translations", PATHS_IN_BODY, ROUTES_OPENAI, "translations"},
    {"POST", "/v1/audio/speech", PATHS_IN_BODY, ROUTES_OPENAI, "speech"},
    {"POST", "/v1/images/generations", PATHS_IN_BODY, ROUTES_OPENAI, "image_generation"},
    {"POST", "/v1/images/edits", PATHS_IN_BODY, ROUTES_OPENAI, "image_generation"},
    {"POST", "/tokenize", PATHS_IN_BODY, ROUTES_OPENAI, "tokenize"},
    {"POST", "/detokenize", PATHS_IN_BODY, ROUTES_OPENAI, "detokenize"},
    {"POST", "/score", PATHS_IN_BODY, ROUTES_OPENAI, "score"},
    {"POST", "/v1/score", PATHS_IN_BODY, ROUTES_OPENAI, "score"},
    {"POST", "/classify", PATHS_IN_BODY, ROUTES_OPENAI, "classify"},
    {"POST", "/pooling", PATHS_IN_BODY, ROUTES_OPENAI, "pooling"},
    {"GET", "/v1/models", PATHS_LIST, 0, "models"},
    {"GET", "/healthz", PATHS_OWN, 0, NULL},
    {"GET", "/readyz", PATHS_OWN, 0, NULL},
    {"GET", "/metrics", PATHS_OWN, 0, NULL},
};
/* With the model's name behind `path`. */
static const struct paths_rule prefixes[] = {
    {"POST", "/v1/models/", PATHS_IN_PATH, ROUTES_V1, "predict"},
    {"GET", "/v1/models/", PATHS_ONE, 0, "models"},
    {"POST", "/v2/models/", PATHS_IN_PATH, ROUTES_V2, "infer"},
    {"GET", "/v2/models/", PATHS_IN_PATH, ROUTES_V2, "metadata"},
};
/* What may follow the name, by protocol; of v2 also behind "/versions/VERSION". */
static const char *const after_v1[] = {":predict", ":explain"};
static const char *const after_v2_post[] = {"/infer", "/generate", "/generate_stream"};
static const char *const after_v2_get[] = {"/ready", ""};
/* clang-format on */

static bool ends_with(struct str path, const char *const *v, size_t n, struct str *ret_after) {
    for (size_t i = 0; i < n; i++) {
        if (str_ends(path, str_of(v[i])) && path.n > strlen(v[i])) {
            *ret_after = str_skip(path, path.n - strlen(v[i]));
            return true;
        }
    }
    return false;
}

/* "/versions/VERSION" at the end of a name belongs to what follows it, which goes on as it is: nothing that a server
 * would decode to a slash. */
static void cut_version(struct str *name, struct str *after) {
    const struct str mark = STR("/versions/");
    const char *p = memmem(name->p, name->n, mark.p, mark.n);
    size_t n = p ? (size_t)(name->p + name->n - p) - mark.n : 0;
    if (p && memchr(p + mark.n, '/', n) == NULL && memchr(p + mark.n, '%', n) == NULL) {
        *after = str_from(p, (size_t)(after->p + after->n - p));
        name->n = (size_t)(p - name->p);
    }
}

static bool split(const struct paths_rule *r, struct str rest, struct paths_found *ret) {
    struct str after = str_skip(rest, rest.n);
    bool ok = true;
    if (r->protocol == ROUTES_V1) {
        ok = ends_with(rest, after_v1, 2, &after);
    } else if (r->protocol == ROUTES_V2) {
        ok = *r->method == 'P' ? ends_with(rest, after_v2_post, 3, &after)
                               : ends_with(rest, after_v2_get, 2, &after);
    }
    struct str name = str_head(rest, rest.n - after.n);
    if (ok && r->protocol == ROUTES_V2) {
        cut_version(&name, &after);
    }
    *ret = (struct paths_found){r, name, after};
    return ok && name.n > 0 && *name.p != '/';
}

enum paths_answer paths_find(struct str method, struct str path, struct paths_found *ret) {
    bool known = false;
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        if (str_is(path, rules[i].path)) {
            if (str_is(method, rules[i].method)) {
                *ret = (struct paths_found){.rule = &rules[i]};
                return PATHS_FOUND;
            }
            known = true;
        }
    }
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        struct str prefix = str_of(prefixes[i].path);
        struct paths_found f;
        if (str_starts(path, prefix) && split(&prefixes[i], str_skip(path, prefix.n), &f)) {
            if (str_is(method, prefixes[i].method)) {
                *ret = f;
                return PATHS_FOUND;
            }
            known = true;
        }
    }
    return known ? PATHS_METHOD : PATHS_UNKNOWN;
}
