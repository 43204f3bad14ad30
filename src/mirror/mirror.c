/* mirror: staging, committing and failing of changes. See mirror.h for the promise, mirror_int.h for the one rule. */
#include <assert.h>

#include "base/limits.h"
#include "base/mem.h"
#include "mirror/mirror_private.h"

static int cmp_key(const void *key, const void *item) {
    const struct obj_key *k = key;
    const struct object *o = item;
    int c = str_cmp(k->ns, o->ns);
    return c ? c : str_cmp(k->name, o->name);
}

static struct obj_key key_of(const struct object *o) {
    return (struct obj_key){.ns = o->ns, .name = o->name};
}

static uint64_t hash_uid(struct str uid) {
    return pset_hash(0, uid.p, uid.n);
}

static uint64_t hash_key(const struct mirror_table *t, struct str ns, struct str name) {
    return pset_hash(pset_hash(pset_hash_ptr(t), ns.p, ns.n), name.p, name.n);
}

struct mirror *mirror_new(const struct mirror_options *o) {
    struct mirror *m = mem_zalloc(sizeof(*m));
    if (m) {
        m->o = *o;
        m->o.history_events = o->history_events == MIRROR_NO_HISTORY ? 0
                              : o->history_events                    ? o->history_events
                                                                     : LIMIT_HISTORY_EVENTS;
    }
    return m;
}

static void free_writes(struct batch *b) {
    for (struct mirror_write *w = b->first, *next; w; w = next) {
        next = w->next;
        object_unref(w->obj);
        mem_free(w);
    }
    mem_free(b);
}

static void free_table(struct mirror_table *t) {
    struct object *o;
    struct tree_pos pos = tree_seek(&t->objects, NULL);
    while ((o = tree_next(&t->objects, &pos))) {
        object_unref(o);
    }
    tree_release(&t->objects);
    history_release(&t->history);
    feeds_release(&t->feeds);
    mem_free(t);
}

void mirror_free(struct mirror *m) {
    if (m == NULL) {
        return;
    }
    assert(!m->committing && m->delivering == 0);
    owners_release(&m->owners);
    pset_release(&m->by_uid);
    pset_release(&m->by_key);
    pset_release(&m->pending);
    pset_release(&m->by_kind);
    for (struct batch *b = m->head, *next; b; b = next) {
        next = b->next;
        free_writes(b);
    }
    for (struct mirror_table *t = m->tables, *next; t; t = next) {
        next = t->next;
        free_table(t);
    }
    feeds_release(&m->feeds);
    tombs_release(&m->tombs);
    mem_free(m);
}

struct mirror_table *table_find(const struct mirror *m, const struct kind *k) {
    uint64_t hash = pset_hash_ptr(k);
    struct mirror_table *t;
    for (size_t i = pset_first(&m->by_kind, hash); (t = pset_next(&m->by_kind, hash, &i));) {
        if (t->kind == k) {
            return t;
        }
    }
    return NULL;
}

struct mirror_table *table_get(struct mirror *m, const struct kind *k) {
    struct mirror_table *t = table_find(m, k);
    if (t) {
        return t;
    }
    t = mem_zalloc(sizeof(*t));
    if (t == NULL || pset_add(&m->by_kind, pset_hash_ptr(k), t) != 0) {
        mem_free(t);
        return NULL;
    }
    t->kind = k;
    tree_init(&t->objects, cmp_key);
    t->next = m->tables;
    m->tables = t;
    return t;
}

/* What the table's tree holds under a key whose hash this is; NULL: nothing. */
static struct object *find_in_tree(const struct mirror *m, const struct mirror_table *t,
                                   uint64_t hash, struct str ns, struct str name) {
    struct object *o;
    for (size_t i = pset_first(&m->by_key, hash); (o = pset_next(&m->by_key, hash, &i));) {
        if (o->kind == t->kind && str_eq(o->name, name) && str_eq(o->ns, ns)) {
            return o;
        }
    }
    return NULL;
}

/* ---- reading ---- */

uint64_t mirror_revision(const struct mirror *m) {
    return m->revision;
}

const struct object *mirror_get(const struct mirror *m, const struct kind *k, struct str ns,
                                struct str name) {
    const struct mirror_table *t = table_find(m, k);
    const struct object *o = t ? find_in_tree(m, t, hash_key(t, ns, name), ns, name) : NULL;
    return visible(m, o) ? o : NULL;
}

