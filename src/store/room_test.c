/* Tests of store_room: what is written on a full disk, and what is not. */
#include "base/test.h"
#include "mirror/fake_kind.h"
#include "store/store_int.h"

static void test_room(void **state) {
    struct statvfs v = {.f_blocks = 1000, .f_frsize = 4096, .f_bfree = 256, .f_bavail = 255};

    assert_true(room_in(&v, true));
    assert_false(room_in(&v, false));
    v.f_bfree = 255;
    assert_false(room_in(&v, true));
    v = (struct statvfs){.f_frsize = 4096}; /* as FUSE and 9p may tell it */
    assert_true(room_in(&v, true));
    assert_true(room_in(&v, false));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
