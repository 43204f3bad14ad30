/* manage: see manage.h. Updates, and what they share with apply. */
#include "api/managed/manage.h"

#include "api/managed/manage_private.h"

/* ---- what no entry has ---- */

static bool is_one_of(struct str name, const char *const *names) {
    while (*names != NULL && !str_is(name, *names)) {
        names++;
    }
    return *names != NULL;
}

static struct fields strip_metadata(struct arena *a, const struct fields *f) {
    static const char *const server_owned[] = {
        "name",        "namespace",  "creationTimestamp", "selfLink",        "uid",
        "clusterName", "generation", "managedFields",     "resourceVersion", NULL,
    };
    struct fields r = {.step = f->step};
    for (uint32_t i = 0; i < f->n; i++) {
        struct fields kid = f->v[i];
        bool owned = kid.step.type == STEP_FIELD && is_one_of(kid.step.text, server_owned);
        kid.member = kid.member && !owned;
        fields_add(a, &r, &kid);
    }
    return r;
}

struct fields manage_strip(const struct manage *m, const struct fields *set) {
    static const char *const type[] = {"apiVersion", "kind", NULL};
    struct fields r = {.step = set->step};
    for (uint32_t i = 0; i < set->n; i++) {
        struct fields kid = set->v[i];
        if (kid.step.type == STEP_FIELD && str_is(kid.step.text, "metadata")) {
            kid = strip_metadata(m->arena, &kid);
        } else if (kid.step.type == STEP_FIELD && is_one_of(kid.step.text, type)) {
            kid.member = false;
        }
        fields_add(m->arena, &r, &kid);
    }
    return r;
}

struct fields manage_filter(const struct manage *m, const struct fields *set) {
    struct fields r = *set;
    if (m->only != NULL) {
        r = fields_only(m->arena, &r, m->only);
    }
    return m->without != NULL ? fields_without(m->arena, &r, m->without) : r;
}

/* ---- versions ---- */

static int in_version(const struct manage *m, yyjson_mut_val *v, struct str api_version,
                      yyjson_mut_val **ret, struct err *err) {
    if (v == NULL || str_eq(api_version, m->who.api_version)) {
        *ret = v;
        return 0;
    }
    return m->convert(m->ctx, v, m->who.api_version, api_version, ret, err);
}

static int form_in(const struct manage *m, struct str api_version, struct form *ret) {
    if (str_eq(api_version, m->who.api_version)) {
        *ret = m->form;
        return 0;
    }
    return m->form_of(m->ctx, api_version, ret);
}

static void filter_change(const struct manage *m, struct typed_change *c) {
    c->added = manage_filter(m, &c->added);
    c->modified = manage_filter(m, &c->modified);
    c->removed = manage_filter(m, &c->removed);
}

static bool is_nothing(const struct typed_change *c) {
    return fields_empty(&c->added) && fields_empty(&c->modified) && fields_empty(&c->removed);
}

int manage_was(const struct manage *m, struct two_states *s, struct err *err) {
    int r = s->known ? 0 : m->stored(m->ctx, &s->was, err);
    s->known = s->known || r == 0;
    return r;
}

static int compare_in(const struct manage *m, struct two_states *s, struct versioned *v,
                      struct err *err) {
    yyjson_mut_val *a = NULL, *b = NULL;
    int r = manage_was(m, s, err);
    r = r ? r : form_in(m, v->api_version, &v->form);
    r = r ? r : in_version(m, s->was, v->api_version, &a, err);
    r = r ? r : in_version(m, s->now, v->api_version, &b, err);
    if (r == ERR_NOT_FOUND) {
        v->missing = true;
        return 0;
    }
    if (r != 0) {
        return r;
    }
    if (m->only != NULL) {
        return typed_compare_member(m->arena, &v->form, m->only, a, b, &v->change, err);
    }
    r = typed_compare(m->arena, &v->form, a, b, &v->change, err);
    if (r == 0) {
        filter_change(m, &v->change);
    }
    return r;
}

