/*
 * table_discovery: the fields of EndpointSlice.
 */
#include "api/tables/table.h"
#include "api/tables/view_discovery.h"

#define DISCOVERY "io.k8s.api.discovery.v1."

static const char *const address_types[] = {"FQDN", "IPv4", "IPv6", NULL};
static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};

static const struct field condition_fields[] = {
    M(slice_conditions, ready, BOOL, ONE, "ready", 1, .flags = FIELD_F_OPT,
      .doc = "Whether traffic can be sent to the endpoint."),
    M(slice_conditions, serving, BOOL, ONE, "serving", 2, .flags = FIELD_F_OPT,
      .doc = "Whether the endpoint serves, even while terminating."),
    M(slice_conditions, terminating, BOOL, ONE, "terminating", 3, .flags = FIELD_F_OPT,
      .doc = "Whether the endpoint is terminating."),
};
static const struct schema schema_conditions =
    SCHEMA(DISCOVERY "EndpointConditions", condition_fields, sizeof(struct slice_conditions),
           "Conditions of the endpoint.");

static const struct field zone_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED, .doc = "Name of the zone."),
};
static const struct schema schema_zone = SCHEMA(DISCOVERY "ForZone", zone_fields, 0, "A zone.");

static const struct field for_node_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED, .doc = "Name of the node."),
};
static const struct schema schema_for_node =
    SCHEMA(DISCOVERY "ForNode", for_node_fields, 0, "A node.");

static const struct field hint_fields[] = {
    F(OBJECT, LIST, "forZones", 1, .of = &schema_zone, .flags = FIELD_F_ATOMIC,
      .doc = "Zones whose clients should use the endpoint."),
    F(OBJECT, LIST, "forNodes", 2, .of = &schema_for_node, .flags = FIELD_F_ATOMIC,
      .doc = "Nodes whose clients should use the endpoint."),
};
static const struct schema schema_hints =
    SCHEMA(DISCOVERY "EndpointHints", hint_fields, 0, "Hints for topology-aware routing.");

static const struct field endpoint_fields[] = {
    M(slice_endpoint, addresses, STRING, LIST, "addresses", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_SET,
      .doc = "Addresses of the endpoint."),
    M(slice_endpoint, conditions, OBJECT, ONE, "conditions", 2, .of = &schema_conditions,
      .doc = "Conditions of the endpoint."),
    M(slice_endpoint, hostname, STRING, ONE, "hostname", 3, .flags = FIELD_F_OPT,
      .doc = "Host name."),
    M(slice_endpoint, target_ref, OBJECT, ONE, "targetRef", 4, .of = &schema_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Object that owns the address."),
    F(STRING, MAP, "deprecatedTopology", 5, .doc = "No longer used."),
    M(slice_endpoint, node_name, STRING, ONE, "nodeName", 6, .flags = FIELD_F_OPT,
      .doc = "Node that hosts the endpoint."),
    M(slice_endpoint, zone, STRING, ONE, "zone", 7, .flags = FIELD_F_OPT,
      .doc = "Zone of the endpoint."),
    F(OBJECT, ONE, "hints", 8, .of = &schema_hints, .flags = FIELD_F_OPT,
      .doc = "Hints for topology-aware routing."),
};
static const struct schema schema_endpoint =
    SCHEMA(DISCOVERY "Endpoint", endpoint_fields, sizeof(struct slice_endpoint),
           "An endpoint of a service.");

static const struct field port_fields[] = {
    M(slice_port, name, STRING, ONE, "name", 1, .flags = FIELD_F_OPT, .def = "\"\"",
      .doc = "Name of the port."),
    M(slice_port, protocol, STRING, ONE, "protocol", 2, .flags = FIELD_F_OPT, .def = "\"TCP\"",
      .values = protocols,
      .doc = "TCP, UDP or SCTP."),
    M(slice_port, port, INT32, ONE, "port", 3, .flags = FIELD_F_OPT, .min = 1, .max = 65535,
      .doc = "Port to connect to."),
    M(slice_port, app_protocol, STRING, ONE, "appProtocol", 4, .flags = FIELD_F_OPT,
      .doc = "Application protocol of the port."),
};
static const struct schema schema_port =
    ATOMIC_SCHEMA(DISCOVERY "EndpointPort", port_fields, sizeof(struct slice_port), "A port.");

static const struct field slice_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(endpoint_slice, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(endpoint_slice, endpoints, OBJECT, LIST, "endpoints", 2, .of = &schema_endpoint,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Endpoints."),
    M(endpoint_slice, ports, OBJECT, LIST, "ports", 3, .of = &schema_port, .flags = FIELD_F_ATOMIC,
      .doc = "Ports of every endpoint."),
    M(endpoint_slice, address_type, STRING, ONE, "addressType", 4,
      .flags = FIELD_F_REQUIRED | FIELD_F_IMMUTABLE, .values = address_types,
      .doc = "Address type: IPv4, IPv6 or FQDN."),
};
const struct schema schema_endpoint_slice =
    SCHEMA(DISCOVERY "EndpointSlice", slice_fields, sizeof(struct endpoint_slice),
           "Some of the addresses behind a service.");
