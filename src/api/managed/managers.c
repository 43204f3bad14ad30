/* managers: see managers.h. */
#include "api/managed/managers.h"

#include <stdlib.h>

#include "base/limits.h"
#include "wire/text/time.h"

enum { UPDATES_MAX = 10, NAME_MAX_BYTES = 128 };

#define ANCIENT "ancient-changes"

static int64_t seconds(const struct manager *m) {
    return m->time / 1000000000;
}

static bool same_who(const struct manager *a, const struct manager *b) {
    return a->apply == b->apply && str_eq(a->name, b->name) &&
           str_eq(a->subresource, b->subresource) &&
           (a->apply || str_eq(a->api_version, b->api_version));
}

struct manager *managers_find(const struct managers *m, const struct manager *who) {
    for (size_t i = 0; i < m->n; i++) {
        if (same_who(&m->v[i], who)) {
            return &m->v[i];
        }
    }
    return NULL;
}

struct manager *managers_have(struct arena *a, struct managers *m, const struct manager *who) {
    struct manager *have = managers_find(m, who);
    if (have != NULL) {
        return have;
    }
    if (m->n == m->cap && ARENA_GROW(a, m->v, m->cap) != 0) {
        return NULL;
    }
    m->v[m->n] = *who;
    m->v[m->n].set = (struct fields){0};
    return &m->v[m->n++];
}

void managers_drop_empty(struct managers *m) {
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (!fields_empty(&m->v[i].set)) {
            m->v[n++] = m->v[i];
        }
    }
    m->n = n;
}

/* ---- the wire form ---- */

static int read_who(yyjson_mut_val *e, struct manager *m, size_t i, struct err *err) {
    struct str operation = json_mstr_at(e, "operation"), type = json_mstr_at(e, "fieldsType");
    *m = (struct manager){
        .name = json_mstr_at(e, "manager"),
        .api_version = json_mstr_at(e, "apiVersion"),
        .subresource = json_mstr_at(e, "subresource"),
        .apply = str_is(operation, "Apply"),
    };
    if (!m->apply && !str_is(operation, "Update")) {
        return err_set(err, ERR_INVALID, "[%zu].operation: must be `Apply` or `Update`", i);
    }
    if (m->api_version.n == 0) {
        return err_set(err, ERR_INVALID, "[%zu].apiVersion: must not be empty", i);
    }
    if (!str_is(type, "FieldsV1")) {
        return err_set(err, ERR_INVALID, "[%zu].fieldsType: must be `FieldsV1`", i);
    }
    if (m->name.n > NAME_MAX_BYTES) {
        return err_set(err, ERR_INVALID, "[%zu].manager: may not be more than %d bytes", i,
                       NAME_MAX_BYTES);
    }
    struct str time = json_mstr_at(e, "time");
    if (time.n > 0 && time_parse(time, &m->time, NULL) != 0) {
        return err_set(err, ERR_INVALID, "[%zu].time: must be a time", i);
    }
    return 0;
}

