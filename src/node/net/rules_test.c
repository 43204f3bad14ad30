/* rules_test: what nft is told, by difference. */
#include "node/net/rules.h"

#include "base/test.h"
#include "wire/json/json.h"

struct scene {
    struct net_model m;
    struct net_rules r;
    struct buf out;
    struct arena a;
};

static void on_service(void *ctx, const struct model_service *was,
                       const struct model_service *now) {
    rules_service(&((struct scene *)ctx)->r, was, now);
}
static void on_wall(void *ctx, const struct model_wall *was, const struct model_wall *now) {
    rules_wall(&((struct scene *)ctx)->r, was, now);
}
static void on_pod(void *ctx, const struct model_pod *was, const struct model_pod *now) {
    rules_walls_of_pod(&((struct scene *)ctx)->r, was, now);
}

static void begin(struct scene *s) {
    *s = (struct scene){
        .m = {.service = on_service, .wall = on_wall, .pod = on_pod, .ctx = s},
        .r = {.pods = 0x0a2a0000, .pods_bits = 16, .services = 0x0a2b0000, .services_bits = 16}};
    buf_init(&s->out, 0);
    arena_init(&s->a, 64 << 20);
}

static void end(struct scene *s) {
    model_release(&s->m);
    rules_release(&s->r);
    buf_release(&s->out);
    arena_release(&s->a);
}

static int put(struct scene *s, const char *json) {
    yyjson_doc *d;

    assert_int_equal(json_parse(&s->a, str_of(json), &d, NULL), 0);
    return model_put(&s->m, yyjson_doc_get_root(d), NULL);
}

static const char *told(struct scene *s) {
    buf_reset(&s->out);
    assert_int_equal(rules_take(&s->r, &s->out), 0);
    return buf_cstr(&s->out);
}

#define SVC(to_)                                                                                   \
    "{\"key\":\"svc/a/"                                                                            \
    "web\",\"ip\":\"10.43.0.5\",\"ports\":[{\"protocol\":\"TCP\",\"port\":80,\"to\":[" to_ "]}]}"

static void a_service_is_a_chain_and_an_element(void **state) {
    struct scene s;

    begin(&s);
    assert_int_equal(put(&s, SVC("\"10.42.0.2:8000\"")), 0);
    assert_string_equal(told(&s),
                        "add chain ip berth s1tcp80\n"
                        "add chain ip berth s1tcp80\nflush chain ip berth s1tcp80\n"
                        "add rule ip berth s1tcp80 meta l4proto tcp dnat ip to 10.42.0.2:8000\n"
                        "add element ip berth services { 10.43.0.5 . tcp . 80 : goto s1tcp80 }\n");
    assert_string_equal(told(&s), "");
    assert_int_equal(put(&s, SVC("\"10.42.0.2:8000\"")), 0);
    assert_string_equal(told(&s), ""); /* told again, and the same */
    end(&s);
}

static void endpoints_change_one_chain_alone(void **state) {
    struct scene s;

    begin(&s);
    put(&s, SVC("\"10.42.0.2:8000\""));
    told(&s);
    put(&s, SVC("\"10.42.0.2:8000\",\"10.42.0.3:8001\""));
    assert_string_equal(
        told(&s), "add chain ip berth s1tcp80\n"
                  "add chain ip berth s1tcp80\nflush chain ip berth s1tcp80\n"
                  "add rule ip berth s1tcp80 meta l4proto tcp dnat ip to numgen random mod 2 map "
                  "{ 0 : 10.42.0.2 . 8000, 1 : 10.42.0.3 . 8001 }\n");
    end(&s);
}

static void without_endpoints_nothing_stands(void **state) {
    struct scene s;

    begin(&s);
    put(&s, SVC("\"10.42.0.2:8000\""));
    told(&s);
    put(&s, SVC(""));
    assert_string_equal(told(&s), "delete element ip berth services { 10.43.0.5 . tcp . 80 }\n"
                                  "flush chain ip berth s1tcp80\ndelete chain ip berth s1tcp80\n");
    put(&s, SVC("\"10.42.0.2:8000\""));
    put(&s, SVC(""));
    assert_string_equal(told(&s), ""); /* came and went between two looks */
    end(&s);
}

static void what_is_not_told_again_goes(void **state) {
    struct scene s;

    begin(&s);
    put(&s, SVC("\"10.42.0.2:8000\""));
    put(&s, "{\"key\":\"wall/i1\",\"rules\":[]}");
    put(&s, "{\"key\":\"pod/10.42.0.2\",\"in\":\"i1\"}");
    told(&s);
    model_begin(&s.m);
    put(&s, "{\"key\":\"wall/i1\",\"rules\":[]}");
    model_end(&s.m);
    assert_string_equal(told(&s), "delete element ip berth services { 10.43.0.5 . tcp . 80 }\n"
                                  "delete element ip berth receivers { 10.42.0.2 }\n"
                                  "flush chain ip berth s1tcp80\ndelete chain ip berth s1tcp80\n");
    end(&s);
}

