/*
 * table_discovery: the fields of EndpointSlice. There is no C view: nobody here follows them.
 */
#include "api/tables/table.h"
#include "api/tables/view_meta.h"

#define DISCOVERY "io.k8s.api.discovery.v1."

static const char *const address_types[] = {"FQDN", "IPv4", "IPv6", NULL};
static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};

static const struct field condition_fields[] = {
    F(BOOL, ONE, "ready", 1, .flags = FIELD_F_OPT,
      .doc = "Whether traffic can be sent to the endpoint."),
    F(BOOL, ONE, "serving", 2, .flags = FIELD_F_OPT,
      .doc = "Whether the endpoint serves, even while terminating."),
    F(BOOL, ONE, "terminating", 3, .flags = FIELD_F_OPT,
      .doc = "Whether the endpoint is terminating."),
};
static const struct schema schema_conditions =
    SCHEMA(DISCOVERY "EndpointConditions", condition_fields, 0, "Conditions of the endpoint.");

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
    F(STRING, LIST, "addresses", 1, .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC,
      .doc = "Addresses of the endpoint."),
    F(OBJECT, ONE, "conditions", 2, .of = &schema_conditions, .doc = "Conditions of the endpoint."),
    F(STRING, ONE, "hostname", 3, .flags = FIELD_F_OPT, .doc = "Host name."),
    F(OBJECT, ONE, "targetRef", 4, .of = &schema_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Object that owns the address."),
    F(STRING, MAP, "deprecatedTopology", 5, .doc = "No longer used."),
    F(STRING, ONE, "nodeName", 6, .flags = FIELD_F_OPT, .doc = "Node that hosts the endpoint."),
    F(STRING, ONE, "zone", 7, .flags = FIELD_F_OPT, .doc = "Zone of the endpoint."),
    F(OBJECT, ONE, "hints", 8, .of = &schema_hints, .flags = FIELD_F_OPT,
      .doc = "Hints for topology-aware routing."),
};
static const struct schema schema_endpoint =
    SCHEMA(DISCOVERY "Endpoint", endpoint_fields, 0, "An endpoint of a service.");

static const struct field port_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_OPT, .def = "\"\"", .doc = "Name of the port."),
    F(STRING, ONE, "protocol", 2, .flags = FIELD_F_OPT, .def = "\"TCP\"", .values = protocols,
      .doc = "TCP, UDP or SCTP."),
    F(INT32, ONE, "port", 3, .flags = FIELD_F_OPT, .min = 1, .max = 65535,
      .doc = "Port to connect to."),
    F(STRING, ONE, "appProtocol", 4, .flags = FIELD_F_OPT,
      .doc = "Application protocol of the port."),
};
static const struct schema schema_port =
    SCHEMA(DISCOVERY "EndpointPort", port_fields, 0, "A port.");

static const struct field slice_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    F(OBJECT, LIST, "endpoints", 2, .of = &schema_endpoint,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Endpoints."),
    F(OBJECT, LIST, "ports", 3, .of = &schema_port, .flags = FIELD_F_ATOMIC,
      .doc = "Ports of every endpoint."),
    F(STRING, ONE, "addressType", 4, .flags = FIELD_F_REQUIRED | FIELD_F_IMMUTABLE,
      .values = address_types, .doc = "Address type: IPv4, IPv6 or FQDN."),
};
const struct schema schema_endpoint_slice =
    SCHEMA(DISCOVERY "EndpointSlice", slice_fields, 0, "Some of the addresses behind a service.");
