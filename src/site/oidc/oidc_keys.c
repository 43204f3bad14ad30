/* oidc_keys: the public keys of an issuer. See oidc_keys.h. */
#include "site/oidc/oidc_keys.h"

#include "base/mem.h"
#include "wire/json/json.h"
#include "wire/text/base64.h"

enum { ARENA_BYTES = 16 << 20, KEYS_TRIED_MAX = 8 };

void oidc_keys_release(struct oidc_keys *k) {
    for (size_t i = 0; i < k->n; i++) {
        jwk_free(k->v[i].key);
        mem_free(k->v[i].kid);
    }
    *k = (struct oidc_keys){0};
}

static struct str bytes_of(struct arena *a, yyjson_val *v, const char *member) {
    return base64url_decode(a, json_str(json_get(v, str_of(member))));
}

/* ERR_UNSUPPORTED, ERR_INVALID: passed over. */
static int read_key(struct arena *a, yyjson_val *v, struct oidc_key *ret, struct err *err) {
    struct str use = json_str(json_get(v, STR("use"))), alg = json_str(json_get(v, STR("alg")));
    struct str kid = json_str(json_get(v, STR("kid")));
    struct jwk_parts p = {.kty = json_str(json_get(v, STR("kty"))),
                          .crv = json_str(json_get(v, STR("crv"))),
                          .n = bytes_of(a, v, "n"),
                          .e = bytes_of(a, v, "e"),
                          .x = bytes_of(a, v, "x"),
                          .y = bytes_of(a, v, "y")};
    struct oidc_key k = {0};
    if ((use.n && !str_is(use, "sig")) || (alg.n && !jwk_alg_known(alg)) || kid.n > OIDC_KID_MAX) {
        return err_set(err, ERR_UNSUPPORTED, "a key for something else");
    }
    int r = jwk_new(&p, &k.key, err);
    if (r != 0) {
        return r;
    }
    k.kid = mem_cstr(kid);
    if (k.kid == NULL) {
        jwk_free(k.key);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    (void)str_copy(alg, k.alg, sizeof(k.alg));
    *ret = k;
    return 0;
}

static int read_all(struct arena *a, yyjson_val *list, struct oidc_keys *k, struct err *err) {
    yyjson_val *v;
    size_t i, max;
    if (!yyjson_is_arr(list)) {
        return err_set(err, ERR_SYNTAX, "keys: expected a list");
    }
    yyjson_arr_foreach(list, i, max, v) {
        if (k->n == OIDC_KEYS_MAX) {
            return err_set(err, ERR_TOO_LARGE, "more than %d keys", OIDC_KEYS_MAX);
        }
        int r = read_key(a, v, &k->v[k->n], err);
        if (r == ERR_NOMEM) {
            return r;
        }
        k->n += r == 0;
    }
    return k->n ? 0 : err_set(err, ERR_INVALID, "keys: none that checks signatures");
}

int oidc_keys_read(struct str text, struct oidc_keys *ret, struct err *err) {
    struct oidc_keys k = {0};
    struct arena a;
    yyjson_doc *doc;
    if (text.n > OIDC_KEYS_BYTES) {
        return err_set(err, ERR_TOO_LARGE, "more than %d bytes", OIDC_KEYS_BYTES);
    }
    arena_init(&a, ARENA_BYTES);
    int r = json_parse(&a, text, &doc, err);
    r = r ? r : read_all(&a, json_get(yyjson_doc_get_root(doc), STR("keys")), &k, err);
    arena_release(&a);
    if (r != 0) {
        oidc_keys_release(&k);
        return r;
    }
    *ret = k;
    return 0;
}

int oidc_keys_verify(const struct oidc_keys *k, struct str kid, struct str alg, struct str data,
                     struct str signature, struct err *err) {
    int r = err_set(err, ERR_NOT_FOUND, "no key is called \"%.*s\"", STR_ARG(str_head(kid, 64)));
    for (size_t i = 0, tried = 0; i < k->n && tried < KEYS_TRIED_MAX; i++) {
        const struct oidc_key *one = &k->v[i];
        if ((kid.n && !str_is(kid, one->kid)) || (one->alg[0] && !str_is(alg, one->alg))) {
            r = kid.n && str_is(kid, one->kid)
                    ? err_set(err, ERR_UNAUTHORIZED, "the key is for another algorithm")
                    : r;
            continue;
        }
        tried++;
        r = jwk_verify(one->key, alg, data, signature, err);
        if (r == 0 || r == ERR_NOMEM) {
            return r;
        }
    }
    return r;
}
