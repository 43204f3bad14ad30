/* volumes_step: what the steps of the volumes controller share. Internal to this folder. */
#ifndef BERTH_CONTROL_VOLUMES_STEP_H
#define BERTH_CONTROL_VOLUMES_STEP_H

#include "api/tables/storage.h"
#include "api/tables/view_storage.h"
#include "control/kit/controller.h"
#include "control/volumes/claim_users.h"

/* Of the row's kinds, in its order. */
enum {
    VOL_CLAIM,
    VOL_VOLUME,
    VOL_CLASS,
    VOL_POD,
    VOL_NODE,
    VOL_SNAPSHOT,
    VOL_SNAPSHOT_CLASS,
    VOL_CONTENT,
};
/* Sorts of keys. */
enum { KEY_CLAIM, KEY_VOLUME, KEY_SNAPSHOT, KEY_CONTENT, KEY_CLAIMS_ALL, KEY_PODS_ALL };

struct volumes {
    struct controller base;
    struct claim_users users;
    /* Names of volumes that are nobody's yet, or not Bound yet; each its own value */
    struct map open;
    struct arena scratch; /* of feeds */
};

/* The object of a key with its view, NULL when it is not there (or, with *ret_again, could not be read). */
const struct object *volumes_read(struct volumes *v, unsigned kind, struct str ns, struct str name,
                                  void *ret_view, bool *ret_again);
/* Decodes an object of one of the kinds. 0 or an error. */
int volumes_decode(struct volumes *v, unsigned kind, const struct object *o, void *ret_view);
/* Tells an Event about the object. */
#define volumes_tell(v_, o_, type_, reason_, ...)                                                  \
    recorder_event((v_)->base.recorder, o_, type_, reason_, __VA_ARGS__)

enum work claim_step(struct volumes *v, struct str ns, struct str name);
enum work volume_step(struct volumes *v, struct str name);
enum work snapshot_step(struct volumes *v, struct str ns, struct str name);
enum work content_step(struct volumes *v, struct str name);

/* The data a claim begins with: *ret_note is what its volume says of it ("snapshot/HANDLE", "volume/HANDLE", empty for
 * nothing), *ret_node where that is, empty where it does not matter. False: not yet, and *ret_why says why (NULL: no
 * event). */
bool claim_source(struct volumes *v, const struct object *o, const struct claim *c,
                  struct str *ret_note, struct str *ret_node, struct str *ret_why);

#endif
