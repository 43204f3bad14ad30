/* ask: what a request asks for. A token is four bytes of text, begun ones included. */
#include <stdio.h>

#include "server.h"

enum { BYTES_OF_TOKEN = 4, INPUTS_MAX = 2048, MESSAGE_TOKENS = 3 };

static size_t tokens_of(struct str s) {
    return (s.n + BYTES_OF_TOKEN - 1) / BYTES_OF_TOKEN;
}

static int refuse(struct http_request *r, int status, const char *param, const char *text) {
    answer_error(r, status, status == 404 ? "NotFoundError" : "BadRequestError", param, text);
    return status;
}

/* Text, or a list of parts of which those of type text count. */
static void add_content(yyjson_val *content, struct ask *a, struct buf *all) {
    yyjson_arr_iter it;
    yyjson_val *part;

    buf_str(all, json_str(content));
    yyjson_arr_iter_init(content, &it);
    while ((part = yyjson_arr_iter_next(&it))) {
        buf_str(all, json_str_at(part, "text"));
    }
    buf_ch(all, '\n');
}

static int read_messages(struct http_request *r, yyjson_val *root, struct ask *a, struct buf *all) {
    yyjson_val *list = json_path(root, "messages"), *m;
    yyjson_arr_iter it;

    if (yyjson_arr_size(list) == 0) {
        return refuse(r, 400, "messages", "messages: must be a list of at least one message");
    }
    yyjson_arr_iter_init(list, &it);
    while ((m = yyjson_arr_iter_next(&it))) {
        if (json_str_at(m, "role").n == 0) {
            return refuse(r, 400, "messages", "messages: each must have a role");
        }
        buf_str(all, json_str_at(m, "role"));
        buf_c(all, ": ");
        add_content(json_path(m, "content"), a, all);
        a->tokens += MESSAGE_TOKENS;
    }
    return 0;
}

/* A text, several, the numbers of tokens, or several lists of those. */
static int read_input(struct http_request *r, yyjson_val *v, const char *field, struct ask *a,
                      struct buf *all) {
    yyjson_arr_iter it;
    yyjson_val *e;
    char why[128];

    if (yyjson_is_str(v)) {
        buf_str(all, json_str(v));
        a->inputs = 1;
    }
    yyjson_arr_iter_init(v, &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        buf_str(all, json_str(e));
        buf_ch(all, '\n');
        a->tokens += yyjson_is_int(e) ? 1 : yyjson_arr_size(e);
        a->inputs += yyjson_is_int(e) ? a->inputs == 0 : 1;
    }
    if (a->inputs >= 1 && a->inputs <= INPUTS_MAX) {
        return 0;
    }
    snprintf(why, sizeof(why), "%s: must be a text, or a list of 1 to %d", field, INPUTS_MAX);
    return refuse(r, 400, field, why);
}

static int read_stops(struct http_request *r, yyjson_val *v, struct ask *a) {
    yyjson_arr_iter it;
    yyjson_val *e;

    if (yyjson_is_str(v)) {
        a->stops[a->n_stops++] = json_str(v);
    }
    if (yyjson_arr_size(v) > STOPS_MAX) {
        return refuse(r, 400, "stop", "stop: at most 4 texts");
    }
    yyjson_arr_iter_init(v, &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        a->stops[a->n_stops++] = json_str(e);
    }
    return 0;
}

/* ---- tools ---- */

static bool wants_tool(yyjson_val *root, struct str *ret_name) {
    yyjson_val *choice = json_path(root, "tool_choice"), *messages = json_path(root, "messages");
    yyjson_val *last = yyjson_arr_get_last(messages);

    *ret_name = json_str_at(choice, "function.name");
    if (yyjson_arr_size(json_path(root, "tools")) == 0 || str_is(json_str(choice), "none")) {
        return false;
    }
    return ret_name->n || str_is(json_str(choice), "required") ||
           !str_is(json_str_at(last, "role"), "tool");
}

/* Every required argument is there: a text is "stub", a number 1. */
static struct str arguments_of(struct arena *arena, yyjson_val *function) {
    yyjson_val *required = json_path(function, "parameters.required"), *e;
    yyjson_val *all = json_path(function, "parameters.properties");
    yyjson_arr_iter it;
    struct buf b;

    buf_init(&b, 1 << 16);
    buf_ch(&b, '{');
    yyjson_arr_iter_init(required, &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        struct str type = json_str_at(json_get(all, json_str(e)), "type");
        buf_c(&b, b.n > 1 ? "," : "");
        buf_json(&b, json_str(e));
        buf_c(&b, str_is(type, "number") || str_is(type, "integer") ? ":1"
                  : str_is(type, "boolean")                         ? ":true"
                                                                    : ":\"stub\"");
    }
    buf_ch(&b, '}');
    struct str s = arena_str(arena, buf_view(&b));
    buf_release(&b);
    return s;
}

