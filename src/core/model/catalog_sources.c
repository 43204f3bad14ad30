/* catalog_sources: sources of catalogs, and records of performance. See catalog.h. */
#include <math.h>

#include "base/limits.h"
#include "core/model/catalog_private.h"
#include "core/model/wildcard.h"

static struct catalog_source read_source(struct catalog_in *c, yyjson_mut_val *v) {
    yyjson_mut_val *enabled = json_mget(v, STR("enabled"));
    struct catalog_source s = {
        .id = catalog_in_text(c, v, "id"),
        .name = catalog_in_text(c, v, "name"),
        .type = catalog_in_text(c, v, "type"),
        .path = catalog_in_text(c, json_mget(v, STR("properties")), "yamlCatalogPath"),
        .enabled = !yyjson_mut_is_false(enabled),
        .labels = catalog_in_texts(c, v, "labels"),
        .included = catalog_in_texts(c, v, "includedModels"),
        .excluded = catalog_in_texts(c, v, "excludedModels"),
    };
    if (s.id.n == 0) {
        catalog_fault(c, "id", "expected the id of the catalog");
    }
    if (enabled != NULL && !yyjson_mut_is_bool(enabled) && !yyjson_mut_is_null(enabled)) {
        catalog_fault(c, "enabled", "expected true or false");
    }
    if (str_is(s.type, "yaml") && s.path.n == 0) {
        catalog_fault(c, "properties.yamlCatalogPath", "expected the path of its file");
    }
    return s;
}

int catalog_sources_read(struct arena *a, struct str text, struct catalog_sources *ret,
                         struct err *err) {
    struct catalog_in c = {.arena = a, .err = err, .list = NULL};
    struct catalog_sources x = {0};
    yyjson_mut_doc *doc;

    int code = catalog_parse(a, text, &doc, err);
    if (code != 0) {
        return code;
    }
    yyjson_mut_val *list = catalog_in_list(&c, doc->root, "catalogs", LIMIT_CATALOG_ITEMS), *v;
    if (list == NULL) {
        return c.code != 0 ? c.code : catalog_fault(&c, "catalogs", "expected a list");
    }
    size_t i, n;
    x.v = ARENA_ARRAY(a, struct catalog_source, yyjson_mut_arr_size(list) + 1);
    c.list = "catalogs";
    yyjson_mut_arr_foreach(list, i, n, v) {
        c.index = i;
        struct catalog_source s = read_source(&c, v);
        if (x.v != NULL) {
            x.v[x.n++] = s;
        }
    }
    if (c.code != 0 || arena_ok(a) != 0) {
        return c.code != 0 ? c.code : err_set(err, ERR_NOMEM, "no memory for sources");
    }
    *ret = x;
    return 0;
}

static const struct wildcard glob = {.many = '*'};

static bool any(const struct catalog_texts *t, struct str s) {
    for (size_t i = 0; i < t->n; i++) {
        if (wildcard_matches(&glob, t->v[i], s)) {
            return true;
        }
    }
    return false;
}

bool catalog_shows(const struct catalog_source *s, struct str model) {
    return s->enabled && (s->included.n == 0 || any(&s->included, model)) &&
           !any(&s->excluded, model);
}

/* ---- performance ---- */

static double measured(yyjson_val *v, const char *name) {
    yyjson_val *n = json_get(v, str_of(name));
    double d = yyjson_is_num(n) ? yyjson_get_num(n) : -1;
    return d >= 0 && d < 1e12 ? d : -1;
}

int catalog_record_read(struct arena *a, struct str line, struct catalog_record *ret,
                        struct err *err) {
    yyjson_doc *doc = NULL;

    int code = json_parse(a, line, &doc, err);
    if (code != 0) {
        return code;
    }
    yyjson_val *v = yyjson_doc_get_root(doc);
    struct catalog_record r = {
        .config = json_str_at(v, "config_id"),
        .hardware = json_str_at(v, "hardware_type"),
        .use_case = json_str_at(v, "use_case"),
        .hardware_count = json_i64_at(v, "hardware_count", 1),
        .requests = measured(v, "requests_per_second"),
        .ttft_p90 = measured(v, "ttft_p90"),
        .itl_p90 = measured(v, "itl_p90"),
        .e2e_p90 = measured(v, "e2e_p90"),
        .tps = measured(v, "tps_mean"),
    };
    if (r.hardware.n == 0) {
        return err_set(err, ERR_INVALID, "hardware_type: expected the kind of hardware");
    }
    if (r.hardware_count < 1 || r.hardware_count > 65536) {
        return err_set(err, ERR_INVALID, "hardware_count: expected 1 to 65536");
    }
    *ret = r;
    return 0;
}

int64_t catalog_record_replicas(const struct catalog_record *r, double target) {
    double n = r->requests > 0 && target > 0 ? ceil(target / r->requests) : 0;
    return n < 1e9 ? (int64_t)n : 0;
}

static double each(const struct catalog_record *r) {
    return r->requests / (double)r->hardware_count;
}

bool catalog_record_beaten(const struct catalog_record *v, size_t n, size_t i) {
    for (size_t k = 0; k < n; k++) {
        bool known =
            v[k].ttft_p90 >= 0 && v[i].ttft_p90 >= 0 && v[k].requests >= 0 && v[i].requests >= 0;
        bool least = v[k].ttft_p90 <= v[i].ttft_p90 && each(&v[k]) >= each(&v[i]);
        bool better = v[k].ttft_p90 < v[i].ttft_p90 || each(&v[k]) > each(&v[i]);
        if (k != i && known && least && better && str_eq(v[k].use_case, v[i].use_case)) {
            return true;
        }
    }
    return false;
}
