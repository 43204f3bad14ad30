/* users: see users.h. */
#include "node/sandbox/users.h"

#include <string.h>

#include "base/mem.h"
#include "node/files/files.h"
#include "wire/json/json.h"

/* The member of users.json that is no project: no namespace has such a name. */
#define CIRCLE "."

enum { WORDS = (USERS_PODS_MAX + 63) / 64 };

struct node_user {
    uid_t id;
    size_t n;
    char name[];
};

static int add(struct users *u, struct str project, uid_t id) {
    struct node_user *x = mem_alloc(sizeof(*x) + project.n + 1);

    if (x == NULL) {
        return ERR_NOMEM;
    }
    x->id = id;
    x->n = project.n;
    memcpy(x->name, project.p, project.n);
    if (map_put(&u->by_project, str_from(x->name, x->n), x, NULL)) {
        mem_free(x);
        return ERR_NOMEM;
    }
    u->next = id >= u->next ? id + 1 : u->next;
    return 0;
}

/* A number that is no group id of ours (0 is root's) must not become one. */
static bool is_group(int64_t n) {
    return n >= USERS_FIRST && n < USERS_FIRST + USERS_MAX;
}

static int read_all(struct users *u, yyjson_val *root, struct err *err) {
    yyjson_obj_iter it;
    yyjson_val *k;
    int code = 0;

    yyjson_obj_iter_init(root, &it);
    while (code == 0 && (k = yyjson_obj_iter_next(&it))) {
        int64_t n = yyjson_get_sint(yyjson_obj_iter_get_val(k));
        if (!str_is(json_str(k), CIRCLE)) {
            code = is_group(n) ? add(u, json_str(k), (uid_t)n)
                               : err_set(err, ERR_INVALID,
                                         "%s/users.json: %.*s has group id %lld, expected one "
                                         "from %d: put the file back from a backup, or remove it",
                                         u->dir, STR_ARG(json_str(k)), (long long)n, USERS_FIRST);
        } else if (n >= 0 && n < USERS_PODS_MAX) {
            u->at = u->written = (uint32_t)n; /* what was handed out before lies behind it */
        }
    }
    return code;
}

int users_init(struct users *u, const char *dir, struct err *err) {
    struct arena a;
    struct err why;
    yyjson_doc *doc;

    *u = (struct users){.dir = dir, .next = USERS_FIRST};
    map_init(&u->by_project);
    u->taken = mem_zalloc(WORDS * sizeof(*u->taken));
    if (u->taken == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    arena_init(&a, 64 << 20);
    int code = file_load_json(dir, "users.json", &a, &doc, &why);
    if (code) {
        err_set(err, code, "%s: put it back from a backup, or remove it to begin anew", why.text);
    }
    if (code == 0) {
        code = read_all(u, yyjson_doc_get_root(doc), err);
    }
    arena_release(&a);
    return code == ERR_NOT_FOUND ? 0 : code;
}

void users_release(struct users *u) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&u->by_project, &i));) {
        mem_free(e->value);
    }
    map_release(&u->by_project);
    mem_free(u->taken);
    u->taken = NULL;
}

static int save(struct users *u, struct err *err) {
    const struct map_entry *e;
    struct buf b;

    buf_init(&b, FILE_READ_MAX);
    buf_f(&b, "{\"" CIRCLE "\":%u", (unsigned)u->written);
    for (size_t i = 0; (e = map_next(&u->by_project, &i));) {
        buf_ch(&b, ',');
        buf_json(&b, e->key);
        buf_f(&b, ":%u", (unsigned)((struct node_user *)e->value)->id);
    }
    buf_c(&b, "}\n");
    int code =
        buf_ok(&b) ? buf_ok(&b) : file_store_synced(u->dir, "users.json", buf_view(&b), 0600, err);
    buf_release(&b);
    return code;
}

int users_group(struct users *u, struct str project, gid_t *ret, struct err *err) {
    struct node_user *x = map_get(&u->by_project, project);

    if (x == NULL) {
        if (u->next - USERS_FIRST >= USERS_MAX) {
            return err_set(err, ERR_TOO_MANY, "no group ids are left for project %.*s",
                           STR_ARG(project));
        }
        int code = add(u, project, u->next);
        if (code) {
            return err_set(err, code, "no memory");
        }
        code = save(u, err);
        if (code) {
            mem_free(map_del(&u->by_project, project));
            return code;
        }
        x = map_get(&u->by_project, project);
    }
    *ret = x->id;
    return 0;
}

/* ---- pods ---- */

static bool is_taken(const struct users *u, uint32_t i) {
    return u->taken[i / 64] >> (i % 64) & 1;
}

static void mark(struct users *u, uint32_t i, bool taken) {
    uint64_t bit = UINT64_C(1) << (i % 64);

    u->taken[i / 64] = taken ? u->taken[i / 64] | bit : u->taken[i / 64] & ~bit;
}

/* Before number `at` is used, it is written down that the circle has passed it. */
static int write_ahead(struct users *u, uint32_t at, struct err *err) {
    uint32_t was = u->written, left = (was + USERS_PODS_MAX - at) % USERS_PODS_MAX;

    if (left >= 1 && left <= USERS_AHEAD) {
        return 0;
    }
    u->written = (at + USERS_AHEAD) % USERS_PODS_MAX;
    int code = save(u, err);
    if (code) {
        u->written = was;
    }
    return code;
}

int users_take(struct users *u, uid_t *ret, struct err *err) {
    for (uint32_t n = 0; n < USERS_PODS_MAX; n++) {
        uint32_t i = (u->at + n) % USERS_PODS_MAX;
        if (is_taken(u, i)) {
            continue;
        }
        int code = write_ahead(u, i, err);
        if (code) {
            return code;
        }
        mark(u, i, true);
        u->at = (i + 1) % USERS_PODS_MAX;
        *ret = (uid_t)USERS_PODS_FIRST + i;
        return 0;
    }
    return err_set(err, ERR_TOO_MANY, "all %d user ids of pods are taken", USERS_PODS_MAX);
}

static bool index_of(uid_t id, uint32_t *ret) {
    *ret = (uint32_t)id - USERS_PODS_FIRST;
    return id >= USERS_PODS_FIRST && *ret < USERS_PODS_MAX;
}

bool users_hold(struct users *u, uid_t id) {
    uint32_t i;

    if (!index_of(id, &i)) {
        return false;
    }
    mark(u, i, true);
    return true;
}

void users_give(struct users *u, uid_t id) {
    uint32_t i;

    if (index_of(id, &i)) {
        mark(u, i, false);
    }
}
