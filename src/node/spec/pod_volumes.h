/*
 * pod_volumes: a pod's volumes as folders below pods/<uid>/root/volumes, and where its containers
 * want them.
 *
 * emptyDir and what the API makes (pod_made.h) are made; hostPath must lie below the allowed folder,
 * links resolved; a claim must be bound to a volume that is the claim's and of this node; an image
 * was brought here before; anything else is refused by name.
 */
#ifndef BERTH_NODE_POD_VOLUMES_H
#define BERTH_NODE_POD_VOLUMES_H

#include <sys/types.h>

#include "node/spec/pod_env.h"

/* A volume that is an image: its files, read-only. */
struct pod_volume_image {
    struct str volume, root;
};

struct pod_volumes_in {
    const struct pod_env_in *env; /* container is not used */
    const char *dir;              /* pods/<uid>/root/volumes */
    const char *host_path_dir;    /* or NULL */
    const char *claims_dir;       /* DATA/volumes, which holds the folders of claims */
    const char *node_name;        /* a volume of another node cannot be mounted here */
    const struct pod_volume_image *images;
    size_t n_images;
    bool no_mounts; /* nothing can be mounted privately: what lies elsewhere cannot be a volume */
    uid_t uid;      /* the pod's, who owns what is made for it; 0: nobody's own */
    gid_t gid;     /* the project's, whose folders of the machine and of claims are that are made */
    gid_t own_gid; /* of what is made for this pod alone; 0: the project's */
    struct pod_volumes_seen *seen; /* NULL: nobody will ask what changed */
    /* Files of what the API makes so far, of all the pod's volumes; NULL: not counted */
    size_t *made;
};

/* What volumes that the API makes held when they were written: one for each volume of the pod, and one more. */
struct pod_volumes_seen {
    uint64_t *v;
    size_t n;
};

/* Makes all volumes of the pod. ERR_NOT_FOUND: a source that may come later; ERR_INVALID: never. */
int pod_volumes_make(const struct pod_volumes_in *in, struct arena *a, struct err *err);
/* Has the pod volumes whose content may change? */
bool pod_volumes_made(const struct pod_volumes_in *in);
/* While the pod runs: those that differ from what was seen are written anew; store false: sources are looked up, and
 * nothing is written. The code of the first that lacks something, as pod_volumes_make. */
int pod_volumes_follow(const struct pod_volumes_in *in, bool store, struct arena *a,
                       struct err *err);
/* Appends "mounts":[{"source","target","readOnly"}...] for one container; ERR_INVALID names what is
 * wrong. */
int pod_volumes_mounts(const struct pod_volumes_in *in, yyjson_val *container, struct arena *a,
                       struct buf *out, struct err *err);

#endif
