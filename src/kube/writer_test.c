/*
 * Tests of the writer against a scripted server: order, bounds, coalescing, the fence, the mirror that reads our
 * writes, and answers that never came.
 */
#include "kube/writer.h"

#include "base/mem.h"
#include "kube/fake_server.h"
#include "kube/limiter.h"
#include "kube/reflector.h"
#include "mirror/fake_kind.h"

#define ROW(variable, g, k, p)                                                                     \
    static const struct kind variable = {.group = g,                                               \
                                         .kind = k,                                                \
                                         .plural = p,                                              \
                                         .singular = p,                                            \
                                         .flags = KIND_NAMESPACED,                                 \
                                         .versions = fake_versions,                                \
                                         .n_versions = 1}
ROW(workload, "kueue.x-k8s.io", "Workload", "workloads");
ROW(cluster_queue, "kueue.x-k8s.io", "ClusterQueue", "clusterqueues");
ROW(event, "", "Event", "events");

struct bed {
    struct fake_server f;
    struct mirror *m;
    struct writer *w;
    int told, codes[16];
    size_t stop_at;
    struct buf order;
    struct err err;
};
static struct bed b;

static void on_write(void *ctx, const struct write_result *r) {
    b.codes[b.told++] = r->code;
    b.err = r->err;
    buf_f(&b.order, "%s ", (const char *)ctx);
    if ((size_t)b.told == b.stop_at) {
        loop_stop(b.f.loop);
    }
}

static int limit;

static void count_write(void *ctx, const struct write_result *r) {
    assert_int_equal(r->code, 0);
    if (++*(int *)ctx == limit) {
        loop_stop(b.f.loop);
    }
}

static ptrdiff_t str_find_text(struct str in, struct str what) {
    const char *at = in.n ? memmem(in.p, in.n, what.p, what.n) : NULL;
    return at ? at - in.p : -1;
}

static void start(const struct fake_answer *script, size_t n, struct kube_writer_options o) {
    struct err err;
    b = (struct bed){0};
    fake_start(&b.f, script, n);
    buf_init(&b.order, 0);
    b.m = mirror_new(&(struct mirror_options){.clock = loop_clock(b.f.loop)});
    o.mirror = b.m;
    b.w = kube_writer_new(b.f.client, &o, &err);
    assert_non_null(b.w);
}

static void stop(void) {
    kube_writer_free(b.w);
    fake_stop(&b.f);
    mirror_free(b.m);
    buf_release(&b.order);
}

static void patch(const struct kind *k, const char *name, const char *sub, const char *body,
                  const char *tag) {
    writer_patch(b.w, "me", k, STR("n"), str_of(name), sub, PATCH_MERGE, str_of(body), on_write,
                 (void *)(uintptr_t)tag);
}

static void run(size_t until) {
    b.stop_at = until;
    loop_run(b.f.loop);
}

#define OK                                                                                         \
    { .status = 200, .body = "{\"kind\":\"Status\"}" }

static void the_urgent_goes_first(void **state) {
    static const struct fake_answer script[] = {OK, OK, OK, OK, OK};
    start(script, 5, (struct kube_writer_options){.in_flight = 1});
    writer_create(b.w, "me", &event, STR("n"), STR("{}"), on_write, (void *)(uintptr_t) "event");
    patch(&cluster_queue, "q", "status", "{\"a\":1}", "old");
    patch(&fake_map, "x", "", "{}", "spec");
    patch(&workload, "w", "", "{}", "w-spec");
    patch(&workload, "w", "status", "{}", "w-status"); /* hurries what is before it */
    patch(&cluster_queue, "q", "status", "{\"a\":2}", "new");
    run(6);
    assert_str_eq(buf_view(&b.order), STR("w-spec w-status spec old new event "));
    assert_str_eq(
        buf_view(&b.f.seen),
        STR("PATCH /apis/kueue.x-k8s.io/v1/namespaces/n/workloads/w?fieldManager=me {}|"
            "PATCH /apis/kueue.x-k8s.io/v1/namespaces/n/workloads/w/status?fieldManager=me "
            "{}|PATCH /api/v1/namespaces/n/configmaps/x?fieldManager=me {}|"
            "PATCH /apis/kueue.x-k8s.io/v1/namespaces/n/clusterqueues/q/status?"
            "fieldManager=me {\"a\":2}|"
            "POST /api/v1/namespaces/n/events?fieldManager=me {}|"));
    struct kube_writer_stats s;
    kube_writer_stats(b.w, &s);
    assert_int_equal(s.coalesced, 1);
    assert_int_equal(s.sent, 5);
    assert_int_equal(s.waiting + s.in_flight, 0);
    stop();
}

