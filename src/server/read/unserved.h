/*
 * unserved: kinds of Kubernetes that people bring along and Berth does not have, and what to do instead.
 *
 * They are listed in aggregated discovery, with the one verb create, so that kubectl sends them and shows the answer:
 * 404 with that text. Without, kubectl says "ensure CRDs are installed first". The older form of discovery does not
 * list them: controllers read it to learn what there is. A kind that somebody defines is served like any other.
 */
#ifndef BERTH_SERVER_UNSERVED_H
#define BERTH_SERVER_UNSERVED_H

#include "base/str.h"

struct unserved {
    const char *group, *version, *kind, *plural, *singular, *short_name;
    bool namespaced;
    const char *instead; /* a sentence */
};

/* Those that nobody defines, one after the other: start with *i at 0; NULL after the last. */
const struct unserved *unserved_next(size_t *i);
/* NULL: it is served, or unknown to us as well. */
const struct unserved *unserved_find(struct str group, struct str version, struct str plural);

#endif
