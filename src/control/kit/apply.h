/*
 * apply: objects that are to say something, whoever else writes them: there is a view of what each is to say, its
 * intent, and what is there becomes so.
 *
 *     struct apply x = {round, recorder, arena, "An edit of ... was undone; change ... instead"};
 *     written = apply_object(&x, kind, o, &intent, intent.metadata);
 *
 * All that the intent says is owned, as value_lay lays it over what is there (api/walk/value.h): members that it says
 * nothing of are left to others. With `reverted` a digest of the intent stands on the object (APPLY_INTENT), so that an
 * object which has the digest and differs is known to have been edited: Event "Reverted" says that it was undone. A
 * write is conditional on the version that was compared.
 *
 * Not for lists that may become empty, which an intent cannot say (EndpointSlices), nor for what a person may change
 * and keep: occurrences of a series (control/series), queues that the first start makes (control/queue/defaults.c).
 */
#ifndef BERTH_CONTROL_APPLY_H
#define BERTH_CONTROL_APPLY_H

#include "api/tables/view_meta.h"
#include "control/kit/recorder.h"
#include "control/kit/round.h"

#define APPLY_INTENT "berth.dev/intent"

struct apply {
    struct round *round;
    struct recorder *recorder;
    struct arena *arena;
    const char *
        reverted; /* what the Event says; NULL: edits are undone without one, and there is no digest */
    struct str_pair first; /* an annotation of a new object, which is not owned; key empty: none */
};

/* o: the object as it is; NULL: it is created. meta: the intent's metadata, with its name; the digest is added to its
 * annotations. False: it is so already, and stays. True: it was written, or could not be (then the round has failed),
 * or goes and is made again when it is gone. */
bool apply_object(struct apply *x, const struct kind *k, const struct object *o, void *intent,
                  struct meta *meta);
#endif
