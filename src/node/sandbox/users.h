/*
 * users: one user id per project (namespace), from a range of our own, the same for as long as the
 * data folder lives.
 */
#ifndef BERTH_NODE_USERS_H
#define BERTH_NODE_USERS_H

#include <sys/types.h>

#include "base/err.h"
#include "base/map.h"

/* Above what adduser, systemd and rootless containers hand out. */
enum { USERS_FIRST = 1900000000, USERS_MAX = 100000 };

struct users {
    const char *dir;
    struct map by_project; /* name -> struct user */
    uid_t next;
};

int users_init(struct users *u, const char *dir, struct err *err); /* reads DIR/users.json */
void users_release(struct users *u);
/* The project's id, also its group id; a new one is written down before it is used. */
int users_id(struct users *u, struct str project, uid_t *ret, struct err *err);

#endif
