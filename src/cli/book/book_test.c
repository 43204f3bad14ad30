/* Tests of `berth book`, `berth bookings` and `berth availability`: what is asked, what is said, the exit codes. */
#include "base/test.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/kit/bed.h"

#define API "/apis/berth.dev/v1alpha1"
#define IN_X API "/namespaces/x"
#define HEAD "{\"kind\":\"Reservation\",\"apiVersion\":\"berth.dev/v1alpha1\",\"metadata\":{"
#define NAMED                                                                                      \
    "\"name\":\"book-1\",\"namespace\":\"x\",\"generation\":1,\"annotations\":{"                   \
    "\"berth.dev/requested-by\":\"ann\"}}"
#define SPEC                                                                                       \
    "\"spec\":{\"start\":\"2030-11-25T13:00:00Z\",\"end\":\"2030-11-25T17:00:00Z\","               \
    "\"timeZone\":\"Europe/Warsaw\",\"class\":\"standard\",\"lines\":[{\"resource\":"              \
    "\"nvidia.com/mig-2g.35gb\",\"count\":2}],\"purpose\":\"paper\"}"
#define STATUS(phase, more) "\"status\":{\"phase\":\"" phase "\",\"observedGeneration\":1" more "}"

static const char confirmed[] = HEAD NAMED "," SPEC "," STATUS(
    "Confirmed", ",\"plan\":[{\"line\":0,\"node\":\"n1\",\"gpuIndex\":3,\"profile\":\"2g.35gb\","
                 "\"start\":2,\"size\":2},{\"line\":0,\"node\":\"n1\",\"gpuIndex\":4,\"profile\":"
                 "\"2g.35gb\",\"start\":0,\"size\":2}],\"cost\":{\"committed\":\"2.00\"}") "}";

#define REFUSED                                                                                    \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"Operation cannot be fulfilled on "  \
    "reservations.berth.dev \\\"b\\\": no room for 2 x 2g.35gb; instead there is: t\","            \
    "\"reason\":\"Conflict\",\"code\":409}"
#define WOULD_FIT                                                                                  \
    "\"refusals\":[{\"limit\":\"concurrentUnits\",\"scope\":\"user\",\"allowed\":\"1\",\"asked\":" \
    "\"2\",\"text\":\"at most 1 at a time\"}],\"conflicts\":[{\"start\":\"2030-11-25T15:00:00Z\"," \
    "\"end\":\"2030-11-25T16:00:00Z\",\"text\":\"taken\"}],\"alternatives\":[{\"kind\":\"Later\"," \
    "\"start\":\"2030-11-25T16:00:00Z\",\"end\":\"2030-11-25T20:00:00Z\",\"lines\":[{"             \
    "\"resource\":"                                                                                \
    "\"nvidia.com/mig-2g.35gb\",\"count\":2}],\"text\":\"t\"},{\"kind\":\"Queue\",\"text\":\"in "  \
    "the queue, about now\"}]"

static bool out_has(const char *text) {
    return str_contains(buf_view(&bed.out), str_of(text));
}
static bool told_has(const char *text) {
    return str_contains(buf_view(&bed.told), str_of(text));
}
static bool asked(const char *text) {
    return str_contains(buf_view(&bed.seen), str_of(text));
}

#define COUNT_OF(v) (sizeof(v) / sizeof *(v))

static void test_confirmed(void **state) {
    static const struct route routes[] = {
        {"POST " IN_X "/reservations", 201, HEAD NAMED "," SPEC "}"},
        {"GET " IN_X "/reservations/book-1", 200, confirmed},
    };
    bed_start(routes, COUNT_OF(routes));
    assert_int_equal(RUN("book", "--slice", "2x2g.35gb", "--from", "2030-11-25 14:00", "--to",
                         "18:00", "--purpose", "paper", "--flavor", "h200", "--exclusive"),
                     0);
    assert_true(asked("\"metadata\":{\"namespace\":\"x\",\"generateName\":\"book-\"}"));
    assert_true(asked("\"spec\":{\"timeZone\":\"Europe/Warsaw\",\"lines\":[{\"resource\":"
                      "\"nvidia.com/mig-2g.35gb\",\"count\":2,\"flavor\":\"h200\"}],\"purpose\":"
                      "\"paper\",\"exclusive\":true,\"start\":\"2030-11-25T13:00:00Z\",\"end\":"
                      "\"2030-11-25T17:00:00Z\"}"));
    assert_str_eq(buf_view(&bed.out),
                  STR("reservation/book-1 Confirmed\n"
                      "  Mon 25 Nov 2030 14:00-18:00 CET (4h), Europe/Warsaw\n"
                      "  2 x 2g.35gb in project x: paper\n"
                      "  on n1 GPU 3 slice 2, n1 GPU 4 slice 0\n"
                      "  2.00 GPU hours\n"
                      "  to use it: berth submit -n x --queue rsv-book-1 --slice 2g.35gb -- "
                      "COMMAND\n"));
    assert_int_equal(RUN("book", "mine", "--gpu", "2", "--from", "2030-11-25T13:00:00Z", "--for",
                         "4h", "--flavor", "a", "--flavor", "b", "--same-node", "--waitlist",
                         "--group", "lab", "--auto-extend", "2h", "--no-show", "release", "-o",
                         "name"),
                     0);
    assert_true(asked("\"name\":\"mine\"},\"spec\":{\"timeZone\":\"Europe/Warsaw\",\"lines\":[{"
                      "\"resource\":\"nvidia.com/gpu\",\"count\":2,\"anyOf\":[\"a\",\"b\"],"
                      "\"sameNode\":true}],\"waitlist\":true,\"autoExtend\":{\"max\":\"2h\"},"
                      "\"noShow\":{\"action\":\"release\"},\"beneficiary\":{\"kind\":\"Group\","
                      "\"name\":\"lab\"}"));
    assert_str_eq(buf_view(&bed.out), STR("reservation.berth.dev/book-1\n"));
    bed_stop();
}

