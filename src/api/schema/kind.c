/*
 * kind: what is served of the built-in kinds (rows.c) and beside them, the searches, and conversion between the
 * versions of a kind.
 */
#include "api/schema/codec.h"
#include "api/tables/table.h"
#include "base/mem.h"

/* What is served now: kind_rows.served, until something changes it. */
static struct {
    const struct kind **v;
    size_t n;
    uint64_t generation;
} served;

/* The places of rows by group and plural, and by group and kind: open addressing, in the order of the rows. Made again
 * after a change of what rows there are; without memory for it the rows are searched. */
static struct kind_index {
    uint32_t *v; /* place + 1; 0: none */
    size_t size; /* a power of two */
    bool stale;
} by_plural = {.stale = true}, by_kind = {.stale = true};

static size_t hash_of(struct str group, struct str name) {
    return (size_t)(str_hash(group) * 31 + str_hash(name));
}

static const char *plural_of(const struct kind *k) {
    return k->plural;
}

static const char *kind_of(const struct kind *k) {
    return k->kind;
}

static bool make_index(struct kind_index *x, const char *(*name)(const struct kind *k)) {
    size_t n, size = 64;
    const struct kind *const *all = kinds_all(&n);
    while (size < 2 * n) {
        size *= 2;
    }
    uint32_t *v = x->size == size ? x->v : mem_realloc(x->v, size * sizeof(*v));
    if (v == NULL) {
        return false;
    }
    memset(v, 0, size * sizeof(*v));
    for (size_t i = 0; i < n; i++) {
        size_t at = hash_of(str_of(all[i]->group), str_of(name(all[i]))) & (size - 1);
        while (v[at] != 0) {
            at = (at + 1) & (size - 1);
        }
        v[at] = (uint32_t)i + 1;
    }
    *x = (struct kind_index){v, size, false};
    return true;
}

/* The next row at or after *at that may be of this group and name; NULL after the last. *at starts at SIZE_MAX. */
static const struct kind *next_row(struct kind_index *x, const char *(*name)(const struct kind *k),
                                   struct str group, struct str want, size_t *at) {
    size_t n;
    const struct kind *const *all = kinds_all(&n);
    if (x->stale && !make_index(x, name)) {
        *at = *at == SIZE_MAX ? 0 : *at + 1;
        return *at < n ? all[*at] : NULL;
    }
    *at = (*at == SIZE_MAX ? hash_of(group, want) : *at + 1) & (x->size - 1);
    return x->v[*at] != 0 ? all[x->v[*at] - 1] : NULL;
}

static void rows_changed(void) {
    by_plural.stale = by_kind.stale = true;
}

uint64_t kinds_generation(void) {
    return served.generation;
}

void kinds_touch(void) {
    served.generation++;
}

const struct kind *const *kinds_builtin(size_t *ret_n) {
    *ret_n = kind_rows.n_served;
    return kind_rows.served;
}

const struct kind *const *kinds_all(size_t *ret_n) {
    if (served.v == NULL) {
        return kinds_builtin(ret_n);
    }
    *ret_n = served.n;
    return served.v;
}

/* A list of its own, with room for one more. */
static int make_room(void) {
    size_t n;
    const struct kind *const *now = kinds_all(&n);
    const struct kind **v = mem_alloc((n + 1) * sizeof(*v));
    if (v == NULL) {
        return ERR_NOMEM;
    }
    memcpy(v, now, n * sizeof(*v));
    mem_free(served.v);
    served.v = v;
    served.n = n;
    kinds_touch();
    return 0;
}

int kinds_add(const struct kind *k, struct err *err) {
    const struct kind *other;
    struct str group = str_of(k->group), plural = str_of(k->plural);
    for (size_t at = SIZE_MAX;
         (other = next_row(&by_plural, plural_of, group, plural, &at)) != NULL;) {
        if (strcmp(other->plural, k->plural) == 0 && strcmp(other->group, k->group) == 0) {
            return err_set(err, ERR_EXISTS, "%s.%s is served already", k->plural, k->group);
        }
    }
    if (make_room() != 0) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    served.v[served.n++] = k;
    rows_changed();
    return 0;
}

void kinds_remove(const struct kind *k) {
    for (size_t i = 0; i < served.n; i++) {
        if (served.v[i] == k) {
            memmove(&served.v[i], &served.v[i + 1], (served.n - i - 1) * sizeof(*served.v));
            served.n--;
            rows_changed();
            kinds_touch();
            return;
        }
    }
}

int kinds_hide(const char *group) {
    size_t left = 0;
    if (make_room() != 0) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < served.n; i++) {
        if (strcmp(served.v[i]->group, group) != 0) {
            served.v[left++] = served.v[i];
        }
    }
    served.n = left;
    rows_changed();
    return 0;
}

const struct kind_version *kind_version(const struct kind *k, struct str version) {
    for (size_t i = 0; i < k->n_versions; i++) {
        if (str_is(version, k->versions[i].version) && !k->versions[i].hidden) {
            return &k->versions[i];
        }
    }
    return NULL;
}

