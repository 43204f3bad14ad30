/* policy_test: what comes of policies for a few pods of two namespaces. */
#include "node/net/policy.h"

#include "base/test.h"

struct scene {
    struct arena a;
    char out[4096];
};

static void put(void *ctx, struct str key, struct str json) {
    struct scene *s = ctx;
    size_t n = strlen(s->out);

    /* The key is in the record, too: only what follows it. */
    ptrdiff_t at = str_find(str_skip(json, 10), ',');
    struct str rest = str_skip(json, 10 + (size_t)at);
    at = str_find(str_skip(rest, 1), ',');
    bool wall = str_starts(key, STR("wall/"));
    snprintf(s->out + n, sizeof(s->out) - n, "%.*s%.*s\n", wall ? 6 : (int)key.n, key.p,
             STR_ARG(wall ? str_skip(rest, 1 + (size_t)at) : STR("")));
}

static void look(const char *policies, const char *want) {
    static const struct str_pair web = {{"app", 3}, {"web", 3}}, db = {{"app", 3}, {"db", 2}},
                                 blue = {{"team", 4}, {"blue", 4}};
    const struct str_map l_web = {(struct str_pair *)(uintptr_t)&web, 1},
                         l_db = {(struct str_pair *)(uintptr_t)&db, 1},
                         l_blue = {(struct str_pair *)(uintptr_t)&blue, 1}, none = {0};
    const struct policy_pod pods[] = {{{"a", 1}, {"10.42.0.2", 9}, &l_web},
                                      {{"a", 1}, {"10.42.0.3", 9}, &l_web},
                                      {{"a", 1}, {"10.42.0.4", 9}, &l_db},
                                      {{"b", 1}, {"10.42.0.5", 9}, &l_web}};
    const struct policy_space spaces[] = {{{"a", 1}, &none}, {{"b", 1}, &l_blue}};
    struct policy_text v[4];
    struct scene s = {.out = ""};
    yyjson_doc *d;
    size_t n = 0;

    arena_init(&s.a, 1 << 20);
    assert_int_equal(json_parse(&s.a, str_of(policies), &d, NULL), 0);
    yyjson_arr_iter it = yyjson_arr_iter_with(yyjson_doc_get_root(d));
    for (yyjson_val *e; (e = yyjson_arr_iter_next(&it));) {
        v[n++] = (struct policy_text){STR("a"), json_str_at(e, "name"), e};
    }
    const struct policy_in in = {.pods = pods,
                                 .n_pods = 4,
                                 .spaces = spaces,
                                 .n_spaces = 2,
                                 .policies = v,
                                 .n_policies = n,
                                 .arena = &s.a,
                                 .put = put,
                                 .ctx = &s};
    assert_int_equal(policy_records(&in), 0);
    assert_string_equal(s.out, want);
    arena_release(&s.a);
}

static void without_policies_nothing_is_told(void **state) {
    look("[]", "");
}

static void pods_of_the_same_policies_share_a_wall(void **state) {
    look("[{\"name\":\"p\",\"podSelector\":{\"matchLabels\":{\"app\":\"web\"}},\"policyTypes\":"
         "[\"Ingress\"]}]",
         "wall/i,\"rules\":[]}\npod/10.42.0.2\npod/10.42.0.3\n");
}

static void peers_are_found_by_labels(void **state) {
    look("[{\"name\":\"p\",\"podSelector\":{\"matchLabels\":{\"app\":\"db\"}},\"policyTypes\":"
         "[\"Ingress\"],\"ingress\":[{\"from\":[{\"podSelector\":{}},{\"namespaceSelector\":{"
         "\"matchLabels\":{\"team\":\"blue\"}},\"podSelector\":{\"matchLabels\":{\"app\":\"web\"}}}"
         "],"
         "\"ports\":[{\"protocol\":\"TCP\",\"port\":80},{\"protocol\":\"UDP\",\"port\":1,"
         "\"endPort\":9}]}]}]",
         "wall/i,\"rules\":[{\"cidr\":[\"10.42.0.2\",\"10.42.0.3\",\"10.42.0.4\"],\"ports\":["
         "\"tcp/80-80\",\"udp/1-9\"]},{\"cidr\":[\"10.42.0.5\"],\"ports\":[\"tcp/80-80\","
         "\"udp/1-9\"]}]}\npod/10.42.0.4\n");
}

static void networks_and_everybody(void **state) {
    look("[{\"name\":\"p\",\"podSelector\":{\"matchLabels\":{\"app\":\"db\"}},\"policyTypes\":"
         "[\"Egress\"],\"egress\":[{\"to\":[{\"ipBlock\":{\"cidr\":\"10.0.0.0/8\",\"except\":["
         "\"10.1.0.0/16\"]}}]},{\"ports\":[{\"protocol\":\"TCP\"}]}]}]",
         "wall/o,\"rules\":[{\"cidr\":[\"10.0.0.0/8\"],\"not\":[\"10.1.0.0/16\"]},{\"all\":true,"
         "\"ports\":[\"tcp/*\"]}]}\npod/10.42.0.4\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_policies_nothing_is_told),
        cmocka_unit_test(pods_of_the_same_policies_share_a_wall),
        cmocka_unit_test(peers_are_found_by_labels),
        cmocka_unit_test(networks_and_everybody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
