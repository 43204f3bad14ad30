/* users: see users.h. */
#include "node/sandbox/users.h"

#include "base/mem.h"
#include "node/files/files.h"
#include "wire/json/json.h"

struct node_user {
    uid_t id;
    size_t n;
    char name[];
};

static int add(struct users *u, struct str project, uid_t id) {
    struct node_user *x = mem_alloc(sizeof(*x) + project.n + 1);

    if (!x) {
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

int users_init(struct users *u, const char *dir, struct err *err) {
    struct arena a;
    struct str text;
    yyjson_doc *doc;
    yyjson_obj_iter it;
    yyjson_val *k;

    *u = (struct users){.dir = dir, .next = USERS_FIRST};
    map_init(&u->by_project);
    arena_init(&a, 64 << 20);
    int code = file_load(dir, "users.json", &a, &text, err);
    if (code == 0) {
        code = json_parse(&a, text, &doc, err);
    }
    if (code == 0) {
        yyjson_obj_iter_init(yyjson_doc_get_root(doc), &it);
        while (code == 0 && (k = yyjson_obj_iter_next(&it))) {
            code = add(u, json_str(k), (uid_t)yyjson_get_sint(yyjson_obj_iter_get_val(k)));
        }
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
}

static int save(struct users *u, struct err *err) {
    const struct map_entry *e;
    struct buf b;
    bool first = true;

    buf_init(&b, FILE_READ_MAX);
    buf_ch(&b, '{');
    for (size_t i = 0; (e = map_next(&u->by_project, &i));) {
        buf_c(&b, first ? "" : ",");
        buf_json(&b, e->key);
        buf_f(&b, ":%u", (unsigned)((struct node_user *)e->value)->id);
        first = false;
    }
    buf_c(&b, "}\n");
    int code = buf_ok(&b) ? buf_ok(&b) : file_store(u->dir, "users.json", buf_view(&b), 0600, err);
    buf_release(&b);
    return code;
}

int users_id(struct users *u, struct str project, uid_t *ret, struct err *err) {
    struct node_user *x = map_get(&u->by_project, project);

    if (!x) {
        if (u->next - USERS_FIRST >= USERS_MAX) {
            return err_set(err, ERR_TOO_MANY, "no user ids are left for project %.*s",
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
