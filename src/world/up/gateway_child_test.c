/* gateway_child_test: who gets an address when several Berths start at once. Their gateways are this program, which
 * waits and listens nowhere: what keeps them apart is the claim alone. */
#include "world/up/gateway_child.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/test.h"

struct fixture {
    struct loop *loop;
    struct log_fd log;
    struct address address;
    struct gateway_child_options o;
};

static struct fixture *fixture(const char *address) {
    static struct fixture f;
    struct err err = {0};
    f = (struct fixture){.loop = loop_new(&err)};
    assert_non_null(f.loop);
    log_fd_init(&f.log, LOG_ERROR, STDERR_FILENO);
    assert_int_equal(address_parse("--gateway", address, &f.address, &err), 0);
    f.o = (struct gateway_child_options){.loop = f.loop,
                                         .log = &f.log.log,
                                         .address = &f.address,
                                         .chosen = true,
                                         .kubeconfig = "none",
                                         .data = "none"};
    return &f;
}

static struct gateway_child *start(struct fixture *f) {
    struct gateway_child *c = NULL;
    struct err err = {0};
    assert_int_equal(gateway_child_start(&f->o, &c, &err), 0);
    return c;
}

static uint16_t port_of(const struct gateway_child *c) {
    uint64_t port = 0;
    struct str url = str_of(gateway_child_url(c));
    assert_true(str_to_u64(str_skip(url, (size_t)str_find_last(url, ':') + 1), &port));
    return (uint16_t)port;
}

static void end_loop(void *ctx) {
    loop_stop(ctx);
}

static void stop(struct fixture *f, struct gateway_child *c) {
    gateway_child_stop(c, end_loop, f->loop);
    loop_run(f->loop);
    gateway_child_free(c);
}

/* One that the user chose is refused to the second, and is free again after the first. */
static void a_chosen_address_is_had_once(void **state) {
    struct fixture *f = fixture("127.0.0.1:0");
    struct gateway_child *first = start(f), *second = NULL;
    struct err err = {0};
    f->address.port = port_of(first);
    assert_int_equal(gateway_child_start(&f->o, &second, &err), ERR_IO);
    assert_null(second);
    assert_true(str_starts(str_of(err.text), STR("--gateway: listen on 127.0.0.1, port ")));
    stop(f, first);
    second = start(f);
    assert_int_equal(port_of(second), f->address.port);
    stop(f, second);
    loop_free(f->loop);
}

/* The usual one goes to the first; the second gets another. */
static void the_usual_address_gives_way(void **state) {
    struct fixture *f = fixture("127.0.0.1:0");
    struct gateway_child *first = start(f);
    f->address.port = port_of(first);
    f->o.chosen = false;
    struct gateway_child *second = start(f);
    assert_int_not_equal(port_of(second), port_of(first));
    stop(f, second);
    stop(f, first);
    loop_free(f->loop);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chosen_address_is_had_once),
        cmocka_unit_test(the_usual_address_gives_way),
    };
    if (argc > 1 && strcmp(argv[1], "gateway") == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves none behind */
        pause();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
