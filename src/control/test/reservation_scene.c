/* reservation_scene: see reservation_scene.h. */
#include "control/test/reservation_scene.h"
#include "control/kit/controller.h"

#include "api/h200_fixture.h"
#include "base/zoneinfo.h"
#include "wire/text/time.h"

static struct gpu_profile profiles[] = {H200_1G_18GB, H200_2G_35GB, H200_3G_71GB, H200_7G_141GB};

const char *scene_time(double hour) {
    static char texts[8][TIME_TEXT_MAX];
    static int next;
    char *text = texts[next++ % 8];
    (void)time_text((SCENE_MIDNIGHT + (int64_t)(hour * 3600)) * NS_PER_SEC, text);
    return text;
}

static struct gpu_instance carved_instances[] = {
    {.profile_id = 14, .start = 0, .size = 2, .uuid = {"MIG-a", 5}, .utilization_pct = -1},
    {.profile_id = 9, .start = 4, .size = 4, .uuid = {"MIG-b", 5}, .utilization_pct = -1},
};

static void node_json(struct buf *out, int gpus, const bool *broken, int carved) {
    struct gpu_card cards[16] = {0};
    char uuids[16][16];
    struct inventory inv = {.gpus = cards, .n = (size_t)gpus, .simulated = true};
    struct buf text;
    for (int i = 0; i < gpus; i++) {
        (void)snprintf(uuids[i], sizeof uuids[i], "GPU-%d", i);
        cards[i] = h200_card(uuids[i], i, profiles, 4);
        cards[i].healthy = broken == NULL || !broken[i];
        cards[i].instances = i == carved ? carved_instances : NULL;
        cards[i].n_instances = i == carved ? 2 : 0;
    }
    buf_init(&text, 0);
    inventory_encode(&inv, &text);
    buf_c(out, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"labels\":{"
               "\"nvidia.com/gpu.product\":\"NVIDIA-H200\",\"berth.dev/managed\":\"true\"},"
               "\"annotations\":{\"berth.dev/gpus\":");
    buf_json(out, buf_view(&text));
    buf_c(out, "}},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    buf_release(&text);
}

static void node_put(struct scene *s, int gpus, const bool *broken, int carved) {
    struct buf b;
    buf_init(&b, 0);
    node_json(&b, gpus, broken, carved);
    if (fake_world_get(&s->w, "Node", "", "n1")) {
        fake_world_patch(&s->w, "Node", "", "n1", "", buf_cstr(&b));
    } else {
        fake_world_put(&s->w, buf_cstr(&b));
    }
    buf_release(&b);
}

void scene_node(struct scene *s, int gpus, const bool *broken) {
    node_put(s, gpus, broken, -1);
}

void scene_carve(struct scene *s, int gpus, int carved) {
    node_put(s, gpus, NULL, carved);
}

void scene_init(struct scene *s, int gpus) {
    *s = (struct scene){0};
    fake_world_init(&s->w);
    s->w.clock.wall = SCENE_MIDNIGHT * NS_PER_SEC;
    s->zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    s->w.env.zones = s->zones;
    s->w.env.virtuals = virtual_new();
    assert_non_null(s->w.env.virtuals);
    fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                          "\"a\",\"labels\":{\"berth.dev/tenant\":\"t\"}}}");
    fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                          "\"b\",\"labels\":{\"berth.dev/tenant\":\"t\"}}}");
    fake_world_put(&s->w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                          "\"metadata\":{\"name\":\"nvidia-h200\"},\"spec\":{\"nodeLabels\":{"
                          "\"nvidia.com/gpu.product\":\"NVIDIA-H200\"}}}");
    fake_world_put(&s->w,
                   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Cohort\",\"metadata\":{"
                   "\"name\":\"pool\"},\"spec\":{\"resourceGroups\":[{\"coveredResources\":["
                   "\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"nvidia-h200\",\"resources\":[{"
                   "\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"2\"}]}]}]}}");
    scene_node(s, gpus, NULL);
    scene_restart(s);
    scene_minutes(s, 1);
}

void scene_restart(struct scene *s) {
    struct err err = {0};
    controller_free(s->c);
    s->c = controller_new(&reservation_controller, &s->w.env, &err);
    assert_ok(s->c ? 0 : err.code, &err);
}

void scene_release(struct scene *s) {
    controller_free(s->c);
    virtual_free(s->w.env.virtuals);
    fake_world_release(&s->w);
    zones_free(s->zones);
}

