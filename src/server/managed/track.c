/* track: see track.h. */
#include "server/managed/track.h"

#include <stdlib.h>

#include "api/schema/codec.h"
#include "base/limits.h"

enum { MANAGER_MAX = 128 };

static int nomem(const struct track *t, struct failure *f) {
    return failure_set(f, t->arena, ERR_NOMEM, "out of memory");
}

/* ---- versions ---- */

static const struct kind_version *version_of(const struct kind *k, struct str api_version) {
    struct str group, version;
    if (!str_cut(api_version, '/', &group, &version)) {
        version = group;
        group = (struct str){0};
    }
    return str_is(group, k->group) ? kind_version(k, version) : NULL;
}

static int form_of(void *ctx, struct str api_version, struct form *ret) {
    struct track *t = ctx;
    const struct kind_version *kv = version_of(t->req->kind, api_version);
    if (kv == NULL) {
        return ERR_NOT_FOUND;
    }
    *ret = form_root(kv->schema);
    return 0;
}

static int between(const struct track *t, yyjson_mut_val *tree, const struct kind_version *from,
                   const struct kind_version *to, yyjson_mut_val **ret, struct err *err) {
    const struct kind *k = t->req->kind;
    yyjson_mut_doc *d = json_mut_new(t->arena);
    yyjson_mut_val *copy = d != NULL ? yyjson_mut_val_mut_copy(d, tree) : NULL;
    if (copy == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    yyjson_mut_doc_set_root(d, copy);
    int r = codec_to_storage(k, from, d, err);
    r = r ? r : codec_from_storage(k, to, d, err);
    if (r == 0) {
        *ret = yyjson_mut_doc_get_root(d);
    }
    return r;
}

static int convert(void *ctx, yyjson_mut_val *tree, struct str from, struct str to,
                   yyjson_mut_val **ret, struct err *err) {
    struct track *t = ctx;
    const struct kind_version *a = version_of(t->req->kind, from);
    const struct kind_version *b = version_of(t->req->kind, to);
    if (a == NULL || b == NULL) {
        return err_set(err, ERR_NOT_FOUND, "there is no such version");
    }
    return between(t, tree, a, b, ret, err);
}

/* A tree of the storage version in that of the request; the tree itself where that is the same. */
static int as_asked(const struct track *t, yyjson_mut_val *stored, yyjson_mut_val **ret,
                    struct err *err) {
    if (t->req->kv->from_storage == NULL) {
        *ret = stored;
        return 0;
    }
    return between(t, stored, kind_storage(t->req->kind), t->req->kv, ret, err);
}

static yyjson_mut_val *take_list(yyjson_mut_val *root) {
    yyjson_mut_val *meta = json_mget(root, STR("metadata"));
    yyjson_mut_val *list = json_mget(meta, STR("managedFields"));
    if (list != NULL) {
        json_mdel(meta, STR("managedFields"));
    }
    return list;
}

/* A copy of an object with nothing but a member. */
static yyjson_mut_val *copy_member(yyjson_mut_doc *d, yyjson_val *object, const char *name) {
    yyjson_mut_val *copy = yyjson_mut_obj(d);
    yyjson_val *v = json_get(object, str_of(name));
    yyjson_mut_val *value = v != NULL ? yyjson_val_mut_copy(d, v) : NULL;
    bool failed = copy == NULL || (v != NULL && value == NULL);
    return failed || (v != NULL && json_mset(d, copy, str_of(name), value) != 0) ? NULL : copy;
}

/* A copy of a stored object, or of its metadata, without the list. */
static yyjson_mut_val *copy_without(yyjson_mut_doc *d, yyjson_val *v, bool object) {
    yyjson_mut_val *copy = yyjson_mut_obj(d);
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    for (yyjson_val *k; copy != NULL && (k = yyjson_obj_iter_next(&it)) != NULL;) {
        yyjson_val *m = yyjson_obj_iter_get_val(k);
        if (!object && str_is(json_str(k), "managedFields")) {
            continue;
        }
        yyjson_mut_val *key = yyjson_val_mut_copy(d, k);
        yyjson_mut_val *value = object && str_is(json_str(k), "metadata")
                                    ? copy_without(d, m, false)
                                    : yyjson_val_mut_copy(d, m);
        if (key == NULL || value == NULL || !yyjson_mut_obj_add(copy, key, value)) {
            copy = NULL;
        }
    }
    return copy;
}

/* A copy of the object that is stored, or of one member of it (`only`, may be NULL), in the version of the request. */
static int old_as_asked(struct track *t, const char *only, yyjson_mut_val **ret, struct err *err) {
    yyjson_mut_doc *d = t->old != NULL ? json_mut_new(t->arena) : NULL;
    if (t->old == NULL) {
        return 0;
    }
    yyjson_mut_val *copy = d == NULL      ? NULL
                           : only != NULL ? copy_member(d, t->old, only)
                                          : copy_without(d, t->old, true);
    return copy == NULL ? err_set(err, ERR_NOMEM, "out of memory") : as_asked(t, copy, ret, err);
}

static int stored(void *ctx, yyjson_mut_val **ret, struct err *err) {
    *ret = NULL;
    return old_as_asked(ctx, NULL, ret, err);
}

/* ---- who ---- */

static struct str manager_name(const struct track *t) {
    struct str name = t->req->opt.field_manager, rest;
    if (name.n > 0) {
        return name;
    }
    (void)str_cut(t->agent, '/', &name, &rest);
    size_t n = 0;
    while (n < name.n && n < MANAGER_MAX && (unsigned char)name.p[n] >= ' ' && name.p[n] != 0x7f) {
        n++;
    }
    return n > 0 ? str_head(name, n) : STR("unknown");
}

static struct manage rules(struct track *t, bool apply) {
    const struct api_request *q = t->req;
    struct str sub = q->subresource;
    struct manage m = {
        .arena = t->arena,
        .who = {.name = manager_name(t), .subresource = sub, .apply = apply, .time = t->now},
        .form = form_root(q->kv->schema),
        .form_of = form_of,
        .convert = convert,
        .stored = stored,
        .ctx = t,
    };
    m.who.api_version = q->kind->group[0] != '\0'
                            ? arena_f(t->arena, "%s/%s", q->kind->group, q->kv->version)
                            : str_of(q->kv->version);
    m.only = str_is(sub, "status") ? "status" : str_is(sub, "finalize") ? "spec" : NULL;
    m.without = sub.n == 0 && (q->kind->flags & KIND_STATUS) != 0 ? "status" : NULL;
    return m;
}

/* ---- the list ---- */

int track_put(struct track *t, yyjson_mut_doc *d, struct failure *f) {
    yyjson_mut_val *meta = json_mensure(d, yyjson_mut_doc_get_root(d), "metadata");
    yyjson_mut_val *list = t->kept;
    if (list == NULL && t->all.n > 0) {
        list = managers_tree(d, &t->all);
    }
    t->kept = NULL;
    if (meta == NULL || (t->all.n > 0 && list == NULL)) {
        return nomem(t, f);
    }
    json_mdel(meta, STR("managedFields")); /* the list is the last member: see take_list */
    return list != NULL && json_mset(d, meta, STR("managedFields"), list) != 0 ? nomem(t, f) : 0;
}

void track_touch(struct track *t) {
    struct manager *own = managers_find(&t->all, &t->who);
    if (own != NULL) {
        own->time = t->now;
    }
}

/* What the object had, and what was sent instead, when that can be read. */
static void read_lists(struct track *t, yyjson_mut_val *had, yyjson_mut_val *sent) {
    struct err err = {0};
    struct managers all = {0};
    if (sent != NULL && managers_are_reset(sent)) {
        t->all = (struct managers){0};
        return;
    }
    if (managers_read(t->arena, had, &all, NULL) == 0) {
        t->all = all;
    }
    if (sent != NULL && managers_read(t->arena, sent, &all, &err) == 0) {
        t->all = all.n > 0 ? all : t->all;
    } else if (sent != NULL) {
        t->warning = arena_f(
            t->arena, "metadata.managedFields%s: the field managers stay as they were", err.text);
    }
}

/* ---- how much there is ---- */

enum { KEY_COSTS = 10 }; /* k:{"name":"main"}, v:"x": read as JSON, each of them */

static size_t cost_of(struct str name) {
    return str_starts(name, STR("k:")) || str_starts(name, STR("v:")) ? KEY_COSTS : 1;
}

/* Counts names and values. Past `most` it ends. */
static void count(yyjson_mut_val *v, size_t most, size_t *n) {
    size_t i, max;
    yyjson_mut_val *key, *e;
    *n += 1;
    if (yyjson_mut_is_obj(v)) {
        yyjson_mut_obj_foreach(v, i, max, key, e) {
            *n += cost_of(json_mstr(key));
            if (*n > most) {
                return;
            }
            count(e, most, n);
        }
    } else if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach(v, i, max, e) {
            if (*n > most) {
                return;
            }
            count(e, most, n);
        }
    }
}

