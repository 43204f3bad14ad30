/* Tests of body: what is read of a body, what is refused, and bodies with changes. */
#include "gateway/body.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/test.h"

static int read_here(struct str text, struct body_facts *f, struct err *err) {
    char *copy = mem_alloc(text.n ? text.n : 1); /* of its own, so that reading beyond it shows */
    assert_non_null(copy);
    memcpy(copy, text.p, text.n);
    int code = body_read_json(str_from(copy, text.n), f, err);
    mem_free(copy);
    return code;
}

static void test_facts(void **state) {
    struct body_facts f;
    struct err err = {0};
    assert_ok(read_here(STR("{\"messages\":[{\"model\":\"no\",\"x\":[1,{}]}], \"model\" : \"a/b\","
                            "\"stream\":true,\"max_tokens\":10,\"max_completion_tokens\":30}"),
                        &f, &err),
              &err);
    assert_str_eq(str_from(f.model, f.model_n), STR("a/b"));
    assert_true(f.stream);
    assert_false(f.usage);
    assert_int_equal(f.max_tokens, 30);
    assert_ok(read_here(STR(" {\"mod\\u0065l\":\"\\u00e9\\ud83d\\ude00\\n\",\"stream_options\":"
                            "{\"x\":1,\"include_usage\":true}} "),
                        &f, &err),
              &err);
    assert_str_eq(str_from(f.model, f.model_n), STR("\xc3\xa9\xf0\x9f\x98\x80\n"));
    assert_true(f.usage);
    assert_ok(read_here(STR("{}"), &f, &err), &err);
    assert_false(f.has_model);
    assert_int_equal(f.max_tokens, -1);
    assert_ok(read_here(STR("{\"x\":\"\\\\\",\"model\":\"m\",\"stream\":null}"), &f, &err), &err);
    assert_true(f.has_model);
    assert_false(f.stream);
}

static void test_refused(void **state) {
    static const struct {
        const char *text;
        int code;
    } bad[] = {
        {"", ERR_SYNTAX},
        {"[]", ERR_SYNTAX},
        {"{", ERR_SYNTAX},
        {"{\"model\"", ERR_SYNTAX},
        {"{\"model\":", ERR_SYNTAX},
        {"{\"model\":\"a", ERR_SYNTAX},
        {"{\"model\":\"a\"", ERR_SYNTAX},
        {"{\"model\":\"a\",}", ERR_SYNTAX},
        {"{\"model\":\"a\"}x", ERR_SYNTAX},
        {"{\"model\":\"a\"}{\"model\":\"b\"}", ERR_SYNTAX},
        {"{/*\"model\":\"b\"*/\"model\":\"a\"}", ERR_SYNTAX},
        {"{'model':\"a\"}", ERR_SYNTAX},
        {"{model:\"a\"}", ERR_SYNTAX},
        {"{\"x\":[},\"model\":\"a\"}", ERR_SYNTAX},
        {"{\"x\":{],\"model\":\"a\"}", ERR_SYNTAX},
        {"{\"x\":[\"model\":\"b\"}", ERR_SYNTAX},
        {"{\"x\":\"\\\\\\\",\"model\":\"a\"}", ERR_SYNTAX},
        {"{\"model\":\"a\",\"model\":\"b\"}", ERR_BAD_REQUEST},
        {"{\"model\":\"a\",\"\\u006dodel\":\"b\"}", ERR_BAD_REQUEST},
        {"{\"model\":1}", ERR_BAD_REQUEST},
        {"{\"model\":[\"a\"]}", ERR_BAD_REQUEST},
        {"{\"model\":\"\"}", ERR_BAD_REQUEST},
        {"{\"model\":\"\\ud800\"}", ERR_BAD_REQUEST},
        {"{\"model\":\"\\x\"}", ERR_BAD_REQUEST},
        {"{\"stream\":\"true\"}", ERR_BAD_REQUEST},
        {"{\"max_tokens\":-1}", ERR_BAD_REQUEST},
        {"{\"max_tokens\":1.5}", ERR_BAD_REQUEST},
        {"{\"stream_options\":[]}", ERR_BAD_REQUEST},
        {"{\"stream_options\":{\"include_usage\":1}}", ERR_BAD_REQUEST},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct body_facts f;
        struct err err = {0};
        if (read_here(str_of(bad[i].text), &f, &err) != bad[i].code) {
            fail_msg("%s: %d %s", bad[i].text, err.code, err.text);
        }
    }
}

static void test_deep_and_long(void **state) {
    struct body_facts f;
    struct buf b;
    buf_init(&b, 0);
    for (int deep = 0; deep < 2; deep++) {
        buf_reset(&b);
        buf_c(&b, "{\"x\":");
        for (int i = 0; i < BODY_DEPTH_MAX + deep; i++) {
            buf_ch(&b, '[');
        }
        for (int i = 0; i < BODY_DEPTH_MAX + deep; i++) {
            buf_ch(&b, ']');
        }
        buf_c(&b, "}");
        assert_int_equal(read_here(buf_view(&b), &f, NULL), deep ? ERR_SYNTAX : 0);
    }
    for (int over = 0; over < 2; over++) {
        buf_reset(&b);
        buf_c(&b, "{\"model\":\"");
        for (int i = 0; i < BODY_MODEL_MAX + over; i++) {
            buf_ch(&b, 'm');
        }
        buf_c(&b, "\"}");
        assert_int_equal(read_here(buf_view(&b), &f, NULL), over ? ERR_BAD_REQUEST : 0);
    }
    buf_release(&b);
}