static void test_time_that_is_not_there(void **state) {
    static const struct route routes[] = {
        {"POST " IN_X "/reservations", 201, HEAD NAMED "," SPEC "}"},
        {"GET " IN_X "/reservations/book-1", 200, confirmed},
    };
    bed_start(routes, COUNT_OF(routes));
    assert_int_equal(RUN("book", "-g", "1", "--from", "2031-03-30 2:30", "--for", "1h"), 0);
    assert_true(told_has("clocks skip that time on that day; Sun 30 Mar 2031 03:30 CEST is meant"));
    assert_true(asked("\"start\":\"2031-03-30T01:30:00Z\",\"end\":\"2031-03-30T02:30:00Z\""));
    assert_int_equal(RUN("book", "-g", "1", "--from", "2030-11-25 9:00", "--for", "1h", "--zone",
                         "Asia/Kathmandu"),
                     0);
    assert_true(asked("\"timeZone\":\"Asia/Kathmandu\""));
    assert_true(asked("\"start\":\"2030-11-25T03:15:00Z\""));
    bed_stop();
}

static void test_refused_at_once(void **state) {
    static const struct route routes[] = {
        {"POST " IN_X "/reservations", 409, REFUSED},
        {"POST " IN_X "/reservationchecks", 201,
         "{\"kind\":\"ReservationCheck\"," SPEC ",\"status\":{\"fits\":false," WOULD_FIT "}}"},
    };
    bed_start(routes, COUNT_OF(routes));
    assert_int_equal(RUN("book", "--slice", "2x2g.35gb", "--from", "2030-11-25 14:00", "--for",
                         "4h", "--purpose", "it's mine", "-n", "x"),
                     1);
    assert_int_equal(bed.out.n, 0);
    assert_str_eq(
        buf_view(&bed.told),
        STR("berth book: no room for 2 x 2g.35gb\n"
            "  limit concurrentUnits (user): at most 1 at a time\n"
            "  taken Mon 25 Nov 2030 16:00-17:00 CET (1h): taken\n"
            "What would fit:\n"
            "  Later: 2 x 2g.35gb, Mon 25 Nov 2030 17:00-21:00 CET (4h)\n"
            "    berth book --slice 2x2g.35gb --from 2030-11-25T17:00 --to 2030-11-25T21:00 "
            "--purpose 'it'\\''s mine' --project x\n"
            "  Queue: in the queue, about now\n"));
    bed_stop();
}

/* Where the planner alone decides: what it rejected is taken away again. */
static void test_rejected_later(void **state) {
    static const struct route routes[] = {
        {"POST " IN_X "/reservations", 201, HEAD NAMED "," SPEC "}"},
        {"GET " IN_X "/reservations/book-1", 200,
         HEAD NAMED "," SPEC "," STATUS("Rejected", ",\"message\":\"too\\u001b[31m late\"") "}"},
        {"GET " API "/availabilities", 200,
         "{\"items\":[{\"resource\":\"nvidia.com/gpu\",\"total\":1},{\"resource\":\"nvidia.com/"
         "gpu\","
         "\"total\":2},{\"resource\":\"nvidia.com/mig-7g.141gb\",\"total\":0},{\"resource\":"
         "\"nvidia.com/mig-3g.71gb\",\"total\":2}]}"},
        {"DELETE " IN_X "/reservations/book-1", 200, "{\"kind\":\"Status\"}"},
    };
    bed_start(routes, COUNT_OF(routes));
    assert_int_equal(RUN("book", "-s", "2g.35gb", "-f", "2030-11-25 14:00", "--for", "4h"), 1);
    assert_true(told_has("reservation/book-1 Rejected: too?[31m late\n"));
    assert_true(
        told_has("There are GPU, 3g.71gb\nOr wait for a place: the same with --waitlist\n"));
    assert_true(asked("DELETE " IN_X "/reservations/book-1 "));
    bed_stop();
}

