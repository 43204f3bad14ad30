/*
 * api_services (server): computed APIServices, one for each group and version served, all local and available.
 */
#ifndef BERTH_SERVER_API_SERVICES_H
#define BERTH_SERVER_API_SERVICES_H

#include "port/virtual.h"

/* Who answers for the kind, when it is APIService; else NULL. */
struct virtual_source *api_services_find(const struct kind *k);

#endif
