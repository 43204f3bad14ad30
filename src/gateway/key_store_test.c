/* Tests of key_store: secrets that are known, revoked and expired, tokens that are asked about, and the bounds. */
#include "base/test.h"

#include <pthread.h>

#include "gateway/key_store.h"
#include "net/tls.h"

struct fixture {
    struct key_store *s;
    unsigned char asked[KEY_DIGEST];
    int asks;
    bool deaf;
};

static bool ask(void *ctx, const unsigned char digest[KEY_DIGEST], struct str token) {
    struct fixture *f = ctx;
    f->asks++;
    memcpy(f->asked, digest, KEY_DIGEST);
    return !f->deaf;
}

static struct fixture *fixture(void) {
    static struct fixture f;
    f = (struct fixture){0};
    f.s = key_store_new(&(struct key_store_options){ask, &f});
    assert_non_null(f.s);
    return &f;
}

static int add(struct key_set *set, const char *secret, const struct gateway_key *k) {
    unsigned char digest[KEY_DIGEST];
    tls_sha256(str_of(secret), digest);
    return key_set_add(set, digest, k, NULL);
}

static const struct str models[] = {{"llama-*", 7}, {"m", 1}};
static const struct gateway_key ann = {.number = 1,
                                       .name = {"a", 1},
                                       .subject = {"ann", 3},
                                       .project = {"team", 4},
                                       .models = models,
                                       .n_models = 2,
                                       .weight = 1};

static const struct gateway_key *found(struct fixture *f, const char *secret, int64_t now) {
    struct gateway_keys *k = key_store_keys(f->s);
    const struct gateway_key *key = NULL;
    return k->find(k, str_of(secret), now, &key) == GATEWAY_KEY_FOUND ? key : NULL;
}
static enum gateway_key_found answer(struct fixture *f, const char *secret, int64_t now) {
    struct gateway_keys *k = key_store_keys(f->s);
    const struct gateway_key *key;
    enum gateway_key_found r = k->find(k, str_of(secret), now, &key);
    if (r == GATEWAY_KEY_FOUND) {
        k->release(k, key);
    }
    return r;
}
static void release(struct fixture *f, const struct gateway_key *key) {
    key_store_keys(f->s)->release(key_store_keys(f->s), key);
}

static void a_key_is_found_by_its_secret_alone(void **state) {
    struct fixture *f = fixture();
    struct key_set *set = key_set_new();
    assert_int_equal(add(set, "secret", &ann), 0);
    assert_int_equal(add(set, "secret", &ann), ERR_EXISTS);
    key_store_put(f->s, set);
    const struct gateway_key *k = found(f, "secret", 10);
    assert_non_null(k);
    assert_str_eq(k->subject, STR("ann"));
    assert_int_equal(k->n_models, 2);
    assert_str_eq(k->models[0], STR("llama-*"));
    release(f, k);
    assert_int_equal(answer(f, "secre", 10), GATEWAY_KEY_UNKNOWN);
    assert_int_equal(answer(f, "", 10), GATEWAY_KEY_UNKNOWN);
    assert_int_equal(f->asks, 0);
    key_store_free(f->s);
}

/* A request that found a key goes on with it; the next is refused. */
static void a_key_that_is_gone_is_refused(void **state) {
    struct fixture *f = fixture();
    struct key_set *set = key_set_new();
    add(set, "secret", &ann);
    key_store_put(f->s, set);
    const struct gateway_key *k = found(f, "secret", 10);
    key_store_put(f->s, key_set_new());
    assert_int_equal(answer(f, "secret", 10), GATEWAY_KEY_UNKNOWN);
    assert_str_eq(k->project, STR("team"));
    release(f, k);
    key_store_free(f->s);
}

static void a_revoked_secret_is_nobodys(void **state) {
    struct fixture *f = fixture();
    struct key_set *set = key_set_new();
    assert_int_equal(add(set, "secret", NULL), 0);
    assert_int_equal(add(set, "secret", &ann), ERR_EXISTS);
    key_store_put(f->s, set);
    assert_int_equal(answer(f, "secret", 10), GATEWAY_KEY_UNKNOWN);
    key_store_free(f->s);
}

static void a_key_expires(void **state) {
    struct fixture *f = fixture();
    struct key_set *set = key_set_new();
    struct gateway_key k = ann;
    k.expires_s = 100;
    add(set, "secret", &k);
    key_store_put(f->s, set);
    assert_int_equal(answer(f, "secret", 99), GATEWAY_KEY_FOUND);
    assert_int_equal(answer(f, "secret", 100), GATEWAY_KEY_EXPIRED);
    key_store_free(f->s);
}

#define JWT "aaa.bbb.ccc"