static int read_entry(struct arena *a, yyjson_mut_val *e, size_t i, struct managers *ret,
                      struct err *err) {
    struct manager who;
    struct fields set = {0};
    int r = read_who(e, &who, i, err);
    if (r != 0) {
        return r;
    }
    yyjson_mut_val *fields = json_mget(e, STR("fieldsV1"));
    if (fields != NULL && (r = fields_read(a, fields, &set)) != 0) {
        return err_set(err, r, "[%zu].fieldsV1: must be a set of fields", i);
    }
    struct manager *m = managers_have(a, ret, &who);
    if (m == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    m->time = who.time;
    m->set = set;
    return 0;
}

int managers_read(struct arena *a, yyjson_mut_val *list, struct managers *ret, struct err *err) {
    struct managers all = {0};
    size_t i, n;
    yyjson_mut_val *e;
    if (yyjson_mut_arr_size(list) > LIMIT_FIELD_MANAGERS) {
        return err_set(err, ERR_TOO_LARGE, ": may not have more than %d entries",
                       LIMIT_FIELD_MANAGERS);
    }
    yyjson_mut_arr_foreach(list, i, n, e) {
        int r = read_entry(a, e, i, &all, err);
        if (r != 0) {
            return r;
        }
    }
    *ret = all;
    return 0;
}

bool managers_are_reset(yyjson_mut_val *list) {
    size_t n = yyjson_mut_arr_size(list);
    return yyjson_mut_is_arr(list) &&
           (n == 0 || (n == 1 && yyjson_mut_obj_size(yyjson_mut_arr_get_first(list)) == 0));
}

/* Applies before updates, older ones first. */
static int entry_cmp(const void *a, const void *b) {
    const struct manager *x = a, *y = b;
    if (x->apply != y->apply) {
        return x->apply ? -1 : 1;
    }
    if (seconds(x) != seconds(y)) {
        return seconds(x) < seconds(y) ? -1 : 1;
    }
    int c = str_cmp(x->name, y->name);
    c = c ? c : str_cmp(x->api_version, y->api_version);
    return c ? c : str_cmp(x->subresource, y->subresource);
}

static yyjson_mut_val *entry_tree(yyjson_mut_doc *d, const struct manager *m) {
    yyjson_mut_val *e = yyjson_mut_obj(d), *set = fields_tree(d, &m->set);
    char text[TIME_TEXT_MAX];
    int r = e == NULL || set == NULL ? ERR_NOMEM : json_mset_str(d, e, "manager", m->name);
    r = r ? r : json_mset_str(d, e, "operation", m->apply ? STR("Apply") : STR("Update"));
    r = r ? r : json_mset_str(d, e, "apiVersion", m->api_version);
    if (r == 0 && m->time != 0) {
        r = json_mset_str(d, e, "time", time_text(m->time, text));
    }
    r = r ? r : json_mset_str(d, e, "fieldsType", STR("FieldsV1"));
    r = r ? r : json_mset(d, e, STR("fieldsV1"), set);
    if (r == 0 && m->subresource.n > 0) {
        r = json_mset_str(d, e, "subresource", m->subresource);
    }
    return r == 0 ? e : NULL;
}

yyjson_mut_val *managers_tree(yyjson_mut_doc *d, struct managers *m) {
    yyjson_mut_val *list = yyjson_mut_arr(d);
    if (m->n > 1) {
        qsort(m->v, m->n, sizeof(*m->v), entry_cmp);
    }
    for (size_t i = 0; i < m->n && list != NULL; i++) {
        yyjson_mut_val *e = entry_tree(d, &m->v[i]);
        list = e != NULL && yyjson_mut_arr_append(list, e) ? list : NULL;
    }
    return list;
}

/* ---- not too many ---- */

static int age_cmp(const void *a, const void *b) {
    const struct manager *x = *(struct manager *const *)a, *y = *(struct manager *const *)b;
    return seconds(x) != seconds(y) ? (seconds(x) < seconds(y) ? -1 : 1) : entry_cmp(x, y);
}

/* Joins m with what was too old of its version before; false when it is the first of that. */
static bool join_old(struct arena *a, const struct managers *all, struct manager **first, size_t *n,
                     struct manager *m) {
    const struct manager ancient = {.name = STR(ANCIENT), .api_version = m->api_version};
    struct manager *bucket = managers_find(all, &ancient);
    size_t i = 0;
    while (i < *n && !str_eq(first[i]->api_version, m->api_version)) {
        i++;
    }
    if (i == *n) {
        first[(*n)++] = m;
        return false;
    }
    if (bucket == NULL) {
        bucket = first[i];
        bucket->name = ancient.name;
        bucket->subresource = ancient.subresource;
    }
    struct manager *gone = m == bucket ? first[i] : m;
    bucket->set = fields_union(a, &bucket->set, &gone->set);
    bucket->time = m->time; /* of the younger one */
    if (gone != bucket) {
        gone->set = (struct fields){0};
    }
    return gone != bucket;
}

void managers_cap(struct arena *a, struct managers *m) {
    struct manager **updates = ARENA_ARRAY(a, struct manager *, m->n + 1);
    struct manager **first = ARENA_ARRAY(a, struct manager *, m->n + 1);
    size_t n = 0, n_first = 0;
    for (size_t i = 0; i < m->n && updates != NULL && first != NULL; i++) {
        if (!m->v[i].apply) {
            updates[n++] = &m->v[i];
        }
    }
    if (n <= UPDATES_MAX) {
        return;
    }
    qsort(updates, n, sizeof(struct manager *), age_cmp);
    size_t left = n;
    for (size_t i = 0; i < n && left > UPDATES_MAX; i++) {
        left -= join_old(a, m, first, &n_first, updates[i]);
    }
    managers_drop_empty(m);
}