const struct kind_version *kind_storage(const struct kind *k) {
    const struct kind *stored = kind_stored(k);
    return &stored->versions[stored->storage];
}

const struct kind *kind_by_resource(struct str group, struct str version, struct str plural) {
    const struct kind *k;
    for (size_t at = SIZE_MAX; (k = next_row(&by_plural, plural_of, group, plural, &at)) != NULL;) {
        if (str_is(plural, k->plural) && str_is(group, k->group) && kind_version(k, version)) {
            return k;
        }
    }
    return NULL;
}

const struct kind *kind_by_name(struct str group, struct str kind) {
    const struct kind *k;
    for (size_t at = SIZE_MAX; (k = next_row(&by_kind, kind_of, group, kind, &at)) != NULL;) {
        if (str_is(kind, k->kind) && str_is(group, k->group)) {
            return k;
        }
    }
    for (size_t i = 0; i < kind_rows.n_bodies; i++) {
        if (str_is(kind, kind_rows.bodies[i]->kind) && str_is(group, kind_rows.bodies[i]->group)) {
            return kind_rows.bodies[i];
        }
    }
    return NULL;
}

const struct kind *kind_by_api_version(struct str api_version, struct str kind) {
    struct str group, version;
    if (!str_cut(api_version, '/', &group, &version)) {
        version = group;
        group = (struct str){0};
    }
    if (str_is(kind, kind_delete_options.kind)) {
        return &kind_delete_options; /* clients write it in the group of whatever they delete */
    }
    const struct kind *k = kind_by_name(group, kind);
    return k != NULL && kind_version(k, version) != NULL ? k : NULL;
}

const char *kind_api_version(const struct kind *k) {
    /* Group and version are literals; the joined text is one of few. */
    /* clang-format off */
    static const char *const known[] = {
        "apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1",
        "authentication.k8s.io/v1", "authorization.k8s.io/v1",
        "apps/v1", "batch/v1", "berth.dev/v1alpha1",
        "coordination.k8s.io/v1", "discovery.k8s.io/v1", "events.k8s.io/v1",
        "kueue.x-k8s.io/v1beta2", "networking.k8s.io/v1",
        "node.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1", "scheduling.k8s.io/v1",
        "visibility.kueue.x-k8s.io/v1beta2", "admissionregistration.k8s.io/v1",
    };
    /* clang-format on */
    const char *version = k->versions[k->storage].version;
    if (k->api_version != NULL) {
        return k->api_version;
    }
    if (k->group[0] == '\0') {
        return version;
    }
    size_t n = strlen(k->group);
    for (size_t i = 0; i < COUNT(known); i++) {
        if (strncmp(known[i], k->group, n) == 0 && known[i][n] == '/' &&
            strcmp(known[i] + n + 1, version) == 0) {
            return known[i];
        }
    }
    return version;
}

static int set_api_version(yyjson_mut_doc *d, const struct kind *k, const char *version) {
    char text[256];
    int n = k->group[0] ? snprintf(text, sizeof(text), "%s/%s", k->group, version)
                        : snprintf(text, sizeof(text), "%s", version);
    if (n < 0 || (size_t)n >= sizeof(text)) {
        return ERR_INTERNAL;
    }
    return json_mset_str(d, yyjson_mut_doc_get_root(d), "apiVersion", str_of(text));
}

static kind_converter *converter;
static void *converter_ctx;

void kinds_converter(kind_converter *f, void *ctx) {
    converter = f;
    converter_ctx = ctx;
}

static int convert_outside(const struct kind *k, const char *version, yyjson_mut_doc *d,
                           struct err *err) {
    return converter != NULL ? converter(converter_ctx, k, version, d, err)
                             : err_set(err, ERR_UNAVAILABLE,
                                       "conversion webhooks are not called here: this version "
                                       "cannot be converted to or from the one that is stored");
}

int codec_to_storage(const struct kind *k, const struct kind_version *from, yyjson_mut_doc *d,
                     struct err *err) {
    if (from->to_storage == NULL) {
        return 0;
    }
    if (from->asks) {
        return convert_outside(k, kind_storage(k)->version, d, err);
    }
    int r = from->to_storage(d, yyjson_mut_doc_get_root(d), err);
    return r < 0 ? r : set_api_version(d, kind_stored(k), kind_storage(k)->version);
}

int codec_from_storage(const struct kind *k, const struct kind_version *to, yyjson_mut_doc *d,
                       struct err *err) {
    if (to->from_storage == NULL) {
        return 0;
    }
    if (to->asks) {
        return convert_outside(k, to->version, d, err);
    }
    int r = to->from_storage(d, yyjson_mut_doc_get_root(d), err);
    return r < 0 ? r : set_api_version(d, k, to->version);
}

int convert_nothing(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    (void)d;
    (void)obj;
    (void)err;
    return 0;
}
