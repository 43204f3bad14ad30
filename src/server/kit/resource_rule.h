/* resource_rule (server): the rules of webhooks and admission policies: which operations on which resources. */
#ifndef BERTH_SERVER_RESOURCE_RULE_H
#define BERTH_SERVER_RESOURCE_RULE_H

#include "api/schema/kind.h"

/* The request that is matched. */
struct resource_ask {
    const struct kind *kind;
    struct str subresource, operation, name;
};

/* A RuleWithOperations, for the resource in this version. */
bool resource_rule_matches(yyjson_val *rule, const struct resource_ask *m, struct str version);
/* Whether its resourceNames, if any, contain this name. */
bool resource_rule_names(yyjson_val *rule, struct str name);

#endif
