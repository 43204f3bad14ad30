/*
 * pod_ids: the users and groups that a Pod asks for. Admission has judged them by the range of its namespace; here they
 * are only kept from being a user of the machine, whatever came of that.
 */
#ifndef BERTH_NODE_POD_IDS_H
#define BERTH_NODE_POD_IDS_H

#include <sys/types.h>

#include "base/err.h"
#include "wire/json/json.h"

enum { POD_ID_LEAST = 1000000000, POD_GROUPS_MAX = 16 };

struct pod_ids {
    uid_t user;          /* 0: one of its own */
    gid_t group, volume; /* 0: the project's; volume: fsGroup */
    gid_t more[POD_GROUPS_MAX];
    size_t n;
};

/* ERR_INVALID names what cannot be had: also what the node gives to pods and projects itself (users.h). fsGroup below
 * POD_ID_LEAST is left out. */
int pod_ids_read(yyjson_val *pod, struct pod_ids *ret, struct err *err);

#endif