const struct object *mirror_by_uid(const struct mirror *m, struct str uid) {
    uint64_t hash = hash_uid(uid);
    const struct object *o;
    for (size_t i = pset_first(&m->by_uid, hash); (o = pset_next(&m->by_uid, hash, &i));) {
        if (visible(m, o) && str_eq(o->uid, uid)) {
            return o;
        }
    }
    return NULL;
}

size_t mirror_count(const struct mirror *m, const struct kind *k) {
    const struct mirror_table *t = table_find(m, k);
    return t ? t->n : 0;
}

const struct object *mirror_owner(const struct mirror *m, struct str ns,
                                  const struct owner_ref *ref) {
    const struct object *o = mirror_by_uid(m, ref->uid);
    return o && object_named_by(o, ns, ref) ? o : NULL;
}

struct owned_visit {
    const struct mirror *m;
    const struct object *owner; /* or NULL: */
    const struct owner_ref *ref;
    struct str ns;
    bool (*each)(void *ctx, const struct object *o);
    void *ctx;
};

static bool same_owner(const struct owner_ref *a, const struct owner_ref *b) {
    return str_eq(a->uid, b->uid) && str_eq(a->name, b->name) && str_eq(a->kind, b->kind);
}

static bool is_owned(const struct owned_visit *v, const struct object *o) {
    for (size_t i = 0; i < o->n_owners; i++) {
        if (v->owner ? object_named_by(v->owner, o->ns, &o->owners[i])
                     : str_eq(o->ns, v->ns) && same_owner(&o->owners[i], v->ref)) {
            return true;
        }
    }
    return false;
}

static bool visit_owned(void *ctx, const struct object *o) {
    const struct owned_visit *v = ctx;
    return !visible(v->m, o) || !is_owned(v, o) || v->each(v->ctx, o);
}

void mirror_owned(const struct mirror *m, const struct object *owner,
                  bool (*each)(void *ctx, const struct object *o), void *ctx) {
    struct owned_visit v = {.m = m, .owner = owner, .each = each, .ctx = ctx};
    owners_each(&m->owners, owner->uid, visit_owned, &v);
}

void mirror_siblings(const struct mirror *m, struct str ns, const struct owner_ref *ref,
                     bool (*each)(void *ctx, const struct object *o), void *ctx) {
    struct owned_visit v = {.m = m, .ref = ref, .ns = ns, .each = each, .ctx = ctx};
    owners_each(&m->owners, ref->uid, visit_owned, &v);
}

/* The newest change of a key that is not committed yet; NULL when there is none. */
static struct mirror_write *find_pending(const struct mirror *m, const struct mirror_table *t,
                                         uint64_t hash, struct str ns, struct str name) {
    struct mirror_write *w;
    for (size_t i = pset_first(&m->pending, hash); (w = pset_next(&m->pending, hash, &i));) {
        if (w->table == t && str_eq(w->obj->name, name) && str_eq(w->obj->ns, ns)) {
            return w;
        }
    }
    return NULL;
}

const struct object *mirror_pending(const struct mirror *m, const struct kind *k, struct str ns,
                                    struct str name) {
    const struct mirror_table *t = table_find(m, k);
    if (t == NULL) {
        return NULL;
    }
    uint64_t hash = hash_key(t, ns, name);
    if (m->n_pending) {
        struct mirror_write *w = find_pending(m, t, hash, ns, name);
        if (w) {
            return w->type == CHANGE_DELETED ? NULL : w->obj;
        }
    }
    return find_in_tree(m, t, hash, ns, name);
}

/* ---- indexes ---- */

static int index_add(struct mirror *m, struct object *o) {
    if (o->uid.n && pset_add(&m->by_uid, hash_uid(o->uid), o) != 0) {
        return ERR_NOMEM;
    }
    if (owners_add(&m->owners, o) != 0) {
        if (o->uid.n) {
            pset_del(&m->by_uid, hash_uid(o->uid), o);
        }
        return ERR_NOMEM;
    }
    return 0;
}

static void index_del(struct mirror *m, const struct object *o) {
    if (o->uid.n) {
        pset_del(&m->by_uid, hash_uid(o->uid), (void *)(uintptr_t)o);
    }
    owners_del(&m->owners, o);
}

