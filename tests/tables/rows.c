/*
 * rows: rows of a field table, of which those under BAD must not compile (src/api/tables/member.h).
 *
 * rows.py compiles this file and holds the lines of the errors against the lines of BAD().
 */
#include "api/tables/view_meta.h"

#include "api/tables/table.h"

struct thing {
    struct str name;
};
struct view {
    struct str text;
    bool truth;
    int32_t i32;
    int64_t i64;
    uint64_t u64;
    double real;
    struct quantity amount;
    struct opt_bool opt_truth;
    struct opt_i32 opt_i32;
    struct opt_i64 opt_i64;
    struct opt_quantity opt_amount;
    struct thing *thing, in_place, one[1];
    yyjson_val *json;
    struct str_list texts;
    struct str_map marks;
    struct quantity_map amounts;
    struct {
        int32_t *v;
        size_t n;
    } numbers;
    struct {
        size_t n;
        struct str *v;
    } turned;
    struct {
        struct str *v;
        int32_t n;
    } narrow;
    struct {
        struct str v[1];
        size_t n;
    } no_pointer;
    struct {
        struct thing *v;
        size_t n;
    } things;
    struct thing_pair {
        struct str key;
        struct thing *value;
    } * pairs;
    struct {
        struct thing_pair *v;
        size_t n;
    } by_name;
    struct {
        struct {
            struct str value, key;
        } * v;
        size_t n;
    } swapped;
    struct {
        struct {
            struct str key;
            struct str value, more;
        } * v;
        size_t n;
    } longer;
};

#define GOOD(...) M(view, __VA_ARGS__, "x", 1),
#define BAD(...) M(view, __VA_ARGS__, "x", 1),

static const struct field rows[] = {
    GOOD(text, STRING, ONE)
    GOOD(text, BYTES, ONE)
    GOOD(text, INT_OR_STRING, ONE)
    GOOD(truth, BOOL, ONE)
    GOOD(opt_truth, BOOL, ONE)
    GOOD(i32, INT32, ONE)
    GOOD(opt_i32, INT32, ONE)
    GOOD(i64, INT64, ONE)
    GOOD(opt_i64, INT64, ONE)
    GOOD(real, DOUBLE, ONE)
    GOOD(amount, QUANTITY, ONE)
    GOOD(opt_amount, QUANTITY, ONE)
    GOOD(i64, TIME, ONE)
    GOOD(i64, MICROTIME, ONE)
    GOOD(i64, DURATION, ONE)
    GOOD(thing, OBJECT, ONE)
    GOOD(json, OBJECT, ONE)
    GOOD(json, ANY, ONE)
    GOOD(texts, STRING, LIST)
    GOOD(texts, BYTES, LIST)
    GOOD(numbers, INT32, LIST)
    GOOD(things, OBJECT, LIST)
    GOOD(marks, STRING, MAP)
    GOOD(marks, BYTES, MAP)
    GOOD(amounts, QUANTITY, MAP)
    GOOD(by_name, OBJECT, MAP)

    BAD(i32, INT64, ONE) /* would overwrite its neighbour */
    BAD(i64, INT32, ONE)
    BAD(u64, INT64, ONE)
    BAD(opt_i32, INT64, ONE)
    BAD(opt_i64, INT32, ONE)
    BAD(i32, BOOL, ONE)
    BAD(truth, INT32, ONE)
    BAD(opt_truth, INT32, ONE)
    BAD(opt_i32, BOOL, ONE)
    BAD(i32, TIME, ONE)
    BAD(opt_i64, TIME, ONE)
    BAD(text, TIME, ONE)
    BAD(i32, MICROTIME, ONE)
    BAD(i32, DURATION, ONE)
    BAD(i64, DOUBLE, ONE)
    BAD(real, INT64, ONE)
    BAD(i64, QUANTITY, ONE)
    BAD(text, QUANTITY, ONE)
    BAD(opt_i64, QUANTITY, ONE)
    BAD(i64, STRING, ONE)
    BAD(texts, STRING, ONE)
    BAD(json, STRING, ONE)
    BAD(i32, BYTES, ONE)
    BAD(i32, INT_OR_STRING, ONE)
    BAD(text, ANY, ONE)
    BAD(thing, ANY, ONE)
    BAD(in_place, OBJECT, ONE)
    BAD(one, OBJECT, ONE)
    BAD(things, OBJECT, ONE)
    BAD(text, STRING, LIST)
    BAD(opt_i32, INT32, LIST)
    BAD(turned, STRING, LIST)
    BAD(narrow, STRING, LIST)
    BAD(no_pointer, STRING, LIST)
    BAD(texts, INT32, LIST)
    BAD(numbers, INT64, LIST)
    BAD(numbers, STRING, LIST)
    BAD(thing, OBJECT, LIST)
    BAD(marks, STRING, LIST)
    BAD(texts, STRING, MAP)
    BAD(marks, QUANTITY, MAP)
    BAD(amounts, STRING, MAP)
    BAD(swapped, STRING, MAP)
    BAD(longer, STRING, MAP)
    BAD(things, OBJECT, MAP)
    BAD(marks, OBJECT, MAP)
};

int main(void) {
    return rows[0].member;
}
