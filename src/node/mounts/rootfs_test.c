/* rootfs: containers whose root is an image's, run by a real shim: what they see, may write, and are. */
#include "node/files/testbed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "node/sandbox/sandbox.h"
#include "wire/json/json.h"

enum { TEST_UID = 2000000123, TEST_GID = 1900000123, IMAGE_UID = 1234 };

struct bed {
    char dir[PATH_LEN], image[PATH_LEN], pod[PATH_LEN], base[PATH_LEN];
    struct arena arena;
    bool root;
};

static void folder(const char *a, const char *b, mode_t mode) {
    char path[PATH_LEN];

    assert_int_equal(path_join(path, a, b, NULL), 0);
    assert_int_equal(dir_make(path, mode, NULL), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void text_file(const char *dir, const char *name, const char *text, mode_t mode) {
    char path[PATH_LEN];

    assert_int_equal(file_store(dir, name, str_of(text), mode, NULL), 0);
    assert_int_equal(path_join(path, dir, name, NULL), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* The image has no program of its own: the machine's are mounted into it as a volume. */
static void make_image(struct bed *b) {
    static const char *const links[] = {"bin", "lib", "lib64"};

    folder(b->image, "etc", 0755);
    folder(b->image, "tmp", 01777);
    folder(b->image, "private", 0700);
    text_file(arena_f(&b->arena, "%s/private", b->image).p, "mine", "image\n", 0600);
    for (size_t i = 0; i < 3; i++) {
        const char *to = arena_f(&b->arena, "usr/%s", links[i]).p;
        assert_int_equal(symlink(to, arena_f(&b->arena, "%s/%s", b->image, links[i]).p), 0);
    }
    assert_int_equal(symlink("/etc", arena_f(&b->arena, "%s/out", b->image).p), 0);
    assert_int_equal(symlink("/nowhere/at/all", arena_f(&b->arena, "%s/etc/resolv", b->image).p),
                     0);
}

static void make_pod(struct bed *b) {
    uid_t uid = b->root ? TEST_UID : 0;

    folder(b->pod, "root/work", 0755);
    folder(b->pod, "root/tmp", 0755);
    folder(b->pod, "root/volumes/v", 0777);
    text_file(arena_f(&b->arena, "%s/root/volumes/v", b->pod).p, "word", "volume\n", 0644);
    text_file(arena_f(&b->arena, "%s/root", b->pod).p, "hosts", "hosts\n", 0644);
    folder(b->pod, "layers/main/upper", 0755);
    folder(b->pod, "layers/main/work", 0755);
    if (uid) {
        assert_int_equal(
            chown(arena_f(&b->arena, "%s/layers/main/upper", b->pod).p, TEST_UID, TEST_GID), 0);
    }
}

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));

    test_folder(b->dir);
    arena_init(&b->arena, 16 << 20);
    b->root = geteuid() == 0;
    snprintf(b->image, sizeof(b->image), "%.500s/images/i/root", b->dir);
    snprintf(b->pod, sizeof(b->pod), "%.500s/pods/u", b->dir);
    folder(b->dir, "images/i/root", 0755);
    make_image(b);
    make_pod(b);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;

    dir_remove(b->dir, NULL);
    arena_release(&b->arena);
    free(b);
    return 0;
}

static bool no_cells(void) {
    bool user;

    return !cell_possible(&user);
}

/* Runs `script` in a container of the image and tells its exit code. Volume v is at /out/v, a link of the image. */
static int64_t run_more(struct bed *b, const char *root, const char *more, const char *script) {
    const char *verbs = getenv("BERTH_TEST_VERBS");
    struct str text;
    yyjson_doc *doc;
    int status;

    text =
        arena_f(&b->arena,
                "{\"uid\":\"u\",\"restartPolicy\":\"Never\",\"grace\":2,\"hostname\":\"h\","
                "\"sandbox\":{\"walls\":true,"
                "\"uid\":%u,\"gid\":%u,\"cgroup\":0,\"cgroupName\":\"x\",\"dataDir\":\"%s\"},"
                "\"containers\":[{\"name\":"
                "\"main\",%s\"argv\":[\"sh\",\"-c\",\"%s\"],\"env\":[\"PATH=/usr/bin:/"
                "bin\",\"P=%s\",\"I=%s\"],\"cwd\":\"/made/here\","
                "\"root\":{\"lower\":\"%s\",\"layer\":\"%s/layers/main\"%s},\"mounts\":["
                "{\"source\":\"/usr\",\"target\":\"/usr\",\"readOnly\":true},"
                "{\"source\":\"%s/root/volumes/v\",\"target\":\"/out/v\"},"
                "{\"source\":\"%s/root/hosts\",\"target\":\"/etc/resolv\",\"readOnly\":true}]}]}",
                b->root ? (unsigned)TEST_UID : 0, b->root ? (unsigned)TEST_GID : 0, b->dir, more,
                script, b->pod, b->image, b->image, b->pod, root, b->pod, b->pod);
    assert_int_equal(file_store(b->pod, "spec.json", text, 0600, NULL), 0);
    pid_t pid = fork();
    if (pid == 0) {
        execl(verbs, verbs, "shim", b->pod, (char *)NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(file_load(b->pod, "state.json", &b->arena, &text, NULL), 0);
    assert_int_equal(json_parse(&b->arena, text, &doc, NULL), 0);
    yyjson_val *c = yyjson_arr_get_first(json_path(yyjson_doc_get_root(doc), "containers"));
    struct str why = json_str_at(c, "end.message");
    if (why.n) {
        print_message("%.*s\n", STR_ARG(why));
    }
    unlink(arena_f(&b->arena, "%s/state.json", b->pod).p);
    return json_i64_at(c, "end.exitCode", -1);
}

static int64_t run(struct bed *b, const char *root, const char *script) {
    return run_more(b, root, "", script);
}

/* The image, the pod's /proc and /dev, the volumes; of the machine nothing else. */
static void test_what_is_there(void **state) {
    struct bed *b = *state;

    if (no_cells()) {
        skip();
    }
    assert_int_equal(run(b, "", "test $(cat /private/mine) = image"), 0);
    assert_int_equal(run(b, "", "test $PWD = /made/here"), 0);
    assert_int_equal(
        run(b, "", "test ! -e /root && test ! -e /home && test ! -e $P && test ! -e $I"), 0);
    assert_int_equal(
        run(b, "",
            "test -c /dev/null && test -d /dev/shm && test -d /proc/self && test -d /sys/class"),
        0);
    assert_int_equal(run(b, "", "test $(ls -d /proc/[0-9]* | wc -l) -lt 8"), 0);
    assert_int_equal(run(b, "", "test $(cat /etc/v/word) = volume && echo x > /etc/v/new"), 0);
    assert_int_equal(access(arena_f(&b->arena, "%s/root/volumes/v/new", b->pod).p, F_OK), 0);
    assert_int_equal(run(b, "", "test $(cat /etc/resolv) = hosts && ! echo x > /etc/resolv"), 0);
    assert_int_equal(run(b, "", "! echo x > /sys/kernel/x; ! mknod /tmp/d c 1 3"), 0);
}

/* Written to the layer, seen by the next run of the container, never by the image. */
static void test_what_is_written(void **state) {
    struct bed *b = *state;

    if (no_cells()) {
        skip();
    }
    assert_int_equal(
        run(b, "", "echo x > /new && echo y > /etc/there && echo more >> /private/mine"), 0);
    assert_int_equal(run(b, "", "test $(cat /new) = x && test $(tail -1 /private/mine) = more"), 0);
    assert_int_equal(access(arena_f(&b->arena, "%s/new", b->image).p, F_OK), -1);
    assert_int_equal(access(arena_f(&b->arena, "%s/out/v", b->image).p, F_OK), -1);
    assert_int_equal(access(arena_f(&b->arena, "%s/layers/main/upper/new", b->pod).p, F_OK), 0);
    assert_int_equal(
        run(b, ",\"readOnly\":true", "test -r /new && ! echo z > /newer && echo x > /out/v/w"), 0);
}

/* The image's user inside, the pod's outside, and no right over anything. */
static void test_who_it_is(void **state) {
    struct bed *b = *state;
    struct stat st;

    if (no_cells()) {
        skip();
    }
    assert_int_equal(run(b, "", "test $(id -u) = 0 && touch /by-root && touch /out/v/by-root"), 0);
    assert_int_equal(stat(arena_f(&b->arena, "%s/root/volumes/v/by-root", b->pod).p, &st), 0);
    assert_int_equal(st.st_uid, b->root ? TEST_UID : geteuid());
    assert_int_equal(
        run(b, "",
            "grep -q '^CapEff:.0*$' /proc/self/status && grep -q '^CapBnd:.0*$' /proc/self/status"),
        0);
    assert_int_equal(run(b, "",
                         "grep -q '^NoNewPrivs:.1' /proc/self/status && grep -q '^Seccomp:.2' "
                         "/proc/self/status"),
                     0);
    assert_int_equal(run(b, "", "! chown 5 /by-root; ! mount -t tmpfs x /tmp; ! unshare -U true"),
                     0);
    const char *other = arena_f(&b->arena, ",\"uid\":%d,\"gid\":%d", IMAGE_UID, IMAGE_UID).p;
    assert_int_equal(run(b, other, "test $(id -u) = 1234 && test $(id -g) = 1234"), 0);
    if (b->root) { /* without root every file is ours */
        assert_int_equal(run(b, other, "! cat /private/mine"), 0);
    }
}

/* What is executed in a container that runs is in its root, with its user. */
static void test_hook_is_inside(void **state) {
    struct bed *b = *state;
    const char *hook = "\"postStart\":{\"exec\":[\"sh\",\"-c\",\"id -u > /out/v/hook; cat "
                       "/private/mine >> /out/v/hook; "
                       "cat /proc/self/uid_map > /out/v/map; touch /out/v/done\"]},";
    struct str text;

    if (no_cells()) {
        skip();
    }
    assert_int_equal(run_more(b, "", hook,
                              "while ! test -e /out/v/done; do sleep 0.05; done; "
                              "diff /proc/self/uid_map /out/v/map"),
                     0);
    assert_int_equal(file_load(arena_f(&b->arena, "%s/root/volumes/v", b->pod).p, "hook", &b->arena,
                               &text, NULL),
                     0);
    assert_str_eq(text, STR("0\nimage\n"));
}

/* An image whose /proc leads elsewhere is refused, and not followed. */
static void test_hostile_image(void **state) {
    struct bed *b = *state;

    if (no_cells()) {
        skip();
    }
    assert_int_equal(symlink("/etc", arena_f(&b->arena, "%s/proc", b->image).p), 0);
    assert_int_equal(run(b, "", "true"), 128);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hook_is_inside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_image, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
