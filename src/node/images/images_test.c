/* images: who asks together is answered together, so many at a time, what failed is not tried again at once, and
 * credentials are files for as long as they are needed. The helper is a script. */
#include "node/files/testbed.h"

#include "node/images/images.h"

enum { ASKED_MAX = 16 };

struct heard {
    int pulling, notes;
    enum image_answer end;
    char text[256];
    bool over;
};

struct bed {
    char dir[PATH_LEN], script[PATH_LEN], store[PATH_LEN];
    struct loop *loop;
    struct images *images;
    struct heard heard[ASKED_MAX];
};

/* $4 is the image, $6 the authfile; each start is a line in `starts`. */
static const char script[] =
    "#!/bin/sh\n"
    "echo \"$4 $7\" >> DIR/starts\n"
    "[ \"$6\" = - ] || cat \"$6\" >> DIR/auth\n"
    "case $4 in\n"
    "good) echo pulling; echo note far; echo \"pulled abc 77\" ;;\n"
    "here) echo \"here abc 7\" ;;\n"
    "slow) while [ ! -e DIR/go ]; do sleep 0.05; done; echo \"here abc 7\" ;;\n"
    "absent) echo absent ;;\n"
    "bad) echo pulling; echo failed no such thing; exit 1 ;;\n"
    "*) exit 3 ;;\n"
    "esac\n";

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));
    struct err err;
    struct str rest = str_of(script), part;
    struct buf text;

    test_folder(b->dir);
    buf_init(&text, 1 << 16);
    while (str_next(&rest, '\n', &part)) {
        ptrdiff_t at;
        while ((at = str_find(part, 'D')) >= 0 &&
               str_starts(str_skip(part, (size_t)at), STR("DIR"))) {
            buf_str(&text, str_head(part, (size_t)at));
            buf_c(&text, b->dir);
            part = str_skip(part, (size_t)at + 3);
        }
        buf_str(&text, part);
        buf_ch(&text, '\n');
    }
    assert_ok(file_store(b->dir, "helper", buf_view(&text), 0700, &err), &err);
    buf_release(&text);
    snprintf(b->script, sizeof(b->script), "%.500s/helper", b->dir);
    snprintf(b->store, sizeof(b->store), "%.500s/images", b->dir);
    b->loop = loop_new(&err);
    assert_non_null(b->loop);
    const struct images_options o = {.loop = b->loop, .program = b->script, .dir = b->store};
    b->images = images_new(&o, &err);
    assert_non_null(b->images);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;

    images_free(b->images);
    loop_free(b->loop);
    dir_remove(b->dir, NULL);
    free(b);
    return 0;
}

static void on_news(void *ctx, const struct image_news *n) {
    struct heard *h = ctx;

    assert_false(h->over);
    h->pulling += n->answer == IMAGE_PULLING;
    h->notes += n->answer == IMAGE_NOTE;
    if (n->answer >= IMAGE_HERE) {
        h->over = true;
        h->end = n->answer;
        str_copy(n->text, h->text, sizeof(h->text));
    }
}

static void ask_for(struct bed *b, int i, const char *ns, const char *name, const char *auth) {
    const struct image_ask a = {
        .ns = str_of(ns), .name = str_of(name), .policy = STR("Always"), .auth = str_of(auth)};
    struct err err;

    b->heard[i] = (struct heard){0};
    assert_ok(images_ask(b->images, &a, on_news, &b->heard[i], &err), &err);
    assert_false(b->heard[i].over);
}

static void ask(struct bed *b, int i, const char *name, const char *auth) {
    ask_for(b, i, "ns", name, auth);
}

static bool over(void *ctx) {
    return ((struct heard *)ctx)->over;
}

static void wait_over(struct bed *b, int i) {
    test_until(b->loop, over, &b->heard[i]);
}

static struct str starts(struct bed *b, struct arena *a) {
    struct str text;

    return file_load(b->dir, "starts", a, &text, NULL) ? STR("") : text;
}

