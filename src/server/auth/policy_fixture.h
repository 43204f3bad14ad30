/* policy_fixture (server): a mirror that tests fill with manifests, and a clock that stands where it is put. */
#ifndef BERTH_SERVER_POLICY_FIXTURE_H
#define BERTH_SERVER_POLICY_FIXTURE_H

#include "base/mem.h"
#include "base/test.h"
#include "mirror/mirror.h"
#include "server/kit/request.h"

static int64_t fixture_now = INT64_C(1800000000) * 1000000000;

static int64_t fixture_wall(struct clock *c) {
    return fixture_now;
}
static struct clock fixture_clock = {.wall_ns = fixture_wall, .mono_ns = fixture_wall};

static inline struct mirror *fixture_mirror(void) {
    struct mirror_options o = {.clock = &fixture_clock};
    struct mirror *m = mirror_new(&o);
    assert_non_null(m);
    return m;
}

/* Adds or replaces an object; a uid is made of the name when the manifest has none. */
static inline void fixture_put_sized(struct mirror *m, const char *json, size_t bytes) {
    struct arena a;
    yyjson_mut_doc *d = NULL;
    struct object *o = NULL;
    struct err err = {0};
    arena_init(&a, bytes);
    assert_ok(json_parse_mut(&a, str_of(json), &d, &err), &err);
    const struct kind *k =
        kind_by_api_version(json_mstr_at(d->root, "apiVersion"), json_mstr_at(d->root, "kind"));
    assert_non_null(k);
    yyjson_mut_val *meta = json_mensure(d, d->root, "metadata");
    if (json_mstr_at(meta, "uid").n == 0) {
        json_mset_str(d, meta, "uid", arena_f(&a, "uid-%.*s", STR_ARG(json_mstr_at(meta, "name"))));
    }
    json_mset_str(d, meta, "creationTimestamp", STR("2026-01-01T00:00:00Z"));
    assert_ok(object_new_mut(k, d->root, &o, &err), &err);
    const struct object *old = mirror_pending(m, k, o->ns, o->name);
    assert_ok(mirror_write(m, old ? CHANGE_MODIFIED : CHANGE_ADDED, o, old ? old->rv : 0, NULL,
                           NULL, &err),
              &err);
    mirror_flush(m);
    arena_release(&a);
}

static inline void fixture_put(struct mirror *m, const char *json) {
    fixture_put_sized(m, json, 1 << 20);
}

static inline void fixture_delete(struct mirror *m, const char *group, const char *kind,
                                  const char *ns, const char *name) {
    const struct kind *k = kind_by_name(str_of(group), str_of(kind));
    const struct object *old = mirror_pending(m, k, str_of(ns), str_of(name));
    struct err err = {0};
    struct object *last = NULL;
    assert_non_null(old);
    assert_ok(object_new(k, old->json, &last, &err), &err);
    assert_ok(mirror_write(m, CHANGE_DELETED, last, old->rv, NULL, NULL, &err), &err);
    mirror_flush(m);
}

/* A user with up to three groups. */
static inline struct user fixture_user(const char *name, const char *g1, const char *g2) {
    static struct str groups[16][3];
    static size_t next;
    struct str *g = groups[next++ % 16];
    size_t n = 0;
    if (g1) {
        g[n++] = str_of(g1);
    }
    if (g2) {
        g[n++] = str_of(g2);
    }
    g[n++] = STR("system:authenticated");
    return (struct user){.name = str_of(name), .groups = {g, n}};
}

#endif
