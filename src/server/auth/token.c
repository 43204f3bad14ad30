/* token: ServiceAccount tokens. See token.h. */
#include "server/auth/token.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/tls.h"
#include "wire/json/json.h"
#include "wire/text/base64.h"

enum { PEM_MAX = 16 << 10, TOKEN_MAX = 16 << 10, LEEWAY_SECONDS = 10 };

enum { SEEN_SLOTS = 256 };

struct token_seen {
    unsigned char hash[SEEN_SLOTS][32]; /* of the whole token; all zero: free */
};

/* ---- the key ---- */

static int read_file(const char *file, char *out, size_t cap, size_t *ret_n, struct err *err) {
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t got = 0;
    if (fd < 0) {
        return err_sys(err, errno, "cannot read %s", file);
    }
    while (n < cap && (got = read(fd, out + n, cap - n)) > 0) {
        n += (size_t)got;
    }
    close(fd);
    if (got < 0) {
        return err_sys(err, errno, "cannot read %s", file);
    }
    *ret_n = n;
    return 0;
}

/* The body of the block that holds the private key: base64 between its lines. */
static struct str pem_body(struct str pem) {
    struct str rest = pem, line, body = {0};
    while (str_next(&rest, '\n', &line)) {
        line = str_trim(line);
        if (str_starts(line, STR("-----BEGIN ")) && str_ends(line, STR("PRIVATE KEY-----"))) {
            body.p = rest.p;
        } else if (body.p && str_starts(line, STR("-----END "))) {
            body.n = (size_t)(line.p - body.p);
            return body;
        }
    }
    return (struct str){0};
}

/* Both forms of a P-256 private key (SEC 1 and PKCS 8) end in the public point as a BIT STRING of 66 bytes. */
static bool find_point(struct str der, struct token_key *k) {
    static const char head[] = {0x03, 0x42, 0x00, 0x04};
    const char *at = der.p && der.n > 68 ? memmem(der.p, der.n, head, sizeof(head)) : NULL;
    if (at == NULL || (size_t)(der.p + der.n - at) < sizeof(head) + 64) {
        return false;
    }
    memcpy(k->x, at + 4, 32);
    memcpy(k->y, at + 36, 32);
    return true;
}

/* The key's id is the hash of its SubjectPublicKeyInfo, whose beginning is the same for every P-256 key. */
static int make_kid(struct token_key *k) {
    static const unsigned char spki_head[] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48,
                                              0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
                                              0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};
    unsigned char spki[sizeof(spki_head) + 64], hash[32];
    struct buf b;
    memcpy(spki, spki_head, sizeof(spki_head));
    memcpy(spki + sizeof(spki_head), k->x, 32);
    memcpy(spki + sizeof(spki_head) + 32, k->y, 32);
    tls_sha256(str_from((const char *)spki, sizeof(spki)), hash);
    buf_init(&b, 0);
    base64url_encode(&b, str_from((const char *)hash, sizeof(hash)));
    int r = buf_ok(&b);
    if (r == 0) {
        str_copy(buf_view(&b), k->kid, sizeof(k->kid));
    }
    buf_release(&b);
    return r;
}

int token_key_init(struct token_key *k, const char *file, struct err *err) {
    char pem[PEM_MAX];
    size_t n;
    struct arena a;
    *k = (struct token_key){0};
    int r = read_file(file, pem, sizeof(pem), &n, err);
    if (r != 0) {
        return r;
    }
    arena_init(&a, 4 * PEM_MAX);
    struct str der = base64_decode(&a, pem_body(str_from(pem, n)));
    if (!find_point(der, k)) {
        r = err_set(err, ERR_INVALID, "%s holds no ECDSA P-256 private key", file);
    }
    explicit_bzero(pem, sizeof(pem));
    if (der.p) {
        explicit_bzero((void *)(uintptr_t)der.p, der.n);
    }
    arena_release(&a);
    if (r == 0 && make_kid(k) == 0) {
        r = tls_key_read(file, &k->key, err);
        k->seen = mem_zalloc(sizeof(*k->seen));
    }
    if (r == 0 && k->seen == NULL) {
        r = err_set(err, ERR_NOMEM, "no memory for a key");
    }
    if (r != 0) {
        token_key_release(k);
    }
    return r;
}

void token_key_release(struct token_key *k) {
    tls_key_free(k->key);
    mem_free(k->seen);
    *k = (struct token_key){0};
}

/* ---- minting ---- */

static void member(struct buf *b, const char *name, struct str value) {
    buf_f(b, "\"%s\":", name);
    buf_json(b, value);
}

