/* cel_tree: the tree of an expression and the values that it has. Internal to the cel files. */
#ifndef BERTH_API_CEL_TREE_H
#define BERTH_API_CEL_TREE_H

#include "api/cel/cel.h"
#include "wire/text/quantity.h"

struct regex;

enum cel_type {
    CEL_V_ERROR,
    CEL_V_NULL,
    CEL_V_BOOL,
    CEL_V_INT,
    CEL_V_UINT,
    CEL_V_DOUBLE,
    CEL_V_STRING,
    CEL_V_DURATION,
    CEL_V_TIMESTAMP,
    CEL_V_QUANTITY,
    CEL_V_JSON, /* a list or an object of the document, with its schema */
    CEL_V_LIST, /* made on the way */
    CEL_V_MAP,
    CEL_V_OPTIONAL,
    CEL_V_TYPE, /* of type(x): its name */
    CEL_V_BYTES,
    CEL_V_VARIABLES, /* of a policy: what `variables` stands for */
    CEL_V_URL,       /* its parts are in text (cel_net.c) */
    CEL_V_IP,
    CEL_V_CIDR,
    CEL_V_FORMAT, /* its name */
    CEL_V_SEMVER,
    CEL_V_ACCESS, /* an authorizer, or a check of it, or its answer (cel_access.c) */
    CEL_V_OBJECT, /* Name{...}: a map with the name of its type */
};

struct cel_value {
    enum cel_type type;
    const struct crd_node *node; /* JSON; or NULL */
    union {
        bool b;
        int64_t i; /* INT, DURATION, TIMESTAMP (ns) */
        uint64_t u;
        double d;
        struct str s; /* STRING, ERROR, TYPE, BYTES, FORMAT */
        struct quantity q;
        yyjson_val *json;
        const struct cel_list *list;
        const struct cel_map *map;
        const struct cel_value *some; /* OPTIONAL; NULL: none */
        const struct cel_url *url;
        const struct cel_net *net; /* IP, CIDR */
        const struct cel_semver *semver;
        const struct cel_access *access;
        const struct cel_made *made; /* OBJECT */
    };
};

struct cel_list {
    struct cel_value *v;
    size_t n, cap;
};
struct cel_map {
    struct cel_value *keys, *values;
    size_t n, cap; /* cap: of one that grows */
};
struct cel_made {
    struct str name; /* "Object.spec" */
    struct cel_map map;
};

enum cel_op {
    CEL_CONST,
    CEL_IDENT,
    CEL_SELECT, /* a.name */
    CEL_HAS,    /* has(a.name) */
    CEL_INDEX,  /* a[b] */
    CEL_CALL,   /* name(args...) */
    CEL_METHOD, /* a.name(args...) */
    CEL_MAKE_LIST,
    CEL_MAKE_MAP, /* args: key, value, key, value, ... */
    CEL_NOT,
    CEL_MINUS,
    CEL_BINARY, /* name is the operator */
    CEL_AND,
    CEL_OR,
    CEL_COND,        /* args: condition, yes, no */
    CEL_MACRO,       /* a.name(var, args...) */
    CEL_MAKE_OBJECT, /* name{field: value, ...}; args as of MAKE_MAP */
};

enum cel_binary {
    BIN_EQ,
    BIN_NE,
    BIN_LT,
    BIN_LE,
    BIN_GT,
    BIN_GE,
    BIN_IN,
    BIN_ADD,
    BIN_SUB,
    BIN_MUL,
    BIN_DIV,
    BIN_MOD
};
enum cel_macro {
    MACRO_ALL,
    MACRO_EXISTS,
    MACRO_EXISTS_ONE,
    MACRO_FILTER,
    MACRO_MAP,
    MACRO_TRANSFORM_LIST,  /* (k, v, [condition,] element) */
    MACRO_TRANSFORM_MAP,   /* (k, v, [condition,] value) */
    MACRO_TRANSFORM_ENTRY, /* (k, v, [condition,] {key: value}) */
    MACRO_OPT_MAP,         /* of an optional value: (v, expression) */
    MACRO_OPT_FLAT_MAP,
};

struct cel_call;
struct cel_expr {
    enum cel_op op;
    int depth;
    int which;                    /* enum cel_binary, enum cel_macro */
    struct str name;              /* IDENT, SELECT, HAS; MACRO: the variable */
    struct cel_value value;       /* CONST */
    const struct cel_expr *a, *b; /* the target, or both sides */
    const struct cel_expr **args;
    size_t n_args;
    struct str var2;             /* MACRO with two variables; empty: one */
    size_t pos;                  /* in the text: where a fault in it is shown */
    bool optional;               /* SELECT, INDEX: a.?b, a[?b] */
    const bool *maybe;           /* MAKE_*: by element or pair, those written with ?; NULL: none */
    const struct cel_sort *sort; /* once it was checked (cel_sort.h) */
    const struct cel_function *function;
    const struct regex *regex; /* of a call whose pattern is written out */
};

struct cel_frame {
    const struct cel_frame *up;
    struct str name;
    struct cel_value value;
};
struct cel_run {
    struct cel_input *in;
    const struct cel_frame *root; /* the names of the input */
    size_t steps;                 /* of this expression */
    bool spent;
    bool mismatch; /* an Object{...} stands where its type's name does not belong */
};