static void only_so_many(void **state) {
    start(NULL, 0, (struct kube_writer_options){.in_flight = 2, .waiting = 3});
    b.f.stop_at = 2;
    assert_true(writer_room(b.w));
    patch(&fake_map, "a", "", "{}", "a"); /* no answers come */
    assert_false(writer_room(b.w));       /* one waits that somebody waits for */
    patch(&fake_map, "b", "", "{}", "b");
    patch(&fake_map, "b", "", "{}", "b2");
    patch(&fake_map, "c", "", "{}", "c");
    assert_int_equal(b.told, 0); /* never inside the call */
    loop_run(b.f.loop);
    struct kube_writer_stats s;
    kube_writer_stats(b.w, &s);
    assert_int_equal(s.in_flight, 2);
    assert_int_equal(s.waiting, 1); /* b2, behind b */
    assert_false(writer_room(b.w)); /* all places are taken */
    assert_int_equal(b.told, 1);
    assert_int_equal(b.codes[0], ERR_TOO_MANY);
    assert_non_null(strstr(b.err.text, "3 writes"));
    stop();
}

static bool open_fence;

static bool may_write(void *ctx) {
    return open_fence;
}

static void the_fence(void **state) {
    static const struct fake_answer script[] = {OK};
    start(script, 1, (struct kube_writer_options){.fence = may_write});
    open_fence = false;
    patch(&fake_map, "a", "", "{}", "a");
    run(1);
    assert_int_equal(b.codes[0], ERR_UNAVAILABLE);
    assert_int_equal(b.f.seen.n, 0);
    open_fence = true;
    patch(&fake_map, "a", "", "{}", "a");
    run(2);
    assert_int_equal(b.codes[1], 0);
    stop();
}

static void it_may_have_happened(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200, .stream = true, .open = true, .body = "{"}};
    start(script, 1, (struct kube_writer_options){0});
    b.f.stop_at = 1;
    patch(&fake_map, "a", "", "{}", "a");
    loop_run(b.f.loop);
    http_server_free(b.f.http); /* in the middle of its answer */
    b.f.http = NULL;
    run(1);
    assert_int_equal(b.codes[0], ERR_TIMEOUT);
    assert_non_null(strstr(b.err.text, "it may have happened"));
    patch(&fake_map, "a", "", "{}", "a");
    run(2);
    assert_int_equal(b.codes[1], ERR_UNAVAILABLE); /* nobody listens: it did not */
    stop();
}

#define OBJECT(name, rv, more)                                                                     \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                 \
    "\",\"namespace\":\"n\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" rv "\"" more "}}"
#define ADDED(name, rv, more) "{\"type\":\"ADDED\",\"object\":" OBJECT(name, rv, more) "}\n"
#define BOOKMARK                                                                                   \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{\"resourceVersion\":" \
    "\"5\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

static void on_synced(void *ctx) {
    loop_stop(b.f.loop);
}

static uint64_t rv_of(const char *name) {
    const struct object *o = mirror_get(b.m, &fake_map, STR("n"), str_of(name));
    return o ? o->rv : 0;
}

