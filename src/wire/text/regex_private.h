/* regex_private: the program of a regular expression; shared by its parser, its compiler and its matcher. */
#ifndef BERTH_WIRE_REGEX_PRIVATE_H
#define BERTH_WIRE_REGEX_PRIVATE_H

#include "wire/text/regex.h"

enum regex_op { REGEX_CLASS, REGEX_SPLIT, REGEX_JUMP, REGEX_ASSERT, REGEX_MATCH };
enum regex_assert {
    ASSERT_TEXT_START,
    ASSERT_TEXT_END,
    ASSERT_LINE_START,
    ASSERT_LINE_END,
    ASSERT_WORD,
    ASSERT_NOT_WORD,
};

/* lo REGEX_CATEGORIES: hi is a set of categories (unicode_category.h), with REGEX_OPPOSITE those in none of it. */
#define REGEX_CATEGORIES UINT32_C(0xffffffff)
#define REGEX_OPPOSITE UINT32_C(0x80000000)
struct regex_range {
    uint32_t lo, hi;
};

struct regex_inst {
    uint8_t op;
    bool negated; /* CLASS */
    uint32_t x,
        y; /* CLASS: first range and how many; SPLIT: preferred and other; JUMP: where; ASSERT: which */
};

struct regex {
    struct regex_inst *insts;
    size_t n_insts;
    struct regex_range *ranges;
    size_t n_ranges;
};

/* What a pattern is made of, before it is a program. */
enum node_type { NODE_EMPTY, NODE_CLASS, NODE_CAT, NODE_ALT, NODE_REPEAT, NODE_ASSERT };
struct regex_node {
    enum node_type type;
    bool negated, lazy;
    uint32_t first, n; /* CLASS: ranges */
    int min, max;      /* REPEAT; max < 0: any number */
    enum regex_assert check;
    struct regex_node *a, *b; /* CAT, ALT: both; REPEAT: a */
};

struct regex_ranges {
    struct regex_range *v;
    size_t n, cap;
};

int regex_parse(struct arena *a, struct str pattern, struct regex_ranges *ranges,
                struct regex_node **ret, struct err *err);

/* One character at p (before end): its code point and its bytes. A byte that is no UTF-8 is 0xFFFD, one byte long. */
uint32_t regex_char(const char *p, const char *end, size_t *ret_n);

#endif
