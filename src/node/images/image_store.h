/*
 * image_store: the unpacked images of this machine, in DATA/images.
 *
 *     ID/root/        the files, shared by all containers of the image, never written to
 *     ID/image.json   what the image says of itself: its command, variables, folder, user
 *     names/NAME      {"name":, "id":, "anyone":, "namespaces": []}: what a name means, and whose it is
 *
 * ID is 64 hexadecimal digits. An image that was pulled with credentials is for the namespaces that had them; what was
 * pulled without, or loaded by who runs Berth, is for anyone. A folder is complete when image.json is there, and never
 * changes then. All of it is its owner's alone (0700): what an image brings is no program of the machine. The node
 * reads; who fetches (image_get.h) and `berth image` write, each file by rename.
 */
#ifndef BERTH_NODE_IMAGE_STORE_H
#define BERTH_NODE_IMAGE_STORE_H

#include <stdint.h>
#include <sys/types.h>

#include "node/files/files.h"
#include "node/images/image_name.h"
#include "wire/json/json.h"

enum { IMAGE_ID_MAX = 65 };

struct image {
    char id[IMAGE_ID_MAX], root[PATH_LEN];
    yyjson_val *config; /* Entrypoint, Cmd, Env, WorkingDir, StopSignal, in the caller's arena */
    uid_t uid;          /* of its user, inside */
    gid_t gid;
    struct str home; /* of that user; empty: not told */
    int64_t bytes;
    bool ours; /* podman has it because Berth fetched it */
};

/* What a whole name means to a namespace. ERR_NOT_FOUND; ERR_FORBIDDEN: it is here, but not for this one. */
int image_store_find(const char *dir, struct str full, struct str ns, struct arena *a,
                     struct image *ret, struct err *err);
int image_store_read(const char *dir, struct str id, struct arena *a, struct image *ret,
                     struct err *err);
/* Gives a name its meaning. ns: for this namespace as well; empty: for anyone. */
int image_store_name(const char *dir, struct str full, struct str id, struct str ns,
                     struct err *err);

/* Who may have an image that podman has, by what the names here say of it, or else of `full`. Where no name says
 * anything, who administers the machine put it there: for anyone. */
enum image_owner { IMAGE_OF_ANYONE, IMAGE_OF_THIS, IMAGE_OF_OTHERS };
enum image_owner image_store_owner(const char *dir, struct str full, struct str id, struct str ns);
/* Before credentials fetch what a name means: until it is known, it means nothing to other namespaces. A name that has
 * a meaning keeps it. */
int image_store_claim(const char *dir, struct str full, struct str ns, struct err *err);
/* The claim, if that is all there is. */
void image_store_unclaim(const char *dir, struct str full);

struct image_entry {
    struct str name, id; /* name is empty for an image that none means */
    bool anyone;
    yyjson_val *namespaces;
    int64_t bytes, used_ns; /* when a pod last asked for it */
};
int image_store_list(const char *dir, struct arena *a, struct image_entry **ret, size_t *ret_n,
                     struct err *err);
/* Is any pod below pods_dir not over that has this image? */
bool image_store_used(const char *pods_dir, struct str id);
/* The folder and every name of it. */
int image_store_remove(const char *dir, struct str id, struct err *err);

#endif
