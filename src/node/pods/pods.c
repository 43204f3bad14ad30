/*
 * pods: see pods.h. This file: the table of states, the table of pods, recovery, the tick.
 * pods_start.c gets a pod going, pods_watch.c follows its shim, pods_report.c tells the API.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/pods/pods_private.h"
#include "wire/text/time.h"

enum { TICK_MS = 1000, RETRY_FIRST_S = 1, RETRY_MAX_S = 30, STALE_TRIES = 6 };

static void act_over(struct pod *p) {
    pod_unwatch(p);
    if (p->pods->o.gpus) {
        gpus_release(p->pods->o.gpus, str_of(p->uid));
    }
    pod_detach(p);
    pod_report(p);
}

/* The shim is gone, whatever it could say: nothing of the pod may live on. */
static void act_down(struct pod *p) {
    if (p->lost) {
        pod_end_strays(p);
    }
    act_over(p);
}

static void act_report(struct pod *p) {
    pod_report(p);
}

/* The machine. An event that has no row is not for that state and does nothing. */
static const struct {
    enum pod_state from;
    enum pod_event event;
    enum pod_state to;
    void (*action)(struct pod *p);
} table[] = {
    {POD_NEW, POD_EV_BEGIN, POD_DEVICES, pod_acquire},
    {POD_NEW, POD_EV_STOP, POD_OVER, act_over},
    {POD_NEW, POD_EV_FAIL, POD_OVER, act_over},
    {POD_NEW, POD_EV_DOWN, POD_OVER, act_down},
    {POD_DEVICES, POD_EV_BEGIN, POD_DEVICES, pod_acquire},
    {POD_DEVICES, POD_EV_DEVICES, POD_PREPARING, pod_prepare},
    {POD_DEVICES, POD_EV_STOP, POD_OVER, act_over},
    {POD_DEVICES, POD_EV_FAIL, POD_OVER, act_over},
    {POD_PREPARING, POD_EV_BEGIN, POD_PREPARING, pod_prepare},
    {POD_PREPARING, POD_EV_READY, POD_STARTING, pod_launch},
    {POD_PREPARING, POD_EV_STOP, POD_OVER, act_over},
    {POD_PREPARING, POD_EV_FAIL, POD_OVER, act_over},
    {POD_STARTING, POD_EV_BEGIN, POD_STARTING, pod_launch},
    {POD_STARTING, POD_EV_UP, POD_RUNNING, act_report},
    {POD_STARTING, POD_EV_DOWN, POD_OVER, act_down},
    {POD_STARTING, POD_EV_STOP, POD_STOPPING, pod_send_stop},
    {POD_STARTING, POD_EV_FAIL, POD_OVER, act_over},
    {POD_RUNNING, POD_EV_UP, POD_RUNNING, act_report},
    {POD_RUNNING, POD_EV_DOWN, POD_OVER, act_down},
    {POD_RUNNING, POD_EV_STOP, POD_STOPPING, pod_send_stop},
    {POD_STOPPING, POD_EV_UP, POD_STOPPING, pod_send_stop},
    {POD_STOPPING, POD_EV_STOP, POD_STOPPING, pod_send_stop},
    {POD_STOPPING, POD_EV_DOWN, POD_OVER, act_down},
    {POD_OVER, POD_EV_STOP, POD_OVER, act_report},
};

void pod_event(struct pod *p, enum pod_event e) {
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].from == p->state && table[i].event == e) {
            p->state = table[i].to;
            p->retry_mono = 0;
            if (p->turn != POD_TURN_NONE && p->state > POD_STARTING) {
                pod_turn_end(p);
            }
            table[i].action(p);
            return;
        }
    }
}

static void set_reason(struct pod *p, const char *reason, const char *message) {
    snprintf(p->reason, sizeof(p->reason), "%s", reason);
    snprintf(p->message, sizeof(p->message), "%s", message);
}

void pod_fail(struct pod *p, const char *reason, const char *message) {
    p->failed = true;
    set_reason(p, reason, message);
    pod_tell(p, true, reason, "%s", message);
    pod_event(p, POD_EV_FAIL);
}

/* Told once per reason; then tried again, less and less often. */
void pod_retry(struct pod *p, const char *reason, const char *message) {
    if (strcmp(p->reason, reason) != 0) {
        pod_tell(p, true, reason, "%s", message);
    }
    pod_wait(p, reason, message);
}

