/*
 * chat: `berth chat MODEL` talks to a served model through the gateway, as any client of OpenAI's API would.
 *
 * Answers are printed as they come. What the model says does not steer the terminal: control characters become blanks.
 * A key is sent over https, and over http to this machine alone.
 */
#include <stdlib.h>
#include <unistd.h>

#include "cli/kit/kit.h"
#include "net/http_client.h"

enum {
    TURNS_MAX = 400,          /* messages of a conversation */
    HISTORY_MAX = 1 << 20,    /* bytes of it */
    LINE_MAX_BYTES = 1 << 20, /* of an event */
    KEY_MAX = 4096,
    FRESH_TRIES = 8,
    FRESH_MS = 250,
};

struct chat_turn {
    const char *role;
    struct str text;
};

struct chat {
    struct cli *c;
    struct http_client *http;
    struct str url, key, model;
    struct chat_turn turns[TURNS_MAX];
    size_t n, bytes;
    struct buf line, said; /* of the answer under way: an event that has not ended, and its text */
    bool starting;         /* it was said that the model starts */
    bool done;
    int code;
};

/* ---- an answer, as it comes ---- */

/* Text of JSON is UTF-8: U+0080 to U+009F, which terminals obey as well, are C2 and one byte more. */
static void print_text(struct str text) {
    char piece[4096];
    unsigned char before = 0;
    while (text.n > 0) {
        size_t n = text.n < sizeof(piece) ? text.n : sizeof(piece);
        for (size_t i = 0; i < n; i++) {
            unsigned char ch = (unsigned char)text.p[i];
            bool wide = before == 0xc2 && ch < 0xa0; /* U+00A0 is a blank, and as long */
            bool steers = (ch < ' ' && ch != '\n' && ch != '\t') || ch == 127;
            piece[i] = steers ? ' ' : wide ? (char)0xa0 : (char)ch;
            before = ch;
        }
        (void)fwrite(piece, 1, n, stdout);
        text = str_skip(text, n);
    }
    (void)fflush(stdout);
}

/* An error that the gateway answered with. It was reached, so no code says that it was not. */
static int set_error(struct chat *t, int status, yyjson_val *error) {
    struct str text = json_str_at(error, "message");
    int code = status == 401   ? ERR_UNAUTHORIZED
               : status == 403 ? ERR_FORBIDDEN
               : status == 404 ? ERR_NOT_FOUND
               : status == 429 ? ERR_TOO_MANY
               : status == 503 ? ERR_TOO_MANY
               : status == 400 ? ERR_BAD_REQUEST
                               : ERR_INTERNAL;
    return text.n > 0 ? err_set(&t->c->err, code, "%.*s", STR_ARG(text))
                      : err_set(&t->c->err, code, "the gateway answered with status %d", status);
}

/* "data: {...}" or a comment, with which the gateway keeps the connection while the model starts. */
static void take_event(struct chat *t, struct str line) {
    yyjson_doc *doc;
    struct arena a;
    if (str_starts(line, STR(":")) && !t->starting && t->said.n == 0) {
        t->starting = true;
        fprintf(stderr, "the model starts ...\n");
    }
    if (!str_starts(line, STR("data:"))) {
        return;
    }
    arena_init(&a, 4 * LINE_MAX_BYTES);
    if (json_parse(&a, str_trim(str_skip(line, 5)), &doc, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc), *error = json_get(root, STR("error"));
        yyjson_val *choice = yyjson_arr_get_first(json_get(root, STR("choices")));
        struct str text = json_str(json_path(choice, "delta.content"));
        print_text(text);
        buf_str(&t->said, text);
        if (error != NULL) {
            t->code = set_error(t, 503, error);
        }
    }
    arena_release(&a);
}

static bool take(void *ctx, struct str bytes) {
    struct chat *t = ctx;
    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] == '\n') {
            take_event(t, buf_view(&t->line));
            buf_reset(&t->line);
        } else {
            buf_ch(&t->line, bytes.p[i]);
        }
    }
    return t->code == 0 && buf_ok(&t->line) == 0 && buf_ok(&t->said) == 0;
}

static void ended(void *ctx, const struct http_reply *r) {
    struct chat *t = ctx;
    yyjson_doc *doc = NULL;
    if (t->code != 0) {
        /* said by an event */
    } else if (r->code == ERR_GONE) {
        t->code = err_set(&t->c->err, ERR_TOO_LARGE, "the answer is too long");
    } else if (r->code != 0) {
        t->c->err = r->err;
        t->code = t->c->err.code = r->code;
    } else if (r->status != 200) {
        bool json = json_parse(&t->c->arena, r->body, &doc, NULL) == 0;
        t->code =
            set_error(t, r->status, json ? json_get(yyjson_doc_get_root(doc), STR("error")) : NULL);
    }
    t->done = true;
    loop_stop(t->c->loop);
}

/* ---- a turn ---- */

