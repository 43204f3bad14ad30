/* fuzz/review: any bytes as a review. The first byte picks the webhook, or conversion; an answer is JSON that names the
 * question, and its patch can be applied to what was asked about. */
#include "control/admit/admission.h"
#include "fuzz.h"
#include "site/webhook/webhook_review.h"
#include "wire/json/json.h"
#include "wire/json/patch.h"
#include "wire/text/base64.h"

static struct mirror *empty_mirror(void) {
    static struct mirror *m;
    static const struct mirror_options o;
    if (m == NULL) {
        m = mirror_new(&o);
    }
    return m;
}

static void check_answer(struct arena *a, struct str question, const struct buf *out) {
    struct err err = {0};
    yyjson_doc *doc, *asked, *ops;
    int r = json_parse(a, buf_view(out), &doc, &err);
    if (r == ERR_NOMEM || json_parse(a, question, &asked, NULL) != 0) {
        return;
    }
    assert(r == 0);
    yyjson_val *response = json_get(yyjson_doc_get_root(doc), STR("response"));
    yyjson_val *request = json_get(yyjson_doc_get_root(asked), STR("request"));
    assert(str_eq(json_str_at(response, "uid"), json_str_at(request, "uid")));
    struct str patch = base64_decode(a, json_str_at(response, "patch"));
    if (patch.n > 0) {
        assert(json_parse(a, patch, &ops, NULL) == 0 || arena_ok(a) != 0);
        yyjson_mut_doc *d = json_mut_copy(a, json_get(request, STR("object")));
        if (arena_ok(a) == 0 && d != NULL) {
            r = patch_json(d, yyjson_doc_get_root(ops), &err);
            assert(r == 0 || r == ERR_NOMEM || r == ERR_TOO_LARGE);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct admission_options o = {.mirror = empty_mirror()};
    struct admission *admission = admission_new(&o);
    struct arena a;
    struct buf out;
    struct err err = {0};
    enum webhook_verdict verdict;
    size_t n;
    const struct webhook *all = webhooks_all(&n);
    if (size == 0 || admission == NULL) {
        admission_free(admission);
        return 0;
    }
    arena_init(&a, FUZZ_ARENA_BYTES);
    buf_init(&out, 0);
    struct str body = fuzz_text(data + 1, size - 1);
    size_t which = data[0] >= 'A' ? data[0] - 'A' : data[0];
    int r = which < n ? webhook_review(&all[which], admission, body, &a, &out, &verdict, &err)
                      : webhook_convert(body, &a, &out, &verdict, &err);
    if (r == 0) {
        check_answer(&a, body, &out);
    } else {
        assert(err.code == r && err.text[0] != 0);
    }
    buf_release(&out);
    arena_release(&a);
    admission_free(admission);
    return 0;
}