/* A function by name: `method` when it stands behind a dot (v[0] is then what is before it).
 *
 * sigs: its overloads, each the types of its arguments (of a method the target first), ">", and that of its result:
 *     b bool  i int  u uint  d double  s string  y bytes  n null  D duration  T timestamp  t type  * anything
 *     [x] list  {xy} map  ?x optional  A B any type, the same wherever it stands
 *     Q quantity  U URL  P IP  C CIDR  F format  V semver
 *     Z authorizer  H path check  G group check  R resource check  W decision
 * Functions of one name may stand in several rows; a call takes the first row whose overloads fit its values. */
struct cel_function {
    const char *name;
    bool method;
    const char *sigs;
    struct cel_value (*run)(struct cel_run *r, const struct cel_expr *e, struct cel_value *v,
                            size_t n);
};
struct cel_functions {
    const struct cel_function *v;
    size_t n;
};
extern const struct cel_functions cel_core_functions, cel_text_functions, cel_list_functions,
    cel_format_functions, cel_time_functions, cel_net_functions, cel_amount_functions,
    cel_named_functions, cel_access_functions;
bool cel_semver_equal(const struct cel_semver *a, const struct cel_semver *b);
bool cel_net_equal(const struct cel_net *a, const struct cel_net *b);
bool cel_url_equal(const struct cel_url *a, const struct cel_url *b);
struct str cel_net_text(struct arena *a, const struct cel_net *n); /* "10.0.0.0/8", "::1" */
#define CEL_CALL(name_)                                                                            \
    static struct cel_value name_(struct cel_run *r, const struct cel_expr *e,                     \
                                  struct cel_value *v, size_t n)
#define CEL_FUNCTIONS(name_, rows_)                                                                \
    const struct cel_functions name_ = {rows_, sizeof(rows_) / sizeof(rows_[0])}
/* The first row of a name, and the one of the same name behind another. NULL: none of ours. */
const struct cel_function *cel_function(struct str name, bool method);
const struct cel_function *cel_function_next(const struct cel_function *f);
/* Whether an overload of it takes n values (a method: the target included); with v, these. */
bool cel_function_takes(const struct cel_function *f, const struct cel_value *v, size_t n);
const char *cel_sig_skip(const char *sig); /* behind the first type of an overload */
/* The same as cel_parse; *ret_at gets where in the text it failed. */
int cel_parse_at(struct arena *a, struct str text, const struct cel_expr **ret, size_t *ret_at,
                 struct err *err);
/* cel_eval.c */
struct cel_value cel_eval(struct cel_run *r, const struct cel_expr *e);
struct cel_value cel_variable(struct cel_run *r, const struct cel_variables *v, struct str name);

/* ---- values (cel_value.c) ---- */
/* A member's name as the document has it; in buf, or a view of s. */
struct str cel_plain_name(struct str s, char *buf, size_t cap);
struct cel_value cel_error(struct cel_run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The document's value as the schema reads it: a number as int or double, a text with a format as time, ... */
struct cel_value cel_of_json(yyjson_val *v, const struct crd_node *n);
bool cel_equal(struct cel_run *r, struct cel_value a, struct cel_value b);
/* <0, 0, >0; false: they have no order. */
bool cel_compare(struct cel_value a, struct cel_value b, int *ret);
/* The same, paid for. */
bool cel_order(struct cel_run *r, struct cel_value a, struct cel_value b, int *ret);
/* Lists and maps of both makes. cel_item and cel_entry are in order; cel_lookup fails with an error value. */
bool cel_is_list(struct cel_value v);
bool cel_is_map(struct cel_value v);
size_t cel_size(struct cel_value v); /* of a list or map */
struct cel_cursor {
    struct cel_value of;
    size_t i, n;
    yyjson_arr_iter arr;
    yyjson_obj_iter obj;
};
struct cel_cursor cel_walk(struct cel_value v);
/* The next element, or key and value; false at the end. */
bool cel_next(struct cel_cursor *c, struct cel_value *ret_key, struct cel_value *ret_value);
/* A member by its name; false when there is none. `escaped`: the name is written as CEL does ("__dash__"). */
bool cel_member(struct cel_run *r, struct cel_value v, struct str name, bool escaped,
                struct cel_value *ret);
struct cel_value cel_index(struct cel_run *r, struct cel_value v, struct cel_value at);
struct cel_value cel_string_of(struct cel_run *r, struct cel_value v);
int cel_push(struct cel_run *r, struct cel_list *l, struct cel_value v);
const char *cel_type_name(struct cel_value v);
/* Counts work; false when the budget is spent. */
bool cel_spend(struct cel_run *r, size_t n);
size_t cel_left(const struct cel_run *r); /* of the budget */

static inline struct cel_value cel_bool(bool b) {
    return (struct cel_value){.type = CEL_V_BOOL, .b = b};
}
static inline struct cel_value cel_int(int64_t i) {
    return (struct cel_value){.type = CEL_V_INT, .i = i};
}
static inline struct cel_value cel_str(struct str s) {
    return (struct cel_value){.type = CEL_V_STRING, .s = s};
}

#endif