/* One that begins now: its queue takes a moment. */
static void test_being_made(void **state) {
    static const struct route routes[] = {
        {"POST " IN_X "/reservations", 201, HEAD NAMED "," SPEC "}"},
        {"GET " IN_X "/reservations/book-1", 200,
         HEAD NAMED "," SPEC "," STATUS("Degraded", ",\"reason\":\"NotReadyAtStart\"") "}"},
        {"GET " IN_X "/reservations/book-1", 200, HEAD NAMED "," SPEC "," STATUS("Active", "") "}",
         .after = 2},
    };
    static const struct route lost[] = {
        {"POST " IN_X "/reservations", 201, HEAD NAMED "," SPEC "}"},
        {"GET " IN_X "/reservations/book-1", 200,
         HEAD NAMED "," SPEC "," STATUS("Degraded", ",\"reason\":\"HardwareLost\"") "}"},
        {"GET " IN_X "/reservations/book-1", 200, HEAD NAMED "," SPEC "," STATUS("Active", "") "}",
         .after = 2},
    };
    bed_start(routes, COUNT_OF(routes));
    assert_int_equal(RUN("book", "-s", "2g.35gb", "-f", "2030-11-25 14:00", "--for", "4h"), 0);
    assert_true(out_has("reservation/book-1 Active\n"));
    assert_true(out_has("to use it"));
    bed_stop();
    bed_start(lost, COUNT_OF(lost));
    assert_int_equal(RUN("book", "-s", "2g.35gb", "-f", "2030-11-25 14:00", "--for", "4h"), 0);
    assert_true(out_has("reservation/book-1 Degraded\n"));
    bed_stop();
}

static void test_other_answers(void **state) {
    static const struct route routes[] = {
        {"POST " IN_X "/reservations", 201, HEAD NAMED "," SPEC "}"},
        {"GET " IN_X "/reservations/book-1", 200,
         HEAD NAMED "," SPEC "," STATUS("Waitlisted", ",\"waitlist\":{\"position\":2}") "}"},
    };
    static const struct route approval[] = {
        {"POST " IN_X "/reservations", 201, HEAD NAMED "," SPEC "}"},
        {"GET " IN_X "/reservations/book-1", 200,
         HEAD NAMED "," SPEC
                    "," STATUS("PendingApproval", ",\"deadline\":\"2030-11-25T08:00:00Z\"") "}"},
    };
    static const struct route taken[] = {
        {"POST " IN_X "/reservations", 409,
         "{\"kind\":\"Status\",\"message\":\"exists\",\"reason\":\"AlreadyExists\",\"code\":409}"},
    };
    bed_start(routes, COUNT_OF(routes));
    assert_int_equal(RUN("book", "-s", "2g.35gb", "-f", "2030-11-25 14:00", "--for", "4h", "-w"),
                     0);
    assert_true(out_has("reservation/book-1 Waitlisted\n"));
    assert_true(out_has("waits for a place: number 2 in line\n"));
    assert_false(out_has("to use it"));
    bed_stop();
    bed_start(approval, COUNT_OF(approval));
    assert_int_equal(RUN("book", "-s", "2g.35gb", "-f", "2030-11-25 14:00", "--for", "4h"), 0);
    assert_true(out_has("until somebody approves it, at the latest Mon 25 Nov 2030 09:00 CET\n"));
    bed_stop();
    bed_start(taken, COUNT_OF(taken));
    assert_int_equal(RUN("book", "a", "-s", "2g.35gb", "-f", "2030-11-25 14:00", "--for", "4h"), 1);
    assert_true(told_has("there is a booking \"a\" already in project \"x\""));
    bed_stop();
}

#define SLOT(from, to, free)                                                                       \
    "{\"start\":\"2030-11-25T" from ":00:00Z\",\"end\":\"2030-11-25T" to                           \
    ":00:00Z\",\"free\":" free ",\"total\":24}"
#define SLOTS SLOT("08", "12", "24") "," SLOT("12", "14", "3") "," SLOT("14", "16", "0")
#define BUSY                                                                                       \
    "{\"start\":\"2030-11-25T14:00:00Z\",\"end\":\"2030-11-25T16:00:00Z\",\"count\":24,"           \
    "\"phase\":\"Confirmed\"},{\"start\":\"2030-11-25T15:00:00Z\",\"end\":\"2030-11-25T16:00:"     \
    "00Z\","                                                                                       \
    "\"count\":1,\"phase\":\"Active\",\"namespace\":\"x\",\"name\":\"b\",\"owner\":\"ann\","       \
    "\"purpose\":\"p\\u0007\"}"
#define AVAILABLE(flavor, resource, gib, share, total, slots, busy)                                \
    "{\"metadata\":{\"name\":\"" flavor "\"},\"flavor\":\"" flavor                                 \
    "\",\"resource\":\"nvidia.com/" resource "\",\"memoryGiB\":" gib ",\"gpuShare\":" share        \
    ",\"total\":" total ",\"slots\":[" slots "],\"busy\":[" busy "]}"
