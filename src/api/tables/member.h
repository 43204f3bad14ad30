/*
 * member: the check that a C member is what its row makes the codec write there.
 *
 * The codec stores through an offset, so a row that calls an int32_t an INT64 would overwrite its neighbour.
 * MEMBER(view, member, type, shape) initialises what a row says about its member, and does not compile unless the
 * member has the type that field.h gives for the row's type and shape. Whether it is a struct opt_* is taken from the
 * member, so that no flag can disagree with it. Which schema a row belongs to, and which one a FIELD_OBJECT's `of`
 * points to, the compiler cannot tell; the sizes of both views are recorded, and schema/tables_test.c compares them.
 *
 * `m_` below is the member, `e_` one value in it: expressions that nothing evaluates. Internal to this room.
 */
#ifndef BERTH_API_MEMBER_H
#define BERTH_API_MEMBER_H

#include <stddef.h>

/* The C type of a value, by the row's type; an object's is known by its shape alone. */
#define MEMBER_STRING(shape_, e_) struct str
#define MEMBER_BOOL(shape_, e_) bool
#define MEMBER_INT32(shape_, e_) int32_t
#define MEMBER_INT64(shape_, e_) int64_t
#define MEMBER_DOUBLE(shape_, e_) double
#define MEMBER_BYTES(shape_, e_) struct str
#define MEMBER_QUANTITY(shape_, e_) struct quantity
#define MEMBER_TIME(shape_, e_) int64_t
#define MEMBER_MICROTIME(shape_, e_) int64_t
#define MEMBER_DURATION(shape_, e_) int64_t
#define MEMBER_INT_OR_STRING(shape_, e_) struct str
#define MEMBER_OBJECT(shape_, e_) MEMBER_OBJECT_##shape_(e_)
#define MEMBER_OBJECT_ONE(e_) __typeof__(&*(e_)) /* any pointer */
#define MEMBER_OBJECT_LIST(e_) __typeof__(e_)    /* by value */
#define MEMBER_OBJECT_MAP(e_) __typeof__(&*(e_))
#define MEMBER_ANY(shape_, e_) yyjson_val *

/* The same where an explicit zero can be told from nothing; `void` is no member's type. */
#define MEMBER_OPT_STRING void
#define MEMBER_OPT_BOOL struct opt_bool
#define MEMBER_OPT_INT32 struct opt_i32
#define MEMBER_OPT_INT64 struct opt_i64
#define MEMBER_OPT_DOUBLE struct opt_double
#define MEMBER_OPT_BYTES void
#define MEMBER_OPT_QUANTITY struct opt_quantity
#define MEMBER_OPT_TIME void
#define MEMBER_OPT_MICROTIME void
#define MEMBER_OPT_DURATION void
#define MEMBER_OPT_INT_OR_STRING void
#define MEMBER_OPT_OBJECT void
#define MEMBER_OPT_ANY void

#define MEMBER_IS(e_, type_) __builtin_types_compatible_p(__typeof__(e_), type_)
#define MEMBER_VALUE(type_, shape_, e_) MEMBER_IS(e_, MEMBER_##type_(shape_, e_))

/* A list is {T *v; size_t n;}, a map the same of {struct str key; T value;}. */
#define MEMBER_SPAN(m_)                                                               \
    (sizeof(m_) == sizeof(void *) + sizeof(size_t) && MEMBER_IS((m_).n, size_t) &&    \
     MEMBER_IS((m_).v, __typeof__(&*(m_).v)) && offsetof(__typeof__(m_), v) == 0)
#define MEMBER_PAIR(p_)                                                               \
    (MEMBER_IS((p_).key, struct str) && offsetof(__typeof__(p_), key) == 0 &&         \
     offsetof(__typeof__(p_), value) == sizeof(struct str) &&                         \
     sizeof(p_) == sizeof(struct str) + ((sizeof((p_).value) + 7) & ~(size_t)7))

#define MEMBER_FITS_ONE(type_, m_)                                                    \
    (MEMBER_VALUE(type_, ONE, m_) || MEMBER_IS(m_, MEMBER_OPT_##type_))
#define MEMBER_FITS_LIST(type_, m_) (MEMBER_SPAN(m_) && MEMBER_VALUE(type_, LIST, *(m_).v))
#define MEMBER_FITS_MAP(type_, m_)                                                    \
    (MEMBER_SPAN(m_) && MEMBER_PAIR(*(m_).v) && MEMBER_VALUE(type_, MAP, (m_).v->value))

#define MEMBER_ELEMENT_ONE(m_) (m_)
#define MEMBER_ELEMENT_LIST(m_) (*(m_).v)
#define MEMBER_ELEMENT_MAP(m_) ((m_).v->value)
/* Bytes of a value; of an object's view wherever it lies, 0 where it is left as yyjson_val *. */
#define MEMBER_SIZE(type_, shape_, e_)                                                \
    (FIELD_##type_ == FIELD_OBJECT && MEMBER_IS(e_, yyjson_val *)                     \
         ? 0                                                                          \
         : sizeof(*__builtin_choose_expr(                                             \
               FIELD_##type_ == FIELD_OBJECT && FIELD_##shape_ != FIELD_LIST, e_, &(e_))))

#define MEMBER(view_, member_, type_, shape_)                                         \
    MEMBER_INIT(((struct view_ *)0)->member_, type_, shape_,                          \
                offsetof(struct view_, member_), sizeof(struct view_),                \
                "struct " #view_ ": " #member_ " is not what " #type_ ", " #shape_    \
                " is decoded to")
#define MEMBER_INIT(m_, type_, shape_, at_, view_size_, wrong_)                       \
    .member = (at_) + 0 * sizeof(struct {                                             \
                  _Static_assert(MEMBER_FITS_##shape_(type_, m_), wrong_);            \
                  char unused;                                                        \
              }),                                                                     \
    .view_size = view_size_,                                                          \
    .member_size = MEMBER_SIZE(type_, shape_, MEMBER_ELEMENT_##shape_(m_)),           \
    .member_opt = MEMBER_IS(m_, MEMBER_OPT_##type_)

#endif
