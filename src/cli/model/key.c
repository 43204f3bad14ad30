/*
 * key: `berth key create`, `berth key list`, `berth key revoke`: keys with which programs use a project's models.
 *
 * The secret is drawn here, from 256 random bits; the server is sent its SHA-256 and its first characters. So it exists
 * where it was printed and nowhere else.
 */
#include <time.h>

#include "api/serving/view_key.h"
#include "cli/kit/kit.h"
#include "cli/kit/table.h"
#include "net/tls.h"
#include "wire/text/base64.h"
#include "wire/text/time.h"

#define API "berth.dev/v1alpha1"
#define SECRET_BEGINS "sk-berth-"
#define NS_PER_S INT64_C(1000000000)

enum { SECRET_RANDOM = 32, SECRET_BYTES_MAX = 64, DAYS_MAX = 3650 };

static struct str keys_path(struct cli *c, struct str name) {
    return cli_path(c, API, "modelkeys", c->project, name, NULL);
}

static int64_t now_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * NS_PER_S;
}

/* ---- create ---- */

/* "90d", "12h", "4w"; at most ten years. */
static int read_expiry(const char *text, int64_t *ret_s, struct err *err) {
    struct str s = str_of(text);
    char unit = s.n ? s.p[s.n - 1] : 0;
    int64_t each = unit == 'h' ? 3600 : unit == 'd' ? 86400 : unit == 'w' ? 7 * 86400 : 0;
    int64_t n = 0;
    if (each == 0 || !str_to_i64(str_head(s, s.n - 1), &n) || n < 1 ||
        n > DAYS_MAX * INT64_C(86400) / each) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--expires %s: expected a number of hours, days or weeks, up to ten years, "
                       "like 12h, 90d or 4w",
                       text);
    }
    *ret_s = n * each;
    return 0;
}

static int read_number(struct cli *c, const char *option, int64_t least, int64_t most,
                       yyjson_mut_doc *d, yyjson_mut_val *into, const char *member) {
    const char *text = cli_value(&c->args, option);
    int64_t n;
    if (text == NULL) {
        return 0;
    }
    if (!str_to_i64(str_of(text), &n) || n < least || n > most) {
        return err_set(&c->err, ERR_BAD_REQUEST, "--%s %s: expected a number from %lld to %lld",
                       option, text, (long long)least, (long long)most);
    }
    return json_mset_i64(d, into, member, n);
}

static int put_limits(struct cli *c, yyjson_mut_doc *d, yyjson_mut_val *root) {
    static const char *const rows[][2] = {
        {"rpm", "requestsPerMinute"}, {"tpm", "tokensPerMinute"}, {"streams", "streams"}};
    yyjson_mut_val *limits = json_mensure(d, root, "spec.limits");
    int r = limits ? 0 : ERR_NOMEM;
    for (size_t i = 0; r == 0 && i < sizeof rows / sizeof *rows; i++) {
        r = read_number(c, rows[i][0], 0, MODEL_KEY_LIMIT_MAX, d, limits, rows[i][1]);
    }
    return r ? r
             : read_number(c, "priority", -MODEL_KEY_PRIORITY_MAX, MODEL_KEY_PRIORITY_MAX, d,
                           json_mensure(d, root, "spec"), "priority");
}

static int put_models(struct cli *c, yyjson_mut_doc *d, yyjson_mut_val *spec) {
    yyjson_mut_val *models = yyjson_mut_arr(d);
    const char *name;
    for (size_t i = 0; (name = cli_nth(&c->args, "model", i)) != NULL; i++) {
        if (!yyjson_mut_arr_add_strcpy(d, models, name)) {
            return ERR_NOMEM;
        }
    }
    return yyjson_mut_arr_size(models) ? json_mset(d, spec, STR("models"), models) : 0;
}

static int put_secret(struct cli *c, struct str secret, yyjson_mut_doc *d, yyjson_mut_val *spec) {
    char digest[MODEL_KEY_SHA256 + 1], until[TIME_TEXT_MAX];
    const char *expires = cli_value(&c->args, "expires");
    int64_t s = MODEL_KEY_DAYS * INT64_C(86400);
    int r = expires ? read_expiry(expires, &s, &c->err) : 0;
    tls_sha256_text(secret, digest);
    r = r ? r : json_mset_str(d, spec, "sha256", str_of(digest));
    r = r ? r : json_mset_str(d, spec, "prefix", str_head(secret, MODEL_KEY_PREFIX_MAX));
    return r ? r : json_mset_str(d, spec, "expiresAt", time_text(now_ns() + s * NS_PER_S, until));
}

