/* openapi: documents, piece by piece. See openapi.h. */
#include "api/openapi/openapi_private.h"

#include "api/openapi/subresource.h"
#include "api/schema/crd_schema.h"
#include "api/tables/view_meta.h"

#define VERSION "v1.35.0"

enum phase { HEAD, PATHS, COMPONENTS, TABLES, KINDS, TAIL, DONE };

/* A piece that would be longer than this ends with the kind that it is at. */
enum { PIECE_BYTES = 64 << 10 };

static bool is_v2(const struct openapi *o) {
    return o->form != OPENAPI_V3;
}

void openapi_begin(struct openapi *o, enum openapi_form form, struct str group,
                   struct str version) {
    *o = (struct openapi){.form = form, .group = group, .version = version};
    map_init(&o->seen);
    map_init(&o->listed);
    buf_init(&o->piece, 0);
}

int openapi_end(struct openapi *o) {
    map_release(&o->seen);
    map_release(&o->listed);
    buf_release(&o->piece);
    return o->code;
}

/* The next version of a kind that belongs to the document; false after the last, and then begins again. */
static bool next_version(struct openapi *o, const struct kind **ret_k,
                         const struct kind_version **ret_kv) {
    size_t n;
    const struct kind *const *kinds = kinds_all(&n);
    for (; o->kind < n; o->kind++, o->kind_version = 0) {
        const struct kind *k = kinds[o->kind];
        bool group = is_v2(o) || str_is(o->group, k->group);
        while (group && o->kind_version < k->n_versions) {
            const struct kind_version *kv = &k->versions[o->kind_version++];
            if (!kv->hidden && (is_v2(o) || str_is(o->version, kv->version))) {
                *ret_k = k;
                *ret_kv = kv;
                return true;
            }
        }
    }
    o->kind = o->kind_version = 0;
    return false;
}

/* ---- the tables that are reached ---- */

static int reach(struct map *seen, const struct schema *s) {
    if (map_get(seen, str_of(s->name)) != NULL) {
        return 0;
    }
    int r = map_put(seen, str_of(s->name), (void *)(uintptr_t)s, NULL);
    for (size_t i = 0; r == 0 && i < s->n; i++) {
        r = s->fields[i].of != NULL ? reach(seen, s->fields[i].of) : 0;
    }
    return r;
}

static int reach_kind(struct map *seen, const struct kind *k, const struct kind_version *kv) {
    static const char *const always[] = {"DeleteOptions", "Status"};
    const struct schema *s = kv->schema;
    const struct subresource *sub;
    int r = reach(seen, &schema_list_meta);
    for (size_t i = 0; r == 0 && i < 2; i++) {
        r = reach(seen, openapi_body(kv, always[i]));
    }
    for (size_t i = 0; r == 0 && (sub = subresource_at(k, i)) != NULL; i++) {
        const struct schema *body = sub->kind != NULL ? openapi_body(kv, sub->kind) : NULL;
        r = body != NULL ? reach(seen, body) : 0;
    }
    for (size_t i = 0; r == 0 && s->custom != NULL && i < s->n; i++) {
        r = s->fields[i].of != NULL ? reach(seen, s->fields[i].of) : 0;
    }
    return r != 0 || s->custom != NULL ? r : reach(seen, s);
}

/* ---- pieces ---- */

/* Members of the part that the phase writes: as they are, or as parts of gnostic's Document. */
static void put(struct openapi *o, struct buf *out, enum gnostic_part part) {
    int r = buf_ok(&o->piece);
    if (r == 0 && o->piece.n > 0 && o->form == OPENAPI_V2_PROTOBUF) {
        r = gnostic_part(part, buf_view(&o->piece), out);
    } else if (r == 0 && o->piece.n > 0) {
        buf_c(out, o->some ? "," : "");
        buf_str(out, buf_view(&o->piece));
    }
    o->some |= o->piece.n > 0;
    buf_reset(&o->piece);
    o->code = o->code ? o->code : r;
}

