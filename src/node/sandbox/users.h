/*
 * users: the numbers that pods run as, from ranges of our own: a user for each pod, a group for each project
 * (namespace).
 *
 * A pod's user is its alone while its folder exists, so that pods of one project cannot touch each other's processes
 * and files. Numbers are handed out in a circle: one that is free again is not used for as long as possible. Which
 * are taken is told by the folders themselves (users_hold); how far the circle has come is written down ahead,
 * USERS_AHEAD at a time.
 *
 * A project's group is the same for as long as the data folder lives, and the group of all its pods. What they share,
 * folders of volumes, belongs to it: mode 2775, so that what is made there is the group's as well, and pods' umask is
 * 002, so that one pod may change what another has written. This is what fsGroup does in Kubernetes.
 *
 * Everything is in DIR/users.json, written and synced before a number is used.
 */
#ifndef BERTH_NODE_USERS_H
#define BERTH_NODE_USERS_H

#include <sys/types.h>

#include "base/err.h"
#include "base/map.h"

/* Above what adduser, systemd and rootless containers hand out. */
enum {
    USERS_FIRST = 1900000000, /* groups of projects */
    USERS_MAX = 100000,
    USERS_PODS_FIRST = USERS_FIRST + USERS_MAX,
    USERS_PODS_MAX = 1000000,
    USERS_AHEAD = 4096
};

struct users {
    const char *dir;
    struct map by_project; /* name -> struct node_user */
    uid_t next;            /* the next project's */
    uint32_t at,
        written; /* of the circle: the next pod's, and before which it must be written down again */
    uint64_t *taken; /* a bit for each pod's */
};

int users_init(struct users *u, const char *dir, struct err *err); /* reads DIR/users.json */
void users_release(struct users *u);
/* The project's group; a new one is written down before it is used. */
int users_group(struct users *u, struct str project, gid_t *ret, struct err *err);

/* A free one, for a pod. ERR_TOO_MANY when all are taken. */
int users_take(struct users *u, uid_t *ret, struct err *err);
/* Taken already: found as the owner of a pod's folder. What is no pod's number is ignored (false). */
bool users_hold(struct users *u, uid_t id);
void users_give(struct users *u, uid_t id);

#endif