/* The object to create; in c->arena. */
static int manifest(struct cli *c, struct str secret, struct str *ret) {
    const char *purpose = cli_value(&c->args, "purpose");
    yyjson_mut_doc *d = json_mut_new(&c->arena);
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL;
    yyjson_mut_val *meta = root ? json_mensure(d, root, "metadata") : NULL;
    yyjson_mut_val *spec = meta ? json_mensure(d, root, "spec") : NULL;
    bool named = c->args.n_args > 1;
    if (spec == NULL) {
        return err_set(&c->err, ERR_NOMEM, "no memory");
    }
    int r = json_mset_str(d, root, "apiVersion", STR(API));
    r = r ? r : json_mset_str(d, root, "kind", STR("ModelKey"));
    r = r ? r
          : json_mset_str(d, meta, named ? "name" : "generateName",
                          str_of(named ? c->args.args[1] : "key-"));
    r = r ? r : put_secret(c, secret, d, spec);
    r = r ? r : put_models(c, d, spec);
    r = r ? r : put_limits(c, d, root);
    r = r || purpose == NULL ? r : json_mset_str(d, spec, "purpose", str_of(purpose));
    struct buf b;
    buf_init(&b, 0);
    if (r == 0) {
        json_write_mut(&b, root);
        *ret = arena_str(&c->arena, buf_view(&b));
    }
    buf_release(&b);
    return r == 0 || c->err.code ? r : err_set(&c->err, ERR_NOMEM, "no memory");
}

/* The object with its secret beside it; false for tables. */
static bool print_made(struct cli *c, yyjson_val *made, struct str secret) {
    yyjson_mut_doc *d = json_mut_copy(&c->arena, made);
    yyjson_mut_val *root = d ? yyjson_mut_doc_get_root(d) : NULL;
    struct buf text;
    if (c->format == FORMAT_TABLE || c->format == FORMAT_WIDE) {
        return false;
    }
    buf_init(&text, 0);
    if (root && json_mset_str(d, root, "secret", secret) == 0) {
        json_write_mut(&text, root);
    }
    (void)cli_print_text(c, &text);
    return true;
}

static int create(struct cli *c) {
    unsigned char random[SECRET_RANDOM];
    struct buf secret;
    struct str body = {0};
    yyjson_val *made = NULL;
    int r = tls_random(random, sizeof random, &c->err);
    buf_init(&secret, SECRET_BYTES_MAX);
    buf_c(&secret, SECRET_BEGINS);
    base64url_encode(&secret, (struct str){(const char *)random, sizeof random});
    r = r ? r : manifest(c, buf_view(&secret), &body);
    if (r == ERR_BAD_REQUEST) {
        buf_release(&secret);
        struct err e = c->err;
        return cli_usage(c, "%s", e.text);
    }
    r = r ? r : cli_request(c, "POST", keys_path(c, (struct str){0}), body, &made);
    if (r != 0) {
        buf_release(&secret);
        return cli_fail(c, NULL);
    }
    if (!print_made(c, made, buf_view(&secret))) {
        struct str name = json_str_at(made, "metadata.name"),
                   until = json_str_at(made, "spec.expiresAt");
        fprintf(stderr,
                "modelkey/%.*s made in project \"%.*s\", valid until %.*s; the secret is not shown "
                "again:\n",
                STR_ARG(name), STR_ARG(c->project), STR_ARG(until));
        printf("%s\n", buf_cstr(&secret));
    }
    buf_release(&secret);
    return CLI_OK;
}

/* ---- list ---- */

static struct str state_of(yyjson_val *key, enum table_style *style) {
    int64_t until = 0;
    *style = STYLE_DIM;
    if (json_bool_at(key, "spec.revoked", false)) {
        return STR("revoked");
    }
    if (time_parse(json_str_at(key, "spec.expiresAt"), &until, NULL) != 0 &&
        time_parse(json_str_at(key, "metadata.creationTimestamp"), &until, NULL) == 0) {
        until += MODEL_KEY_DAYS * INT64_C(86400) * NS_PER_S;
    }
    if (until <= now_ns()) {
        return STR("expired");
    }
    *style = STYLE_GOOD;
    return STR("valid");
}

