/*
 * pods_images: the images of a pod, before its files are written: whether it runs in them, and one after the other
 * brought here.
 *
 * With runtime podman every pod does. With auto it does when all its images can be had; otherwise its commands run as
 * processes of the machine, where it has any, and an event says so. What cannot be had is asked for again as long as
 * the pod waits, with the reasons that Kubernetes gives.
 */
#include "node/images/images.h"
#include "node/pods/pods_int.h"
#include "node/spec/pod_auth.h"

enum { AUTH_MOST = 1 << 20 };

struct pod_image_wish {
    char name[IMAGE_NAME_MAX]; /* whole */
    struct str said, policy;   /* as the pod says */
    bool ready;
};

/* ---- what cannot be had ---- */

/* Does every container say what it runs? */
static bool may_be_process(const struct pod *p) {
    return !p->pods->o.images_always && p->has_commands;
}

static void run_as_process(struct pod *p, const char *why) {
    pod_tell(p, false, "ImageUnavailable",
             "%s; the commands run as processes of this machine, whose files they see", why);
    p->images_known = true;
    p->in_images = false;
}

/* Kubernetes' two events: what happened, and as what the container waits. */
static void wait_for_image(struct pod *p, const char *event, const char *reason, const char *why) {
    bool first = strcmp(p->reason, reason) != 0;

    if (first) {
        pod_tell(p, event[0] == 'F', event, "%s", why);
        pod_tell(p, true, "Failed", "Error: %s", reason);
    }
    pod_wait(p, reason, why);
}

static void not_had(struct pod *p, const struct pod_image_wish *w, const struct image_news *n) {
    char why[700];

    if (n->answer == IMAGE_ABSENT && str_is(w->policy, "Never")) {
        snprintf(why, sizeof(why),
                 "Container image \"%.*s\" is not present with pull policy of Never",
                 STR_ARG(w->said));
    } else if (n->answer == IMAGE_ABSENT) {
        snprintf(why, sizeof(why),
                 "Container image \"%.*s\" is of no registry and not on this machine: berth image "
                 "load FILE",
                 STR_ARG(w->said));
    } else {
        snprintf(why, sizeof(why), "%s image \"%.*s\": %.*s",
                 n->answer == IMAGE_BACKOFF ? "Back-off pulling" : "Failed to pull",
                 STR_ARG(w->said), STR_ARG(n->text));
    }
    if (may_be_process(p)) {
        run_as_process(p, why);
        pod_event(p, POD_EV_BEGIN);
    } else if (n->answer == IMAGE_ABSENT) {
        wait_for_image(p, "Failed", "ErrImageNeverPull", why);
    } else if (n->answer == IMAGE_BACKOFF) {
        wait_for_image(p, "BackOff", "ImagePullBackOff", why);
    } else {
        wait_for_image(p, "Failed", "ErrImagePull", why);
    }
}

/* ---- what happens to one ---- */

static struct pod_image_wish *wanted(struct pod *p) {
    for (size_t i = 0; i < p->n_images; i++) {
        if (!p->images[i].ready) {
            return &p->images[i];
        }
    }
    return NULL;
}

/* Every container of the same name is served. */
static void set_ready(struct pod *p, const char *name) {
    for (size_t i = 0; i < p->n_images; i++) {
        p->images[i].ready |= strcmp(p->images[i].name, name) == 0;
    }
}

static void tell_here(struct pod *p, struct pod_image_wish *w) {
    pod_tell(p, false, "Pulled", "Container image \"%.*s\" already present on machine",
             STR_ARG(w->said));
    set_ready(p, w->name);
}

static void tell_pulled(struct pod *p, struct pod_image_wish *w, const struct image_news *n) {
    double s = (double)(n->took_ns / NS_PER_MS) / 1000;

    pod_tell(p, false, "Pulled",
             "Successfully pulled image \"%.*s\" in %.3fs (%.3fs including waiting). Image size: "
             "%lld bytes.",
             STR_ARG(w->said), s, s, (long long)n->bytes);
    set_ready(p, w->name);
}

static void on_news(void *ctx, const struct image_news *n) {
    struct pod *p = ctx;
    struct pod_image_wish *w = p->state == POD_PREPARING && !p->doomed ? wanted(p) : NULL;

    if (n->answer == IMAGE_PULLING || n->answer == IMAGE_NOTE) {
        if (w) {
            pod_tell(p, false, "Pulling", "%s image \"%.*s\"%s%.*s",
                     n->answer == IMAGE_PULLING ? "Pulling" : "Still pulling", STR_ARG(w->said),
                     n->text.n ? ": " : "", STR_ARG(n->text));
        }
        return;
    }
    p->asking = false;
    if (w == NULL) { /* stopped meanwhile */
    } else if (n->answer == IMAGE_HERE || n->answer == IMAGE_PULLED) {
        if (n->answer == IMAGE_HERE) {
            tell_here(p, w);
        } else {
            tell_pulled(p, w, n);
        }
        pod_event(p, POD_EV_BEGIN);
    } else {
        not_had(p, w, n);
    }
    pod_answered(p);
}

/* ---- what the pod says ---- */

static int read_one(struct pod *p, yyjson_val *c, struct err *err) {
    struct pod_image_wish *w = &p->images[p->n_images];
    int code = image_name_full(json_str_at(c, "image"), w->name, err);

    w->said = arena_str(&p->arena, json_str_at(c, "image"));
    w->policy = arena_str(&p->arena, json_str_at(c, "imagePullPolicy"));
    w->ready = false;
    p->has_commands &= yyjson_arr_size(json_get(c, STR("command"))) > 0;
    p->n_images++;
    return code ? err_wrap(err, "container \"%.*s\"", STR_ARG(json_str_at(c, "name"))) : 0;
}

