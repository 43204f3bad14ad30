/*
 * key_store: an implementation of keys.h: the gateway's keys by the SHA-256 of their secrets, and a cache of reviewed
 * tokens of people and ServiceAccounts.
 *
 * A source (a watch on the API server, or a file) makes a set of all keys and puts it; a key that the new set lacks is
 * refused from that moment. A secret is looked up by its digest, so the time of a look-up reveals something about
 * digests at most, from which no secret can be computed.
 *
 * A token that is no key but looks like one of a person (a JWT, or "berth_...") is reviewed: `ask` is called once, on a
 * worker's thread, and key_store_answer delivers the answer from any thread. An answer says how long it is cached. At
 * most KEY_TOKENS_MAX tokens are cached, KEY_ASKING_MAX reviews run at once, and KEY_ASKS_A_SECOND begin in a second:
 * beyond that a token is answered with GATEWAY_KEY_BUSY, so that nobody can flood the API server through the gateway.
 *
 * Thread-safe except for new and free. A look-up holds a lock.
 */
#ifndef BERTH_GATEWAY_KEY_STORE_H
#define BERTH_GATEWAY_KEY_STORE_H

#include "gateway/keys.h"

enum {
    KEY_DIGEST = 32,
    KEYS_MAX = 200000,
    KEY_TOKENS_MAX = 4096,
    KEY_ASKING_MAX = 64,
    KEY_ASKS_A_SECOND = 100,
    KEY_TOKEN_BYTES_MAX = 16 << 10,
    KEY_USED_S = 60,
};

struct key_store;

struct key_store_options {
    /* May be NULL: then tokens that are no keys are unknown. token: valid during the call. False: it cannot be asked
     * now. */
    bool (*ask)(void *ctx, const unsigned char digest[KEY_DIGEST], struct str token);
    void *ctx;
};

struct key_store *key_store_new(const struct key_store_options *o); /* NULL: no memory */
/* Keys that were found must have been released. NULL is a no-op. */
void key_store_free(struct key_store *s);
struct gateway_keys *key_store_keys(struct key_store *s);

/* A set that is being filled; one thread. */
struct key_set;
struct key_set *key_set_new(void); /* NULL: no memory */
void key_set_free(struct key_set *s);
/* Copies the key; NULL: the secret is nobody's, also when another key has it. ERR_EXISTS: the set has another key of
 * this digest, which stays; ERR_TOO_MANY; ERR_NOMEM. */
int key_set_add(struct key_set *s, const unsigned char digest[KEY_DIGEST],
                const struct gateway_key *k, struct err *err);
/* Replaces all keys; takes the set over. When a key was last used is kept from the one of the same digest. */
void key_store_put(struct key_store *s, struct key_set *set);

/* The answer about a token: whose it is, or NULL: nobody's. until_s: when it is asked about again, since 1970.
 * 0 or ERR_NOMEM: then it is asked about again with the next request. */
int key_store_answer(struct key_store *s, const unsigned char digest[KEY_DIGEST],
                     const struct gateway_key *k, int64_t until_s);
/* The question failed: the next request asks again. */
void key_store_unanswered(struct key_store *s, const unsigned char digest[KEY_DIGEST]);
/* All answers are asked for again: what they may has changed. */
void key_store_forget(struct key_store *s);

/* Calls each for every key of the set that was used since its use was reported last, at most once in KEY_USED_S for
 * each key; false: it was not reported, and the round ends. Any one thread. */
void key_store_used(struct key_store *s,
                    bool (*each)(void *ctx, const struct gateway_key *k, int64_t used_s),
                    void *ctx);

#endif
