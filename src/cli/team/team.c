/* team: see team.h. */
#include "cli/team/team.h"

enum { CONFLICTS_MAX = 5 };

static const char *const roles[] = {"view", "edit", "admin"};
enum { ROLES = sizeof(roles) / sizeof(*roles) };

/* ---- the command line ---- */

static bool is_role(struct str s) {
    for (size_t i = 0; i < ROLES; i++) {
        if (str_is(s, roles[i])) {
            return true;
        }
    }
    return false;
}

int team_parse(const char *option, const char *text, struct team_member *ret, struct err *err) {
    const char *colon = strrchr(text, ':');
    struct str name = str_of(text), role = STR("edit");
    if (colon) {
        name = str_from(text, (size_t)(colon - text));
        role = str_of(colon + 1);
    }
    if (!is_role(role)) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--%s %s: expected view, edit or admin behind the last colon, not \"%.*s\"",
                       option, text, STR_ARG(role));
    }
    if (name.n == 0 || name.n > TEAM_NAME_MAX) {
        return err_set(err, ERR_BAD_REQUEST, "--%s: expected a name of 1 to %d bytes", option,
                       TEAM_NAME_MAX);
    }
    ret->name = name;
    ret->role = role;
    return 0;
}

static int read_option(struct cli *c, const char *option, bool group, struct team_members *all) {
    const char *text;
    for (size_t i = 0; (text = cli_nth(&c->args, option, i)) != NULL; i++) {
        if (all->n == TEAM_MEMBERS_MAX) {
            return cli_usage(c, "--%s: expected at most %d members at once", option,
                             TEAM_MEMBERS_MAX);
        }
        struct team_member *m = &all->v[all->n];
        if (team_parse(option, text, m, &c->err) != 0) {
            struct err e = c->err;
            return cli_usage(c, "%s", e.text);
        }
        m->group = group;
        all->n++;
    }
    return CLI_OK;
}

int team_read(struct cli *c, struct team_members *ret) {
    *ret = (struct team_members){0};
    int code = read_option(c, "member", false, ret);
    return code ? code : read_option(c, "group", true, ret);
}

bool team_is_system(struct str ns) {
    return str_starts(ns, STR("kube-")) || str_is(ns, "berth-system");
}

/* ---- bindings ---- */

static struct str kind_of(const struct team_member *m) {
    return m->group ? STR("Group") : STR("User");
}

static bool is_subject(yyjson_mut_val *s, const struct team_member *m) {
    return str_eq(json_mstr(json_mget(s, STR("kind"))), kind_of(m)) &&
           str_eq(json_mstr(json_mget(s, STR("name"))), m->name);
}

static int add_subject(yyjson_mut_doc *d, yyjson_mut_val *root, const struct team_member *m) {
    yyjson_mut_val *list = json_mget(root, STR("subjects")), *s = yyjson_mut_obj(d);
    int r = s ? json_mset_str(d, s, "kind", kind_of(m)) : ERR_NOMEM;
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(d);
        r = r ? r : list ? json_mset(d, root, STR("subjects"), list) : ERR_NOMEM;
    }
    r = r ? r : json_mset_str(d, s, "apiGroup", STR(TEAM_RBAC));
    r = r ? r : json_mset_str(d, s, "name", m->name);
    return r ? r : yyjson_mut_arr_append(list, s) ? 0 : ERR_NOMEM;
}

/* Puts m in or takes it out; *ret_changed: whether that changes anything. */
static int edit_subjects(yyjson_mut_doc *d, const struct team_member *m, bool in,
                         bool *ret_changed) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d), *list = json_mget(root, STR("subjects"));
    bool there = false;
    *ret_changed = false;
    for (size_t i = yyjson_mut_arr_size(list); i > 0; i--) {
        if (is_subject(yyjson_mut_arr_get(list, i - 1), m)) {
            there = true;
            if (!in) {
                yyjson_mut_arr_remove(list, i - 1);
                *ret_changed = true;
            }
        }
    }
    if (!in || there) {
        return 0;
    }
    *ret_changed = true;
    return add_subject(d, root, m);
}

static int new_binding(struct cli *c, const char *role, yyjson_mut_doc **ret) {
    struct str text = arena_f(
        &c->arena,
        "{\"apiVersion\":\"" TEAM_RBAC "/v1\",\"kind\":\"RoleBinding\",\"metadata\":{\"name\":"
        "\"project-%s\"},\"roleRef\":{\"apiGroup\":\"" TEAM_RBAC "\",\"kind\":\"ClusterRole\","
        "\"name\":\"%s\"},\"subjects\":[]}",
        role, role);
    return json_parse_mut(&c->arena, text, ret, &c->err);
}

static struct str bindings(struct cli *c, struct str project, struct str name) {
    return cli_path(c, TEAM_RBAC "/v1", "rolebindings", project, name, NULL);
}

static int write_binding(struct cli *c, const char *method, struct str path, yyjson_mut_doc *d) {
    struct buf b;
    buf_init(&b, 0);
    json_write_mut(&b, yyjson_mut_doc_get_root(d));
    int r = buf_ok(&b) ? err_set(&c->err, buf_ok(&b), "no memory for a RoleBinding")
                       : cli_request(c, method, path, buf_view(&b), NULL);
    buf_release(&b);
    return r;
}

static int edit_once(struct cli *c, struct str project, const char *role,
                     const struct team_member *m, bool in) {
    struct str name = arena_f(&c->arena, "project-%s", role);
    yyjson_val *v;
    yyjson_mut_doc *d = NULL;
    bool changed = false;
    int r = cli_get(c, bindings(c, project, name), &v);
    bool make = r == ERR_NOT_FOUND;
    if (make && !in) {
        return 0;
    }
    if (make) {
        r = new_binding(c, role, &d);
    } else if (r == 0) {
        d = json_mut_copy(&c->arena, v);
        r = d ? 0 : err_set(&c->err, ERR_NOMEM, "no memory for a RoleBinding");
    }
    r = r ? r : edit_subjects(d, m, in, &changed);
    if (r != 0 || !changed) {
        return r;
    }
    return write_binding(c, make ? "POST" : "PUT",
                         bindings(c, project, make ? (struct str){0} : name), d);
}

/* Two people who edit one binding at once: the loser looks again. */
static int edit_binding(struct cli *c, struct str project, const char *role,
                        const struct team_member *m, bool in) {
    int r = ERR_CONFLICT;
    for (int i = 0; i < CONFLICTS_MAX && (r == ERR_CONFLICT || r == ERR_EXISTS); i++) {
        r = edit_once(c, project, role, m, in);
    }
    return r;
}

int team_set(struct cli *c, struct str project, const struct team_member *m) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < ROLES; i++) { /* into the new one first: never in none */
        r = str_is(m->role, roles[i]) ? edit_binding(c, project, roles[i], m, true) : 0;
    }
    for (size_t i = 0; r == 0 && i < ROLES; i++) {
        r = str_is(m->role, roles[i]) ? 0 : edit_binding(c, project, roles[i], m, false);
    }
    return r;
}

void team_each(yyjson_val *binding, void (*found)(void *ctx, const struct team_member *m),
               void *ctx) {
    yyjson_val *subjects = json_get(binding, STR("subjects")), *s;
    size_t i, n;
    yyjson_arr_foreach(subjects, i, n, s) {
        struct str kind = json_str_at(s, "kind");
        struct team_member m = {.name = json_str_at(s, "name"),
                                .role = json_str_at(binding, "roleRef.name"),
                                .group = str_is(kind, "Group")};
        if (m.group || str_is(kind, "User")) {
            found(ctx, &m);
        }
    }
}