/* Sends, and looks at the mirror as the one who is told does. */
static uint64_t read_own(const char *name) {
    patch(&fake_map, name, "", "{}", name);
    run((size_t)b.told + 1);
    return rv_of(name);
}

/* A conditional write without an answer is sent until there is one, and nobody is told before. */
static void doubt_is_settled(void **state) {
    static const char status[] = "{\"kind\":\"Status\",\"code\":504,\"message\":\"late\"}";
    static const char conflict[] =
        "{\"kind\":\"Status\",\"code\":409,\"reason\":\"Conflict\",\"message\":\"modified\"}";
    static const struct fake_answer script[] = {
        {.status = 200, .stream = true, .open = true, .body = ADDED("a", "3", "") BOOKMARK},
        {.status = 504, .body = status},   /* it happened, or not */
        {.status = 409, .body = conflict}, /* it did */
        {.status = 504, .body = status},   /* what is it now? */
        {.status = 200, .body = OBJECT("a", "7", "")},
        {.status = 504, .body = status},
        {.status = 200, .body = OBJECT("a", "9", "")}, /* it did not, and does now */
        {.status = 409, .body = conflict},             /* to us alone the first answer */
        {.status = 504, .body = status},
        {.status = 200, .body = OBJECT("a", "11", "")},
    };
    static const char body[] = "{\"metadata\":{\"resourceVersion\":\"3\"},\"data\":{}}";
    struct err err;
    start(script, 10, (struct kube_writer_options){0});
    struct reflector_options o = {.kind = &fake_map, .synced = on_synced};
    struct reflector *r = reflector_start(b.f.client, b.m, &o, &err);
    loop_run(b.f.loop);
    patch(&fake_map, "a", "status", body, "a");
    run(1);
    assert_int_equal(b.codes[0], ERR_CONFLICT);
    assert_int_equal(rv_of("a"), 7); /* known before anybody is told */
    patch(&fake_map, "a", "status", body, "a");
    run(2);
    assert_int_equal(b.codes[1], 0);
    assert_int_equal(rv_of("a"), 9);
    patch(&fake_map, "a", "status", body, "a");
    run(3);
    assert_int_equal(b.codes[2], ERR_CONFLICT);
    assert_int_equal(rv_of("a"), 11);
    assert_true(str_contains(buf_view(&b.f.seen), STR("|GET /api/v1/namespaces/n/configmaps/a |")));
    reflector_free(r);
    stop();
}

static void what_was_written_is_read(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200,
         .stream = true,
         .open = true,
         .body = ADDED("a", "3", "") ADDED("b", "4", ",\"managedFields\":[]") BOOKMARK},
        {.status = 200, .body = OBJECT("a", "9", ",\"managedFields\":[{}]")},
        {.status = 200, .body = OBJECT("a", "5", "")}, /* the watch is past that */
        {.status = 200, .body = OBJECT("new", "10", ",\"labels\":{\"x\":\"z\"}")},
        {.status = 200, .body = "{\"kind\":\"Status\",\"details\":{\"uid\":\"u-b\"}}"},
        {.status = 200,
         .body = OBJECT("a", "12",
                        ",\"deletionTimestamp\":\"2020-01-01T00:00:00Z\","
                        "\"finalizers\":[\"f\"]")},
        {.status = 200,
         .body = OBJECT("a", "13", ",\"deletionTimestamp\":\"2020-01-01T00:00:00Z\"")},
    };
    struct err err;
    start(script, 7, (struct kube_writer_options){.trim = kube_trim_managed});
    struct reflector_options o = {.kind = &fake_map,
                                  .label_selector = STR("x!=z"),
                                  .trim = kube_trim_managed,
                                  .synced = on_synced};
    struct reflector *r = reflector_start(b.f.client, b.m, &o, &err);
    loop_run(b.f.loop);
    assert_int_equal(rv_of("b"), 4);
    assert_int_equal(read_own("a"), 9);
    assert_false(
        str_contains(mirror_get(b.m, &fake_map, STR("n"), STR("a"))->json, STR("managedFields")));
    assert_int_equal(read_own("a"), 9);
    assert_int_equal(read_own("new"),
                     0); /* not of the selection: nobody would tell that it is gone */
    writer_remove(b.w, "me", &fake_map, STR("n"), STR("b"), NULL, on_write, NULL);
    run((size_t)b.told + 1);
    assert_int_equal(rv_of("b"), 0);
    writer_remove(b.w, "me", &fake_map, STR("n"), STR("a"), NULL, on_write, NULL);
    run((size_t)b.told + 1);
    assert_int_equal(rv_of("a"), 12);   /* a finalizer holds it */
    assert_int_equal(read_own("a"), 0); /* and let it go */
    reflector_free(r);
    stop();
}