static void write_head(struct openapi *o, struct buf *out) {
    if (o->form == OPENAPI_V2_PROTOBUF) {
        gnostic_head(STR("Kubernetes"), STR(VERSION), out);
    } else {
        buf_f(out,
              "{\"%s\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"" VERSION "\"},\"paths\":{",
              is_v2(o) ? "swagger\":\"2.0" : "openapi\":\"3.0.0");
    }
    o->phase = PATHS;
}

static void write_paths(struct openapi *o, struct buf *out) {
    const struct kind *k;
    const struct kind_version *kv;
    bool more = true;
    while (o->code == 0 && o->piece.n < PIECE_BYTES && (more = next_version(o, &k, &kv))) {
        o->code = reach_kind(&o->seen, k, kv);
        openapi_paths(&o->piece, is_v2(o), k, kv);
    }
    put(o, out, GNOSTIC_PATHS);
    if (!more) {
        o->code = o->code == 0 && !o->some ? ERR_NOT_FOUND : o->code;
        o->phase = COMPONENTS;
    }
}

static void write_components(struct openapi *o, struct buf *out) {
    if (o->form == OPENAPI_V2) {
        buf_c(out, "},\"parameters\":{");
    } else if (o->form == OPENAPI_V3) {
        buf_c(out, "},\"components\":{\"parameters\":{");
    }
    o->some = false;
    openapi_parameters(&o->piece, is_v2(o));
    put(o, out, GNOSTIC_PARAMETERS);
    if (o->form != OPENAPI_V2_PROTOBUF) {
        buf_c(out, is_v2(o) ? "},\"definitions\":{" : "},\"schemas\":{");
    }
    o->some = false;
    openapi_common(&o->piece, is_v2(o));
    put(o, out, GNOSTIC_DEFINITIONS);
    o->phase = TABLES;
}

/* The kinds whose objects a table describes, in their versions of the document. */
static void write_kinds_of(const struct openapi *o, const struct schema *s, struct buf *own) {
    struct openapi all = {.form = o->form, .group = o->group, .version = o->version};
    const struct kind *k;
    const struct kind_version *kv;
    for (size_t n = 0; next_version(&all, &k, &kv);) {
        if (k->flags & KIND_CUSTOM && kv->schema->custom != NULL) {
            continue;
        }
        if (kv->schema == s) {
            buf_c(own, n++ == 0 ? "\"x-kubernetes-group-version-kind\":[" : ",");
            openapi_gvk(own, str_of(k->group), str_of(kv->version), str_of(k->kind));
        }
    }
    buf_c(own, own->n > 0 ? "]" : "");
}

static void write_tables(struct openapi *o, struct buf *out) {
    const struct map_entry *e = NULL;
    struct buf own;
    buf_init(&own, 0);
    while (o->piece.n < PIECE_BYTES && (e = map_next(&o->seen, &o->at)) != NULL) {
        const struct schema *s = e->value;
        struct place p = place_of_table(s);
        buf_reset(&own);
        write_kinds_of(o, s, &own);
        place_name(&o->piece, str_of(s->name));
        openapi_schema(&o->piece, is_v2(o), &p, buf_view(&own));
    }
    o->code = o->code ? o->code : buf_ok(&own);
    buf_release(&own);
    put(o, out, GNOSTIC_DEFINITIONS);
    o->phase = e == NULL ? KINDS : TABLES;
}

/* Kinds that can be listed have a list, once where several share a table. */
static bool has_list(struct openapi *o, const struct kind *k, const struct kind_version *kv) {
    struct str name = str_of(kv->schema->name);
    if (k->flags & KIND_VIRTUAL || (k->flags & KIND_COMPUTED && k->subresources != NULL) ||
        map_get(&o->listed, name) != NULL) {
        return false;
    }
    o->code = o->code ? o->code : map_put(&o->listed, name, o, NULL);
    return true;
}

