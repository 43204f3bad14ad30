/*
 * Tests of webhook_certs: the Secret is made once, whoever else wrote it meanwhile; API servers are told what it holds,
 * and only those configurations that ask Berth.
 */
#include "control/admit/webhook_certs.h"

#include "base/test.h"
#include "control/test/fake_world.h"
#include "wire/text/base64.h"

/* A keeper of numbered certificates, each good for an hour. */
struct fake_keeper {
    struct cert_keeper k;
    int made;
    int64_t until;
};

static int renew(struct cert_keeper *base, const struct cert_set *have, int64_t now,
                 struct arena *a, struct cert_set *ret, bool *ret_changed, int64_t *ret_next,
                 struct err *err) {
    struct fake_keeper *k = (struct fake_keeper *)base;
    *ret = *have;
    *ret_changed = have->cert.n == 0 || now >= k->until;
    *ret_next = k->until - now;
    if (*ret_changed) {
        k->made++;
        k->until = now + 3600 * NS_PER_SEC;
        ret->bundle = arena_f(a, "bundle %d", k->made);
        ret->ca_key = ret->key = STR("key");
        ret->cert = arena_f(a, "cert %d", k->made);
        *ret_next = NS_PER_SEC;
    }
    return 0;
}

struct scene {
    struct fake_world w;
    struct fake_keeper keeper;
    void *certs;
};

#define HOOK(name_, service_, ns_)                                                                 \
    "{\"name\":\"" name_ ".b.c\",\"clientConfig\":{\"service\":{\"name\":\"" service_              \
    "\",\"namespace\":\"" ns_                                                                      \
    "\"}},\"sideEffects\":\"None\",\"admissionReviewVersions\":[\"v1\"]}"

static void put_configuration(struct scene *s, const char *kind, const char *notes) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":\"%s\",\"metadata\":{"
             "\"name\":\"conf\"%s},\"webhooks\":[%s,%s,%s]}",
             kind, notes, HOOK("other", "berth-webhook", "elsewhere"),
             HOOK("ours", "berth-webhook", "berth-system"),
             HOOK("foreign", "kueue-webhook-service", "kueue-system"));
    (void)fake_world_put(&s->w, json);
}

static void begin(struct scene *s) {
    *s = (struct scene){.keeper = {.k = {renew}}};
    fake_world_init(&s->w);
    (void)fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
                                "\"name\":\"berth-system\"}}");
}

static void run(struct scene *s) {
    struct webhook_certs_options o = {.keeper = &s->keeper.k, .ns = STR("berth-system")};
    struct err err = {0};
    s->certs = controller_new_with(&webhook_certs_controller, &s->w.env, &o, &err);
    assert_non_null(s->certs);
    fake_world_run(&s->w, NS_PER_SEC);
}

static void end(struct scene *s) {
    controller_free(s->certs);
    fake_world_release(&s->w);
}

/* caBundle of the i-th webhook, as text; "" when it has none. */
static const char *bundle_of(struct scene *s, const char *kind, size_t i) {
    static char text[64];
    struct arena a;
    yyjson_doc *doc;
    arena_init(&a, 1 << 20);
    assert_int_equal(object_tree(fake_world_get(&s->w, kind, "", "conf"), &a, &doc, NULL), 0);
    yyjson_val *hook = yyjson_arr_get(json_get(yyjson_doc_get_root(doc), STR("webhooks")), i);
    (void)str_copy(base64_decode(&a, json_str_at(hook, "clientConfig.caBundle")), text,
                   sizeof(text));
    arena_release(&a);
    return text;
}

static const char *secret(struct scene *s, const char *key) {
    static char text[64];
    struct arena a;
    yyjson_doc *doc;
    const struct object *o = fake_world_get(&s->w, "Secret", "berth-system", "berth-webhook-cert");
    arena_init(&a, 1 << 20);
    assert_non_null(o);
    assert_int_equal(object_tree(o, &a, &doc, NULL), 0);
    yyjson_val *data = json_get(yyjson_doc_get_root(doc), STR("data"));
    (void)str_copy(base64_decode(&a, json_str(json_get(data, str_of(key)))), text, sizeof(text));
    arena_release(&a);
    return text;
}

