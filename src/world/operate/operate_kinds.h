/*
 * operate_kinds: which kinds the controllers of `berth operate` read, and what of their objects is kept.
 */
#ifndef BERTH_WORLD_OPERATE_KINDS_H
#define BERTH_WORLD_OPERATE_KINDS_H

#include "api/schema/kind.h"
#include "control/load/queue_settings.h"

enum { OPERATE_KINDS_MAX = 64 };

struct operate_kind {
    const struct kind *kind;
    bool required; /* nothing begins without it; others are followed when they are served */
    /* A row of api/kinds/kinds_foreign.h: becomes a kind (kinds_add) when it is served */
    bool foreign;
    struct str ns;                             /* empty: all */
    struct str field_selector, label_selector; /* empty: all */
};

struct operate_reads {
    unsigned set; /* of enum control_set */
    const struct queue_settings *settings;
    /* Webhooks with a certificate of our own: where its Secret is; else empty */
    struct str secret_ns;
    bool webhooks; /* their configurations, and definitions that convert */
};

/* Fills ret with what is read. Returns how many. */
size_t operate_kinds(const struct operate_reads *r,
                     struct operate_kind ret[static OPERATE_KINDS_MAX]);
/* kube_trim (kube/writer.h): of pods that nobody queues, only who they are, where they run and what they use; of nodes
 * no images; of definitions no schemas; of everything no managed fields. */
void operate_trim(const struct kind *k, yyjson_mut_val *obj);

#endif
