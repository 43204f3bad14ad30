/* view_discovery: the C view of EndpointSlice. */
#ifndef BERTH_API_VIEW_DISCOVERY_H
#define BERTH_API_VIEW_DISCOVERY_H

#include "api/tables/view_meta.h"

struct slice_conditions {
    struct opt_bool ready, serving, terminating;
};
struct slice_endpoint {
    struct str_list addresses;
    struct slice_conditions *conditions;
    struct str hostname;
    struct object_reference *target_ref;
    struct str node_name, zone;
};
struct slice_port {
    struct str name, protocol;
    struct opt_i32 port;
    struct str app_protocol;
};
struct endpoint_slice {
    struct meta *metadata;
    struct {
        struct slice_endpoint *v;
        size_t n;
    } endpoints;
    struct {
        struct slice_port *v;
        size_t n;
    } ports;
    struct str address_type; /* IPv4, IPv6, FQDN */
};

#endif