/* What was read lies in one piece. */
static size_t count_read(yyjson_val *v) {
    const yyjson_val *end = v != NULL ? unsafe_yyjson_get_next(v) : NULL;
    size_t n = 0;
    for (; v != end; v++) {
        n += yyjson_is_str(v) ? cost_of(json_str(v)) : 1;
    }
    return n;
}

static bool is_too_much(const struct track *t, yyjson_mut_val *root, yyjson_mut_val *sent) {
    size_t n = count_read(t->old);
    count(root, LIMIT_TRACKED_VALUES, &n);
    count(sent, LIMIT_TRACKED_VALUES, &n);
    return n > LIMIT_TRACKED_VALUES;
}

/* ---- writes ---- */

/* A copy of the stored object's list, or NULL. */
static int had_list(const struct track *t, yyjson_mut_val **ret, struct err *err) {
    yyjson_val *list = t->old != NULL ? json_path(t->old, "metadata.managedFields") : NULL;
    yyjson_mut_doc *d = list != NULL ? json_mut_copy(t->arena, list) : NULL;
    if (list != NULL && d == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *ret = d != NULL ? yyjson_mut_doc_get_root(d) : NULL;
    return 0;
}

/* The member that the request writes, when that is one, and no other version has to be made of the whole. */
static const char *written_alone(const struct track *t, const struct manage *m) {
    bool same = t->req->kv->from_storage == NULL;
    for (size_t i = 0; i < t->all.n && same; i++) {
        same = str_eq(t->all.v[i].api_version, m->who.api_version);
    }
    return same ? m->only : NULL;
}

/* What upstream's types have before anything is written: objects that are no pointers, and lists that are written when
 * they are empty. Nobody therefore adds those to an object that is new. NULL: no memory. */
static yyjson_mut_val *blank_of(yyjson_mut_doc *d, const struct schema *s) {
    const uint32_t others = FIELD_F_OPT | FIELD_F_ATOMIC | FIELD_F_EITHER;
    yyjson_mut_val *v = yyjson_mut_obj(d);
    for (size_t i = 0; v != NULL && i < s->n; i++) {
        const struct field *f = &s->fields[i];
        bool has = f->type == FIELD_OBJECT && f->shape == FIELD_ONE && (f->flags & others) == 0 &&
                   f->of != NULL && !f->of->atomic;
        bool null = f->shape != FIELD_ONE && (f->flags & FIELD_F_KEEP_EMPTY) != 0;
        if (has || null) {
            yyjson_mut_val *part = has                      ? blank_of(d, f->of)
                                   : f->shape == FIELD_LIST ? yyjson_mut_arr(d)
                                                            : yyjson_mut_obj(d);
            v = part != NULL && json_mset(d, v, str_of(f->json), part) == 0 ? v : NULL;
        }
    }
    return v;
}

/* Nothing, where the type is none of Kubernetes' own. */
static int blank(struct track *t, yyjson_mut_val **ret, struct err *err) {
    const struct schema *s = t->req->kv->schema;
    if (!str_starts(str_of(s->name), STR("io.k8s."))) {
        return 0;
    }
    yyjson_mut_doc *d = json_mut_new(t->arena);
    *ret = d != NULL ? blank_of(d, s) : NULL;
    return *ret != NULL ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* `had`: the list that the entries were read from, or NULL when it is not the one to be kept. */
static int update(struct track *t, yyjson_mut_val *root, yyjson_mut_val *had, struct err *err) {
    yyjson_mut_val *was = NULL, *now = NULL;
    struct manage m = rules(t, false);
    bool same = false;
    int r = t->old == NULL ? blank(t, &was, err) : old_as_asked(t, written_alone(t, &m), &was, err);
    r = r ? r : as_asked(t, root, &now, err);
    r = r ? r : manage_update(&m, was, now, &t->all, &same, err);
    t->kept = r == 0 && same ? had : NULL;
    return r;
}

int track_write(struct track *t, yyjson_mut_doc *d, struct failure *f) {
    struct err err = {0};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d), *had = NULL;
    yyjson_mut_val *sent = take_list(root);
    bool tracked = t->old != NULL && json_path(t->old, "metadata.managedFields") != NULL;
    bool counts = sent != NULL && t->req->subresource.n == 0;
    if (!tracked && !counts && !(t->begins && t->old == NULL)) {
        return 0;
    }
    if (is_too_much(t, root, counts ? sent : NULL)) {
        t->warning = STR("metadata.managedFields: the object has too many fields to tell whose "
                         "they are: there are no field managers");
        return 0;
    }
    int r = had_list(t, &had, &err);
    if (r == 0) {
        read_lists(t, had, counts ? sent : NULL);
        bool keeps = t->all.n > 0 || (t->old == NULL && t->begins);
        r = keeps ? update(t, root, counts ? NULL : had, &err) : 0;
    }
    if (r == ERR_INVALID) { /* an element without a name: the entries stay as they were */
        read_lists(t, had, NULL);
        r = 0;
    }
    return r != 0 ? failure_err(f, t->arena, &err) : track_put(t, d, f);
}

/* ---- apply ---- */

static struct str who_text(struct arena *a, const struct manager *m) {
    struct buf b;
    buf_init(&b, 0);
    buf_json(&b, m->name);
    if (m->subresource.n > 0) {
        buf_c(&b, " with subresource ");
        buf_json(&b, m->subresource);
    }
    if (!m->apply) {
        buf_c(&b, " using ");
        buf_str(&b, m->api_version);
    }
    struct str r = buf_ok(&b) == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return r;
}

struct conflict_teller {
    struct arena *arena;
    struct failure *f;
    struct buf *lines;
    struct str who;  /* whose fields are told: "conflict with ..." */
    struct str path; /* the last one */
    size_t n, bytes; /* that were told */
};

static bool tell(void *ctx, struct str path) {
    struct conflict_teller *t = ctx;
    size_t bytes = 2 * path.n + t->who.n; /* in a line and in a cause */
    t->path = path;
    if (t->n == LIMIT_CAUSES || t->bytes + bytes > LIMIT_CAUSES_BYTES) {
        return false;
    }
    t->n++;
    t->bytes += bytes;
    buf_c(t->lines, "\n- ");
    buf_str(t->lines, path);
    (void)failure_cause(t->f, t->arena, STR("FieldManagerConflict"), t->who, path);
    return true;
}

static int conflict_cmp(const void *a, const void *b) {
    const struct conflict *x = a, *y = b;
    int c = str_cmp(x->who.name, y->who.name);
    c = c ? c : (int)y->who.apply - (int)x->who.apply;
    c = c ? c : str_cmp(x->who.api_version, y->who.api_version);
    return c ? c : str_cmp(x->who.subresource, y->who.subresource);
}

/* A list by manager, which ends where an answer would become too long. */
static void list_conflicts(struct conflict_teller *t, const struct applied *made, size_t all) {
    bool on = true;
    for (size_t i = 0; i < made->n_conflicts && on; i++) {
        struct str who = who_text(t->arena, &made->conflicts[i].who);
        t->who = arena_f(t->arena, "conflict with %.*s", STR_ARG(who));
        buf_f(t->lines, "%sconflicts with %.*s:", i > 0 ? "\n" : "", STR_ARG(who));
        on = fields_each(&made->conflicts[i].set, t->arena, tell, t);
    }
    if (!on) {
        buf_f(t->lines, "\n- and %zu more", all - t->n);
    }
}

/* One conflict stands in the line, several in a list. */
static int refuse(const struct track *t, const struct applied *made, struct failure *f) {
    struct buf lines;
    size_t all = 0;
    for (size_t i = 0; i < made->n_conflicts; i++) {
        all += fields_count(&made->conflicts[i].set);
    }
    buf_init(&lines, 0);
    struct conflict_teller telling = {.arena = t->arena, .f = f, .lines = &lines};
    (void)failure_set(f, t->arena, ERR_CONFLICT, "%s", "");
    qsort(made->conflicts, made->n_conflicts, sizeof(*made->conflicts), conflict_cmp);
    list_conflicts(&telling, made, all);
    f->message = all == 1 ? arena_f(t->arena, "Apply failed with 1 conflict: %.*s: %.*s",
                                    STR_ARG(telling.who), STR_ARG(telling.path))
                          : arena_f(t->arena, "Apply failed with %zu conflicts: %.*s", all,
                                    STR_ARG(buf_view(&lines)));
    buf_release(&lines);
    return f->code;
}

static int check_sent(struct track *t, yyjson_mut_val *config, struct failure *f) {
    if (t->req->opt.field_manager.n == 0) {
        return failure_invalid_one(f, t->arena, "meta.k8s.io", "PatchOptions", (struct str){0},
                                   CAUSE_REQUIRED, "fieldManager",
                                   "Required value: is required for apply patch");
    }
    if (json_mpath(config, "metadata.managedFields") != NULL) {
        return failure_set(f, t->arena, ERR_BAD_REQUEST, "metadata.managedFields must be nil");
    }
    return 0;
}

static int apply(struct track *t, yyjson_mut_doc *d, struct applied *ret, struct err *err) {
    struct manage m = rules(t, true);
    yyjson_mut_val *had = NULL;
    bool force = t->req->opt.force.set && t->req->opt.force.v;
    struct fields set;
    t->who = m.who;
    int r = typed_config(t->arena, &m.form, yyjson_mut_doc_get_root(d), &set, err);
    r = r ? r : had_list(t, &had, err);
    if (r != 0) {
        return r;
    }
    read_lists(t, had, NULL); /* what cannot be read is no account: as if there was none */
    r = manage_apply(&m, d, yyjson_mut_doc_get_root(d), &set, force, &t->all, ret, err);
    t->kept = r == 0 && ret->same_entries ? had : NULL;
    return r;
}

static int misfit(const struct track *t, struct str name, const char *why, struct failure *f) {
    const struct api_request *q = t->req;
    return failure_set(f, t->arena, ERR_INVALID,
                       "failed to create typed patch object (%.*s/%.*s; %.*s, Kind=%s): %s",
                       STR_ARG(q->ns), STR_ARG(name), STR_ARG(t->who.api_version), q->kind->kind,
                       why);
}

int track_apply(struct track *t, yyjson_mut_doc *d, struct failure *f) {
    struct err err = {0};
    struct applied made;
    yyjson_mut_val *config = yyjson_mut_doc_get_root(d);
    struct str name = json_mstr_at(config, "metadata.name");
    int r = check_sent(t, config, f);
    if (r != 0) {
        return r;
    }
    r = apply(t, d, &made, &err);
    if (r == ERR_CONFLICT) {
        return refuse(t, &made, f);
    }
    if (r == ERR_INVALID) {
        return misfit(t, name, err.text, f);
    }
    if (r == 0 && t->all.n > LIMIT_FIELD_MANAGERS) {
        r = err_set(&err, ERR_INVALID, "metadata.managedFields: may not have more than %d entries",
                    LIMIT_FIELD_MANAGERS);
    }
    if (r != 0) {
        return failure_err(f, t->arena, &err);
    }
    t->same_fields = made.same_fields;
    yyjson_mut_doc_set_root(d, made.object);
    return 0;
}