static void test_answers(void **state) {
    struct bed *b = *state;

    ask(b, 0, "good", "");
    ask(b, 1, "here", "");
    ask(b, 2, "absent", "");
    ask(b, 3, "bad", "");
    ask(b, 4, "crashes", "");
    for (int i = 0; i < 5; i++) {
        wait_over(b, i);
    }
    assert_int_equal(b->heard[0].end, IMAGE_PULLED);
    assert_int_equal(b->heard[0].pulling, 1);
    assert_int_equal(b->heard[0].notes, 0); /* too soon to be worth telling */
    assert_int_equal(b->heard[1].end, IMAGE_HERE);
    assert_int_equal(b->heard[2].end, IMAGE_ABSENT);
    assert_int_equal(b->heard[3].end, IMAGE_FAILED);
    assert_string_equal(b->heard[3].text, "no such thing");
    assert_int_equal(b->heard[4].end, IMAGE_FAILED);
}

static void test_together_and_later(void **state) {
    struct bed *b = *state;
    struct arena a;

    arena_init(&a, 1 << 20);
    ask(b, 0, "slow", "");
    ask(b, 1, "slow", "");
    ask(b, 2, "bad", "");
    wait_over(b, 2);
    ask(b, 3, "bad", ""); /* not tried again at once */
    wait_over(b, 3);
    assert_int_equal(b->heard[3].end, IMAGE_BACKOFF);
    assert_string_equal(b->heard[3].text, "no such thing");
    assert_int_equal(file_store(b->dir, "go", STR(""), 0600, NULL), 0);
    wait_over(b, 0);
    wait_over(b, 1);
    struct str all = starts(b, &a), line;
    int n = 0;
    while (str_next(&all, '\n', &line)) {
        n++;
    }
    assert_int_equal(n, 2); /* one for both, one that failed */
    arena_release(&a);
}

/* The fourth begins when one of the first three is over; of one namespace, the third. */
static void test_so_many_at_once(void **state) {
    struct bed *b = *state;
    struct arena a;

    arena_init(&a, 1 << 20);
    ask(b, 0, "slow", "a");
    ask(b, 1, "slow", "b");
    ask(b, 2, "absent", "");
    ask_for(b, 3, "other", "here", "");
    wait_over(b, 3);
    assert_false(str_contains(starts(b, &a), STR("absent")));
    ask_for(b, 4, "other", "slow", "");
    ask_for(b, 5, "third", "good", "");
    assert_int_equal(file_store(b->dir, "go", STR(""), 0600, NULL), 0);
    for (int i = 0; i < 6; i++) {
        wait_over(b, i);
    }
    assert_true(str_contains(starts(b, &a), STR("absent may-pull")));
    arena_release(&a);
}

/* Two namespaces have all three turns; a third has one all the same, and no second. */
static void test_fair(void **state) {
    struct bed *b = *state;
    struct arena a;

    arena_init(&a, 1 << 20);
    ask_for(b, 0, "a", "slow", "1");
    ask_for(b, 1, "a", "slow", "2");
    ask_for(b, 2, "b", "slow", "");
    ask_for(b, 3, "b", "absent", "");
    ask_for(b, 4, "c", "good", "");
    wait_over(b, 4);
    ask_for(b, 5, "c", "slow", "");
    assert_false(str_contains(starts(b, &a), STR("absent")));
    assert_int_equal(file_store(b->dir, "go", STR(""), 0600, NULL), 0);
    for (int i = 0; i < 6; i++) {
        wait_over(b, i);
    }
    assert_true(str_contains(starts(b, &a), STR("absent may-pull")));
    arena_release(&a);
}

static void test_credentials(void **state) {
    struct bed *b = *state;
    char path[PATH_LEN];
    struct arena a;
    struct str text;

    arena_init(&a, 1 << 20);
    ask(b, 0, "here", "the credentials");
    snprintf(path, sizeof(path), "%.500s/auth-0", b->store);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    wait_over(b, 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(file_load(b->dir, "auth", &a, &text, NULL), 0);
    assert_str_eq(text, STR("the credentials"));
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_together_and_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_so_many_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fair, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_credentials, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