static int read_tools(struct http_request *r, yyjson_val *root, struct ask *a) {
    struct str name;
    yyjson_arr_iter it;
    yyjson_val *tool;

    if (!wants_tool(root, &name)) {
        return 0;
    }
    yyjson_arr_iter_init(json_path(root, "tools"), &it);
    while ((tool = yyjson_arr_iter_next(&it))) {
        yyjson_val *f = json_path(tool, "function");
        if (name.n == 0 || str_eq(json_str_at(f, "name"), name)) {
            a->tool = json_str_at(f, "name");
            a->tool_args = arguments_of(http_arena(r), f);
            return 0;
        }
    }
    return refuse(r, 400, "tool_choice", "tool_choice: names none of the tools");
}

/* ---- the whole ---- */

static int check_numbers(struct http_request *r, yyjson_val *root) {
    yyjson_val *t = json_path(root, "temperature");

    if (t && !yyjson_is_null(t) && (!yyjson_is_num(t) || yyjson_get_num(t) < 0)) {
        return refuse(r, 400, "temperature", "temperature: must be a number of at least 0");
    }
    return json_i64_at(root, "n", 1) != 1 ? refuse(r, 400, "n", "n: this server gives one choice")
                                          : 0;
}

static int check_length(struct server *s, struct http_request *r, struct ask *a, yyjson_val *root) {
    int64_t left = s->o.max_len - (int64_t)a->tokens;
    char why[256];

    a->max_tokens = json_i64_at(root, "max_completion_tokens", json_i64_at(root, "max_tokens", -1));
    if (json_path(root, "max_tokens") && !yyjson_is_null(json_path(root, "max_tokens")) &&
        a->max_tokens < 1) {
        return refuse(r, 400, "max_tokens", "max_tokens: must be at least 1");
    }
    if (left < 1 || a->max_tokens > left) {
        snprintf(why, sizeof(why),
                 "This model's maximum context length is %lld tokens. However, you requested %lld "
                 "tokens (%zu in the prompt). Please reduce the length.",
                 (long long)s->o.max_len,
                 (long long)((int64_t)a->tokens + (a->max_tokens > 0 ? a->max_tokens : 0)),
                 a->tokens);
        return refuse(r, 400, NULL, why);
    }
    a->max_tokens = a->kind == ASK_EMBEDDING ? 1 : a->max_tokens < 1 ? left : a->max_tokens;
    return 0;
}

static int read_prompt(struct http_request *r, yyjson_val *root, struct ask *a) {
    struct buf all;

    buf_init(&all, 64 << 20);
    const char *field = a->kind == ASK_EMBEDDING ? "input" : "prompt";
    int code = a->kind == ASK_CHAT ? read_messages(r, root, a, &all)
                                   : read_input(r, json_path(root, field), field, a, &all);
    if (code == 0) {
        a->prompt = arena_str(http_arena(r), buf_view(&all));
        a->tokens += tokens_of(a->prompt);
    }
    buf_release(&all);
    return code;
}

static int check_model(struct server *s, struct http_request *r, struct ask *a) {
    char why[256];

    if (a->model.n == 0) {
        a->model = str_of(s->o.name);
    }
    if (serve_model(s, a->model)) {
        return 0;
    }
    snprintf(why, sizeof(why), "The model `%.*s` does not exist.",
             STR_ARG(str_head(a->model, 128)));
    return refuse(r, 404, "model", why);
}

int ask_read(struct server *s, struct http_request *r, enum ask_kind kind, struct ask *ret) {
    struct ask a = {.kind = kind};
    yyjson_doc *doc;
    struct err err;

    if (json_parse(http_arena(r), http_body(r), &doc, &err)) {
        return refuse(r, 400, NULL, err.text);
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root)) {
        return refuse(r, 400, NULL, "the body must be a JSON object");
    }
    a.model = json_str_at(root, "model");
    a.stream = json_bool_at(root, "stream", false) && kind != ASK_EMBEDDING;
    a.usage = json_bool_at(root, "stream_options.include_usage", false);
    a.ignore_eos = json_bool_at(root, "ignore_eos", false);
    a.base64 = str_is(json_str_at(root, "encoding_format"), "base64");
    int code = check_model(s, r, &a);
    code = code ? code : check_numbers(r, root);
    code = code ? code : read_prompt(r, root, &a);
    code = code ? code : read_stops(r, json_path(root, "stop"), &a);
    code = code || kind != ASK_CHAT ? code : read_tools(r, root, &a);
    code = code ? code : check_length(s, r, &a, root);
    if (code == 0) {
        *ret = a;
    }
    return code;
}