#define WHOLE AVAILABLE("h200", "gpu", "141", "1", "8", "", "")
#define THREE AVAILABLE("h200", "mig-3g.71gb", "69.5", "0.5", "16", "", "")
#define ONE AVAILABLE("h200", "mig-1g.18gb", "16", "0.125", "56", "", "")
#define OTHER AVAILABLE("a100", "mig-3g.40gb", "39.5", "0.5", "2", "", "")
#define TWO AVAILABLE("h200", "mig-2g.35gb", "32.5", "0.25", "24", SLOTS, BUSY)
static const char availability[] =
    "{\"kind\":\"AvailabilityList\",\"items\":[" WHOLE "," THREE "," ONE "," OTHER "," TWO "]}";

static void test_by_memory(void **state) {
    static const struct route routes[] = {
        {"GET " API "/availabilities", 200, availability},
        {"POST " IN_X "/reservations", 201, HEAD NAMED "," SPEC "}"},
        {"GET " IN_X "/reservations/book-1", 200, confirmed},
    };
    static const struct {
        const char *amount, *flavor, *resource;
    } cases[] = {{"16Gi", NULL, "mig-1g.18gb"}, {"17Gi", NULL, "mig-2g.35gb"},
                 {"33Gi", NULL, "mig-3g.40gb"}, {"33Gi", "h200", "mig-3g.71gb"},
                 {"40Gi", NULL, "mig-3g.71gb"}, {"75G", NULL, "gpu"},
                 {"35GB", NULL, "mig-2g.35gb"}, {"18 gb", NULL, "mig-1g.18gb"},
                 {"71GB", NULL, "mig-3g.71gb"}, {"141GB", NULL, "gpu"}};
    bed_start(routes, COUNT_OF(routes));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char want[128];
        buf_reset(&bed.seen);
        assert_int_equal(RUN("book", "--from", "2030-11-25 14:00", "--for", "4h", "--count", "3",
                             "--memory", cases[i].amount, cases[i].flavor ? "--flavor" : NULL,
                             cases[i].flavor),
                         0);
        snprintf(want, sizeof want, "\"resource\":\"nvidia.com/%s\",\"count\":3",
                 cases[i].resource);
        assert_true(asked(want));
    }
    assert_int_equal(RUN("book", "--from", "2030-11-25 14:00", "--for", "4h", "--memory", "200Gi"),
                     3);
    assert_true(told_has("nothing has 200.0 GiB: the most is 141.0 GiB"));
    bed_stop();
}

/* What the server will move is said; what lies on the grid is not spoken of. */
static void test_rounding_is_told(void **state) {
    static const struct route routes[] = {
        {"POST " IN_X "/reservations", 201, HEAD NAMED "," SPEC "}"},
        {"GET " IN_X "/reservations/book-1", 200, confirmed},
    };
    bed_start(routes, COUNT_OF(routes));
    RUN("book", "--from", "2030-11-25 14:07", "--for", "1h", "-g", "1");
    assert_true(told_has("steps of 15 minutes"));
    assert_true(told_has("14:00") && told_has("15:15"));
    bed_stop();
    bed_start(routes, COUNT_OF(routes));
    RUN("book", "--from", "2030-11-25 14:15", "--for", "1h", "-g", "1");
    assert_false(told_has("steps of"));
    bed_stop();
}

/* A cluster's API server has no Availability. */
static void test_by_memory_of_nodes(void **state) {
    static const struct route routes[] = {
        {"GET /api/v1/nodes", 200,
         "{\"items\":[{\"metadata\":{\"labels\":{\"nvidia.com/gpu.product\":\"NVIDIA-H200\","
         "\"nvidia.com/gpu.memory\":\"143771\",\"nvidia.com/mig-1g.18gb.memory\":\"16384\"}},"
         "\"status\":{\"capacity\":{\"cpu\":\"8\",\"nvidia.com/gpu\":\"4\",\"nvidia.com/"
         "mig-1g.18gb\":"
         "\"7\",\"nvidia.com/mig-3g.71gb\":\"2\",\"nvidia.com/mig-7g.141gb\":\"0\"}}}]}"},
        {"POST " IN_X "/reservations", 201, HEAD NAMED "," SPEC "}"},
        {"GET " IN_X "/reservations/book-1", 200, confirmed},
    };
    static const char *const cases[][2] = {
        {"16Gi", "mig-1g.18gb"}, {"17Gi", "mig-3g.71gb"}, {"70Gi", "gpu"}};
    bed_start(routes, COUNT_OF(routes));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char want[128];
        buf_reset(&bed.seen);
        assert_int_equal(
            RUN("book", "--from", "2030-11-25 14:00", "--for", "4h", "--memory", cases[i][0]), 0);
        snprintf(want, sizeof want, "\"resource\":\"nvidia.com/%s\",\"count\":1", cases[i][1]);
        assert_true(asked(want));
    }
    assert_int_equal(RUN("availability"), 3);
    assert_true(told_has("this server does not say what is free"));
    bed_stop();
}