void pod_wait(struct pod *p, const char *reason, const char *message) {
    int64_t wait = RETRY_FIRST_S << (p->tries > 5 ? 5 : p->tries);

    set_reason(p, reason, message);
    pod_turn_end(p);
    p->tries++;
    p->fresh_fetch = true;
    p->retry_mono =
        clock_mono(p->pods->clock) + (wait > RETRY_MAX_S ? RETRY_MAX_S : wait) * NS_PER_SEC;
    pod_report(p);
}

/* ---- the table of pods ---- */

static struct pod *find(const struct pods *ps, struct str uid) {
    return map_get(&ps->by_uid, uid);
}

static void forget(struct pod *p) {
    struct pods *ps = p->pods;

    pod_unwatch(p);
    pod_turn_end(p);
    disk_walk_end(&p->walk);
    pod_quota_free(p->quota);
    map_del(&ps->by_uid, str_of(p->uid));
    object_unref(p->obj);
    arena_release(&p->arena);
    pod_live_free(p->live);
    mem_free(p->usage);
    mem_free(p->shim_state);
    mem_free(p->told);
    mem_free(p->dir);
    mem_free(p->ns);
    mem_free(p->name);
    mem_free(p);
}

/* The API has let go and nothing runs: the folder goes, and with it the logs. */
static void bury(struct pod *p) {
    struct err err;

    if (p->waiting_answer || p->writing) {
        p->doomed = true;
        return;
    }
    if (dir_remove(p->dir, &err)) {
        log_warn(p->pods->o.log, "pod %s: %s", p->uid, err.text);
    } else {
        users_give(p->pods->o.users, p->user); /* nothing is left that is owned by it */
    }
    forget(p);
}

void pod_answered(struct pod *p) {
    p->waiting_answer = p->fetching > 0 || p->attaching || p->asking;
    if (p->doomed) {
        bury(p);
    }
}

static struct pod *add(struct pods *ps, struct str uid) {
    struct pod *p = path_plain(uid) ? mem_zalloc(sizeof(*p)) : NULL;
    char dir[PATH_LEN];

    if (p == NULL) {
        return NULL;
    }
    p->pods = ps;
    p->wd = -1;
    p->start_ns = clock_wall(ps->clock);
    arena_init(&p->arena, POD_ARENA);
    if (!str_copy(uid, p->uid, sizeof(p->uid)) ||
        snprintf(dir, sizeof(dir), "%s/pods/%s", ps->o.data_dir, p->uid) >= (int)sizeof(dir) ||
        (p->dir = mem_cstr(str_of(dir))) == NULL || map_put(&ps->by_uid, str_of(p->uid), p, NULL)) {
        mem_free(p->dir);
        mem_free(p);
        return NULL;
    }
    return p;
}

static bool attach(struct pod *p, const struct object *obj) {
    if (p->ns == NULL) {
        p->ns = mem_cstr(obj->ns);
        p->name = mem_cstr(obj->name);
    }
    if (p->ns && p->name) {
        object_unref(p->obj);
        p->obj = object_ref(obj);
    }
    return p->obj != NULL;
}

/* Of what the downward API shows and people change: labels and annotations, in any order. */
static uint64_t hash_notes(yyjson_val *root) {
    static const char *const maps[] = {"metadata.labels", "metadata.annotations"};
    uint64_t h = 1;

    for (size_t i = 0; i < 2; i++) {
        yyjson_obj_iter it = yyjson_obj_iter_with(json_path(root, maps[i]));
        for (yyjson_val *k; (k = yyjson_obj_iter_next(&it));) {
            struct str v = json_str(yyjson_obj_iter_get_val(k));
            h += (str_hash(json_str(k)) + i) * UINT64_C(0x9e3779b97f4a7c15) ^ str_hash(v);
        }
    }
    return h;
}

/* What the API already says: the phase, and when the pod was taken. */
static struct str read_status(struct pod *p, char phase[16]) {
    struct arena a;
    yyjson_doc *doc;

