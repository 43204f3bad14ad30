/*
 * openapi: the v3 index and one document a group-version; v2 as an empty document, which kubectl
 * takes.
 *
 * Documents are made when asked for and dropped: clients keep them by the hash in their URL. The hashes are made at the
 * first request for the index, and again for what changed since.
 */
#include <stdio.h>

#include "api/schema/codec.h"
#include "api/schema/crd_schema.h"
#include "base/mem.h"
#include "server/kit/groups.h"
#include "server/kit/handlers.h"

struct openapi_hash {
    uint64_t sum; /* over what the document is made from */
    char text[17];
};

void openapi_release(struct server *s) {
    mem_free(s->openapi);
    s->openapi = NULL;
    s->n_openapi = 0;
}

/* Changes when a kind of the group-version comes, goes, or gets another schema. */
static uint64_t sum_of(const struct group_version *gv) {
    size_t n;
    const struct kind *const *kinds = kinds_all(&n);
    uint64_t sum = str_hash(str_of(gv->group)) ^ str_hash(str_of(gv->version)) * 3;
    for (size_t i = 0; i < n; i++) {
        const struct kind_version *kv = strcmp(kinds[i]->group, gv->group) == 0
                                            ? kind_version(kinds[i], str_of(gv->version))
                                            : NULL;
        if (kv != NULL) {
            uint64_t part[2] = {(uintptr_t)kinds[i],
                                kv->schema->custom != NULL ? kv->schema->custom->serial : 0};
            sum = sum * 31 + str_hash(str_from((const char *)part, sizeof(part)));
        }
    }
    return sum;
}

static int fill_hash(struct openapi_hash *h, const struct group_version *gv, struct err *err) {
    struct buf b;
    buf_init(&b, 0);
    int r = codec_openapi_v3(str_of(gv->group), str_of(gv->version), &b, err);
    (void)snprintf(h->text, sizeof(h->text), "%016llX", (unsigned long long)str_hash(buf_view(&b)));
    buf_release(&b);
    return r;
}

/* One hash for each group-version; documents that are as before are not made again. */
static int make_hashes(struct server *s, struct err *err) {
    size_t n;
    const struct group_version *v = groups_all(&n);
    if (s->n_openapi == n && s->openapi_generation == kinds_generation()) {
        return 0;
    }
    struct openapi_hash *list = mem_array(n, sizeof(*list));
    int r = list == NULL ? err_set(err, ERR_NOMEM, "out of memory") : 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        list[i].sum = sum_of(&v[i]);
        size_t k = 0;
        while (k < s->n_openapi && s->openapi[k].sum != list[i].sum) {
            k++;
        }
        if (k < s->n_openapi) {
            list[i] = s->openapi[k];
        } else {
            r = fill_hash(&list[i], &v[i], err);
        }
    }
    if (r != 0) {
        mem_free(list);
        return r;
    }
    mem_free(s->openapi);
    s->openapi = list;
    s->n_openapi = n;
    s->openapi_generation = kinds_generation();
    return 0;
}

static void index_answer(struct call *c) {
    size_t n;
    const struct group_version *v = groups_all(&n);
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "{\"paths\":{");
    for (size_t i = 0; i < n; i++) {
        struct str path = v[i].group[0] ? arena_f(c->arena, "apis/%s/%s", v[i].group, v[i].version)
                                        : arena_f(c->arena, "api/%s", v[i].version);
        buf_f(&b, "%s\"%.*s\":{\"serverRelativeURL\":\"/openapi/v3/%.*s?hash=%.*s\"}", i ? "," : "",
              STR_ARG(path), STR_ARG(path), STR_ARG(str_of(c->s->openapi[i].text)));
    }
    buf_c(&b, "}}\n");
    struct str etag = arena_f(c->arena, "\"%016llX\"", (unsigned long long)str_hash(buf_view(&b)));
    (void)http_add_header(c->http, "ETag", etag);
    if (negotiate_etag(http_header(c->http, "If-None-Match"), etag)) {
        call_bytes(c, 304, "application/json", (struct str){0});
    } else {
        call_bytes(c, 200, "application/json", buf_view(&b));
    }
    buf_release(&b);
}

static void document_answer(struct call *c, size_t i, const struct group_version *gv,
                            struct str path) {
    struct str hash = request_query(&c->req, "hash"), want = str_of(c->s->openapi[i].text);
    struct err err = {0};
    if (hash.n > 0 && !str_eq(hash, want)) {
        (void)http_add_header(c->http, "Location",
                              arena_f(c->arena, "%.*s?hash=%.*s", STR_ARG(path), STR_ARG(want)));
        call_bytes(c, 301, "text/plain", (struct str){0});
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    int r = codec_openapi_v3(str_of(gv->group), str_of(gv->version), &b, &err);
    if (r == 0 && (r = buf_ok(&b)) != 0) {
        (void)err_set(&err, r, "out of memory");
    }
    if (r != 0) {
        (void)failure_err(&c->failure, c->arena, &err);
        call_fail(c);
    } else {
        (void)http_add_header(c->http, "ETag", arena_f(c->arena, "\"%.*s\"", STR_ARG(want)));
        if (hash.n > 0) {
            (void)http_add_header(c->http, "Cache-Control", STR("public, immutable"));
        }
        call_bytes(c, 200, "application/json", buf_view(&b));
    }
    buf_release(&b);
}

bool openapi_request(struct call *c, struct str path) {
    struct err err = {0};
    if (str_is(path, "/openapi/v2")) {
        call_bytes(c, 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                   (struct str){0});
        return true;
    }
    if (!str_starts(path, STR("/openapi/v3"))) {
        return false;
    }
    if (make_hashes(c->s, &err) != 0) {
        (void)failure_err(&c->failure, c->arena, &err);
        call_fail(c);
        return true;
    }
    struct str rest = str_skip(path, 11);
    if (rest.n == 0) {
        index_answer(c);
        return true;
    }
    size_t n;
    const struct group_version *v = groups_all(&n);
    for (size_t i = 0; i < n; i++) {
        struct str want = v[i].group[0] ? arena_f(c->arena, "/apis/%s/%s", v[i].group, v[i].version)
                                        : arena_f(c->arena, "/api/%s", v[i].version);
        if (str_eq(rest, want)) {
            document_answer(c, i, &v[i], path);
            return true;
        }
    }
    return false;
}
