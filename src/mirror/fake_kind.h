/* fake_kind: two kinds for tests of the lower rooms, which do not need the real tables. */
#ifndef BERTH_MIRROR_FAKE_KIND_H
#define BERTH_MIRROR_FAKE_KIND_H

#include "mirror/object.h"

/* Weak: kinds are compared by address, and a test may have several files. */
static const struct kind_version fake_versions[] = {{.version = "v1"}};

__attribute__((weak)) const struct kind fake_map = {
    .group = "",
    .kind = "ConfigMap",
    .plural = "configmaps",
    .singular = "configmap",
    .flags = KIND_NAMESPACED,
    .versions = fake_versions,
    .n_versions = 1,
};
__attribute__((weak)) const struct kind fake_job = {
    .group = "batch",
    .kind = "Job",
    .plural = "jobs",
    .singular = "job",
    .flags = KIND_NAMESPACED,
    .versions = fake_versions,
    .n_versions = 1,
};

static inline const struct kind *fake_find(void *ctx, struct str group, struct str plural) {
    const struct kind *kinds[] = {&fake_map, &fake_job};
    for (size_t i = 0; i < 2; i++) {
        if (str_is(group, kinds[i]->group) && str_is(plural, kinds[i]->plural)) {
            return kinds[i];
        }
    }
    return NULL;
}

/* An object with a data member of `value`; owner may be empty. */
static inline int fake_object(const struct kind *k, struct str ns, struct str name, struct str uid,
                              struct str owner, struct str value, struct object **ret,
                              struct err *err) {
    struct buf b;
    buf_init(&b, 0);
    buf_f(&b, "{\"apiVersion\":\"%s%sv1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%.*s\"",
          k->group, k->group[0] ? "/" : "", k->kind, STR_ARG(name));
    buf_f(&b, ",\"namespace\":\"%.*s\",\"uid\":\"%.*s\"", STR_ARG(ns), STR_ARG(uid));
    if (owner.n) {
        buf_f(&b,
              ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
              "\"name\":\"o\",\"uid\":\"%.*s\",\"controller\":true}]",
              STR_ARG(owner));
    }
    buf_f(&b, "},\"data\":{\"v\":\"%.*s\"}}", STR_ARG(value));
    int code = buf_ok(&b);
    code = code ? err_set(err, code, "no memory") : object_new(k, buf_view(&b), ret, err);
    buf_release(&b);
    return code;
}

#endif