    phase[0] = 0;
    arena_init(&a, 32 << 20);
    if (object_tree(p->obj, &a, &doc, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        str_copy(json_str_at(root, "status.phase"), phase, 16);
        struct str start = json_str_at(root, "status.startTime");
        if (!str_empty(start)) {
            time_parse(start, &p->start_ns, NULL);
        }
        p->stop_grace_s = json_i64_at(root, "metadata.deletionGracePeriodSeconds", 30);
        p->deadline_s = json_i64_at(root, "spec.activeDeadlineSeconds", 0);
        p->notes = hash_notes(root);
        p->later = yyjson_arr_size(json_path(root, "spec.ephemeralContainers"));
        p->gated = yyjson_arr_size(json_path(root, "spec.readinessGates")) > 0;
    }
    arena_release(&a);
    return str_of(phase);
}

void pods_put(struct pods *ps, const struct object *obj) {
    struct pod *p = find(ps, obj->uid);
    bool known = p != NULL, first = p == NULL || p->obj == NULL;
    uint64_t notes = known ? p->notes : 0;
    char phase[16];

    p = p ? p : add(ps, obj->uid);
    if (p == NULL || !attach(p, obj)) {
        log_error(ps->o.log, "pod %.*s: no memory", STR_ARG(obj->name));
        return;
    }
    struct str ph = read_status(p, phase);
    bool over = str_is(ph, "Succeeded") || str_is(ph, "Failed");
    if (over && first && (!known || p->state == POD_OVER)) {
        p->state = POD_OVER;
        p->reported = true;
        pod_shed(p);
    } else if (!known && str_is(ph, "Running")) {
        p->lost = true; /* it ran, and its folder is not here any more */
        snprintf(p->message, sizeof(p->message), "the node has lost the pod's folder");
        pod_event(p, POD_EV_DOWN);
    }
    if (obj->deleting_ns) {
        pod_event(p, POD_EV_STOP);
    } else if (p->state == POD_NEW) {
        pod_event(p, POD_EV_BEGIN);
    } else if (first || p->gated || (p->state == POD_OVER && !over)) {
        pod_report(p);
    }
    if (first || notes != p->notes || p->later != p->told_later) {
        pod_live_now(p);
    }
}

void pods_gone(struct pods *ps, const struct object *obj) {
    struct pod *p = find(ps, obj->uid);

    if (p == NULL) {
        return;
    }
    p->gone = true;
    p->stop_grace_s = 0;
    pod_event(p, POD_EV_STOP);
    if (p->state == POD_OVER) {
        bury(p);
    }
}

void pods_synced(struct pods *ps) {
    const struct map_entry *e;

    ps->synced = true;
    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        if (p->obj == NULL) { /* deleted while we were away */
            p->gone = true;
            p->stop_grace_s = 0;
            pod_event(p, POD_EV_STOP);
            if (p->state == POD_OVER) {
                bury(p);
            }
        }
    }
}

bool pods_alive(void *pods, struct str uid) {
    struct pod *p = find(pods, uid);

    return p && p->state >= POD_STARTING && p->state < POD_OVER;
}

void pods_trouble(struct pods *ps, struct str uid, const char *why) {
    pods_end(ps, uid, "GpuUnhealthy", why);
}

void pods_end(struct pods *ps, struct str uid, const char *reason, const char *why) {
    struct pod *p = find(ps, uid);

    if (p == NULL || p->state == POD_OVER) {
        return;
    }
    p->failed = true;
    set_reason(p, reason, why);
    pod_tell(p, true, reason, "%s", why);
    p->stop_grace_s = 10;
    pod_event(p, POD_EV_STOP);
}

struct pods_count pods_count(const struct pods *ps) {
    struct pods_count c = {0};
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        const struct pod *p = e->value;
        c.running += p->state >= POD_STARTING && p->state < POD_OVER;
        c.waiting += p->state < POD_STARTING;
        c.over += p->state == POD_OVER;
    }
    return c;
}

/* ---- time ---- */

static void check_deadline(struct pod *p) {
    if (p->state != POD_RUNNING || p->deadline_s == 0) {
        return;
    }
    if (clock_wall(p->pods->clock) - p->start_ns > p->deadline_s * NS_PER_SEC) {
        p->failed = true;
        set_reason(p, "DeadlineExceeded",
                   "Pod was active on the node longer than the specified deadline");
        pod_event(p, POD_EV_STOP);
    }
}

static void tick_pod(struct pod *p, int64_t now) {
    if (p->retry_mono && now >= p->retry_mono) {
        pod_event(p, POD_EV_BEGIN);
        return;
    }
    check_deadline(p);
    if (p->state == POD_STARTING && now - p->asked_mono > 5 * NS_PER_SEC && !pod_shim_alive(p)) {
        pod_read_state(p);
        pod_event(p, POD_EV_BEGIN); /* the server could not fork: ask again */
    } else if ((p->state == POD_RUNNING || p->state == POD_STOPPING) && !pod_shim_alive(p)) {
        pod_read_state(p); /* what it said last counts; otherwise it was killed */
        if (p->state != POD_OVER) {
            p->lost = !p->failed; /* or it was ended, and the reason is known */
            if (p->lost) {
                set_reason(p, "ContainerStatusUnknown",
                           "the process that watched the pod was killed");
            }
            pod_event(p, POD_EV_DOWN);
        }
    } else if (p->dirty && !p->writing) {
        pod_report(p);
    }
}

