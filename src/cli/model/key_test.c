/* Tests of `berth key`: what is sent, what is printed, and that the secret goes nowhere but to standard output. */
#include "base/test.h"

#include "cli/cli.h"
#include "cli/kit/bed.h"
#include "net/tls.h"

#define KEYS "/apis/berth.dev/v1alpha1/namespaces/x/modelkeys"
#define MADE                                                                                       \
    "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ModelKey\",\"metadata\":{\"name\":\"k\","   \
    "\"namespace\":\"x\"},\"spec\":{\"expiresAt\":\"2199-01-01T00:00:00Z\"}}"

static const char three[] =
    "{\"items\":[{\"metadata\":{\"name\":\"good\"},\"spec\":{\"prefix\":\"sk-berth-AAAAAAA\","
    "\"user\":\"ann\",\"models\":[\"llama-*\",\"m\"],\"limits\":{\"requestsPerMinute\":60,"
    "\"streams\":4},\"expiresAt\":\"2199-01-01T00:00:00Z\",\"purpose\":\"nightly\"}},"
    "{\"metadata\":{\"name\":\"gone\"},\"spec\":{\"prefix\":\"sk-berth-AAAAAAB\",\"revoked\":true,"
    "\"expiresAt\":\"2199-01-01T00:00:00Z\"}},"
    "{\"metadata\":{\"name\":\"old\",\"creationTimestamp\":\"2020-01-01T00:00:00Z\"},\"spec\":{"
    "\"prefix\":\"sk-berth-ABAAAAA\"}}]}";

static bool told(const char *text) {
    return str_contains(buf_view(&bed.told), str_of(text));
}
static bool asked(const char *text) {
    return str_contains(buf_view(&bed.seen), str_of(text));
}

static void a_secret_is_printed_and_not_sent(void **state) {
    static const struct route routes[] = {{"POST " KEYS, 201, MADE}};
    char digest[65], want[96];
    bed_start(routes, 1);
    assert_int_equal(RUN("key", "create", "k", "-m", "llama-*", "--rpm", "60", "--priority", "-3",
                         "--purpose", "a b"),
                     CLI_OK);
    struct str secret = str_head(buf_view(&bed.out), bed.out.n - 1);
    assert_true(str_starts(secret, STR("sk-berth-")));
    assert_int_equal(secret.n, 9 + 43);
    tls_sha256_text(secret, digest);
    (void)snprintf(want, sizeof want, "\"sha256\":\"%s\"", digest);
    assert_true(asked(want));
    assert_true(asked("\"models\":[\"llama-*\"]"));
    assert_true(asked("\"requestsPerMinute\":60"));
    assert_true(asked("\"priority\":-3"));
    assert_true(asked("\"purpose\":\"a b\""));
    assert_false(str_contains(buf_view(&bed.seen), secret));
    (void)snprintf(want, sizeof want, "\"prefix\":\"%.16s\"", secret.p);
    assert_true(asked(want));
    assert_true(told("modelkey/k made in project \"x\", valid until 2199-01-01T00:00:00Z"));
    assert_int_equal(RUN("key", "create", "-o", "json"), CLI_OK);
    assert_true(str_contains(buf_view(&bed.out), STR("\"secret\": \"sk-berth-")));
    assert_true(asked("\"generateName\":\"key-\""));
    bed_stop();
}

static void two_secrets_differ(void **state) {
    static const struct route routes[] = {{"POST " KEYS, 201, MADE}};
    char first[64];
    bed_start(routes, 1);
    assert_int_equal(RUN("key", "create"), CLI_OK);
    (void)snprintf(first, sizeof first, "%s", buf_cstr(&bed.out));
    assert_int_equal(RUN("key", "create"), CLI_OK);
    assert_false(str_is(buf_view(&bed.out), first));
    bed_stop();
}

static void what_is_wrong_is_said_before_anything_is_made(void **state) {
    bed_start(NULL, 0);
    assert_int_equal(RUN("key", "create", "--expires", "never"), CLI_USAGE);
    assert_true(told("--expires never: expected a number of hours, days or weeks"));
    assert_int_equal(RUN("key", "create", "--expires", "4000d"), CLI_USAGE);
    assert_int_equal(RUN("key", "create", "--rpm", "-1"), CLI_USAGE);
    assert_true(told("--rpm -1: expected a number from 0 to 1000000000"));
    assert_int_equal(RUN("key", "create", "-o", "name"), CLI_USAGE);
    assert_int_equal(RUN("key", "create", "a", "b"), CLI_USAGE);
    assert_int_equal(RUN("key", "revoke"), CLI_USAGE);
    assert_int_equal(RUN("key", "mint"), CLI_USAGE);
    assert_true(told("key: expected create, list or revoke, not \"mint\""));
    assert_int_equal(bed.seen.n, 0);
    bed_stop();
}

static void keys_are_listed(void **state) {
    static const struct route routes[] = {{"GET " KEYS, 200, three}};
    bed_start(routes, 1);
    assert_int_equal(RUN("key", "list"), CLI_OK);
    assert_true(str_contains(
        buf_view(&bed.out),
        STR("good   sk-berth-AAAAAAA   valid     ann    llama-*, m   60 requests/min, 4 streams")));
    assert_true(str_contains(buf_view(&bed.out), STR("gone   sk-berth-AAAAAAB   revoked")));
    assert_true(str_contains(buf_view(&bed.out), STR("old    sk-berth-ABAAAAA   expired")));
    assert_int_equal(RUN("key", "list", "-o", "wide"), CLI_OK);
    assert_true(str_contains(buf_view(&bed.out), STR("nightly")));
    bed_stop();
}

static void a_key_is_revoked_by_its_name_or_its_beginning(void **state) {
    static const struct route routes[] = {{"GET " KEYS, 200, three},
                                          {"PATCH " KEYS "/good", 200, MADE},
                                          {"PATCH " KEYS "/gone", 200, MADE}};
    bed_start(routes, 3);
    assert_int_equal(RUN("key", "revoke", "good"), CLI_OK);
    assert_true(asked("PATCH " KEYS "/good {\"spec\":{\"revoked\":true}}"));
    assert_int_equal(RUN("key", "revoke", "sk-berth-AAAAAABcdefg"), CLI_OK);
    assert_true(asked("PATCH " KEYS "/gone "));
    assert_int_equal(RUN("key", "revoke", "sk-berth-AAAA"), CLI_NOT_FOUND);
    assert_true(told("begins several keys"));
    assert_int_equal(RUN("key", "revoke", "none"), CLI_NOT_FOUND);
    assert_true(told("there is no key \"none\" in project \"x\""));
    bed_stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_is_printed_and_not_sent),
        cmocka_unit_test(two_secrets_differ),
        cmocka_unit_test(what_is_wrong_is_said_before_anything_is_made),
        cmocka_unit_test(keys_are_listed),
        cmocka_unit_test(a_key_is_revoked_by_its_name_or_its_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