static void write_kinds(struct openapi *o, struct buf *out) {
    const struct kind *k;
    const struct kind_version *kv;
    bool more = true;
    while (o->piece.n < PIECE_BYTES && (more = next_version(o, &k, &kv))) {
        if (kv->schema->custom != NULL) {
            place_comma(&o->piece);
            openapi_custom(&o->piece, is_v2(o), k, kv);
        } else if (has_list(o, k, kv)) {
            place_comma(&o->piece);
            openapi_list(&o->piece, is_v2(o), k, kv);
        }
    }
    put(o, out, GNOSTIC_DEFINITIONS);
    o->phase = more ? KINDS : TAIL;
}

bool openapi_next(struct openapi *o, struct buf *out) {
    if (o->phase == DONE || o->code != 0) {
        return false;
    }
    switch ((enum phase)o->phase) {
    case HEAD:
        write_head(o, out);
        break;
    case PATHS:
        write_paths(o, out);
        break;
    case COMPONENTS:
        write_components(o, out);
        break;
    case TABLES:
        write_tables(o, out);
        break;
    case KINDS:
        write_kinds(o, out);
        break;
    case TAIL:
        buf_c(out, o->form == OPENAPI_V3 ? "}}}\n" : o->form == OPENAPI_V2 ? "}}\n" : "");
        o->phase = DONE;
        break;
    case DONE:
        break;
    }
    o->code = o->code ? o->code : buf_ok(out);
    return o->code == 0;
}

int openapi_write(enum openapi_form form, struct str group, struct str version, struct buf *out,
                  struct err *err) {
    struct openapi o;
    size_t start = out->n;
    openapi_begin(&o, form, group, version);
    while (openapi_next(&o, out)) {
    }
    int r = openapi_end(&o);
    if (r != 0) {
        out->n = start;
    }
    return r == ERR_NOT_FOUND
               ? err_set(err, r, "no group version %.*s/%.*s", STR_ARG(group), STR_ARG(version))
           : r != 0 ? err_set(err, r, "out of memory")
                    : 0;
}

/* ---- sums ---- */

static uint64_t add(uint64_t sum, struct str s) {
    return (sum ^ str_hash(s)) * 0x9E3779B97F4A7C15u + 1;
}

uint64_t openapi_tables_sum(void) {
    static uint64_t sum;
    size_t n;
    const struct kind *const *kinds = kinds_builtin(&n);
    if (sum != 0) {
        return sum;
    }
    struct map seen;
    struct buf b;
    const struct map_entry *e;
    map_init(&seen);
    buf_init(&b, 0);
    for (size_t i = 0; i < n; i++) {
        for (size_t v = 0; v < kinds[i]->n_versions; v++) {
            (void)reach_kind(&seen, kinds[i], &kinds[i]->versions[v]);
            buf_reset(&b);
            openapi_paths(&b, false, kinds[i], &kinds[i]->versions[v]);
            sum = add(sum, buf_view(&b));
        }
    }
    for (size_t pos = 0; (e = map_next(&seen, &pos)) != NULL;) {
        struct place p = place_of_table(e->value);
        buf_reset(&b);
        openapi_schema(&b, false, &p, (struct str){0});
        sum = add(sum, buf_view(&b));
    }
    buf_release(&b);
    map_release(&seen);
    sum |= 1; /* made */
    return sum;
}

uint64_t openapi_kind_sum(const struct kind *k, const struct kind_version *kv) {
    const struct subresource *sub;
    uint64_t parts[2] = {k->flags, kv->schema->custom != NULL ? kv->schema->custom->sum : 0};
    uint64_t sum = add(0, str_of(k->group));
    sum = add(sum, str_of(kv->version));
    sum = add(sum, str_of(k->kind));
    sum = add(sum, str_of(k->plural));
    sum = add(sum, str_from((const char *)parts, sizeof(parts)));
    for (size_t i = 0; (sub = subresource_at(k, i)) != NULL; i++) {
        sum = add(sum, str_of(sub->name));
    }
    for (size_t i = 0; kv->selectable != NULL && kv->selectable[i] != NULL; i++) {
        sum = add(sum, str_of(kv->selectable[i]));
    }
    return sum;
}