/* Of each container, init containers first; all are read, the first that is wrong is told. */
static int read_wishes(struct pod *p, yyjson_val *pod, struct err *err) {
    yyjson_val *lists[] = {json_path(pod, "spec.initContainers"),
                           json_path(pod, "spec.containers")};
    size_t n = yyjson_arr_size(lists[0]) + yyjson_arr_size(lists[1]);
    yyjson_arr_iter it;
    yyjson_val *c;
    struct err own;
    int code = 0;

    p->images = ARENA_ARRAY(&p->arena, struct pod_image_wish, n + 1);
    p->n_images = 0;
    p->has_commands = true;
    if (p->images == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    for (int i = 0; i < 2; i++) {
        yyjson_arr_iter_init(lists[i], &it);
        while ((c = yyjson_arr_iter_next(&it))) {
            int one = read_one(p, c, &own);
            if (one && code == 0) {
                code = one;
                *err = own;
            }
        }
    }
    return code;
}

/* Credentials, as far as they are there: a Secret that is missing or wrong is told, and the image tried without. */
static void read_auth(struct pod *p, yyjson_val *pod, struct buf *out) {
    struct pod_auth auth = {.arena = &p->arena};
    yyjson_arr_iter it;
    yyjson_val *e, *secret;
    struct err err;

    yyjson_arr_iter_init(json_path(pod, "spec.imagePullSecrets"), &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        struct str name = json_str_at(e, "name");
        secret = name.n ? pod_lookup(p, POD_SECRET, name) : NULL;
        if (secret == NULL && !pod_fetch_new(p)) {
            pod_tell(p, true, "FailedToRetrieveImagePullSecret",
                     "Unable to retrieve image pull secret \"%.*s\"; attempting to pull the image "
                     "without it",
                     STR_ARG(name));
        } else if (secret && pod_auth_add(&auth, secret, &err)) {
            pod_tell(p, true, "FailedToRetrieveImagePullSecret", "%s", err.text);
        }
    }
    pod_auth_write(&auth, out);
}

static bool is_here(struct pod *p, const struct pod_image_wish *w) {
    struct image i;
    struct arena a;

    if (str_is(w->policy, "Always")) {
        return false;
    }
    arena_init(&a, 32 << 20);
    bool is =
        image_store_find(p->pods->o.images_dir, str_of(w->name), str_of(p->ns), &a, &i, NULL) == 0;
    arena_release(&a);
    return is;
}

static void ask(struct pod *p, const struct pod_image_wish *w, struct str auth) {
    struct err err;
    const struct image_ask a = {.ns = str_of(p->ns),
                                .name = str_of(w->name),
                                .policy = w->policy,
                                .auth = auth,
                                .if_reachable = may_be_process(p)};

    p->asking = p->waiting_answer = true;
    if (images_ask(p->pods->o.images, &a, on_news, p, &err)) {
        p->asking = false;
        pod_retry(p, "ErrImagePull", err.text);
        pod_answered(p);
    }
}

/* All images that are here already; the first that is not is asked for. True: none is left. */
static bool bring(struct pod *p, yyjson_val *pod) {
    struct pod_image_wish *w;
    struct buf auth;

    while ((w = wanted(p)) && is_here(p, w)) {
        tell_here(p, w);
    }
    if (w == NULL) {
        return true;
    }
    buf_init(&auth, AUTH_MOST);
    read_auth(p, pod, &auth);
    if (p->fetching == 0 && buf_ok(&auth) == 0) {
        ask(p, w, buf_view(&auth));
    }
    buf_release(&auth);
    return false;
}

bool pod_images(struct pod *p) {
    struct arena a;
    yyjson_doc *doc;
    struct err err;

    if (p->pods->o.images == NULL || p->images_known) {
        return true;
    }
    if (p->asking) {
        return false;
    }
    arena_init(&a, 32 << 20);
    int code = object_tree(p->obj, &a, &doc, &err);
    yyjson_val *pod = code ? NULL : yyjson_doc_get_root(doc);
    code = code || p->images ? code : read_wishes(p, pod, &err);
    if (code == ERR_INVALID && may_be_process(p)) {
        run_as_process(p, err.text);
    } else if (code) {
        p->images = NULL;
        wait_for_image(p, "Failed", "InvalidImageName", err.text);
    } else if (bring(p, pod)) {
        p->images_known = p->in_images = true;
    }
    arena_release(&a);
    return p->images_known;
}

int pod_images_read(struct pod *p, struct arena *a, const struct image **ret, struct err *err) {
    struct image *v = p->in_images ? ARENA_ARRAY(a, struct image, p->n_images) : NULL;
    int code = p->in_images && v == NULL ? err_set(err, ERR_NOMEM, "no memory") : 0;

    for (size_t i = 0; v && i < p->n_images && code == 0; i++) {
        code = image_store_find(p->pods->o.images_dir, str_of(p->images[i].name), str_of(p->ns), a,
                                &v[i], err);
        if (code) { /* removed meanwhile: all are looked for again */
            p->images_known = false;
            p->images = NULL;
            code = ERR_NOT_FOUND;
        }
    }
    *ret = v;
    return code;
}
