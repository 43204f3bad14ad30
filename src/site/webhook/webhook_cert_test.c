/* Tests of webhook_cert: years of a certificate's life, in which a client always knows who signed what serves. */
#include "base/clock.h"
#include "base/test.h"
#include "net/tls.h"
#include "site/webhook/webhook_cert.h"

static const struct str names[] = {{"berth-webhook.berth-system.svc", 30}, {"127.0.0.1", 9}};

static void plan_rows(void **state) {
    const int64_t day = 86400, ca = (int64_t)WEBHOOK_CA_DAYS * day,
                  leaf = (int64_t)WEBHOOK_CERT_DAYS * day;
    const struct webhook_cert_look good = {1, 0, ca, true, true, true, 0, leaf};
    const struct webhook_cert_look old_ca = {
        1, 0, ca, true, true, true, ca - 100 * day, ca - 100 * day + leaf};
    const struct webhook_cert_look two = {2, 0, ca, true, true, false, 0, leaf};
    const struct webhook_cert_look after = {2, 0, ca, true, true, true, 4000, leaf};
    struct webhook_cert_look l = good;
    int64_t next = 0;
    assert_int_equal(webhook_cert_plan(&good, 10, &next), CERT_KEEP);
    assert_int_equal(next, 7 * day);
    assert_int_equal(webhook_cert_plan(&good, leaf - leaf / 3 - 1, &next), CERT_KEEP);
    assert_int_equal(next, 1);
    assert_int_equal(webhook_cert_plan(&good, leaf - leaf / 3, &next), CERT_NEW);
    assert_int_equal(webhook_cert_plan(&good, leaf, &next), CERT_ALL);
    assert_int_equal(webhook_cert_plan(&good, -1, &next), CERT_ALL); /* a clock that went back */
    assert_int_equal(webhook_cert_plan(&old_ca, ca - 99 * day, &next), CERT_NEW_CA);
    assert_int_equal(webhook_cert_plan(&two, 3899, &next), CERT_KEEP);
    assert_int_equal(next, 1);
    assert_int_equal(webhook_cert_plan(&two, 3900, &next), CERT_NEW);
    assert_int_equal(webhook_cert_plan(&after, 7899, &next), CERT_KEEP);
    assert_int_equal(webhook_cert_plan(&after, 7900, &next), CERT_DROP_CA);
    l.names = false;
    assert_int_equal(webhook_cert_plan(&l, 10, &next), CERT_NEW);
    l = good;
    l.n_ca = 0;
    assert_int_equal(webhook_cert_plan(&l, 10, &next), CERT_ALL);
    l = good;
    l.usable = false;
    assert_int_equal(webhook_cert_plan(&l, 10, &next), CERT_ALL);
}

static bool knows(struct str bundle, struct str cert) {
    for (struct str ca; (ca = webhook_cert_next(&bundle)).n > 0;) {
        if (tls_pem_signed_by(cert, ca)) {
            return true;
        }
    }
    return false;
}

/* A client that takes over a new bundle or meets a new certificate up to half an hour late knows it all the same. */
static void seven_years(void **state) {
    struct cert_keeper *k = webhook_cert_keeper_new(names, 2);
    struct arena work, keep[2];
    size_t at = 0;
    struct cert_set now = {0};
    int64_t t = 1767225600 * NS_PER_SEC, end = t + (int64_t)7 * 365 * 86400 * NS_PER_SEC;
    size_t changes = 0, doubles = 0;
    assert_non_null(k);
    arena_init(&work, 1 << 20);
    arena_init(&keep[0], 1 << 20);
    arena_init(&keep[1], 1 << 20);
    while (t < end) {
        struct err err = {0};
        bool changed = false;
        int64_t next = 0;
        struct cert_set s;
        assert_ok(k->renew(k, &now, t, &work, &s, &changed, &next, &err), &err);
        assert_true(next > 0);
        if (changed) {
            struct str rest = s.bundle, first = webhook_cert_next(&rest);
            int64_t from, until;
            changes++;
            doubles += webhook_cert_next(&rest).n > 0;
            assert_true(tls_pem_fits(first, s.ca_key));
            assert_true(tls_pem_fits(s.cert, s.key));
            assert_true(tls_pem_has_name(s.cert, names[0]) && tls_pem_has_name(s.cert, names[1]));
            assert_false(tls_pem_has_name(s.cert, STR("example.com")));
            assert_ok(tls_pem_times(s.cert, &from, &until, &err), &err);
            assert_true(from <= t / NS_PER_SEC && until > t / NS_PER_SEC);
            assert_true(knows(s.bundle, s.cert));
            if (now.cert.n > 0) {
                assert_true(knows(now.bundle, s.cert)); /* a late client */
                assert_true(knows(s.bundle, now.cert)); /* a late server */
            }
            struct arena *to = &keep[at ^= 1];
            arena_reset(to);
            now = (struct cert_set){arena_str(to, s.bundle), arena_str(to, s.ca_key),
                                    arena_str(to, s.cert), arena_str(to, s.key)};
        }
        arena_reset(&work);
        t += next;
    }
    assert_in_range(changes, 45, 80);
    assert_in_range(doubles, 4,
                    8); /* three rotations: each a second authority, and a certificate of it */
    struct err err = {0};
    struct tls_server *tls = tls_server_new_pem(now.cert, now.key, &err);
    assert_non_null(tls);
    assert_int_equal(tls_server_set_pem(tls, now.cert, now.ca_key, &err), ERR_INVALID);
    assert_int_equal(tls_server_set_pem(tls, STR("x"), now.key, &err), ERR_INVALID);
    assert_ok(tls_server_set_pem(tls, now.cert, now.key, &err), &err);
    tls_server_free(tls);
    arena_release(&work);
    arena_release(&keep[0]);
    arena_release(&keep[1]);
    webhook_cert_keeper_free(k);
}

/* Whatever stands in the Secret, something that serves comes out. */
static void rubbish(void **state) {
    static const struct cert_set rows[] = {
        {STR("x"), STR("y"), STR("z"), STR("")},
        {STR("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), {0}, {0}, {0}},
    };
    struct cert_keeper *k = webhook_cert_keeper_new(names, 2);
    struct arena a;
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cert_set s;
        struct err err = {0};
        bool changed = false;
        int64_t next;
        assert_ok(k->renew(k, &rows[i], 1767225600 * NS_PER_SEC, &a, &s, &changed, &next, &err),
                  &err);
        assert_true(changed && knows(s.bundle, s.cert));
    }
    arena_release(&a);
    webhook_cert_keeper_free(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plan_rows), cmocka_unit_test(seven_years),
                                       cmocka_unit_test(rubbish)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