static void made_and_told(void **state) {
    struct scene s;
    begin(&s);
    put_configuration(&s, "MutatingWebhookConfiguration", "");
    run(&s);
    assert_string_equal(secret(&s, "tls.crt"), "cert 1");
    assert_string_equal(secret(&s, "ca.crt"), "bundle 1");
    assert_string_equal(bundle_of(&s, "MutatingWebhookConfiguration", 0), "");
    assert_string_equal(bundle_of(&s, "MutatingWebhookConfiguration", 1), "bundle 1");
    assert_string_equal(bundle_of(&s, "MutatingWebhookConfiguration", 2), "");
    put_configuration(&s, "ValidatingWebhookConfiguration", ""); /* installed later */
    fake_world_run(&s.w, NS_PER_SEC);
    assert_string_equal(bundle_of(&s, "ValidatingWebhookConfiguration", 1), "bundle 1");
    uint64_t writes = s.w.writes;
    fake_world_run(&s.w, 3500 * NS_PER_SEC);
    assert_int_equal(s.w.writes, writes); /* nothing to say, nothing written */
    fake_world_run(&s.w, 200 * NS_PER_SEC);
    assert_string_equal(secret(&s, "tls.crt"), "cert 2");
    assert_string_equal(bundle_of(&s, "MutatingWebhookConfiguration", 1), "bundle 2");
    assert_string_equal(bundle_of(&s, "ValidatingWebhookConfiguration", 1), "bundle 2");
    end(&s);
}

/* An address instead of a Service is ours when its owner says so. */
static void by_annotation(void **state) {
    struct scene s;
    begin(&s);
    put_configuration(&s, "MutatingWebhookConfiguration",
                      ",\"annotations\":{\"berth.dev/inject-ca\":\"true\"}");
    run(&s);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(bundle_of(&s, "MutatingWebhookConfiguration", i), "bundle 1");
    }
    end(&s);
}

/* Another replica was first, or somebody emptied it: what it holds counts, and what is missing is made. */
static void secret_of_others(void **state) {
    struct scene s;
    begin(&s);
    put_configuration(&s, "MutatingWebhookConfiguration", "");
    s.keeper.until = INT64_MAX;
    (void)fake_world_put(&s.w, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":"
                               "\"berth-webhook-cert\",\"namespace\":\"berth-system\"},\"data\":{"
                               "\"tls.crt\":\"eA==\",\"ca.crt\":\"eQ==\"}}");
    run(&s);
    assert_int_equal(s.keeper.made, 0);
    assert_string_equal(bundle_of(&s, "MutatingWebhookConfiguration", 1), "y");
    (void)fake_world_patch(&s.w, "Secret", "berth-system", "berth-webhook-cert", "",
                           "{\"data\":null}");
    fake_world_run(&s.w, NS_PER_SEC);
    assert_string_equal(secret(&s, "tls.crt"), "cert 1");
    assert_string_equal(bundle_of(&s, "MutatingWebhookConfiguration", 1), "bundle 1");
    fake_world_delete(&s.w, "Secret", "berth-system", "berth-webhook-cert", "Background");
    fake_world_run(&s.w, NS_PER_SEC);
    assert_string_equal(secret(&s, "tls.crt"), "cert 2");
    end(&s);
}

/* Whichever write fails, is lost or meets a conflict, it ends the same. */
static void faults(void **state) {
    for (int fault = FAULT_REFUSED; fault <= FAULT_CONFLICT; fault++) {
        for (uint64_t at = 1; at <= 3; at++) {
            struct scene s;
            begin(&s);
            put_configuration(&s, "MutatingWebhookConfiguration", "");
            put_configuration(&s, "ValidatingWebhookConfiguration", "");
            s.w.fail_at = at;
            s.w.fault = (enum fake_fault)fault;
            run(&s);
            fake_world_run(&s.w, 30 * NS_PER_SEC);
            char now[64];
            snprintf(now, sizeof(now), "%s", secret(&s, "ca.crt"));
            assert_true(strncmp(now, "bundle ", 7) == 0);
            assert_string_equal(bundle_of(&s, "MutatingWebhookConfiguration", 1), now);
            assert_string_equal(bundle_of(&s, "ValidatingWebhookConfiguration", 1), now);
            end(&s);
        }
    }
}

static void from_files(void **state) {
    struct scene s;
    struct err err = {0};
    begin(&s);
    put_configuration(&s, "MutatingWebhookConfiguration", "");
    struct webhook_certs_options o = {.bundle = STR("given"), .ns = STR("berth-system")};
    s.certs = controller_new_with(&webhook_certs_controller, &s.w.env, &o, &err);
    fake_world_run(&s.w, NS_PER_SEC);
    assert_string_equal(bundle_of(&s, "MutatingWebhookConfiguration", 1), "given");
    assert_int_equal(fake_world_count(&s.w, "Secret"), 0);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_and_told), cmocka_unit_test(by_annotation),
        cmocka_unit_test(secret_of_others), cmocka_unit_test(faults), cmocka_unit_test(from_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