int manage_compare(const struct manage *m, struct str api_version, struct two_states *s,
                   struct versioned **ret, struct err *err) {
    for (struct versioned *v = s->made; v != NULL; v = v->next) {
        if (str_eq(v->api_version, api_version)) {
            *ret = v;
            return 0;
        }
    }
    struct versioned *v = ARENA_NEW(m->arena, struct versioned);
    if (v == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    v->api_version = api_version;
    int r = compare_in(m, s, v, err);
    if (r == 0) {
        v->next = s->made;
        s->made = *ret = v;
    }
    return r;
}

int manage_note(const struct manage *m, const struct typed_change *change, struct two_states *s,
                struct err *err) {
    struct versioned *v = ARENA_NEW(m->arena, struct versioned);
    if (v == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *v = (struct versioned){
        .api_version = m->who.api_version, .form = m->form, .change = *change, .next = s->made};
    filter_change(m, &v->change);
    s->made = v;
    return 0;
}

int manage_reconcile(const struct manage *m, struct managers *all, bool *ret_changed,
                     struct err *err) {
    struct form form;
    size_t n = all->n;
    for (size_t i = 0; i < all->n; i++) {
        struct manager *one = &all->v[i];
        int r = form_in(m, one->api_version, &form);
        if (r != 0 && r != ERR_NOT_FOUND) {
            return err_set(err, r, "out of memory");
        }
        one->set =
            r == 0 ? typed_reconciled(m->arena, &form, &one->set, ret_changed) : (struct fields){0};
    }
    managers_drop_empty(all);
    *ret_changed = *ret_changed || all->n != n;
    return 0;
}

/* ---- updates ---- */

int manage_take(const struct manage *m, struct two_states *s, struct managers *all,
                const struct manager *own, struct err *err) {
    for (size_t i = 0; i < all->n; i++) {
        struct manager *one = &all->v[i];
        struct versioned *v;
        if (one == own) {
            continue;
        }
        int r = manage_compare(m, one->api_version, s, &v, err);
        if (r != 0) {
            return r;
        }
        if (v->missing) {
            one->set = (struct fields){0};
            continue;
        }
        one->set = fields_minus(m->arena, &one->set, &v->change.added);
        one->set = fields_minus(m->arena, &one->set, &v->change.modified);
        one->set = fields_minus(m->arena, &one->set, &v->change.removed);
    }
    return 0;
}

/* What the request added and changed is its manager's, with what he had. */
static int keep_taken(const struct manage *m, struct versioned *v, struct managers *all,
                      struct err *err) {
    struct fields set = fields_union(m->arena, &v->change.added, &v->change.modified);
    set = manage_strip(m, &set);
    if (fields_empty(&set)) {
        return 0;
    }
    struct manager *own = managers_have(m->arena, all, &m->who);
    if (own == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    own->set = fields_union(m->arena, &own->set, &set);
    own->time = m->who.time;
    return 0;
}

/* What went wrong on the way, if anything did. */
static int settle(const struct manage *m, int r, struct err *err) {
    if (r == 0 && arena_ok(m->arena) != 0) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    return r == 0 && arena_spent(m->arena)
               ? err_set(err, ERR_TOO_LARGE, "the object is too complex")
               : r;
}

int manage_update(const struct manage *m, yyjson_mut_val *was, yyjson_mut_val *now,
                  struct managers *all, bool *ret_same, struct err *err) {
    struct two_states s = {.was = was, .now = now, .known = true};
    struct versioned *v = NULL;
    bool changed = false;
    int r = manage_reconcile(m, all, &changed, err);
    r = r ? r : manage_compare(m, m->who.api_version, &s, &v, err);
    if (r == 0 && !changed && is_nothing(&v->change)) {
        *ret_same = true;
        return settle(m, r, err);
    }
    r = r ? r : manage_take(m, &s, all, NULL, err);
    r = r ? r : keep_taken(m, v, all, err);
    if (r == 0) {
        managers_drop_empty(all);
        managers_cap(m->arena, all);
        *ret_same = false;
    }
    return settle(m, r, err);
}

/* ---- apply ---- */

/* An object that nobody kept account of: all that it has is of those before. */
static int begin_account(const struct manage *m, struct two_states *s, struct managers *all,
                         struct err *err) {
    struct manage before = *m;
    bool same;
    int r = all->n > 0 ? 0 : manage_was(m, s, err);
    if (r != 0 || all->n > 0 || s->was == NULL) {
        return r;
    }
    before.who.name = STR("before-first-apply");
    before.who.apply = false;
    return manage_update(&before, NULL, s->was, all, &same, err);
}

static void add_conflict(const struct manage *m, const struct manager *one, struct versioned *v,
                         const struct fields *allowed, struct applied *ret) {
    struct fields changed = fields_union(m->arena, &v->change.added, &v->change.modified);
    struct fields set = fields_both(m->arena, &one->set, &changed);
    if (allowed != NULL) {
        set = fields_minus(m->arena, &set, allowed);
    }
    if (!fields_empty(&set)) {
        ret->conflicts[ret->n_conflicts++] = (struct conflict){*one, set};
    }
}

/* What of others' fields the apply would change, but for what it may. */
static int find_conflicts(const struct manage *m, struct two_states *s, const struct managers *all,
                          const struct manager *own, const struct fields *allowed,
                          struct applied *ret, struct err *err) {
    ret->n_conflicts = 0;
    ret->conflicts = ARENA_ARRAY(m->arena, struct conflict, all->n + 1);
    int r = ret->conflicts == NULL ? err_set(err, ERR_NOMEM, "out of memory") : 0;
    for (size_t i = 0; r == 0 && i < all->n; i++) {
        struct versioned *v;
        if (&all->v[i] == own) {
            continue;
        }
        r = manage_compare(m, all->v[i].api_version, s, &v, err);
        if (r == 0 && !v->missing) {
            add_conflict(m, &all->v[i], v, allowed, ret);
        }
    }
    return r;
}

static int refuse_conflicts(const struct manage *m, struct two_states *s,
                            const struct managers *all, const struct manager *own,
                            struct applied *ret, struct err *err) {
    int r = find_conflicts(m, s, all, own, NULL, ret, err);
    if (r == 0 && ret->n_conflicts > 0 && str_is(m->who.name, "kubectl")) {
        r = manage_was(m, s, err);
        struct fields allowed = r == 0 ? manage_left_by_client(m, s->was) : (struct fields){0};
        r = r ? r : find_conflicts(m, s, all, own, &allowed, ret, err);
    }
    return r != 0                 ? r
           : ret->n_conflicts > 0 ? err_set(err, ERR_CONFLICT, "fields are managed by others")
                                  : 0;
}

/* Puts the new set in the manager's entry; what it was before comes back. */
static struct manager *replace_own(const struct manage *m, struct fields set, struct managers *all,
                                   struct manager *ret_last) {
    const struct manager *had = managers_find(all, &m->who);
    *ret_last = had != NULL ? *had : m->who;
    if (had == NULL) {
        ret_last->set = (struct fields){0};
    }
    struct manager *own = managers_have(m->arena, all, &m->who);
    if (own != NULL) {
        own->api_version = m->who.api_version;
        own->set = set;
    }
    return own;
}

/* The object and its difference: what the merge says, unless something is taken out as well. */
static int lay(const struct manage *m, yyjson_mut_doc *d, yyjson_mut_val *config,
               const struct managers *all, const struct manager *last, const struct manager *own,
               struct two_states *s, struct err *err) {
    yyjson_mut_val *live = NULL;
    struct typed_change change;
    bool exact = false, drops = manage_drops(m, last, own);
    int r = m->stored(m->ctx, &live, err);
    live = live != NULL ? live : yyjson_mut_obj(d);
    if (r == 0 && live == NULL) {
        r = err_set(err, ERR_NOMEM, "out of memory");
    }
    r = r ? r : typed_merge(d, &m->form, live, config, &s->now, &change, &exact, err);
    r = r || !drops ? r : manage_prune(m, d, all, last, &s->now, err);
    return r == 0 && exact && !drops ? manage_note(m, &change, s, err) : r;
}

/* Whose the fields are then. */
static int settle_owners(const struct manage *m, struct two_states *s, struct managers *all,
                         const struct manager *own, bool force, bool changed, struct applied *ret,
                         struct err *err) {
    struct versioned *v;
    int r = manage_compare(m, m->who.api_version, s, &v, err);
    if (r != 0) {
        return r;
    }
    ret->same_entries = ret->same_fields && !changed && is_nothing(&v->change);
    if (ret->same_entries) {
        return 0;
    }
    r = force ? 0 : refuse_conflicts(m, s, all, own, ret, err);
    return r ? r : manage_take(m, s, all, own, err);
}

static int apply_steps(const struct manage *m, yyjson_mut_doc *d, yyjson_mut_val *config,
                       struct fields set, bool force, struct managers *all, struct applied *ret,
                       struct err *err) {
    struct manager last;
    struct two_states s = {0};
    struct str text = manage_client_text(m, config);
    bool changed = all->n == 0;
    int r = begin_account(m, &s, all, err);
    r = r ? r : manage_reconcile(m, all, &changed, err);
    if (r != 0) {
        return r;
    }
    set = manage_filter(m, &set);
    set = manage_strip(m, &set);
    struct manager *own = replace_own(m, set, all, &last);
    if (own == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    ret->same_fields =
        str_eq(last.api_version, own->api_version) && fields_equal(&last.set, &own->set);
    own->time = ret->same_fields ? last.time : m->who.time;
    r = lay(m, d, config, all, &last, own, &s, err);
    r = r ? r : settle_owners(m, &s, all, own, force, changed, ret, err);
    managers_drop_empty(all);
    ret->object = s.now;
    return r ? r : manage_tell_client(d, ret->object, text);
}

int manage_apply(const struct manage *m, yyjson_mut_doc *d, yyjson_mut_val *config,
                 const struct fields *set, bool force, struct managers *all, struct applied *ret,
                 struct err *err) {
    struct applied made = {0};
    int r = apply_steps(m, d, config, *set, force, all, &made, err);
    r = settle(m, r, err);
    if (r == 0 || r == ERR_CONFLICT) {
        *ret = made;
    }
    return r;
}