static void test_usage(void **state) {
    static const struct {
        const char *words[10];
        const char *told;
    } cases[] = {
        {{"book"}, "as: berth book --slice 2g.35gb --from 14:00 --to 18:00"},
        {{"book", "--from", "14:00", "--for", "1h"}, "--slice 2g.35gb, --gpu N or --memory 40Gi"},
        {{"book", "-g", "1"}, "until when?"},
        {{"book", "-g", "1", "--to", "18:00", "--for", "1h"}, "one of them only"},
        {{"book", "-g", "1", "--for", "1x"}, "--for: expected a length as 30m"},
        {{"book", "-g", "1", "--from", "soon", "--for", "1h"}, "--from: expected a time as 14:00"},
        {{"book", "-g", "1", "--date", "tomorrow", "--for", "1h"}, "--date needs --from"},
        {{"book", "-g", "0", "--for", "1h"}, "--gpu: expected a number from 1"},
        {{"book", "-s", "big", "--for", "1h"}, "--slice: expected a MIG profile"},
        {{"book", "-s", "0x2g.35gb", "--for", "1h"}, "--slice: expected a MIG profile"},
        {{"book", "-m", "40", "--for", "1h"}, "40Gi is meant, perhaps"},
        {{"book", "-m", "40Gi", "-g", "1", "--for", "1h"}, "--memory chooses the slice"},
        {{"book", "-g", "1", "--for", "1h", "--by", "1h"}, "--by does not go with a new booking"},
        {{"book", "-g", "1", "--for", "1h", "--zone", "Mars/Base"}, "--zone: "},
        {{"book", "-g", "1", "--for", "1h", "a", "b"}, "unexpected argument \"b\""},
        {{"book", "extend"}, "extend: expected NAME"},
        {{"book", "cancel", "a", "--slice", "2g.35gb"}, "--slice does not go with cancel"},
        {{"book", "reject", "a"}, "reject: say why, with --reason"},
        {{"book", "feed", "--scope", "resource"}, "--scope resource and --resource"},
        {{"book", "-g", "1", "--for", "1h", "--repeat", "daily"}, "--repeat needs a time to start"},
        {{"availability", "--slice", "big"}, "--slice: expected a MIG profile"},
        {{"availability", "--for", "2000h", "--step", "15m"}, "at most 1000 steps"},
    };
    bed_start(NULL, 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int code = bed_run(cases[i].words);
        if (code != 2 || !told_has(cases[i].told)) {
            print_error("%zu: %d %.*s\n", i, code, STR_ARG(buf_view(&bed.told)));
            fail();
        }
    }
    assert_int_equal(bed.seen.n, 0); /* nothing was asked */
    bed_stop();
}

static void test_check(void **state) {
    static const struct route fits[] = {
        {"POST " IN_X "/reservationchecks", 201,
         "{\"kind\":\"ReservationCheck\",\"apiVersion\":\"berth.dev/v1alpha1\"," SPEC
         ",\"status\":{"
         "\"fits\":true,\"phase\":\"Confirmed\",\"cost\":{\"quoted\":\"2.00\"},\"objects\":[{"
         "\"kind\":\"Reservation\",\"metadata\":{\"name\":\"r\"}}]}}"},
    };
    static const struct route not [] = {
        {"POST " IN_X "/reservationchecks", 201,
         "{\"kind\":\"ReservationCheck\"," SPEC
         ",\"status\":{\"fits\":false,\"message\":\"full\"," WOULD_FIT "}}"},
    };
    bed_start(fits, 1);
    assert_int_equal(RUN("book", "check", "-s", "2x2g.35gb", "-f", "2030-11-25 14:00", "-t", "18"),
                     0);
    assert_str_eq(buf_view(&bed.out), STR("it fits: it would be Confirmed\n"
                                          "  Mon 25 Nov 2030 14:00-18:00 CET (4h), Europe/Warsaw\n"
                                          "  2 x 2g.35gb in project x\n"
                                          "  2.00 GPU hours\n"));
    assert_int_equal(RUN("book", "-s", "2g.35gb", "-f", "2030-11-25 14:00", "-t", "18", "--dry-run",
                         "-o", "yaml"),
                     0);
    assert_str_eq(
        buf_view(&bed.out),
        STR("apiVersion: v1\nkind: List\nitems:\n- kind: Reservation\n  metadata:\n    name: r\n"));
    assert_false(asked("/reservations "));
    bed_stop();
    bed_start(not, 1);
    assert_int_equal(
        RUN("book", "-s", "2g.35gb", "-f", "2030-11-25 14:00", "-t", "18", "--dry-run"), 1);
    assert_true(told_has("it does not fit: full\n  limit concurrentUnits (user)"));
    assert_true(told_has("    berth book --slice 2x2g.35gb --from 2030-11-25T17:00"));
    bed_stop();
}

