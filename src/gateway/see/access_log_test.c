/* Tests of access_log: what a line says, that lines arrive whole, and that a stuck disk costs lines only. */
#include "base/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/see/access_log.h"

static const struct gateway_key key = {
    .name = {"nightly", 7}, .project = {"team", 4}, .subject = {"ann", 3}};
static const struct routes_model model = {.name = {"llama", 5}, .project = {"team", 4}};

static struct gateway_seen seen(void) {
    return (struct gateway_seen){.key = &key,
                                 .model = &model,
                                 .operation = STR("chat"),
                                 .method = STR("POST"),
                                 .path = STR("/v1/chat/completions"),
                                 .asked = STR("lla\"ma"),
                                 .endpoint = STR("pod-1"),
                                 .status = 200,
                                 .stream = true,
                                 .tries = 1,
                                 .begun_wall_ns = INT64_C(1767225600123456000),
                                 .took_ns = 1500250000,
                                 .first_ns = -1,
                                 .tokens_in = 7,
                                 .tokens_out = 9,
                                 .tokens_cached = -1,
                                 .bytes_in = 10,
                                 .bytes_out = 20};
}

static void a_line_says_what_happened(void **state) {
    struct gateway_seen s = seen();
    struct gateway_trace t = {.parent =
                                  STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")};
    struct buf line;
    s.trace = &t;
    buf_init(&line, 0);
    access_log_line(&s, &line);
    assert_str_eq(
        buf_view(&line),
        STR("{\"time\":\"2026-01-01T00:00:00.123456Z\",\"method\":\"POST\",\"path\":"
            "\"/v1/chat/completions\",\"status\":200,\"end\":\"well\",\"operation\":\"chat\","
            "\"asked\":\"lla\\\"ma\",\"project\":\"team\",\"model\":\"llama\",\"key\":\"nightly\","
            "\"keyProject\":\"team\",\"user\":\"ann\",\"endpoint\":\"pod-1\",\"stream\":true,"
            "\"tries\":1,\"heldMs\":0.000,\"tookMs\":1500.250,\"tokensIn\":7,\"tokensOut\":9,"
            "\"bytesIn\":10,\"bytesOut\":20,\"trace\":\"0af7651916cd43dd8448eb211c80319c\"}\n"));
    buf_release(&line);
}

static void lines_arrive_whole_and_in_order(void **state) {
    char path[] = "/tmp/berth-access-XXXXXX", text[64];
    int fd = mkstemp(path);
    struct access_log *l;
    struct err err = {0};
    assert_true(fd != -1);
    assert_ok(access_log_new(fd, &l, &err), &err);
    for (int i = 0; i < 1000; i++) {
        struct gateway_seen s = seen();
        s.tokens_in = i;
        access_log_add(l, &s);
    }
    access_log_free(l);
    FILE *f = fopen(path, "r");
    char line[2048];
    int n = 0;
    assert_non_null(f);
    for (; fgets(line, sizeof line, f); n++) {
        (void)snprintf(text, sizeof text, "\"tokensIn\":%d,", n);
        assert_non_null(strstr(line, text));
        assert_non_null(strstr(line, "}\n"));
    }
    assert_int_equal(n, 1000);
    fclose(f);
    close(fd);
    unlink(path);
}

static void a_disk_that_does_not_take_lines_costs_lines(void **state) {
    int fds[2];
    struct access_log *l;
    struct err err = {0};
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_ok(access_log_new(fds[1], &l, &err), &err);
    for (int i = 0; i < 40000; i++) { /* some 20 MB; nobody reads */
        struct gateway_seen s = seen();
        access_log_add(l, &s);
    }
    assert_true(access_log_dropped(l) > 0);
    close(fds[0]); /* the writer ends with an error */
    access_log_free(l);
    close(fds[1]);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_what_happened),
        cmocka_unit_test(lines_arrive_whole_and_in_order),
        cmocka_unit_test(a_disk_that_does_not_take_lines_costs_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