static void on_tick(void *ctx) {
    struct pods *ps = ctx;
    const struct map_entry *e;
    int64_t now = clock_mono(ps->clock);

    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        tick_pod(e->value, now);
    }
    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        if (p->gone && p->state == POD_OVER) {
            bury(p);
        }
    }
    pods_live_tick(ps, now);
    pods_usage_tick(ps, now);
    pods_hold_quotas(ps);
    pods_watch_disk(ps, now);
    ps->clock->timer_start(ps->tick, TICK_MS * NS_PER_MS);
}

/* ---- recovery ---- */

/* Whose the pod's working folder is tells its user. */
static void recover_user(struct pod *p) {
    char path[PATH_LEN];
    struct stat st;

    if (path_join(path, p->dir, "root/work", NULL) == 0 && lstat(path, &st) == 0 &&
        users_hold(p->pods->o.users, st.st_uid)) {
        p->user = st.st_uid;
    }
}

static void recover_one(struct pods *ps, struct str uid) {
    struct pod *p = add(ps, uid);
    char path[PATH_LEN];

    if (p == NULL) {
        return;
    }
    recover_user(p);
    bool alive = pod_shim_alive(p);
    bool told = path_join(path, p->dir, "state.json", NULL) == 0 && access(path, F_OK) == 0;
    if (alive || told) {
        p->state = alive ? POD_STARTING
                         : POD_RUNNING; /* RUNNING without a shim: the tick sees that it is lost */
        p->asked_mono = clock_mono(ps->clock);
        pod_watch(p);
        p->recovering = true;
        pod_read_state(p);
        p->recovering = false;
    }
}

static int recover(struct pods *ps, struct err *err) {
    char dir[PATH_LEN];
    struct dirent *e;
    int code = path_join(dir, ps->o.data_dir, "pods", err);

    code = code ? code : dir_make(dir, 0711, err);
    DIR *d = code ? NULL : opendir(dir);
    while (d && (e = readdir(d))) {
        if (e->d_name[0] != '.') {
            recover_one(ps, str_of(e->d_name));
        }
    }
    if (d) {
        closedir(d);
    }
    return code;
}

struct pods *pods_new(const struct pods_options *o, struct err *err) {
    struct pods *ps = mem_zalloc(sizeof(*ps));

    if (ps == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    ps->o = *o;
    ps->clock = loop_clock(o->loop);
    ps->server_fd = -1;
    ps->turns = pods_turns_of_machine();
    ps->pod_kind = kind_by_name(STR(""), STR("Pod"));
    ps->event_kind = kind_by_name(STR(""), STR("Event"));
    map_init(&ps->by_uid);
    map_init(&ps->by_wd);
    ps->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    ps->tick = ps->clock->timer_new(ps->clock, on_tick, ps);
    ps->turner = ps->clock->timer_new(ps->clock, pods_next_turns, ps);
    int code = ps->inotify == -1 || ps->tick == NULL || ps->turner == NULL
                   ? err_sys(err, errno, "inotify")
                   : 0;
    if (code == 0) {
        ps->watch = loop_fd(o->loop, ps->inotify, LOOP_READABLE, pods_on_inotify, ps, err);
        code = ps->watch ? 0 : ERR_NOMEM;
    }
    code = code ? code : recover(ps, err);
    code = code ? code : pods_server_start(ps, err);
    if (code) {
        pods_free(ps);
        return NULL;
    }
    ps->clock->timer_start(ps->tick, TICK_MS * NS_PER_MS);
    return ps;
}

void pods_set_gpus(struct pods *ps, struct gpus *gpus) {
    ps->o.gpus = gpus;
}

void pods_free(struct pods *ps) {
    const struct map_entry *e;

    if (ps == NULL) {
        return;
    }
    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        forget(e->value);
    }
    map_release(&ps->by_uid);
    map_release(&ps->by_wd);
    loop_fd_free(ps->watch);
    if (ps->inotify != -1) {
        close(ps->inotify);
    }
    if (ps->server_fd != -1) {
        close(ps->server_fd);
    }
    if (ps->server) {
        loop_child_free(ps->server);
    }
    if (ps->retired) {
        loop_child_free(ps->retired);
    }
    ps->clock->timer_free(ps->tick);
    pods_usage_free(ps->usage);
    ps->clock->timer_free(ps->turner);
    mem_free(ps);
}
