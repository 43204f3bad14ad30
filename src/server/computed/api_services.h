/*
 * api_services (server): the APIServices of what is served: one for each group-version, all local and available.
 */
#ifndef BERTH_SERVER_API_SERVICES_H
#define BERTH_SERVER_API_SERVICES_H

#include "port/virtual.h"

/* Who answers for the kind, when it is APIService; else NULL. */
struct virtual_source *api_services_find(const struct kind *k);

#endif
