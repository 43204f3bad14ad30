/*
 * Fuzz target: bodies of requests for models, as JSON and, where the first line is a boundary, as a form.
 *
 * What is understood lies within the body and is what a parser of JSON understands; with all its changes made the body
 * is understood again.
 */
#include "fuzz.h"

#include "gateway/body.h"
#include "wire/json/json.h"

static void within(struct str body, struct body_span s) {
    assert(s.at <= body.n && s.n <= body.n - s.at);
}

static void check_spans(struct str body, const struct body_facts *f) {
    within(body, f->model_at);
    within(body, f->options_at);
    within(body, f->usage_at);
    within(body, f->prompt_at);
    assert(f->open <= body.n && f->model_n <= sizeof f->model && (f->model_n > 0) == f->has_model);
    assert(f->max_tokens >= -1);
}

/* A stricter parser, where it takes the body at all. */
static void compare(struct str body, const struct body_facts *f) {
    struct arena a;
    yyjson_doc *d;
    arena_init(&a, FUZZ_ARENA_BYTES);
    if (json_parse(&a, body, &d, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(d);
        assert(yyjson_is_obj(root));
        assert(str_eq(json_str(json_get(root, STR("model"))), str_from(f->model, f->model_n)));
        assert(json_bool_at(root, "stream", false) == f->stream);
    }
    arena_release(&a);
}

static void change(struct str body, const struct body_facts *f) {
    struct body_edit edits[BODY_EDITS_MAX];
    struct str parts[2 * BODY_EDITS_MAX + 1];
    struct body_facts again;
    struct buf b;
    size_t n = 0;
    edits[n++] = (struct body_edit){f->model_at.at, f->model_at.n, STR("\"other\"")};
    n = body_ask_usage(f, body, edits, n);
    n = body_parts(body, edits, n, parts);
    assert(n <= sizeof parts / sizeof *parts);
    buf_init(&b, 0);
    for (size_t i = 0; i < n; i++) {
        buf_str(&b, parts[i]);
    }
    assert(body_read_json(buf_view(&b), &again, NULL) == 0);
    assert(str_is(str_from(again.model, again.model_n), "other"));
    assert(again.usage && again.stream == f->stream && again.max_tokens == f->max_tokens);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct str body = fuzz_text(data, n), line, rest;
    struct body_facts f;
    if (body_read_json(body, &f, NULL) == 0) {
        check_spans(body, &f);
        compare(body, &f);
        if (f.has_model) {
            change(body, &f);
        }
    }
    if (str_cut(body, '\n', &line, &rest) && body_read_form(rest, line, &f, NULL) == 0) {
        check_spans(rest, &f);
    }
    (void)body_boundary(line);
    return 0;
}