static int body_of(const struct chat *t, struct buf *b) {
    const char *most = cli_value(&t->c->args, "max-tokens");
    buf_c(b, "{\"model\":");
    buf_json(b, t->model);
    buf_c(b, ",\"stream\":true");
    if (most != NULL) {
        buf_f(b, ",\"max_tokens\":%s", most);
    }
    buf_c(b, ",\"messages\":[");
    for (size_t i = 0; i < t->n; i++) {
        buf_f(b, "%s{\"role\":\"%s\",\"content\":", i > 0 ? "," : "", t->turns[i].role);
        buf_json(b, t->turns[i].text);
        buf_ch(b, '}');
    }
    buf_c(b, "]}");
    return buf_ok(b);
}

static int add(struct chat *t, const char *role, struct str text) {
    if (t->n == TURNS_MAX || t->bytes + text.n > HISTORY_MAX) {
        return err_set(&t->c->err, ERR_TOO_LARGE,
                       "the conversation is too long; begin another with /new");
    }
    t->bytes += text.n;
    t->turns[t->n++] = (struct chat_turn){role, arena_str(&t->c->arena, text)};
    return arena_ok(&t->c->arena) == 0 ? 0 : err_set(&t->c->err, ERR_NOMEM, "out of memory");
}

static int send_once(struct chat *t) {
    struct buf body;
    struct str headers[] = {STR("Content-Type: application/json"), STR("Accept: text/event-stream"),
                            arena_f(&t->c->arena, "Authorization: Bearer %.*s", STR_ARG(t->key))};
    struct http_call *call = NULL;
    buf_init(&body, 8 << 20);
    t->done = t->starting = false;
    t->code = 0;
    buf_reset(&t->said);
    buf_reset(&t->line);
    int r = body_of(t, &body);
    struct http_call_options o = {
        .method = "POST",
        .url = arena_f(&t->c->arena, "%.*s/chat/completions", STR_ARG(t->url)),
        .headers = headers,
        .n_headers = t->key.n > 0 ? 3 : 2,
        .body = buf_view(&body),
        .data = take,
        .done = ended,
        .ctx = t};
    r = r ? r : http_client_send(t->http, &o, &call, &t->c->err);
    buf_release(&body);
    if (r != 0) {
        return r;
    }
    while (!t->done) {
        loop_run(t->c->loop);
    }
    return t->code;
}

/* Sends the conversation and prints the answer, which becomes a part of it. A key that was made a moment ago may not
 * have reached the gateway: for two seconds it is tried again. */
static int turn(struct chat *t) {
    int r = send_once(t);
    for (int tries = 0; r == ERR_UNAUTHORIZED && tries < FRESH_TRIES; tries++) {
        cli_sleep_ms(FRESH_MS);
        r = send_once(t);
    }
    if (t->said.n > 0) {
        printf("\n");
    }
    return r ? r : add(t, "assistant", buf_view(&t->said));
}

static int begin(struct chat *t) {
    const char *system = cli_value(&t->c->args, "system");
    t->n = t->bytes = 0;
    return system != NULL ? add(t, "system", str_of(system)) : 0;
}

/* Lines of standard input, each a question, until its end. */
static int talk(struct chat *t) {
    bool person = isatty(STDIN_FILENO);
    char *line = NULL;
    size_t room = 0;
    int r = begin(t);
    while (r == 0) {
        if (person) {
            fprintf(stderr, "> ");
        }
        ssize_t n = getline(&line, &room, stdin);
        struct str text = n > 0 ? str_trim(str_from(line, (size_t)n)) : (struct str){0};
        if (n <= 0 || str_is(text, "/bye")) {
            break;
        }
        if (str_is(text, "/new")) {
            r = begin(t);
        } else if (text.n > 0) {
            r = add(t, "user", text);
            r = r ? r : turn(t);
        }
    }
    free(line); /* getline's */
    return r;
}

/* ---- where, and by which key ---- */

/* "127.0.0.1" and its like; no name that only begins so. */
static bool is_this_machine(struct str host) {
    bool number = str_starts(host, STR("127."));
    for (size_t i = 0; i < host.n; i++) {
        number = number && (host.p[i] == '.' || (host.p[i] >= '0' && host.p[i] <= '9'));
    }
    return number || str_is(host, "localhost") || str_is(host, "[::1]");
}

/* Whether a key may go there: https, or this machine. What stands before an @ is no host. */
static bool is_safe(struct str url) {
    struct str rest = str_skip(url, 7), place, path, port;
    (void)str_cut(rest, '/', &place, &path);
    ptrdiff_t colon = str_find_last(place, ':');
    struct str host =
        colon > 0 && place.p[place.n - 1] != ']' ? str_head(place, (size_t)colon) : place;
    port = str_skip(place, host.n);
    return str_starts(url, STR("https://")) ||
           (str_starts(url, STR("http://")) && is_this_machine(host) && str_find(port, '@') < 0);
}

