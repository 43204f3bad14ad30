/* cel_parse_private: what the two files that read the text of an expression share. Internal to them. */
#ifndef BERTH_API_CEL_PARSE_PRIVATE_H
#define BERTH_API_CEL_PARSE_PRIVATE_H

#include "api/cel/cel_tree.h"

struct cel_parser {
    struct arena *a;
    const char *p, *end, *start;
    size_t at;    /* where the last thing that was taken began */
    size_t fault; /* where it failed */
    size_t nodes;
    int depth;
    int code;
    bool lenient; /* unknown functions are let through */
    struct err *err;
};

/* Both note the first fault and give NULL. */
void *cel_fail(struct cel_parser *x, int code, const char *fmt, struct str what);
void *cel_bad(struct cel_parser *x, const char *text);
const struct cel_expr *cel_constant(struct cel_parser *x, struct cel_value v);
/* At a quote. */
const struct cel_expr *cel_parse_string(struct cel_parser *x, bool raw, bool bytes);
const struct cel_expr *cel_parse_number(struct cel_parser *x);

#endif
