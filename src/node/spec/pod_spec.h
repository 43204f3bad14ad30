/*
 * pod_spec: from a Pod to pods/<uid>/: its folders, its volumes, and the spec.json that its shim
 * runs.
 */
#ifndef BERTH_NODE_POD_SPEC_H
#define BERTH_NODE_POD_SPEC_H

#include "api/inventory.h"
#include "node/gpu/cdi.h"
#include "node/gpu/gpu_files.h"
#include "node/images/image_store.h"
#include "node/sandbox/sandbox.h"
#include "node/spec/pod_env.h"
#include "node/spec/pod_ids.h"
#include "node/spec/pod_volumes.h"

struct pod_spec_in {
    struct pod_env_in env;      /* container is set here, not by the caller */
    const char *data_dir, *dir; /* dir: data_dir/pods/<uid> */
    const char *host_path_dir, *claims_dir, *node_name; /* as in pod_volumes.h */
    const char *weights_dir;                            /* as in weights.h */
    const struct sandbox_probe *probe;
    uid_t uid;                    /* of the pod; 0: as we are */
    gid_t gid;                    /* of its project */
    const struct pod_ids *ids;    /* that it asks for; NULL: none. Its user is `uid` already */
    const struct gpu_file *files; /* below /dev, of the devices it was given */
    size_t n_files;
    const struct image *
        images; /* of each container, init containers first; NULL: they are processes of the machine */
    const struct pod_volume_image *volume_images;
    size_t n_volume_images;
    const struct cdi_file *driver; /* of the GPUs: for images of pods that have any */
    size_t n_driver;
    bool strict; /* see sandbox.strict */
    /* Services of the pod's namespace that have an address; each returns false to stop. NULL: none. */
    void (*services)(void *ctx, struct str ns,
                     bool (*each)(void *each_ctx, struct str name, yyjson_val *spec),
                     void *each_ctx);
    void *services_ctx;
    struct str netns;   /* path of its network namespace; empty: the machine's */
    struct str gateway; /* its name server */
    bool simulated;     /* GPUs: the environment names them, there is no device to pass on */
    const struct pod_devices *devices;
    const struct str *uuids;       /* of each device */
    struct pod_volumes_seen *seen; /* as in pod_volumes.h */
};

/* What people should be told about how it runs. */
struct pod_spec_notes {
    bool image_unused;       /* the process runtime does not look at images */
    bool only_first_slice;   /* a container has several MIG devices: CUDA sees one */
    bool no_driver;          /* GPUs for an image, and no files of their driver */
    bool volumes_below_root; /* no private mounts: volumes are at $BERTH_ROOT/volumes/NAME only */
};

/* Makes the folders and writes spec.json. ERR_NOT_FOUND: a ConfigMap or Secret is not there (yet).
 * ERR_INVALID: this pod cannot run here, ever; the text says why. */
int pod_spec_write(const struct pod_spec_in *in, struct pod_spec_notes *ret_notes, struct err *err);
/* While it runs: its ephemeral containers, *ret_n of them, into more.json; store false: sources are looked up alone. */
int pod_spec_more(const struct pod_spec_in *in, bool store, size_t *ret_n, struct err *err);
/* The same: as pod_volumes_follow. */
int pod_spec_follow(const struct pod_spec_in *in, bool store, struct err *err);

#endif
