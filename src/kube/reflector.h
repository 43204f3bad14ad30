/*
 * reflector: keeps a mirror's objects of one kind equal to an API server's, by list and watch.
 *
 * WatchList where served, pages and a watch otherwise; bookmarks, 410, expired pages, back-off with jitter (spec
 * constants of client-go 1.35). Changes reach the mirror through mirror_apply, so its feeds run and nothing goes back:
 * a complete set removes what it has not, but for what is newer than it. A selector narrows what is mirrored.
 *
 * A stream that says nothing, not even a bookmark, for SILENCE_S is opened anew from where it was; the second time in a
 * row everything is read again. When the server's history went back (its store was restored), what is newer than
 * its present is removed and read again.
 *
 * Nothing that comes in can hold up what comes after it. An object that cannot be kept (no name, no revision, too
 * large, nested too deep) is skipped, counted, and told of, at most once a minute; what the mirror has of it stays, a
 * state that once was. A line that is no JSON ends the stream, in case bytes were lost on the way; where it is met
 * again at the same place, it is skipped.
 *
 * While it runs it is the mirror's source of its kind (mirror_follow), so the mirror takes answers to writes.
 */
#ifndef BERTH_KUBE_REFLECTOR_H
#define BERTH_KUBE_REFLECTOR_H

#include "base/log.h"
#include "kube/client.h"
#include "kube/writer.h"
#include "mirror/mirror.h"

struct reflector;

struct reflector_options {
    const struct kind *kind;
    struct str ns;             /* empty: all */
    struct str field_selector; /* "spec.nodeName=n1" */
    struct str label_selector;
    kube_trim *trim; /* NULL: objects are kept whole */
    void (*synced)(
        void *ctx); /* after the first complete list; may be NULL; must not free the reflector */
    void *ctx;
    struct log *log;    /* of what is skipped; may be NULL */
    int64_t silence_ms; /* instead of SILENCE_S, and while a set comes in; 0: those. For tests */
};
struct reflector *reflector_start(struct kube_client *c, struct mirror *m,
                                  const struct reflector_options *o, struct err *err);
bool reflector_synced(const struct reflector *r);

struct reflector_stats {
    uint64_t sets;    /* complete ones that came in */
    uint64_t watches; /* opened, and of streams */
    uint64_t events, skipped, failures;
    uint64_t revision; /* every change up to it is in the mirror */
    int64_t pause_ms;  /* of the last failure, without what is drawn by chance */
};
void reflector_stats(const struct reflector *r, struct reflector_stats *ret);
void reflector_free(struct reflector *r);

/* The pause after so many failures in a row before this one: 0.8 s, doubled to 30 s at most as client-go does; 0.2 s to
 * 5 s while the first set is not there, since nothing can be decided without it, and the last of some thirty kinds
 * says when that is. As much again is drawn by chance. */
int64_t reflector_pause_ms(int failures, bool synced);

#endif