static struct str models_of(struct cli *c, yyjson_val *key) {
    yyjson_val *list = json_path(key, "spec.models"), *v;
    size_t i, n;
    struct buf b;
    buf_init(&b, 0);
    yyjson_arr_foreach(list, i, n, v) {
        buf_c(&b, i ? ", " : "");
        buf_str(&b, json_str(v));
    }
    struct str text = b.n ? arena_str(&c->arena, buf_view(&b)) : STR("all");
    buf_release(&b);
    return text;
}

static struct str limits_of(struct cli *c, yyjson_val *key) {
    static const char *const rows[][2] = {{"spec.limits.requestsPerMinute", "requests/min"},
                                          {"spec.limits.tokensPerMinute", "tokens/min"},
                                          {"spec.limits.streams", "streams"}};
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t n = json_i64_at(key, rows[i][0], 0);
        if (n > 0) {
            buf_f(&b, "%s%lld %s", b.n ? ", " : "", (long long)n, rows[i][1]);
        }
    }
    struct str text = b.n ? arena_str(&c->arena, buf_view(&b)) : STR("none");
    buf_release(&b);
    return text;
}

static void add_row(struct cli *c, struct table *t, yyjson_val *key) {
    struct str used = json_str_at(key, "status.lastUsed");
    enum table_style style;
    struct str state = state_of(key, &style);
    size_t col = 0;
    table_row(t);
    table_set(t, col++, STYLE_PLAIN, json_str_at(key, "metadata.name"));
    table_set(t, col++, STYLE_PLAIN, json_str_at(key, "spec.prefix"));
    table_set(t, col++, style, state);
    table_set(t, col++, STYLE_PLAIN, json_str_at(key, "spec.user"));
    table_set(t, col++, STYLE_PLAIN, models_of(c, key));
    table_set(t, col++, STYLE_PLAIN, limits_of(c, key));
    table_set(t, col++, STYLE_PLAIN, json_str_at(key, "spec.expiresAt"));
    table_set(t, col++, STYLE_PLAIN, used.n ? cli_age(c, used) : STR("never"));
    if (c->format == FORMAT_WIDE) {
        table_set(t, col++, STYLE_PLAIN,
                  arena_f(&c->arena, "%lld", (long long)json_i64_at(key, "spec.priority", 0)));
        table_set(t, col++, STYLE_PLAIN, json_str_at(key, "spec.purpose"));
    }
}

static int list(struct cli *c) {
    static const char *const headers[] = {"NAME",   "PREFIX",  "STATE",    "USER",     "MODELS",
                                          "LIMITS", "EXPIRES", "LAST USE", "PRIORITY", "PURPOSE"};
    yyjson_val *all, *key;
    size_t i, n;
    struct table t;
    struct buf b;
    if (cli_get(c, keys_path(c, (struct str){0}), &all) != 0) {
        return cli_fail(c, NULL);
    }
    yyjson_val *items = json_get(all, STR("items"));
    if (yyjson_arr_size(items) == 0 && cli_no_project(c)) {
        return cli_fail(c, NULL);
    }
    if (cli_print(c, all)) {
        return CLI_OK;
    }
    if (yyjson_arr_size(items) == 0) {
        fprintf(stderr, "project \"%.*s\" has no keys; `berth key create` makes one\n",
                STR_ARG(c->project));
        return CLI_OK;
    }
    table_init(&t, &c->arena, headers, c->format == FORMAT_WIDE ? 10 : 8);
    yyjson_arr_foreach(items, i, n, key) {
        add_row(c, &t, key);
    }
    buf_init(&b, 0);
    table_write(&t, c->colour, c->format == FORMAT_WIDE ? 0 : c->columns, &b);
    cli_out(&b);
    buf_release(&b);
    return CLI_OK;
}

/* ---- revoke ---- */

/* The key that is called this, or whose secret begins so; empty: none, or several. */
static struct str find(struct cli *c, yyjson_val *items, struct str word) {
    struct str found = {0};
    yyjson_val *key;
    size_t i, n, matches = 0;
    yyjson_arr_foreach(items, i, n, key) {
        struct str name = json_str_at(key, "metadata.name"),
                   prefix = json_str_at(key, "spec.prefix");
        if (str_eq(name, word)) {
            return name;
        }
        if (word.n > sizeof SECRET_BEGINS && str_starts(word, STR(SECRET_BEGINS)) &&
            (str_starts(prefix, word) || (prefix.n && str_starts(word, prefix)))) {
            found = name;
            matches++;
        }
    }
    if (matches != 1) {
        err_set(&c->err, ERR_NOT_FOUND,
                matches ? "\"%.*s\" begins several keys of project \"%.*s\"; name one"
                        : "there is no key \"%.*s\" in project \"%.*s\"",
                STR_ARG(word), STR_ARG(c->project));
    }
    return matches == 1 ? found : (struct str){0};
}

