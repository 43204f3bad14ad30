/* views: the C views of the kinds that controllers act on, beside the mirror and the writer. */
#ifndef BERTH_CONTROL_VIEWS_H
#define BERTH_CONTROL_VIEWS_H

#include "api/tables/view_batch.h"
#include "api/tables/view_core.h"
#include "api/tables/view_kueue.h"
#include "api/tables/view_misc.h"
#include "api/tables/view_rbac.h"
#include "mirror/mirror.h"
#include "mirror/writer.h"

#endif