static void a_token_is_asked_about_once(void **state) {
    struct fixture *f = fixture();
    assert_int_equal(answer(f, JWT, 1), GATEWAY_KEY_ASKING);
    assert_int_equal(answer(f, JWT, 1), GATEWAY_KEY_ASKING);
    assert_int_equal(f->asks, 1);
    assert_int_equal(key_store_answer(f->s, f->asked, &ann, 50), 0);
    assert_int_equal(answer(f, JWT, 49), GATEWAY_KEY_FOUND);
    assert_int_equal(answer(f, JWT, 50), GATEWAY_KEY_ASKING);
    assert_int_equal(f->asks, 2);
    key_store_answer(f->s, f->asked, NULL, 60);
    assert_int_equal(answer(f, JWT, 51), GATEWAY_KEY_UNKNOWN);
    key_store_forget(f->s);
    assert_int_equal(answer(f, JWT, 51), GATEWAY_KEY_ASKING);
    key_store_unanswered(f->s, f->asked);
    assert_int_equal(answer(f, JWT, 51), GATEWAY_KEY_ASKING);
    assert_int_equal(f->asks, 4);
    f->deaf = true;
    assert_int_equal(answer(f, "berth_x", 51), GATEWAY_KEY_BUSY);
    key_store_free(f->s);
}

/* Whoever invents tokens reaches neither the API server nor the end of memory. */
static void inventing_tokens_is_bounded(void **state) {
    struct fixture *f = fixture();
    char token[32];
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(token, sizeof token, "a.b.%d", i);
        assert_int_equal(answer(f, token, 7),
                         i < KEY_ASKING_MAX ? GATEWAY_KEY_ASKING : GATEWAY_KEY_BUSY);
    }
    assert_int_equal(f->asks, KEY_ASKING_MAX);
    key_store_free(f->s);
    f = fixture();
    int most = 0;
    for (int s = 0; s < 100; s++) {
        for (int i = 0; i < 200; i++) {
            (void)snprintf(token, sizeof token, "a.b.%d-%d", s, i);
            if (answer(f, token, s) == GATEWAY_KEY_ASKING) {
                key_store_answer(f->s, f->asked, NULL, 1000);
                most++;
            }
        }
    }
    assert_int_equal(most, 100 * KEY_ASKS_A_SECOND);
    assert_int_equal(answer(f, "a.b.99-0", 99), GATEWAY_KEY_UNKNOWN); /* remembered */
    assert_int_equal(answer(f, "a.b.0-0", 100), GATEWAY_KEY_ASKING);  /* forgotten */
    key_store_free(f->s);
}

/* Many invented tokens, more than are remembered: those of people stay. */
static void inventing_tokens_pushes_nobody_out(void **state) {
    struct fixture *f = fixture();
    char token[32];
    const int people = 20, all = KEY_TOKENS_MAX * 2;
    for (int i = 0; i < all; i++) {
        (void)snprintf(token, sizeof token, "a.b.%d", i);
        assert_int_equal(answer(f, token, i), GATEWAY_KEY_ASKING);
        key_store_answer(f->s, f->asked, i < people ? &ann : NULL, 1000000);
    }
    for (int i = 0; i < people; i++) {
        (void)snprintf(token, sizeof token, "a.b.%d", i);
        assert_int_equal(answer(f, token, all), GATEWAY_KEY_FOUND);
    }
    key_store_free(f->s);
}

struct told {
    int64_t sum;
    bool full;
};

static bool note(void *ctx, const struct gateway_key *k, int64_t used_s) {
    struct told *t = ctx;
    t->sum += t->full ? 0 : used_s;
    return !t->full;
}

static void use_is_told_once_a_minute(void **state) {
    struct fixture *f = fixture();
    struct told t = {.full = true};
    for (int i = 0; i < 2; i++) {
        struct key_set *set = key_set_new();
        add(set, "secret", &ann);
        add(set, "other", &ann);
        key_store_put(f->s, set);
        if (i == 0) {
            answer(f, "secret", 140);
            answer(f, "secret", 141);
        }
    }
    key_store_used(f->s, note, &t);
    t.full = false;
    key_store_used(f->s, note, &t);
    assert_int_equal(t.sum, 141);
    answer(f, "secret", 142);
    key_store_used(f->s, note, &t);
    assert_int_equal(t.sum, 141);
    answer(f, "secret", 201);
    key_store_used(f->s, note, &t);
    assert_int_equal(t.sum, 141 + 201);
    key_store_free(f->s);
}

static void *seek(void *ctx) {
    struct fixture *f = ctx;
    for (int i = 0; i < 20000; i++) {
        (void)answer(f, i % 2 ? "secret" : JWT, i / 1000);
    }
    return NULL;
}

static void workers_and_the_source_do_not_meet(void **state) {
    struct fixture *f = fixture();
    pthread_t t[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, seek, f);
    }
    for (int i = 0; i < 500; i++) {
        struct key_set *set = key_set_new();
        unsigned char digest[KEY_DIGEST];
        add(set, "secret", &ann);
        key_store_put(f->s, set);
        tls_sha256(STR(JWT), digest);
        key_store_answer(f->s, digest, &ann, i);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
    }
    assert_int_equal(answer(f, "secret", 1), GATEWAY_KEY_FOUND);
    key_store_free(f->s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_found_by_its_secret_alone),
        cmocka_unit_test(a_key_that_is_gone_is_refused),
        cmocka_unit_test(a_revoked_secret_is_nobodys),
        cmocka_unit_test(a_key_expires),
        cmocka_unit_test(a_token_is_asked_about_once),
        cmocka_unit_test(inventing_tokens_is_bounded),
        cmocka_unit_test(inventing_tokens_pushes_nobody_out),
        cmocka_unit_test(use_is_told_once_a_minute),
        cmocka_unit_test(workers_and_the_source_do_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
