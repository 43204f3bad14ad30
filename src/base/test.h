/* test: cmocka with what it needs in front, and asserts that print both views. For x_test.c files only. */
#ifndef BERTH_BASE_TEST_H
#define BERTH_BASE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/str.h"

#define assert_str_eq(got, want)                                                                   \
    do {                                                                                           \
        struct str got_ = (got), want_ = (want);                                                   \
        if (!str_eq(got_, want_)) {                                                                \
            print_error("got:  %.*s\nwant: %.*s\n", STR_ARG(got_), STR_ARG(want_));                \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

/* A call that must succeed; prints the error's text when it does not. */
#define assert_ok(call, err)                                                                       \
    do {                                                                                           \
        int code_ = (call);                                                                        \
        if (code_ != 0) {                                                                          \
            print_error("%s: %d: %s\n", #call, code_, (err)->text);                                \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

#endif