static int revoke_one(struct cli *c, yyjson_val *items, const char *word) {
    struct str name = find(c, items, str_of(word));
    struct buf answer;
    if (name.n == 0) {
        return cli_fail(c, NULL);
    }
    buf_init(&answer, 1 << 20);
    int r = kube_wait(c->client, "PATCH", keys_path(c, name), STR("{\"spec\":{\"revoked\":true}}"),
                      "application/merge-patch+json", &answer, &c->err);
    if (r != 0) {
        buf_release(&answer);
        return cli_fail(c, NULL);
    }
    if (c->format != FORMAT_TABLE && c->format != FORMAT_WIDE) {
        return cli_print_text(c, &answer);
    }
    printf("modelkey/%.*s revoked\n", STR_ARG(name));
    buf_release(&answer);
    return CLI_OK;
}

static int revoke(struct cli *c) {
    yyjson_val *all;
    int worst = CLI_OK;
    if (cli_get(c, keys_path(c, (struct str){0}), &all) != 0) {
        return cli_fail(c, NULL);
    }
    yyjson_val *items = json_get(all, STR("items"));
    for (size_t i = 1; i < c->args.n_args; i++) {
        if (yyjson_arr_size(items) == 0 && cli_no_project(c)) {
            return cli_fail(c, NULL);
        }
        int code = revoke_one(c, items, c->args.args[i]);
        worst = code ? code : worst;
    }
    return worst;
}

static int run(struct cli *c) {
    static const struct {
        const char *word;
        size_t least, most; /* arguments after it */
        int (*run)(struct cli *c);
    } words[] = {
        {"create", 0, 1, create}, {"list", 0, 0, list}, {"revoke", 1, CLI_ARGS_MAX, revoke}};
    const char *word = c->args.args[0];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = c->args.n_args - 1;
        if (strcmp(word, words[i].word) != 0) {
            continue;
        }
        if (n > words[i].most) {
            return cli_usage(c, "unexpected argument \"%s\"", c->args.args[words[i].most + 1]);
        }
        if (n < words[i].least) {
            return cli_usage(c, "key revoke: expected which key: a name of `berth key list`");
        }
        if (words[i].run == create && c->format == FORMAT_NAME) {
            return cli_usage(c, "key create: -o name would not show the secret, which is shown "
                                "only once");
        }
        int code = cli_connect(c);
        return code ? code : words[i].run(c);
    }
    return cli_usage(c, "key: expected create, list or revoke, not \"%s\"", word);
}

static const struct cli_option options[] = {
    {"model", 'm', "NAME", "create: a model it may use, or a pattern like llama-*; else all", NULL,
     true},
    {"expires", 0, "TIME", "create: how long it is valid, like 12h, 30d, 4w; else 90d", NULL,
     false},
    {"rpm", 0, "N", "create: requests a minute", NULL, false},
    {"tpm", 0, "N", "create: tokens a minute, of prompts and answers", NULL, false},
    {"streams", 0, "N", "create: requests at the same time", NULL, false},
    {"priority", 0, "N", "create: more goes first when a model is busy; the project bounds it",
     NULL, false},
    {"purpose", 0, "TEXT", "create: what the key is for", NULL, false},
};

const struct cli_verb cli_key = {
    .name = "key",
    .arguments = "create [NAME] | list | revoke NAME...",
    .words = "create list revoke",
    .summary = "keys with which programs use a project's models",
    .about = "Creates, lists and revokes keys for the gateway. A key belongs to a project and may "
             "use its\n"
             "models. The secret is generated on this machine, printed once on standard output, "
             "and stored\n"
             "nowhere: the server keeps its SHA-256. A key that leaked can be revoked by its name "
             "or by the\n"
             "first characters of the secret; it is refused from the next request on.",
    .examples = "  export OPENAI_API_KEY=$(berth key create -n team-a)\n"
                "  berth key create nightly -m 'llama-*' --rpm 600 --tpm 200000 --expires 30d\n"
                "  berth key list -o wide\n  berth key revoke nightly\n"
                "  berth key revoke " SECRET_BEGINS "x7k2pQr\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .min_args = 1,
    .max_args = CLI_ARGS_MAX,
    .run = run,
};