static void test_extend(void **state) {
    static const struct route routes[] = {
        {"GET " IN_X "/reservations/book-1", 200, confirmed},
        {"PATCH " IN_X "/reservations/book-1", 200, confirmed},
    };
    static const struct route refused[] = {
        {"GET " IN_X "/reservations/book-1", 200, confirmed},
        {"PATCH " IN_X "/reservations/book-1", 409, REFUSED},
        {"POST " IN_X "/reservationchecks", 201,
         "{\"kind\":\"ReservationCheck\"," SPEC ",\"status\":{\"fits\":false,\"alternatives\":[{"
         "\"kind\":\"Fewer\",\"start\":\"2030-11-25T13:00:00Z\",\"end\":\"2030-11-25T17:30:00Z\"}]}"
         "}"},
    };
    bed_start(routes, COUNT_OF(routes));
    /* the table's answer never changes: so the booking was not given what is asked for */
    assert_int_equal(RUN("book", "extend", "book-1", "--by", "1h30m"), 1);
    assert_true(asked("{\"spec\":{\"end\":\"2030-11-25T18:30:00Z\"}}"));
    assert_true(told_has("berth book: not extended: it does not fit\n"));
    assert_int_equal(RUN("book", "extend", "reservation/book-1", "--to", "20:00"), 1);
    assert_true(asked("{\"spec\":{\"end\":\"2030-11-25T19:00:00Z\"}}"));
    assert_int_equal(RUN("book", "extend", "book-1"), 2);
    assert_int_equal(RUN("book", "extend", "nope", "--by", "1h"), 3);
    assert_true(told_has("there is no booking \"nope\" in project \"x\""));
    bed_stop();
    bed_start(refused, COUNT_OF(refused));
    assert_int_equal(RUN("book", "extend", "book-1", "--by", "1h"), 1);
    assert_true(told_has("not extended: no room"));
    assert_true(told_has("2 x 2g.35gb, Mon 25 Nov 2030 14:00-18:30 CET (4h30m)"));
    assert_true(asked("\"name\":\"book-1\""));
    assert_true(asked("\"end\":\"2030-11-25T18:00:00Z\""));
    bed_stop();
}

static void test_other_words(void **state) {
    static const struct route routes[] = {
        {"GET " IN_X "/reservations/book-1", 200, confirmed},
        {"PATCH " IN_X "/reservations/book-1", 200, confirmed},
    };
    static const struct route over[] = {
        {"GET " IN_X "/reservations/book-1", 200,
         HEAD NAMED "," SPEC "," STATUS("Cancelled", "") "}"},
        {"PATCH " IN_X "/reservations/book-1", 200, "{\"metadata\":{\"generation\":9}}"},
    };
    static const struct route forbidden[] = {
        {"GET " IN_X "/reservations/book-1", 200, confirmed},
        {"PATCH " IN_X "/reservations/book-1", 403,
         "{\"kind\":\"Status\",\"message\":\"only admins approve\",\"reason\":\"Forbidden\","
         "\"code\":403}"},
    };
    bed_start(routes, COUNT_OF(routes));
    assert_int_equal(RUN("book", "cancel", "book-1", "--reason", "\"ill\""), 0);
    assert_true(asked("{\"spec\":{\"cancel\":{\"reason\":\"\\\"ill\\\"\"}}}"));
    assert_true(out_has("reservation/book-1 is given back: Confirmed\n"));
    assert_int_equal(RUN("book", "approve", "book-1"), 0);
    assert_true(asked("{\"spec\":{\"approval\":{\"decision\":\"approve\"}}}"));
    assert_int_equal(RUN("book", "reject", "book-1", "--reason", "no"), 0);
    assert_true(asked("{\"spec\":{\"approval\":{\"decision\":\"reject\",\"reason\":\"no\"}}}"));
    assert_int_equal(RUN("book", "claim", "book-1", "-o", "name"), 0);
    assert_true(asked("{\"spec\":{\"claim\":true}}"));
    assert_str_eq(buf_view(&bed.out), STR("reservation.berth.dev/book-1\n"));
    bed_stop();
    bed_start(over,
              COUNT_OF(over)); /* nobody looks at what is over any more: no waiting for that */
    assert_int_equal(RUN("book", "cancel", "book-1"), 0);
    assert_true(out_has("reservation/book-1 is given back: Cancelled\n"));
    bed_stop();
    bed_start(forbidden, COUNT_OF(forbidden));
    assert_int_equal(RUN("book", "approve", "book-1"), 4);
    assert_true(told_has("only admins approve"));
    bed_stop();
}

