/*
 * quota_count: the controller of ResourceQuotas: counts what a namespace has, and keeps it in the status.
 *
 * New objects are charged where they are made (server/write/admit_quota.c); counting gives back what was deleted or has
 * ended, soon after it was, and finds what was charged wrongly, within minutes. Charges that are staged and not
 * committed yet are in the newest status already: they stay on top of what is counted.
 */
#ifndef BERTH_CONTROL_QUOTA_COUNT_H
#define BERTH_CONTROL_QUOTA_COUNT_H

#include "control/kit/controller.h"

extern const struct controller_row quota_controller;

#endif