/* A reference to an object, and a comma; nothing when there is none. */
static void write_ref(struct buf *b, const char *what, struct str name, struct str uid) {
    if (name.n) {
        buf_f(b, "\"%s\":{", what);
        member(b, "name", name);
        buf_ch(b, ',');
        member(b, "uid", uid);
        buf_c(b, "},");
    }
}

static void write_claims(struct buf *b, const struct token_claims *c) {
    buf_c(b, "{\"aud\":[");
    for (size_t i = 0; i < c->audiences.n; i++) {
        buf_c(b, i ? "," : "");
        buf_json(b, c->audiences.v[i]);
    }
    buf_f(b, "],\"exp\":%lld,\"iat\":%lld,", (long long)c->expires, (long long)c->issued);
    member(b, "iss", c->issuer);
    buf_ch(b, ',');
    member(b, "jti", c->jti);
    buf_c(b, ",\"kubernetes.io\":{");
    member(b, "namespace", c->ns);
    buf_ch(b, ',');
    write_ref(b, "node", c->node, c->node_uid);
    write_ref(b, "pod", c->pod, c->pod_uid);
    write_ref(b, "secret", c->secret, c->secret_uid);
    buf_c(b, "\"serviceaccount\":{");
    member(b, "name", c->account);
    buf_ch(b, ',');
    member(b, "uid", c->account_uid);
    buf_f(b, "}},\"nbf\":%lld,", (long long)c->not_before);
    member(b, "sub", c->subject);
    buf_ch(b, '}');
}

int token_mint(const struct token_key *k, const struct token_claims *c, struct buf *out,
               struct err *err) {
    struct buf json, text;
    unsigned char sig[64];
    buf_init(&json, TOKEN_MAX);
    buf_init(&text, TOKEN_MAX);
    buf_f(&json, "{\"alg\":\"ES256\",\"kid\":\"%s\"}", k->kid);
    base64url_encode(&text, buf_view(&json));
    buf_ch(&text, '.');
    int r = buf_ok(&json);
    buf_reset(&json);
    write_claims(&json, c);
    base64url_encode(&text, buf_view(&json));
    r = r ? r : buf_ok(&json) ? buf_ok(&json) : buf_ok(&text);
    r = r ? err_set(err, r, "the token would be too large")
          : tls_sign_es256(k->key, buf_view(&text), sig, err);
    if (r == 0) {
        buf_str(out, buf_view(&text));
        buf_ch(out, '.');
        base64url_encode(out, str_from((const char *)sig, sizeof(sig)));
    }
    buf_release(&json);
    buf_release_secret(&text);
    return r ? r : buf_ok(out);
}

/* ---- verifying ---- */

static int unauthorized(struct err *err, const char *why) {
    return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token: %s", why);
}

static yyjson_val *parse_part(struct arena *a, struct str part) {
    yyjson_doc *doc;
    struct str json = base64url_decode(a, part);
    if (json.p == NULL || json_parse(a, json, &doc, NULL) != 0) {
        return NULL;
    }
    yyjson_val *v = yyjson_doc_get_root(doc);
    return yyjson_is_obj(v) ? v : NULL;
}

/* "aud" is one string or a list of them. */
static bool take_audiences(struct arena *a, yyjson_val *aud, struct str_list *ret) {
    size_t i, max, n = yyjson_is_arr(aud) ? yyjson_arr_size(aud) : 1;
    yyjson_val *v;
    ret->v = ARENA_ARRAY(a, struct str, n ? n : 1);
    if (ret->v == NULL) {
        return false;
    }
    if (!yyjson_is_arr(aud)) {
        ret->v[ret->n++] = json_str(aud);
        return true;
    }
    yyjson_arr_foreach(aud, i, max, v) {
        ret->v[ret->n++] = json_str(v);
    }
    return true;
}

static bool share_one(const struct str_list *x, const struct str_list *y) {
    for (size_t i = 0; i < x->n; i++) {
        for (size_t k = 0; k < y->n; k++) {
            if (x->v[i].n && str_eq(x->v[i], y->v[k])) {
                return true;
            }
        }
    }
    return false;
}

