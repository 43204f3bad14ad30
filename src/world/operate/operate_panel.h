/*
 * operate_panel: the dashboard of `berth operate`: the pages and sessions of panel.h, the way to the cluster's
 * API server of site/way/way.h, and who answers for computed kinds.
 *
 * It has a connection of its own to the API server, without our credential: nothing that a browser asks can be answered
 * with it.
 */
#ifndef BERTH_WORLD_OPERATE_PANEL_H
#define BERTH_WORLD_OPERATE_PANEL_H

#include "base/offload.h"
#include "port/virtual.h"
#include "world/kit/panel.h"

struct operate_panel;

struct operate_panel_options {
    struct loop *loop;
    struct log *log;
    const char *kubeconfig, *context;
    const struct panel_at *at;
    const struct calendar_seat *calendar;
    struct mirror *mirror; /* what is computed depends on it; outlives the panel */
    bool allow_any;
};

/* Listens at once. A cluster that is reached over plain HTTP has no dashboard: tokens do not go there. Unless the
 * address was chosen that is told in the log, and no error. */
int operate_panel_new(const struct operate_panel_options *o, struct operate_panel **ret,
                      struct err *err);
/* For control_env; NULL when there is no dashboard. */
struct virtual_registry *operate_panel_virtuals(struct operate_panel *p);
struct offload *operate_panel_offload(struct operate_panel *p);
void operate_panel_address(const struct operate_panel *p, struct buf *out);
void operate_panel_free(struct operate_panel *p); /* NULL is a no-op; after the controllers */

#endif
