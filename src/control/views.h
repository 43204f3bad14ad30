/* views: the C views of the kinds that controllers act on, beside the mirror and the writer. */
#ifndef BERTH_CONTROL_VIEWS_H
#define BERTH_CONTROL_VIEWS_H

#include "api/view_batch.h"
#include "api/view_core.h"
#include "api/view_kueue.h"
#include "api/view_misc.h"
#include "api/view_rbac.h"
#include "mirror/mirror.h"
#include "mirror/writer.h"

#endif