/* A key that the tree does not have yet. 0 or ERR_NOMEM with nothing changed. */
static int tree_add(struct mirror *m, struct mirror_table *t, uint64_t hash, struct object *o) {
    struct obj_key key = key_of(o);
    if (pset_add(&m->by_key, hash, o) != 0) {
        return ERR_NOMEM;
    }
    if (tree_put(&t->objects, &key, o, NULL) != 0) {
        pset_del(&m->by_key, hash, o);
        return ERR_NOMEM;
    }
    return 0;
}

static struct object *tree_drop(struct mirror *m, struct mirror_table *t, uint64_t hash,
                                const struct object *o) {
    struct obj_key key = key_of(o);
    struct object *old = tree_del(&t->objects, &key);
    pset_del(&m->by_key, hash, old);
    return old;
}

/* Another version of a key that is there; the one before. */
static struct object *tree_swap(struct mirror *m, struct mirror_table *t, uint64_t hash,
                                struct object *o) {
    struct obj_key key = key_of(o);
    void *old = NULL;
    (void)tree_put(&t->objects, &key, o, &old);
    pset_swap(&m->by_key, hash, old, o);
    return old;
}

/* ---- staging ---- */

/* The batch that is being filled; *ret_new says whether this made it. NULL: no memory. */
static struct batch *open_batch(struct mirror *m, bool *ret_new) {
    *ret_new = m->tail == NULL || m->tail->state != BATCH_OPEN;
    if (!*ret_new) {
        return m->tail;
    }
    struct batch *b = mem_zalloc(sizeof(*b));
    if (b) {
        b->id = ++m->last_batch;
        *(m->tail ? &m->tail->next : &m->head) = b;
        m->tail = b;
    }
    return b;
}

/* Puts a change among the pending ones and takes all memory that its commit needs. Takes obj over on success. */
static int stage(struct mirror *m, enum change_type type, struct object *obj, mirror_done *done,
                 void *ctx, bool *ret_first) {
    struct mirror_table *t = table_get(m, obj->kind);
    struct mirror_write *w = t ? mem_zalloc(sizeof(*w)) : NULL;
    if (w == NULL) {
        return ERR_NOMEM;
    }
    *w = (struct mirror_write){.table = t,
                               .type = type,
                               .obj = obj,
                               .done = done,
                               .ctx = ctx,
                               .hash = hash_key(t, obj->ns, obj->name)};
    struct mirror_write *before = find_pending(m, t, w->hash, obj->ns, obj->name);
    struct object *in_tree = find_in_tree(m, t, w->hash, obj->ns, obj->name);
    bool insert =
        in_tree == NULL; /* then the change is an addition, and staged right into the tree */
    w->old = type == CHANGE_ADDED ? NULL : before ? before->obj : in_tree;
    if (insert && tree_add(m, t, w->hash, obj) != 0) {
        goto fail;
    }
    if (type != CHANGE_DELETED && index_add(m, obj) != 0) {
        goto fail_tree;
    }
    if (pset_add(&m->pending, w->hash, w) != 0) {
        goto fail_index;
    }
    struct batch *b = open_batch(m, ret_first);
    if (b == NULL) {
        goto fail_pending;
    }
    if (before) {
        before->newer = w;
        pset_del(&m->pending, w->hash, before);
    }
    if (insert) {
        object_ref(obj);
    }
    m->n += type == CHANGE_ADDED;
    m->n_pending++;
    *(b->last ? &b->last->next : &b->first) = w;
    b->last = w;
    b->n++;
    return 0;

fail_pending:
    pset_del(&m->pending, w->hash, w);
fail_index:
    if (type != CHANGE_DELETED) {
        index_del(m, obj);
    }
fail_tree:
    if (insert) {
        (void)tree_drop(m, t, w->hash, obj);
    }
fail:
    mem_free(w);
    return ERR_NOMEM;
}

static int may(const struct mirror *m, enum change_type type, const struct object *obj,
               const struct object *now, struct err *err) {
    return m->o.may ? m->o.may(m->o.may_ctx, type, obj, now, err) : 0;
}

