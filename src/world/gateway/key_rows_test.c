/* Tests of key_rows: keys as the gateway finds them, from objects of the API. */
#include "base/test.h"

#include "mirror/mirror.h"
#include "net/tls.h"
#include "world/gateway/key_rows.h"

struct fixture {
    struct mirror *m;
    struct key_store *s;
    uint64_t rv;
};

static void put(struct fixture *f, const char *kind, const char *json) {
    struct object *o;
    struct err err = {0};
    const struct kind *k = str_is(str_of(kind), "Namespace")
                               ? kind_by_name(STR(""), STR("Namespace"))
                               : kind_by_name(STR("berth.dev"), STR("ModelKey"));
    assert_ok(object_new(k, str_of(json), &o, &err), &err);
    o->rv = ++f->rv;
    assert_ok(mirror_apply(f->m, CHANGE_ADDED, o, &err), &err);
}

static void key(struct fixture *f, const char *ns, const char *uid, const char *secret,
                const char *spec) {
    char digest[65], json[1024];
    tls_sha256_text(str_of(secret), digest);
    (void)snprintf(json, sizeof json,
                   "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ModelKey\",\"metadata\":{"
                   "\"name\":\"k-%s\",\"namespace\":\"%s\",\"uid\":\"%s\",\"creationTimestamp\":"
                   "\"2026-01-0%sT00:00:00Z\"},\"spec\":{\"sha256\":\"%s\",\"user\":\"ann\"%s}}",
                   uid, ns, uid, uid, digest, spec);
    put(f, "ModelKey", json);
}

static struct fixture *fixture(void) {
    static struct fixture f;
    f = (struct fixture){0};
    f.m = mirror_new(&(struct mirror_options){.clock = NULL, .history_events = MIRROR_NO_HISTORY});
    f.s = key_store_new(&(struct key_store_options){0});
    assert_true(f.m && f.s);
    return &f;
}

static void done(struct fixture *f) {
    key_store_free(f->s);
    mirror_free(f->m);
}

static struct log_fd quiet;

static void make(struct fixture *f) {
    struct key_set *set;
    struct err err = {0};
    log_fd_init(&quiet, LOG_ERROR, 2);
    assert_ok(key_rows_make(f->m, &quiet.log, &set, &err), &err);
    key_store_put(f->s, set);
}

enum { JANUARY = 1767916800 }; /* 2026-01-09 */

static const struct gateway_key *find(struct fixture *f, const char *secret) {
    struct gateway_keys *k = key_store_keys(f->s);
    const struct gateway_key *key = NULL;
    if (k->find(k, str_of(secret), JANUARY, &key) != GATEWAY_KEY_FOUND) {
        return NULL;
    }
    k->release(k, key); /* the set holds it */
    return key;
}

static void a_key_is_what_its_object_says(void **state) {
    struct fixture *f = fixture();
    key(f, "team", "1", "s",
        ",\"models\":[\"a\",\"b-*\"],\"limits\":{\"requestsPerMinute\":60,\"tokensPerMinute\":7,"
        "\"streams\":2}");
    make(f);
    const struct gateway_key *k = find(f, "s");
    assert_non_null(k);
    assert_str_eq(k->name, STR("k-1"));
    assert_str_eq(k->subject, STR("ann"));
    assert_str_eq(k->project, STR("team"));
    assert_int_equal(k->n_models, 2);
    assert_int_equal(k->limits.requests, 60);
    assert_int_equal(k->limits.tokens, 7);
    assert_int_equal(k->limits.streams, 2);
    assert_int_equal(k->weight, 1);
    /* 90 days after 2026-01-01 */
    assert_int_equal(k->expires_s, 1767225600 + 90 * 86400);
    done(f);
}

static void the_project_bounds_its_keys(void **state) {
    struct fixture *f = fixture();
    put(f, "Namespace",
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team\",\"uid\":"
        "\"u\","
        "\"annotations\":{\"berth.dev/model-priority-max\":\"5\",\"berth.dev/model-weight\":\"3\","
        "\"berth.dev/model-tokens-per-minute\":\"1000\",\"berth.dev/model-streams\":\"many\"}}}");
    key(f, "team", "1", "high", ",\"priority\":9");
    key(f, "team", "2", "low", ",\"priority\":-9");
    key(f, "other", "3", "none", ",\"priority\":9");
    make(f);
    assert_int_equal(find(f, "high")->priority, 5);
    assert_int_equal(find(f, "low")->priority, -9);
    assert_int_equal(find(f, "none")->priority, 0);
    assert_int_equal(find(f, "high")->weight, 3);
    assert_int_equal(find(f, "high")->project_limits.tokens, 1000);
    assert_int_equal(find(f, "high")->project_limits.streams, 0);
    assert_int_equal(find(f, "none")->project_limits.tokens, 0);
    done(f);
}

/* Of a cluster whose API server did not look at them. */
static void numbers_out_of_bounds(void **state) {
    struct fixture *f = fixture();
    key(f, "team", "1", "s",
        ",\"priority\":-4294967291,\"limits\":{\"requestsPerMinute\":-1,\"tokensPerMinute\":"
        "9223372036854775807,\"streams\":-5}");
    make(f);
    const struct gateway_key *k = find(f, "s");
    assert_non_null(k);
    assert_int_equal(k->priority, -1000);
    assert_int_equal(k->limits.requests, 0);
    assert_int_equal(k->limits.tokens, 1000000000);
    assert_int_equal(k->limits.streams, 0);
    done(f);
}

static void a_revoked_key_is_no_key(void **state) {
    struct fixture *f = fixture();
    key(f, "team", "1", "s", ",\"revoked\":true");
    key(f, "team", "2", "t", ",\"expiresAt\":\"2026-01-03T00:00:00Z\"");
    make(f);
    assert_null(find(f, "s"));
    assert_null(find(f, "t"));
    done(f);
}

/* Who copies the digest of another's key gets neither its requests nor its life after it was revoked. */
static void a_digest_belongs_to_the_older_key(void **state) {
    struct fixture *f = fixture();
    key(f, "thief", "2", "s", "");
    key(f, "team", "1", "s", "");
    key(f, "thief", "4", "r", "");
    key(f, "team", "3", "r", ",\"revoked\":true");
    make(f);
    assert_str_eq(find(f, "s")->project, STR("team"));
    assert_null(find(f, "r"));
    done(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_what_its_object_says),
        cmocka_unit_test(the_project_bounds_its_keys),
        cmocka_unit_test(numbers_out_of_bounds),
        cmocka_unit_test(a_revoked_key_is_no_key),
        cmocka_unit_test(a_digest_belongs_to_the_older_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