static bool read_claims(struct arena *a, yyjson_val *v, struct token_claims *c) {
    yyjson_val *k8s = json_get(v, STR("kubernetes.io")); /* the name has a dot: no path */
    *c = (struct token_claims){
        .issuer = json_str_at(v, "iss"),
        .subject = json_str_at(v, "sub"),
        .jti = json_str_at(v, "jti"),
        .issued = json_i64_at(v, "iat", 0),
        .expires = json_i64_at(v, "exp", 0),
        .not_before = json_i64_at(v, "nbf", 0),
        .ns = json_str_at(k8s, "namespace"),
        .account = json_str_at(k8s, "serviceaccount.name"),
        .account_uid = json_str_at(k8s, "serviceaccount.uid"),
        .pod = json_str_at(k8s, "pod.name"),
        .pod_uid = json_str_at(k8s, "pod.uid"),
        .secret = json_str_at(k8s, "secret.name"),
        .secret_uid = json_str_at(k8s, "secret.uid"),
        .node = json_str_at(k8s, "node.name"),
        .node_uid = json_str_at(k8s, "node.uid"),
    };
    return take_audiences(a, json_get(v, STR("aud")), &c->audiences);
}

/* text is the whole token, whose first signed_n bytes are what the signature is for. */
static int check_signature(const struct token_key *k, struct str text, size_t signed_n,
                           struct arena *a, struct err *err) {
    unsigned char hash[32], *slot;
    tls_sha256(text, hash);
    slot = k->seen->hash[hash[0] % SEEN_SLOTS];
    if (memcmp(slot, hash, sizeof(hash)) == 0) {
        return 0;
    }
    struct str sig = base64url_decode(a, str_skip(text, signed_n + 1));
    if (sig.n != 64 || tls_verify_es256(k->key, str_head(text, signed_n),
                                        (const unsigned char *)sig.p, NULL) != 0) {
        return unauthorized(err, "the signature is wrong");
    }
    memcpy(slot, hash, sizeof(hash));
    return 0;
}

int token_verify(const struct token_key *k, struct str text, struct str issuer,
                 const struct str_list *audiences, int64_t now_ns, struct arena *a,
                 struct token_claims *ret, struct err *err) {
    struct str header, claims, sig, rest;
    struct token_claims c;
    int64_t now = now_ns / 1000000000;
    if (text.n > TOKEN_MAX || !str_cut(text, '.', &header, &rest) ||
        !str_cut(rest, '.', &claims, &sig)) {
        return err_set(err, ERR_NOT_FOUND, "not a JWT");
    }
    yyjson_val *h = parse_part(a, header), *v = parse_part(a, claims);
    if (h == NULL || v == NULL || !str_eq(json_str_at(v, "iss"), issuer)) {
        return arena_ok(a) ? ERR_NOMEM : err_set(err, ERR_NOT_FOUND, "not a token of this server");
    }
    if (!str_is(json_str_at(h, "alg"), "ES256") || !str_is(json_str_at(h, "kid"), k->kid)) {
        return unauthorized(err, "it was signed with another key");
    }
    int r = check_signature(k, text, header.n + 1 + claims.n, a, err);
    if (r != 0) {
        return r;
    }
    if (!read_claims(a, v, &c)) {
        return ERR_NOMEM;
    }
    if (c.expires <= now - LEEWAY_SECONDS || c.not_before > now + LEEWAY_SECONDS) {
        return unauthorized(err, "it has expired, or is not valid yet");
    }
    if (!share_one(&c.audiences, audiences)) {
        return unauthorized(err, "it is for another audience");
    }
    *ret = c;
    return 0;
}

/* ---- publishing ---- */

void token_write_jwks(const struct token_key *k, struct buf *out) {
    buf_f(out,
          "{\"keys\":[{\"use\":\"sig\",\"kty\":\"EC\",\"kid\":\"%s\",\"crv\":\"P-256\",\"alg\":"
          "\"ES256\",\"x\":\"",
          k->kid);
    base64url_encode(out, str_from((const char *)k->x, sizeof(k->x)));
    buf_c(out, "\",\"y\":\"");
    base64url_encode(out, str_from((const char *)k->y, sizeof(k->y)));
    buf_c(out, "\"}]}");
}

void token_write_discovery(struct str issuer, struct buf *out) {
    struct str base = str_ends(issuer, STR("/")) ? str_head(issuer, issuer.n - 1) : issuer;
    buf_c(out, "{");
    member(out, "issuer", issuer);
    buf_c(out, ",\"jwks_uri\":");
    struct buf uri;
    buf_init(&uri, 0);
    buf_str(&uri, base);
    buf_c(&uri, "/openid/v1/jwks");
    buf_json(out, buf_view(&uri));
    buf_release(&uri);
    buf_c(out,
          ",\"response_types_supported\":[\"id_token\"],\"subject_types_supported\":[\"public\"],"
          "\"id_token_signing_alg_values_supported\":[\"ES256\"]}");
}
