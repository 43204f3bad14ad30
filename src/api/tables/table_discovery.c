/*
 * table_discovery: the fields of EndpointSlice. There is no C view: nobody here follows them.
 */
#include "api/tables/table.h"
#include "api/tables/view_meta.h"

#define DISCOVERY "io.k8s.api.discovery.v1."

static const char *const address_types[] = {"FQDN", "IPv4", "IPv6", NULL};
static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};

static const struct field condition_fields[] = {
    F(BOOL, ONE, "ready", 1, .flags = FIELD_F_OPT, .doc = "Traffic may be sent to it."),
    F(BOOL, ONE, "serving", 2, .flags = FIELD_F_OPT, .doc = "It answers, also while it ends."),
    F(BOOL, ONE, "terminating", 3, .flags = FIELD_F_OPT, .doc = "It is being ended."),
};
static const struct schema schema_conditions =
    SCHEMA(DISCOVERY "EndpointConditions", condition_fields, 0, "What state it is in.");

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
      .doc = "Zones that shall use it."),
    F(OBJECT, LIST, "forNodes", 2, .of = &schema_for_node, .flags = FIELD_F_ATOMIC,
      .doc = "Nodes that shall use it."),
};
static const struct schema schema_hints =
    SCHEMA(DISCOVERY "EndpointHints", hint_fields, 0, "Who shall use it.");

static const struct field endpoint_fields[] = {
    F(STRING, LIST, "addresses", 1, .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC,
      .doc = "Addresses of one and the same."),
    F(OBJECT, ONE, "conditions", 2, .of = &schema_conditions, .doc = "What state it is in."),
    F(STRING, ONE, "hostname", 3, .flags = FIELD_F_OPT, .doc = "Host name."),
    F(OBJECT, ONE, "targetRef", 4, .of = &schema_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Object that has the address."),
    F(STRING, MAP, "deprecatedTopology", 5, .doc = "No longer used."),
    F(STRING, ONE, "nodeName", 6, .flags = FIELD_F_OPT, .doc = "Node that it is on."),
    F(STRING, ONE, "zone", 7, .flags = FIELD_F_OPT, .doc = "Zone that it is in."),
    F(OBJECT, ONE, "hints", 8, .of = &schema_hints, .flags = FIELD_F_OPT,
      .doc = "Who shall use it."),
};
static const struct schema schema_endpoint =
    SCHEMA(DISCOVERY "Endpoint", endpoint_fields, 0, "One that answers.");

static const struct field port_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_OPT, .def = "\"\"", .doc = "Name of the port."),
    F(STRING, ONE, "protocol", 2, .flags = FIELD_F_OPT, .def = "\"TCP\"", .values = protocols,
      .doc = "TCP, UDP or SCTP."),
    F(INT32, ONE, "port", 3, .flags = FIELD_F_OPT, .min = 1, .max = 65535,
      .doc = "Port to connect to."),
    F(STRING, ONE, "appProtocol", 4, .flags = FIELD_F_OPT, .doc = "What is spoken over the port."),
};
static const struct schema schema_port =
    SCHEMA(DISCOVERY "EndpointPort", port_fields, 0, "A port.");

static const struct field slice_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API that this is written for."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Name, labels and the other things that every object has."),
    F(OBJECT, LIST, "endpoints", 2, .of = &schema_endpoint,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Those that answer."),
    F(OBJECT, LIST, "ports", 3, .of = &schema_port, .flags = FIELD_F_ATOMIC,
      .doc = "Ports of each of them."),
    F(STRING, ONE, "addressType", 4, .flags = FIELD_F_REQUIRED | FIELD_F_IMMUTABLE,
      .values = address_types, .doc = "What the addresses are."),
};
const struct schema schema_endpoint_slice =
    SCHEMA(DISCOVERY "EndpointSlice", slice_fields, 0, "Some of the addresses behind a service.");