struct hand {
    struct scene *s;
    struct {
        char ns[64], name[64];
        const char *body;
    } todo[256];
    size_t n;
};

static bool look(void *ctx, const struct object *o) {
    struct hand *h = ctx;
    char phase[64];
    if (!str_contains(o->json, STR("\"Preparing\"")) && !str_contains(o->json, STR("\"Ending\""))) {
        return true;
    }
    (void)snprintf(phase, sizeof phase, "%s", fake_world_text(o, "status.phase"));
    bool ready = strcmp(fake_world_text(o, "status.objects.ready"), "true") == 0;
    bool drained = strcmp(fake_world_text(o, "status.objects.drained"), "true") == 0;
    const char *body = NULL;
    if (!ready && strcmp(phase, "Preparing") == 0) {
        body = "{\"status\":{\"objects\":{\"ready\":true,\"drained\":false}}}";
    } else if (!drained && strcmp(phase, "Ending") == 0) {
        body = "{\"status\":{\"objects\":{\"ready\":false,\"drained\":true}}}";
    }
    if (body && h->n < 256) {
        (void)snprintf(h->todo[h->n].ns, 64, "%.*s", STR_ARG(o->ns));
        (void)snprintf(h->todo[h->n].name, 64, "%.*s", STR_ARG(o->name));
        h->todo[h->n++].body = body;
    }
    return true;
}

static void hand(struct scene *s) {
    static struct hand h;
    h = (struct hand){.s = s};
    if (s->no_hand) {
        return;
    }
    mirror_scan(s->w.mirror, fake_world_kind("Reservation"), STR(""), look, &h);
    for (size_t i = 0; i < h.n; i++) {
        fake_world_patch(&s->w, "Reservation", h.todo[i].ns, h.todo[i].name, "status",
                         h.todo[i].body);
    }
}

void scene_minutes(struct scene *s, int minutes) {
    struct err err = {0};
    int step = s->step > 1 && minutes % s->step == 0 ? s->step : 1;
    for (int i = 0; i < minutes; i += step) {
        fake_world_run(&s->w, 30 * NS_PER_SEC);
        hand(s);
        fake_world_run(&s->w, (step * 60 - 30) * NS_PER_SEC);
        assert_ok(calendar_verify(reservation_controller_calendar(s->c), &err), &err);
    }
}

void scene_hour(struct scene *s, double hour) {
    int64_t to = (int64_t)(hour * 3600) * NS_PER_SEC, now = s->w.clock.now;
    assert_true(to >= now);
    scene_minutes(s, (int)((to - now) / (60 * NS_PER_SEC)));
    fake_world_run(&s->w, to - s->w.clock.now);
}

void scene_book(struct scene *s, const char *ns, const char *name, double from, double to,
                const char *resource, int count, const char *more) {
    char json[2000];
    (void)snprintf(json, sizeof json,
                   "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{"
                   "\"namespace\":\"%s\",\"name\":\"%s\",\"annotations\":{"
                   "\"berth.dev/requested-by\":\"%s-user\"}},\"spec\":{\"start\":\"%s\",\"end\":"
                   "\"%s\",\"lines\":[{\"resource\":\"%s\",\"count\":%d}]%s}}",
                   ns, name, ns, scene_time(from), scene_time(to), resource, count,
                   more ? more : "");
    fake_world_put(&s->w, json);
}

void scene_spec(struct scene *s, const char *ns, const char *name, const char *patch) {
    char json[2000];
    (void)snprintf(json, sizeof json, "{\"spec\":%s}", patch);
    fake_world_patch(&s->w, "Reservation", ns, name, "", json);
}

const char *scene_text(struct scene *s, const char *ns, const char *name, const char *dotted) {
    const struct object *o = fake_world_get(&s->w, "Reservation", ns, name);
    return o ? fake_world_text(o, dotted) : "(gone)";
}

void scene_policy(struct scene *s, const char *spec) {
    char json[2000];
    if (fake_world_get(&s->w, "ReservationPolicy", "", "default")) {
        (void)snprintf(json, sizeof json, "{\"spec\":%s}", spec);
        fake_world_patch(&s->w, "ReservationPolicy", "", "default", "", json);
    } else {
        (void)snprintf(json, sizeof json,
                       "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationPolicy\","
                       "\"metadata\":{\"name\":\"default\"},\"spec\":%s}",
                       spec);
        fake_world_put(&s->w, json);
    }
}
