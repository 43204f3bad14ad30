/* trigger_value: texts of metadata as values, as Go reads them. False: it is none. */
#ifndef BERTH_CORE_TRIGGER_VALUE_H
#define BERTH_CORE_TRIGGER_VALUE_H

#include "core/scale/trigger.h"

bool trigger_value_parse(struct str text, struct trigger_value *v, struct arena *a);

#endif