static void a_wall_returns_what_may_pass(void **state) {
    struct scene s;

    begin(&s);
    assert_int_equal(
        put(&s, "{\"key\":\"wall/o7\",\"rules\":[{\"cidr\":[\"10.42.0.3\"],\"ports\":[\"tcp/"
                "80\",\"udp/*\"]},"
                "{\"cidr\":[\"10.0.0.0/8\"],\"not\":[\"10.1.0.0/16\"]},{\"cidr\":[]}]}"),
        0);
    const char *t = told(&s);
    assert_non_null(strstr(t, "wo7 ip daddr { 10.42.0.3 } tcp dport 80 return\n"));
    assert_non_null(strstr(t, "wo7 ip daddr { 10.42.0.3 } meta l4proto udp return\n"));
    assert_non_null(strstr(t, "wo7 ip daddr { 10.0.0.0/8 } ip daddr != { 10.1.0.0/16 } return\n"
                              "add rule ip berth wo7 goto refuse\n"));
    end(&s);
}

static void bad_records_change_nothing(void **state) {
    static const char *const bad[] = {
        SVC("\"10.42.0.2:0\""),
        SVC("\"10.42.0.256:1\""),
        SVC("\"10.42.0.2:8000 } ; flush ruleset\""),
        "{\"key\":\"svc/a\",\"ip\":\"10.43.0.5\"}",
        "{\"key\":\"wall/x1\",\"rules\":[]}",
        "{\"key\":\"wall/i1 }\",\"rules\":[]}",
        "{\"key\":\"wall/i1\",\"rules\":[{\"cidr\":[\"10.0.0.0/33\"]}]}",
        "{\"key\":\"wall/i1\",\"rules\":[{\"ports\":[\"tcp/90-80\"]}]}",
        "{\"key\":\"pod/10.42.0\",\"in\":\"i1\"}",
        "{\"key\":\"pod/10.42.0.2\",\"in\":\"i1;\"}",
        "{}",
    };
    struct scene s;

    begin(&s);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(put(&s, bad[i]), ERR_INVALID);
        assert_string_equal(told(&s), "");
    }
    end(&s);
}

static void who_was_sent_somewhere_goes_there_again(void **state) {
    struct scene s;

    begin(&s);
    put(&s, "{\"key\":\"svc/a/web\",\"ip\":\"10.43.0.5\",\"affinity\":60,\"ports\":[{\"port\":80,"
            "\"to\":[\"10.42.0.2:8000\",\"10.42.0.3:8000\"]}]}");
    const char *t = told(&s);
    assert_non_null(strstr(t, "add set ip berth f1tcp80_0a2a0002_8000_60 { type ipv4_addr; size "
                              "65535; flags dynamic,timeout; timeout 60s; }\n"));
    assert_non_null(strstr(t, "add rule ip berth s1tcp80 ip saddr @f1tcp80_0a2a0003_8000_60 goto "
                              "e1tcp80_0a2a0003_8000\n"));
    assert_non_null(strstr(t, "numgen random mod 2 vmap { 0 : goto e1tcp80_0a2a0002_8000, 1 : "));
    end(&s);
}

static void the_api_is_reached_through_the_senders_walls(void **state) {
    struct scene s;

    begin(&s);
    rules_whole(&s.r, &s.out);
    const char *t = buf_cstr(&s.out),
               *open = strstr(t, "ip saddr 10.42.0.0/16 ip daddr 10.43.0.1/32 "
                                 "tcp dport 443 goto to_api\n");
    assert_non_null(open);
    assert_non_null(strstr(t, "chain to_api {\nip saddr vmap @senders\naccept\n}\n"));
    assert_true(open <
                strstr(open, "goto to_service")); /* before what refuses all other Services */
    assert_null(strchr(t, '%'));
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_is_a_chain_and_an_element),
        cmocka_unit_test(endpoints_change_one_chain_alone),
        cmocka_unit_test(without_endpoints_nothing_stands),
        cmocka_unit_test(what_is_not_told_again_goes),
        cmocka_unit_test(a_wall_returns_what_may_pass),
        cmocka_unit_test(bad_records_change_nothing),
        cmocka_unit_test(who_was_sent_somewhere_goes_there_again),
        cmocka_unit_test(the_api_is_reached_through_the_senders_walls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
