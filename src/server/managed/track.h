/*
 * track (server): metadata.managedFields of an object that is written, and what an apply makes of it.
 *
 * Which objects are tracked: those that somebody applied, and those that were created by a request that names its
 * manager (fieldManager), as kubectl, Helm and Flux do. Writes of others to such an object are kept account of, too:
 * their manager is the program at the front of their User-Agent, or the controller. An object that nobody tracks has
 * no entries and costs nothing; what it has when it is first applied is its "before-first-apply".
 *
 * The rules are api/managed's; here are the kinds, the versions and the texts of failures.
 */
#ifndef BERTH_SERVER_TRACK_H
#define BERTH_SERVER_TRACK_H

#include "api/managed/manage.h"
#include "server/kit/request.h"
#include "server/kit/status.h"

struct track {
    /* Filled by the caller. */
    struct arena *arena;
    const struct api_request *req;
    struct str agent; /* User-Agent, for requests that name no manager */
    yyjson_val *old;  /* the stored object; NULL: there is none */
    int64_t now;
    bool begins; /* a create begins to keep account */

    struct str warning; /* to the client, or empty */

    /* Of an apply: the entries after it. */
    struct managers all;
    struct manager who;
    bool same_fields;
    yyjson_mut_val *kept; /* the list of them where they are as they were, or NULL */
};

/* A write that is no apply: d (storage version) is what is to be, and gets its entries. An object that has too much for
 * it (LIMIT_TRACKED_VALUES) loses them, with a warning: what they cost must not keep anybody from writing to it, least
 * of all the controllers that end it. */
int track_write(struct track *t, yyjson_mut_doc *d, struct failure *f);

/* An apply. d has what was sent, in the version of the request, and gets what is to be, in that version. A manager must
 * be named. The failure is filled: 409 with a cause for each conflict, 422 for what the schema does not have, 400. */
int track_apply(struct track *t, yyjson_mut_doc *d, struct failure *f);
/* Puts the entries of the apply in d, whatever it has of them. */
int track_put(struct track *t, yyjson_mut_doc *d, struct failure *f);
/* The object is another one although its manager applied the same fields: the entry is of now. */
void track_touch(struct track *t);

#endif
