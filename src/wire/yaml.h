/*
 * yaml: YAML streams to JSON values, and JSON to YAML, over libyaml's events.
 *
 * Read as Kubernetes' tools read it: YAML 1.1 scalars (plain yes/no/on/off/true/false are booleans, ~ and null are
 * null, 0x 0o 0b and underscores in integers, .5 and 1e3 floats, .inf and .nan refused because JSON has none); quoted
 * scalars are strings; keys become strings; anchors, aliases and merge keys ("<<") are resolved. Timestamps stay
 * strings. A key that stands twice in one mapping is an error. JSON is YAML, so JSON bodies pass as well. Limits:
 * LIMIT_JSON_DEPTH, LIMIT_YAML_DOCS, and LIMIT_YAML_NODES after aliases are expanded, and
 * LIMIT_YAML_COPIED for what these repeat, so that a bomb stays small.
 */
#ifndef BERTH_WIRE_YAML_H
#define BERTH_WIRE_YAML_H

#include "wire/json/json.h"

struct yaml_docs {
    yyjson_mut_doc **v; /* in order; documents that are empty or null are left out */
    size_t n;
};

/* ERR_SYNTAX ("line 3, column 5: ..."), ERR_TOO_LARGE, ERR_NOMEM. Everything is in the arena. */
int yaml_parse(struct arena *a, struct str text, struct yaml_docs *ret, struct err *err);
/* Exactly one document, else ERR_SYNTAX. */
int yaml_parse_one(struct arena *a, struct str text, yyjson_mut_doc **ret, struct err *err);
/* The same; but of keys that stand twice the last one counts, and each further one is told with its line (from 1). */
struct yaml_repeats {
    void (*found)(void *ctx, size_t line, struct str key);
    void *ctx;
};
int yaml_parse_lax(struct arena *a, struct str text, const struct yaml_repeats *repeats,
                   yyjson_mut_doc **ret, struct err *err);

/* Block style, two spaces, keys in the document's order, one newline at the end; strings are quoted where a plain one
 * would read as something else, multi-line ones are literal blocks. What is written reads back equal. */
void yaml_write(struct buf *b, yyjson_val *v);

#endif
