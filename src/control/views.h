/*
 * views: the C views of the kinds that controllers act on, beside the writer.
 *
 * The API's DeleteOptions and the writer's have one struct name; controllers speak of the writer's, so the view takes
 * another name here.
 */
#ifndef BERTH_CONTROL_VIEWS_H
#define BERTH_CONTROL_VIEWS_H

#include "mirror/mirror.h"
#include "mirror/writer.h"

#define delete_options api_delete_options
#include "api/view_batch.h"
#include "api/view_core.h"
#include "api/view_kueue.h"
#include "api/view_misc.h"
#include "api/view_rbac.h"
#undef delete_options

#endif