static int check_write(const struct mirror *m, enum change_type type, const struct object *obj,
                       uint64_t expect_rv, struct err *err) {
    if (m->failing) {
        return err_set(err, m->failure.code, "%s", m->failure.text);
    }
    const struct object *now = mirror_pending(m, obj->kind, obj->ns, obj->name);
    if (expect_rv == 0 && type == CHANGE_ADDED) {
        if (now) {
            return err_set(err, ERR_EXISTS, "%s \"%.*s\" already exists", obj->kind->plural,
                           STR_ARG(obj->name));
        }
        return m->n < LIMIT_STORE_OBJECTS
                   ? may(m, type, obj, now, err)
                   : err_set(err, ERR_TOO_MANY, "%d objects are stored, the limit",
                             LIMIT_STORE_OBJECTS);
    }
    if (type == CHANGE_ADDED || now == NULL || now->rv != expect_rv) {
        return err_set(err, now && expect_rv == 0 ? ERR_EXISTS : ERR_CONFLICT,
                       "the object has been modified; please apply your changes to the latest "
                       "version and try again");
    }
    return may(m, type, obj, now, err);
}

int mirror_write(struct mirror *m, enum change_type type, struct object *obj, uint64_t expect_rv,
                 mirror_done *done, void *ctx, struct err *err) {
    int code = check_write(m, type, obj, expect_rv, err);
    bool first = false;
    uint64_t before = obj->rv;
    if (code == 0) {
        obj->rv = m->last_rv + 1;
        code = stage(m, type, obj, done, ctx, &first);
        code = code ? err_set(err, code, "out of memory") : 0;
    }
    if (code != 0) {
        obj->rv = before;
        object_unref(obj);
        return code;
    }
    m->last_rv++;
    if (first && m->o.staged) {
        m->o.staged(m->o.staged_ctx);
    }
    return 0;
}

size_t mirror_staged(const struct mirror *m) {
    return m->n_pending;
}

/* ---- committing ---- */

static void forget_pending(struct mirror *m, struct mirror_write *w) {
    if (w->newer == NULL) {
        pset_del(&m->pending, w->hash, w);
    } /* else the newer change stands there */
    m->n_pending--;
}

/* The tree and the indexes take the change; what the tree let go of is returned, with its reference. */
static struct object *apply(struct mirror *m, struct mirror_write *w) {
    struct mirror_table *t = w->table;
    struct object *old;
    if (w->type == CHANGE_ADDED) {
        assert(find_in_tree(m, t, w->hash, w->obj->ns, w->obj->name) == w->obj);
        t->n++;
        return NULL;
    }
    if (w->type == CHANGE_MODIFIED) {
        old = tree_swap(m, t, w->hash, object_ref(w->obj));
    } else if (w->newer) { /* deleted and made again: the place is kept for the new one */
        old = tree_swap(m, t, w->hash, object_ref(w->newer->obj));
    } else {
        old = tree_drop(m, t, w->hash, w->obj);
    }
    if (w->type == CHANGE_DELETED) {
        t->n--;
        m->n--;
    }
    assert(old && old == w->old);
    index_del(m, old);
    return old;
}

static void commit_write(struct mirror *m, struct mirror_write *w) {
    struct object *old = apply(m, w);
    struct change c = {.type = w->type, .obj = w->obj, .old = old};
    m->revision = w->obj->rv > m->revision ? w->obj->rv : m->revision;
    m->changes++;
    forget_pending(m, w);
    int64_t now = m->o.clock ? clock_mono(m->o.clock) : 0;
    history_add(&w->table->history, &c, m->o.history_events, now);
    feeds_deliver(m, w->table, &c);
    object_unref(old);
}

static void commit_batch(struct mirror *m, struct batch *b) {
    for (struct mirror_write *w = b->first; w; w = w->next) {
        commit_write(m, w);
    }
    for (struct mirror_write *w = b->first; w; w = w->next) {
        if (w->done) {
            w->done(w->ctx, 0, w->obj, NULL);
        }
    }
    free_writes(b);
}

/* Takes a pending change out of everything, as if it had never been staged. */
static void undo_write(struct mirror *m, struct mirror_write *w) {
    struct mirror_write *newest = find_pending(m, w->table, w->hash, w->obj->ns, w->obj->name);
    if (newest) {
        pset_del(&m->pending, newest->hash, newest);
    }
    if (w->type != CHANGE_DELETED) {
        index_del(m, w->obj);
    }
    if (find_in_tree(m, w->table, w->hash, w->obj->ns, w->obj->name) == w->obj) {
        object_unref(tree_drop(m, w->table, w->hash, w->obj));
    }
    m->n -= w->type == CHANGE_ADDED;
    m->n_pending--;
}

