/* image_user: who an image runs as: "", "1000", "1000:100", "app", "app:app", by its own /etc/passwd and /etc/group. */
#ifndef BERTH_NODE_IMAGE_USER_H
#define BERTH_NODE_IMAGE_USER_H

#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct image_user {
    uid_t uid;
    gid_t gid;
    char home[256]; /* "/" when its passwd does not know the user */
};

/* `root`: the unpacked files, whose links are followed within them alone. ERR_INVALID: a name that is not there, or
 * a number beyond 65535. */
int image_user_find(const char *root, struct str user, struct image_user *ret, struct err *err);

#endif
