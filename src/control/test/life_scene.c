/* life_scene: see life_scene.h. */
#include "control/test/life_scene.h"
#include "control/kit/controller.h"

static int outcome(void *ctx, const struct object *pod) {
    return ((struct scene *)ctx)->outcome;
}

void scene_controllers(struct scene *s) {
    struct err err = {0};
    s->w.env.settings = &s->settings;
    s->queues = controller_new(&queue_controller, &s->w.env, &err);
    s->jobs = controller_new(&job_controller, &s->w.env, &err);
    s->job_queue = controller_new(&job_queue_controller, &s->w.env, &err);
    s->life = controller_new(&workload_life_controller, &s->w.env, &err);
    s->classes = controller_new(&priority_class_controller, &s->w.env, &err);
    s->gc = controller_new(&gc_controller, &s->w.env, &err);
    assert_true(s->queues && s->jobs && s->job_queue && s->life && s->classes && s->gc);
}

void scene_stop(struct scene *s) {
    controller_free(s->queues);
    controller_free(s->jobs);
    controller_free(s->job_queue);
    controller_free(s->life);
    controller_free(s->classes);
    controller_free(s->gc);
}

void scene_start(struct scene *s) {
    memset(s, 0, sizeof(*s));
    s->outcome = -1;
    s->settings = *queue_settings_defaults();
    fake_world_init(&s->w);
    s->w.outcome = outcome;
    s->w.outcome_ctx = s;
    if (fake_world_get(&s->w, "Namespace", "", "default") == NULL) {
        fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                              "{\"name\":\"default\"}}");
    }
}

void scene_end(struct scene *s) {
    scene_stop(s);
    fake_world_release(&s->w);
}

void scene_settle(struct scene *s) {
    fake_world_run(&s->w, 5 * NS_PER_SEC);
}

/* ---- objects ---- */

void scene_flavor(struct scene *s, const char *name) {
    char json[512];
    snprintf(json, sizeof(json),
             "{" KUEUE "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"%s\"},\"spec\":{}}",
             name);
    fake_world_put(&s->w, json);
}

/* A ClusterQueue over flavor f and its LocalQueue of the same name; `more` is added to the spec. */
void scene_queue(struct scene *s, const char *name, int cpu, const char *more) {
    char json[2048];
    snprintf(json, sizeof(json),
             "{" KUEUE "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
             "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],"
             "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":%d}]}]"
             "}]%s}}",
             name, cpu, more);
    fake_world_put(&s->w, json);
    snprintf(json, sizeof(json),
             "{" KUEUE
             "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
             "\"spec\":{\"clusterQueue\":\"%s\"}}",
             name, name);
    fake_world_put(&s->w, json);
}

void scene_job(struct scene *s, const char *name, const char *q, int pods, const char *meta) {
    char json[2048];
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
        "\"default\",\"labels\":{\"kueue.x-k8s.io/"
        "queue-name\":\"%s\"}%s},\"spec\":{\"suspend\":true,"
        "\"parallelism\":%d,\"completions\":%d,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":"
        "\"1\"}}}]}}}}",
        name, q, meta, pods, pods);
    fake_world_put(&s->w, json);
}

/* A Workload without a Job. */
void scene_workload(struct scene *s, const char *name, const char *q, int cpu, const char *meta,
                    const char *spec) {
    char json[2048];
    snprintf(
        json, sizeof(json),
        "{" KUEUE
        "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"%s},"
        "\"spec\":{\"queueName\":\"%s\",%s\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":"
        "{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
        "\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]}}}]}}",
        name, meta, q, spec, cpu);
    fake_world_put(&s->w, json);
}

void scene_check(struct scene *s, const char *name, bool active) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{" KUEUE "\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"%s\"},\"spec\":"
             "{\"controllerName\":\"example.com/c\"}}",
             name);
    if (fake_world_get(&s->w, "AdmissionCheck", "", name) == NULL) {
        fake_world_put(&s->w, json);
    }
    snprintf(json, sizeof(json),
             "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"%s\",\"reason\":\"R\","
             "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}",
             active ? "True" : "False");
    fake_world_patch(&s->w, "AdmissionCheck", "", name, "status", json);
}

struct search {
    const char *prefix;
    const struct object *found;
};

static bool match(void *ctx, const struct object *o) {
    struct search *f = ctx;
    if (str_starts(o->name, str_of(f->prefix))) {
        f->found = o;
    }
    return true;
}

/* By the beginning of its name: "a", "job-a-". */
const struct object *scene_get(struct scene *s, const char *prefix) {
    struct search f = {.prefix = prefix};
    mirror_scan(s->w.mirror, fake_world_kind("Workload"), STR("default"), match, &f);
    assert_non_null(f.found);
    return f.found;
}

void scene_decide(struct scene *s, const char *wl, const char *name, const char *state, int after) {
    char json[1024], time[TIME_TEXT_MAX], more[64] = "", full[300];
    assert_true(str_copy(scene_get(s, wl)->name, full, sizeof(full)));
    if (after > 0) {
        snprintf(more, sizeof(more), ",\"requeueAfterSeconds\":%d", after);
    }
    snprintf(
        json, sizeof(json),
        "{\"status\":{\"admissionChecks\":[{\"name\":\"%s\",\"state\":\"%s\",\"message\":\"why\","
        "\"lastTransitionTime\":\"%s\"%s}]}}",
        name, state, time_text(clock_wall(s->w.env.clock), time).p, more);
    fake_world_patch(&s->w, "Workload", "default", full, "status", json);
}

void scene_edit(struct scene *s, const char *wl, const char *json) {
    char full[300];
    assert_true(str_copy(scene_get(s, wl)->name, full, sizeof(full)));
    fake_world_patch(&s->w, "Workload", "default", full, "", json);
}

void scene_spec(struct scene *s, const char *kind, const char *name, const char *json) {
    const char *ns = strcmp(kind, "ClusterQueue") == 0 || strstr(kind, "Class") ? "" : "default";
    fake_world_patch(&s->w, kind, ns, name, "", json);
}
