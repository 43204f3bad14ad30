/*
 * team: who is in a project, as `berth project` and `berth user` read and write it.
 *
 * A project is a namespace. Its members are the subjects of three RoleBindings in it, one for each role, which this
 * file makes when they are first needed: `project-view`, `project-edit` and `project-admin`, of the ClusterRoles with
 * those names. A member has one of the roles. RoleBindings with other names are shown and never changed. Everything is
 * asked and written as the caller, so that the server judges it: nobody gives a role with rights that they lack.
 */
#ifndef BERTH_CLI_TEAM_H
#define BERTH_CLI_TEAM_H

#include "cli/kit/kit.h"

#define TEAM_RBAC "rbac.authorization.k8s.io"

enum { TEAM_MEMBERS_MAX = 64, TEAM_NAME_MAX = 1024 };

struct team_member {
    struct str name, role; /* role empty: in none */
    bool group;
};

struct team_members {
    struct team_member v[TEAM_MEMBERS_MAX];
    size_t n;
};

/* "NAME" or "NAME:ROLE", where ROLE is view, edit or admin, and edit if there is none. A name with a colon needs the
 * role behind it. ERR_BAD_REQUEST names the option. The views live as long as text. */
int team_parse(const char *option, const char *text, struct team_member *ret, struct err *err);
/* The options --member and --group of this command line; returns an exit code; errors are printed. */
int team_read(struct cli *c, struct team_members *ret);

/* Gives m its role in the project and takes its others there (of this file's bindings) away. 0 or an error code. */
int team_set(struct cli *c, struct str project, const struct team_member *m);

/* The members that a RoleBinding's subjects name, each with the role of its roleRef: calls found for each. */
void team_each(yyjson_val *binding, void (*found)(void *ctx, const struct team_member *m),
               void *ctx);

/* Whether a namespace belongs to the server itself and is no project. */
bool team_is_system(struct str ns);

#define TEAM_OPTIONS                                                                               \
    {"member", 0, "USER[:ROLE]", "who is in it, as view, edit or admin; else edit", NULL, true}, { \
        "group", 0, "GROUP[:ROLE]", "the same for everybody in a group", NULL, true                \
    }

#endif