static int read_key(struct chat *t) {
    const char *file = cli_value(&t->c->args, "key-file"), *env = getenv("OPENAI_API_KEY");
    char text[KEY_MAX];
    if (file == NULL) {
        t->key = env != NULL ? str_of(env) : (struct str){0};
    } else {
        FILE *f = fopen(file, "re");
        size_t n = f != NULL ? fread(text, 1, sizeof(text), f) : 0;
        if (f != NULL) {
            (void)fclose(f);
        }
        t->key = arena_str(&t->c->arena, str_trim(str_from(text, n)));
        if (n == 0 || n == sizeof(text) || t->key.n == 0) {
            return cli_usage(t->c, "--key-file %s: expected a file with a key", file);
        }
    }
    for (size_t i = 0; i < t->key.n; i++) {
        if (t->key.p[i] <= ' ' || t->key.p[i] > '~') {
            return cli_usage(t->c, "the key has a character that no key has; it is the secret that "
                                   "berth key create printed");
        }
    }
    return 0;
}

static int read_place(struct chat *t) {
    const char *url = cli_value(&t->c->args, "url"), *most = cli_value(&t->c->args, "max-tokens");
    int64_t n;
    url = url != NULL ? url : getenv("OPENAI_BASE_URL");
    if (url == NULL) {
        return cli_usage(t->c, "--url: expected the address of the gateway, such as "
                               "http://127.0.0.1:8091/v1; or set OPENAI_BASE_URL");
    }
    t->url = str_of(url);
    while (t->url.n > 0 && t->url.p[t->url.n - 1] == '/') {
        t->url.n--;
    }
    if (!str_starts(t->url, STR("http://")) && !str_starts(t->url, STR("https://"))) {
        return cli_usage(t->c, "--url %s: expected http:// or https://", url);
    }
    if (most != NULL && (!str_to_i64(str_of(most), &n) || n < 1 || n > 100000000)) {
        return cli_usage(t->c, "--max-tokens %s: expected a whole number of 1 to 100000000", most);
    }
    int code = read_key(t);
    if (code == 0 && t->key.n > 0 && !is_safe(t->url)) {
        return cli_usage(t->c, "--url %s: a key is sent over https, or over http to this machine",
                         url);
    }
    return code;
}

static struct str words_of(struct cli *c) {
    struct buf b;
    buf_init(&b, HISTORY_MAX);
    for (size_t i = 1; i < c->args.n_args; i++) {
        buf_f(&b, "%s%s", i > 1 ? " " : "", c->args.args[i]);
    }
    struct str text = arena_str(&c->arena, buf_view(&b));
    buf_release(&b);
    return text;
}

static int run(struct cli *c) {
    struct chat *t = ARENA_NEW(&c->arena, struct chat);
    if (t == NULL) {
        err_set(&c->err, ERR_NOMEM, "out of memory");
        return cli_fail(c, NULL);
    }
    t->c = c;
    t->model = str_of(c->args.args[0]);
    int code = read_place(t);
    if (code != 0) {
        return code;
    }
    struct http_client_options o = {.user_agent = STR("berth"), .one_by_one = true};
    c->loop = c->loop != NULL ? c->loop : loop_new(&c->err);
    if (c->loop == NULL || http_client_new(c->loop, &o, &t->http, &c->err) != 0) {
        return cli_fail(c, NULL);
    }
    buf_init(&t->line, LINE_MAX_BYTES);
    buf_init(&t->said, HISTORY_MAX);
    int r;
    if (c->args.n_args > 1) {
        r = begin(t);
        r = r ? r : add(t, "user", words_of(c));
        r = r ? r : turn(t);
    } else {
        r = talk(t);
    }
    http_client_free(t->http);
    buf_release(&t->line);
    buf_release(&t->said);
    return r == 0 ? CLI_OK : cli_fail(c, NULL);
}

static const struct cli_option options[] = {
    {"url", 0, "URL", "address of the gateway, with /v1; else $OPENAI_BASE_URL", NULL, false},
    {"key-file", 0, "FILE", "a file with the key; else $OPENAI_API_KEY", NULL, false},
    {"system", 0, "TEXT", "instruction that comes before the conversation", NULL, false},
    {"max-tokens", 0, "N", "most tokens of an answer", NULL, false},
};

const struct cli_verb cli_chat = {
    .name = "chat",
    .arguments = "MODEL [PROMPT...]",
    .summary = "talk to a served model",
    .about = "Sends PROMPT to a served model and prints the answer. Without PROMPT, each line of "
             "standard "
             "input is a\n"
             "question of one conversation; /new begins another, /bye or the end of the input ends "
             "it. The first\n"
             "question starts a model that is at zero.",
    .examples = "  export OPENAI_BASE_URL=http://127.0.0.1:8091/v1 OPENAI_API_KEY=$(berth key "
                "create)\n"
                "  berth chat qwen2-5-7b-instruct \"Why is the sky blue?\"\n"
                "  berth chat qwen2-5-7b-instruct --system \"Answer in one sentence.\"\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .min_args = 1,
    .max_args = 1000,
    .run = run,
};