static void test_series(void **state) {
    static const struct route routes[] = {
        {"POST " IN_X "/reservationseries", 201,
         "{\"metadata\":{\"name\":\"series-1\",\"generation\":1}}"},
        {"GET " IN_X "/reservationseries/series-1", 200,
         "{\"metadata\":{\"name\":\"series-1\",\"generation\":1},\"spec\":{\"template\":{\"lines\":"
         "[{"
         "\"resource\":\"nvidia.com/gpu\",\"count\":1}]}},\"status\":{\"observedGeneration\":1,"
         "\"horizon\":\"2030-12-25T00:00:00Z\",\"occurrences\":[{\"start\":\"2030-11-25T08:00:"
         "00Z\","
         "\"end\":\"2030-11-25T10:00:00Z\",\"phase\":\"Confirmed\"}],\"skipped\":[{\"start\":"
         "\"2030-11-26T08:00:00Z\",\"end\":\"2030-11-26T10:00:00Z\",\"reason\":\"Conflict\","
         "\"message\":\"full\"}]}}"},
    };
    bed_start(routes, COUNT_OF(routes));
    assert_int_equal(RUN("book", "-g", "1", "-f", "2030-11-25 9:00", "--for", "2h", "--repeat",
                         "weekdays", "--except", "2030-12-24", "--except", "2030-12-25",
                         "--on-conflict", "skip"),
                     0);
    assert_true(asked("\"spec\":{\"timeZone\":\"Europe/Warsaw\",\"start\":\"2030-11-25T09:00:00\","
                      "\"duration\":\"120m\",\"rrule\":\"FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR\","
                      "\"conflictPolicy\":\"Skip\",\"exdates\":[\"2030-12-24T09:00:00\","
                      "\"2030-12-25T09:00:00\"],\"template\":{\"timeZone\":\"Europe/Warsaw\","
                      "\"lines\":[{\"resource\":\"nvidia.com/gpu\",\"count\":1}]}}"));
    assert_str_eq(buf_view(&bed.out),
                  STR("reservationseries/series-1: 1 bookings, 1 x GPU, Europe/Warsaw\n"
                      "  Mon 25 Nov 2030 09:00-11:00 CET (2h)  Confirmed\n"
                      "left out:\n"
                      "  Tue 26 Nov 2030 09:00-11:00 CET (2h)  Conflict: full\n"));
    bed_stop();
}

static void test_feed(void **state) {
    static const struct route routes[] = {
        {"POST /apis/authentication.k8s.io/v1/selfsubjectreviews", 201,
         "{\"status\":{\"userInfo\":{\"username\":\"ann\"}}}"},
        {"GET " IN_X "/calendarfeeds", 200,
         "{\"items\":[{\"metadata\":{\"name\":\"own-9\"},\"spec\":{\"scope\":\"own\"},\"status\":{"
         "\"user\":\"bob\",\"path\":\"/calendar/his.ics\"}},{\"metadata\":{\"name\":\"own-1\"},"
         "\"spec\":{\"scope\":\"own\",\"revision\":3},\"status\":{\"user\":\"ann\"}}]}"},
        {"POST " IN_X "/calendarfeeds", 201,
         "{\"metadata\":{\"name\":\"own-1\"},\"spec\":{\"scope\":\"project\"}}"},
        {"PATCH " IN_X "/calendarfeeds/own-1", 200,
         "{\"metadata\":{\"name\":\"own-1\"},\"spec\":{\"scope\":\"own\",\"revision\":4}}"},
        {"GET " IN_X "/calendarfeeds/own-1", 200,
         "{\"metadata\":{\"name\":\"own-1\"},\"spec\":{\"scope\":\"own\"},\"status\":{\"user\":"
         "\"ann\",\"path\":\"/calendar/mine.ics\",\"revision\":4}}"},
        {"GET /calendar/mine.ics", 200, "BEGIN:VCALENDAR"},
    };
    bed_start(routes, COUNT_OF(routes) - 1); /* a cluster, which has no calendars */
    assert_int_equal(RUN("book", "feed"), 0);
    assert_str_eq(buf_view(&bed.out), STR("/calendar/mine.ics\n"));
    assert_true(told_has("Put the address of the dashboard before it"));
    bed_stop();
    bed_start(routes, COUNT_OF(routes));
    assert_int_equal(RUN("book", "feed"), 0);
    assert_true(out_has("/calendar/mine.ics\n"));
    assert_true(str_starts(buf_view(&bed.out), STR("http://127.0.0.1:")));
    assert_false(asked("POST " IN_X "/calendarfeeds"));
    assert_int_equal(RUN("book", "feed", "--new"), 0);
    assert_true(asked("PATCH " IN_X "/calendarfeeds/own-1 {\"spec\":{\"revision\":4}}"));
    assert_int_equal(RUN("book", "feed", "--scope", "project"), 0);
    assert_true(asked("\"generateName\":\"project-\"},\"spec\":{\"scope\":\"project\"}}"));
    bed_stop();
}