/* The rest of the queue has failed. All of it is undone before anybody is told, who may then write again. */
static void fail_batches(struct mirror *m) {
    struct batch *failed = m->head;
    struct err err = m->failure;
    for (struct batch *b = failed; b; b = b->next) {
        assert(b->state == BATCH_FAILED);
        for (struct mirror_write *w = b->first; w; w = w->next) {
            undo_write(m, w);
        }
    }
    m->head = m->tail = NULL;
    m->failing = false;
    for (struct batch *b = failed, *next; b; b = next) {
        next = b->next;
        for (struct mirror_write *w = b->first; w; w = w->next) {
            if (w->done) {
                w->done(w->ctx, err.code, NULL, &err);
            }
        }
        free_writes(b);
    }
}

/* Works off the head of the queue. A callback may come back here: then the outer call goes on. */
static void drain(struct mirror *m) {
    if (m->committing) {
        return;
    }
    m->committing = true;
    while (m->head && m->head->state >= BATCH_READY) {
        struct batch *b = m->head;
        if (b->state == BATCH_FAILED) {
            fail_batches(m);
            continue;
        }
        m->head = b->next;
        m->tail = b->next ? m->tail : NULL;
        commit_batch(m, b);
    }
    m->committing = false;
}

/* A batch has failed, and with it what was built on it. Those before it are still on their way to disk; until they have
 * arrived, the failed ones wait behind them. */
static void fail_from(struct mirror *m, struct batch *b, int code, const struct err *err) {
    (void)err_set(&m->failure, code, "%s", err ? err->text : err_name(code));
    m->failing = true;
    for (; b; b = b->next) {
        b->state = BATCH_FAILED;
    }
    drain(m);
}

static int submit(struct mirror *m, const struct batch *b, struct err *err) {
    struct change *changes = mem_array(b->n, sizeof(*changes));
    if (changes == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    size_t n = 0;
    for (const struct mirror_write *w = b->first; w; w = w->next) {
        changes[n++] = (struct change){.type = w->type, .obj = w->obj, .old = w->old};
    }
    int code = m->o.journal->submit(m->o.journal, changes, n, b->id, err);
    mem_free(changes);
    return code;
}

void mirror_flush(struct mirror *m) {
    struct batch *b = m->tail;
    if (b == NULL || b->state != BATCH_OPEN) {
        return;
    }
    if (m->o.journal == NULL) {
        b->state = BATCH_READY;
        drain(m);
        return;
    }
    struct err err = {0};
    b->state = BATCH_SENT;
    int code = submit(m, b, &err);
    if (code != 0) {
        fail_from(m, b, code, &err);
    }
}

void mirror_journal_done(struct mirror *m, uint64_t batch, int code, const struct err *err) {
    struct batch *b = m->head;
    while (b && b->id != batch) {
        b = b->next;
    }
    if (b == NULL || b->state == BATCH_FAILED) {
        return; /* failed already, with the one before it */
    }
    assert(b->state == BATCH_SENT);
    if (code != 0) {
        fail_from(m, b, code, err);
        return;
    }
    b->state = BATCH_READY;
    drain(m);
}

/* ---- for outside.c ---- */

int mirror_put_loaded(struct mirror *m, struct mirror_table *t, struct object *obj) {
    uint64_t hash = hash_key(t, obj->ns, obj->name);
    if (find_in_tree(m, t, hash, obj->ns, obj->name)) {
        return ERR_EXISTS;
    }
    if (tree_add(m, t, hash, obj) != 0) {
        return ERR_NOMEM;
    }
    if (index_add(m, obj) != 0) {
        (void)tree_drop(m, t, hash, obj);
        return ERR_NOMEM;
    }
    t->n++;
    m->n++;
    return 0;
}

int mirror_commit_one(struct mirror *m, enum change_type type, struct object *obj) {
    bool first;
    int code = stage(m, type, obj, NULL, NULL, &first);
    if (code != 0) {
        return code;
    }
    m->last_rv = obj->rv > m->last_rv ? obj->rv : m->last_rv;
    m->tail->state = BATCH_READY;
    drain(m);
    return 0;
}
