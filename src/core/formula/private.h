/* formula_private: the tree of an expression, its types and its values. */
#ifndef BERTH_CORE_FORMULA_PRIVATE_H
#define BERTH_CORE_FORMULA_PRIVATE_H

#include "core/formula/formula.h"

enum formula_op {
    FORMULA_INT,
    FORMULA_FLOAT,
    FORMULA_TRUE,
    FORMULA_FALSE,
    FORMULA_NIL,
    FORMULA_TEXT,
    FORMULA_NAME, /* a variable, of the environment or of let */
    FORMULA_THIS, /* # */
    FORMULA_ACC,  /* #acc */
    FORMULA_AT,   /* #index */
    FORMULA_LIST,
    FORMULA_CALL,
    FORMULA_NOT,
    FORMULA_MINUS,
    FORMULA_PLUS,
    FORMULA_CHOOSE,
    FORMULA_LET,
    FORMULA_ADD,
    FORMULA_SUB,
    FORMULA_MUL,
    FORMULA_DIV,
    FORMULA_MOD,
    FORMULA_POW,
    FORMULA_LT,
    FORMULA_LE,
    FORMULA_GT,
    FORMULA_GE,
    FORMULA_EQ,
    FORMULA_NE,
    FORMULA_IN,
    FORMULA_AND,
    FORMULA_OR,
    FORMULA_RANGE,
    FORMULA_ELSE, /* ?? */
};

enum formula_call {
    CALL_ABS,
    CALL_CEIL,
    CALL_FLOOR,
    CALL_ROUND,
    CALL_INT,
    CALL_TO_FLOAT,
    CALL_STRING,
    CALL_LEN,
    CALL_MIN,
    CALL_MAX,
    CALL_MEAN,
    CALL_MEDIAN,
    CALL_SUM,
    CALL_ALL,
    CALL_ANY,
    CALL_NONE,
    CALL_ONE,
    CALL_COUNT,
    CALL_FILTER,
    CALL_MAP,
    CALL_REDUCE,
};
/* Does its second argument look at each element of the first? */
static inline bool formula_loops(enum formula_call c) {
    return c >= CALL_SUM;
}

struct formula_node {
    enum formula_op op;
    enum formula_call call;
    struct str text; /* names; of let the name that it gives */
    int64_t i;
    double f;
    struct formula_node **args;
    size_t n;
};

struct formula {
    const struct formula_node *root;
    const struct str *names;
    size_t n_names;
};

enum formula_kind {
    KIND_OF_ANY,
    KIND_OF_INT,
    KIND_OF_FLOAT,
    KIND_OF_BOOL,
    KIND_OF_NIL,
    KIND_OF_TEXT,
    KIND_OF_LIST
};

/* A scope of names that let gave, or of one element that is looked at. */
struct formula_scope {
    const struct formula_scope *outer;
    struct str name; /* of let; empty: an element's */
    const void *bound;
    const void *acc;
    int64_t at;
};

/* What a whole expression's type is: checked for what can be said before it runs. */
int formula_check(struct arena *a, const struct formula *f, struct err *err);

#endif