static int faults; /* answers for which there will be no memory */

static void trim_and_fail(const struct kind *k, yyjson_mut_val *obj) {
    if (yyjson_mut_obj_get(obj, "data") && faults > 0) {
        faults--;
        mem_fault(1, 0);
    }
}

/* Nobody is told of a write before the mirror shows it, not even where there was no memory for the answer. */
static void no_memory_for_the_answer(void **state) {
#define WRITTEN(name, rv)                                                                          \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                 \
    "\",\"namespace\":\"n\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" rv "\"},\"data\":{}}"
    static const struct fake_answer script[] = {
        {.status = 200, .stream = true, .open = true, .body = ADDED("a", "3", "") BOOKMARK},
        {.status = 200, .body = WRITTEN("a", "9")},
        {.status = 200, .body = WRITTEN("a", "9")},
        {.status = 200, .body = WRITTEN("a", "9")},
        {.status = 201, .body = WRITTEN("b", "12")},
        {.status = 200, .body = WRITTEN("b", "12")},
        {.status = 201, .body = WRITTEN("c-x7", "13")},
        {.status = 200, .body = WRITTEN("c-x7", "13")},
    };
    struct err err;
    start(script, 8, (struct kube_writer_options){.trim = trim_and_fail});
    struct reflector_options o = {.kind = &fake_map, .synced = on_synced};
    struct reflector *r = reflector_start(b.f.client, b.m, &o, &err);
    loop_run(b.f.loop);
    faults = 2;
    patch(&fake_map, "a", "", "{\"data\":{}}", "a");
    run(1);
    assert_int_equal(b.codes[0], 0);
    assert_int_equal(rv_of("a"), 9);
    faults = 1;
    writer_create(b.w, "me", &fake_map, STR("n"), STR("{\"metadata\":{\"name\":\"b\"}}"), on_write,
                  (void *)(uintptr_t) "b");
    run(2);
    assert_int_equal(b.codes[1], 0);
    assert_int_equal(rv_of("b"), 12);
    assert_true(str_contains(buf_view(&b.f.seen), STR("|GET /api/v1/namespaces/n/configmaps/b |")));
    faults = 1; /* the server chooses the name */
    writer_create(b.w, "me", &fake_map, STR("n"), STR("{\"metadata\":{\"generateName\":\"c-\"}}"),
                  on_write, (void *)(uintptr_t) "c");
    run(3);
    assert_int_equal(b.codes[2], 0);
    assert_int_equal(rv_of("c-x7"), 13);
    mem_fault(0, 0);
    reflector_free(r);
    stop();
}

static void test_limiter(void **state) {
    struct limiter l;
    limiter_init(&l, 0, 0, 5);
    assert_int_equal(limiter_take(&l, 5), 0);
    limiter_init(&l, 10, 2, 0);
    assert_int_equal(limiter_take(&l, 0), 0);
    assert_int_equal(limiter_take(&l, 0), 0);
    int64_t wait = limiter_take(&l, 0);
    assert_true(wait >= 100 * NS_PER_MS && wait <= 100 * NS_PER_MS + 2);
    assert_int_equal(limiter_take(&l, wait), 0);
    assert_true(limiter_take(&l, wait) > 0);
    assert_int_equal(limiter_take(&l, 100 * NS_PER_SEC), 0); /* and no more than the burst */
    assert_int_equal(limiter_take(&l, 100 * NS_PER_SEC), 0);
    assert_true(limiter_take(&l, 100 * NS_PER_SEC) > 0);
}