/* The body as it goes on to a server that calls the model `served` (NULL: the same), asked for its usage. */
static void changed(const char *body, const char *served, const char *want) {
    struct body_facts f;
    struct err err = {0};
    struct body_edit edits[BODY_EDITS_MAX];
    struct str parts[2 * BODY_EDITS_MAX + 1];
    struct buf got;
    size_t n = 0;
    assert_ok(body_read_json(str_of(body), &f, &err), &err);
    if (served) {
        edits[n++] = (struct body_edit){f.model_at.at, f.model_at.n, str_of(served)};
    }
    n = body_ask_usage(&f, str_of(body), edits, n);
    n = body_parts(str_of(body), edits, n, parts);
    buf_init(&got, 0);
    for (size_t i = 0; i < n; i++) {
        buf_str(&got, parts[i]);
    }
    assert_str_eq(buf_view(&got), str_of(want));
    assert_ok(body_read_json(buf_view(&got), &f, &err), &err);
    assert_true(f.usage);
    buf_release(&got);
}

static void test_changed(void **state) {
    changed("{\"model\":\"a\"}", "\"b\"",
            "{\"stream_options\":{\"include_usage\":true},\"model\":\"b\"}");
    changed("{\"model\":\"a\",\"stream_options\":null}", NULL,
            "{\"model\":\"a\",\"stream_options\":{\"include_usage\":true}}");
    changed("{\"stream_options\":{},\"model\":\"a\"}", "\"bb\"",
            "{\"stream_options\":{\"include_usage\":true},\"model\":\"bb\"}");
    changed("{\"model\":\"a\",\"stream_options\":{\"x\":1}}", "\"b\"",
            "{\"model\":\"b\",\"stream_options\":{\"include_usage\":true,\"x\":1}}");
    changed("{\"model\":\"a\",\"stream_options\":{\"include_usage\": false }}", NULL,
            "{\"model\":\"a\",\"stream_options\":{\"include_usage\": true }}");
}

#define FORM_                                                                                      \
    "--B\r\nContent-Disposition: form-data; name=\"file\"; "                                       \
    "filename=\"name=\"\r\n\r\nRIFF--B\r\n\r\n"                                                    \
    "\r\n--B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n"

static void test_form(void **state) {
    struct body_facts f;
    struct err err = {0};
    assert_ok(body_read_form(STR(FORM_ "--B--\r\n"), STR("B"), &f, &err), &err);
    assert_str_eq(str_from(f.model, f.model_n), STR("whisper"));
    assert_str_eq(body_boundary(STR("multipart/form-data; boundary=\"a b\"")), STR("a b"));
    assert_str_eq(body_boundary(STR("Multipart/Form-Data;charset=x; Boundary=xyz")), STR("xyz"));
    assert_int_equal(body_boundary(STR("application/json; boundary=x")).n, 0);
    assert_int_equal(body_read_form(STR(FORM_ "--B"), STR("B"), &f, &err), ERR_SYNTAX);
    assert_int_equal(body_read_form(STR("x" FORM_ "--B--"), STR("B"), &f, &err), ERR_SYNTAX);
    assert_int_equal(
        body_read_form(STR(FORM_
                           "--B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nx\r\n"
                           "--B--\r\n"),
                       STR("B"), &f, &err),
        ERR_BAD_REQUEST);
}

/* A model that the gateway does not see, beside the one that it looks at. */
static void test_forms_of_two_minds(void **state) {
#define PART_ "Content-Disposition: form-data; "
    static const char *const heads[] = {
        PART_ "name=\"x\"; name=\"model\"",   PART_ "name=\"x\"; name*=utf-8''model",
        PART_ "name=\"x\\\"; name=\"model\"", PART_ "name=\"x\"y; name=\"model\"",
        PART_ "name; name=\"model\"",         PART_ "name=\"x\"\r\n" PART_ "name=\"model\"",
        "X: y\n" PART_ "name=\"model\"",      "X\r\n" PART_ "name=\"x\"",
    };
    struct body_facts f;
    struct err err = {0};
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        buf_reset(&b);
        buf_c(&b, FORM_ "--B\r\n");
        buf_c(&b, heads[i]);
        buf_c(&b, "\r\n\r\nother\r\n--B--\r\n");
        if (body_read_form(buf_view(&b), STR("B"), &f, &err) != ERR_SYNTAX) {
            fail_msg("%s", heads[i]);
        }
    }
    buf_release(&b);
    /* Without quotation marks it is the same name. */
    assert_int_equal(body_read_form(STR(FORM_ "--B\r\n" PART_ "name=model\r\n\r\nx\r\n--B--\r\n"),
                                    STR("B"), &f, &err),
                     ERR_BAD_REQUEST);
    /* A line that only begins like a boundary. */
    assert_int_equal(body_read_form(STR(FORM_ "--Bx\r\n" PART_ "name=\"y\"\r\n\r\nx\r\n--B--\r\n"),
                                    STR("B"), &f, &err),
                     ERR_SYNTAX);
    assert_int_equal(body_boundary(STR("multipart/form-data; boundary=a; boundary=b")).n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_deep_and_long), cmocka_unit_test(test_changed),
        cmocka_unit_test(test_form),          cmocka_unit_test(test_forms_of_two_minds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