static void test_bookings(void **state) {
    static const struct route routes[] = {
        {"GET " IN_X "/reservations", 200,
         "{\"items\":[{\"metadata\":{\"name\":\"later\",\"namespace\":\"x\"},\"spec\":{\"start\":"
         "\"2030-11-26T08:00:00Z\",\"end\":\"2030-11-26T09:00:00Z\",\"lines\":[{\"resource\":"
         "\"nvidia.com/gpu\",\"count\":4}],\"beneficiary\":{\"kind\":\"Group\",\"name\":\"lab\"}},"
         "\"status\":{\"phase\":\"PendingApproval\"}},{\"metadata\":{" NAMED "," SPEC
         ",\"status\":{\"phase\":\"Confirmed\",\"plan\":[{\"node\":\"n1\",\"gpuIndex\":3,"
         "\"profile\":\"2g.35gb\",\"start\":2}]}},{\"metadata\":{\"name\":\"gone\",\"namespace\":"
         "\"x\"},\"spec\":{\"start\":\"2020-11-26T08:00:00Z\",\"end\":\"2020-11-26T09:00:00Z\"},"
         "\"status\":{\"phase\":\"Ended\"}}]}"},
        {"GET " API "/reservations", 200, "{\"items\":[]}"},
        {"GET /api/v1/namespaces/x", 200, "{}"},
    };
    bed_start(routes, COUNT_OF(routes));
    assert_int_equal(RUN("bookings"), 0);
    struct str all = buf_view(&bed.out), head, first, second;
    assert_true(str_cut(all, '\n', &head, &all) && str_cut(all, '\n', &first, &all) &&
                str_cut(all, '\n', &second, &all));
    assert_int_equal(all.n, 0); /* what is over is not shown */
    assert_true(str_starts(head, STR("NAME")));
    assert_true(str_starts(first, STR("book-1   Mon 25 Nov 2030 14:00-18:00 CET (4h)")));
    assert_true(str_contains(first, STR("2 x 2g.35gb   Confirmed         ann   paper")));
    assert_true(str_contains(second, STR("4 x GPU       PendingApproval   lab   -")));
    assert_int_equal(RUN("bookings", "--all", "-o", "name"), 0);
    assert_str_eq(buf_view(&bed.out),
                  STR("reservation.berth.dev/book-1\nreservation.berth.dev/later\n"
                      "reservation.berth.dev/gone\n"));
    assert_int_equal(RUN("bookings", "book-1", "-o", "wide"), 0);
    assert_true(out_has("n1/3:2"));
    assert_int_equal(RUN("bookings", "gone"), 3);
    assert_true(told_has("or it is over (--all)"));
    assert_int_equal(RUN("bookings", "-A"), 0);
    assert_true(told_has("nothing is booked\n"));
    bed_stop();
}

static void test_availability(void **state) {
    static const struct route routes[] = {{"GET " API "/availabilities", 200, availability}};
    bed_start(routes, 1);
    assert_int_equal(RUN("availability", "--slice", "2g.35gb", "--from", "2030-11-25 9:00", "--to",
                         "17:00", "--step", "1h"),
                     0);
    assert_true(asked("from=2030-11-25T08%3A00%3A00Z&to=2030-11-25T16%3A00%3A00Z&step=1h0m0s"));
    assert_str_eq(
        buf_view(&bed.out),
        STR("WHAT      TYPE   MEMORY     FIRST   OF   09:00 15:00\n"
            "2g.35gb   h200   32.5 GiB   24      24   ++++3300\n"
            "free in steps of 1h, Mon 25 Nov 2030 09:00-17:00 CET (8h), Europe/Warsaw\n"));
    assert_int_equal(RUN("availability", "--slice", "2g.35gb", "--from", "2030-11-25 9:00", "--to",
                         "17:00", "-o", "wide"),
                     0);
    assert_true(
        out_has("\ntaken:\n  Mon 25 Nov 2030 15:00-17:00 CET (2h)  24 x 2g.35gb  Confirmed\n"
                "  Mon 25 Nov 2030 16:00-17:00 CET (1h)  1 x 2g.35gb  Active  x/b of ann: "
                "p?\n"));
    assert_int_equal(RUN("availability", "--slice", "7g.141gb"), 3);
    assert_int_equal(RUN("availability", "--flavor", "none", "-o", "json"), 3);
    assert_true(told_has("berth availability: there is nothing like that to book\n"));
    assert_int_equal(RUN("availability", "--gpu", "-o", "json"), 0);
    assert_true(out_has("AvailabilityList") && out_has("\"nvidia.com/gpu\"") && !out_has("mig-"));
    bed_stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_confirmed),
        cmocka_unit_test(test_time_that_is_not_there),
        cmocka_unit_test(test_refused_at_once),
        cmocka_unit_test(test_rejected_later),
        cmocka_unit_test(test_being_made),
        cmocka_unit_test(test_other_answers),
        cmocka_unit_test(test_by_memory),
        cmocka_unit_test(test_rounding_is_told),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_by_memory_of_nodes),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_extend),
        cmocka_unit_test(test_other_words),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_feed),
        cmocka_unit_test(test_bookings),
        cmocka_unit_test(test_availability),
    };
    setenv("TZ", "Europe/Warsaw", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