static void so_many_a_second(void **state) {
    static const struct fake_answer script[] = {OK, OK, OK};
    start(script, 3, (struct kube_writer_options){.qps = 50});
    patch(&fake_map, "a", "", "{}", "a");
    patch(&fake_map, "b", "", "{}", "b");
    patch(&fake_map, "c", "", "{}", "c");
    run(3);
    assert_int_equal(b.told, 3);
    stop();
}

/* Names that no path can hold, and what waits when the writer goes. */
static void what_is_not_sent(void **state) {
    static const struct fake_answer script[] = {OK};
    char name[4200], many[16];
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    start(script, 1, (struct kube_writer_options){.in_flight = 1});
    patch(&fake_map, name, "", "{}", "long");
    patch(&fake_map, "a", "", "{}", "a");
    run(1);
    assert_int_equal(b.codes[0], ERR_TOO_LARGE);
    assert_string_equal(b.err.text, "the name is too long");
    run(2);
    assert_int_equal(b.codes[1], 0);
    for (int i = 0; i < 3000; i++) {
        snprintf(many, sizeof(many), "x%d", i % 2000);
        patch(&fake_map, many, "", "{}", "never");
    }
    writer_create(b.w, "me", &event, STR("n"), STR("{}"), on_write, NULL);
    b.f.stop_at = 2;
    loop_run(b.f.loop);
    struct kube_writer_stats s;
    kube_writer_stats(b.w, &s);
    assert_int_equal(s.in_flight, 1);
    assert_int_equal(s.waiting, 3000);
    assert_int_equal(b.told, 2);
    stop();
}

/* As many objects as there are in a burst, several writes each: all are told, in their object's order. */
static void a_burst(void **state) {
    static struct fake_answer script[2500];
    char many[16];
    start(script, 0, (struct kube_writer_options){0});
    for (size_t i = 0; i < 2500; i++) {
        script[i] = (struct fake_answer)OK;
    }
    b.f.n = 2500;
    int told = 0;
    for (int i = 0; i < 2500; i++) {
        snprintf(many, sizeof(many), "x%d", i / 2);
        writer_patch(b.w, "me", &fake_map, STR("n"), str_of(many), "", PATCH_MERGE,
                     i % 2 ? STR("{\"b\":1}") : STR("{\"a\":1}"), count_write, &told);
    }
    b.stop_at = 0;
    b.f.stop_at = 0;
    limit = 2500;
    loop_run(b.f.loop);
    struct kube_writer_stats s;
    kube_writer_stats(b.w, &s);
    assert_int_equal(s.waiting + s.in_flight, 0);
    for (int i = 0; i < 1250; i += 7) {
        char want[200];
        snprintf(want, sizeof(want), "configmaps/x%d?fieldManager=me {\"a\":1}|", i);
        ptrdiff_t first = str_find_text(buf_view(&b.f.seen), str_of(want));
        snprintf(want, sizeof(want), "configmaps/x%d?fieldManager=me {\"b\":1}|", i);
        ptrdiff_t second = str_find_text(buf_view(&b.f.seen), str_of(want));
        assert_true(first >= 0 && second > first);
    }
    stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_urgent_goes_first),
        cmocka_unit_test(only_so_many),
        cmocka_unit_test(the_fence),
        cmocka_unit_test(it_may_have_happened),
        cmocka_unit_test(doubt_is_settled),
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(no_memory_for_the_answer),
        cmocka_unit_test(test_limiter),
        cmocka_unit_test(so_many_a_second),
        cmocka_unit_test(what_is_not_sent),
        cmocka_unit_test(a_burst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
