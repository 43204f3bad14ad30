/*
 * pods_images: the images of a pod, before its files are written: whether it runs in them, and one after the other
 * brought here.
 *
 * With runtime podman every pod does. With auto it does when all its images can be had; otherwise its commands run as
 * processes of the machine, where it has any, and an event says so. What cannot be had is asked for again as long as
 * the pod waits, with the reasons that Kubernetes gives.
 */
#include "node/images/images.h"
#include "node/pods/pods_private.h"
#include "node/spec/pod_auth.h"

#define FILES_ANNOTATION "berth.dev/files"

enum { AUTH_MOST = 1 << 20 };

struct pod_image_wish {
    char name[IMAGE_NAME_MAX]; /* whole */
    struct str said, policy;   /* as the pod says */
    struct str volume;         /* that it is to be; empty: of a container */
    bool ready;                /* or not wanted any more */
};

/* ---- what cannot be had ---- */

/* Does every container say what it runs? */
static bool may_be_process(const struct pod *p) {
    return !p->pods->o.images_always && p->has_commands;
}

/* Images of volumes are wanted still. why NULL: the pod asked for it. */
static void run_as_process(struct pod *p, const char *why) {
    if (why) {
        pod_tell(p, false, "ImageUnavailable",
                 "%s; the commands run as processes of this machine, whose files they see", why);
    }
    p->in_images = false;
    for (size_t i = 0; i < p->n_images; i++) {
        p->images[i].ready |= p->images[i].volume.n == 0;
    }
}

/* Kubernetes' two events: what happened, and as what the container waits. The same is not told again and again. */
static void wait_for_image(struct pod *p, const char *event, const char *reason, const char *why) {
    bool warning = event[0] == 'F';
    uint64_t told = str_hash(str_of(why));

    if (p->image_told[warning] != told) {
        p->image_told[warning] = told;
        pod_tell(p, warning, event, "%s", why);
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
    if (may_be_process(p) && w->volume.n == 0) {
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

static int add_wish(struct pod *p, struct str said, struct str policy, struct str volume,
                    struct err *err) {
    struct pod_image_wish *w = &p->images[p->n_images++];
    int code = image_name_full(said, w->name, err);
    bool latest = str_ends(str_of(w->name), STR(":latest"));

    policy = policy.n ? policy : latest ? STR("Always") : STR("IfNotPresent");
    w->said = arena_str(&p->arena, said);
    w->policy = arena_str(&p->arena, policy);
    w->volume = arena_str(&p->arena, volume);
    w->ready = false;
    return code;
}

/* What is wished wrongly first is told; all are read. */
static void keep_first(int *code, struct err *err, int next, const struct err *why) {
    if (*code == 0 && next) {
        *code = next;
        *err = *why;
    }
}

static int read_volumes(struct pod *p, yyjson_val *volumes, struct err *err) {
    yyjson_arr_iter it;
    yyjson_val *v, *image;
    struct err why = {0};
    int code = 0;

    yyjson_arr_iter_init(volumes, &it);
    while ((v = yyjson_arr_iter_next(&it))) {
        if ((image = json_get(v, STR("image")))) {
            int one = add_wish(p, json_str_at(image, "reference"), json_str_at(image, "pullPolicy"),
                               json_str_at(v, "name"), &why);
            keep_first(&code, err, one, &why);
        }
    }
    return code;
}

/* Of each container, init containers first, then of each volume that is an image. *ret_code is of the containers. */
static int read_wishes(struct pod *p, yyjson_val *pod, int *ret_code, struct err *err) {
    yyjson_val *lists[] = {json_path(pod, "spec.initContainers"),
                           json_path(pod, "spec.containers")},
               *volumes = json_path(pod, "spec.volumes"), *c;
    size_t n = yyjson_arr_size(lists[0]) + yyjson_arr_size(lists[1]) + yyjson_arr_size(volumes) + 1;
    yyjson_arr_iter it;
    struct err why = {0};

    p->images = ARENA_ARRAY(&p->arena, struct pod_image_wish, n);
    p->n_images = 0;
    p->has_commands = p->in_images = true;
    if (p->images == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    for (int i = 0; i < 2; i++) {
        yyjson_arr_iter_init(lists[i], &it);
        while ((c = yyjson_arr_iter_next(&it))) {
            int one = add_wish(p, json_str_at(c, "image"), json_str_at(c, "imagePullPolicy"),
                               STR(""), &why);
            p->has_commands &= yyjson_arr_size(json_get(c, STR("command"))) > 0;
            keep_first(ret_code, err, one, &why);
        }
    }
    return read_volumes(p, volumes, err);
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

/* The machine's files, though the image could be had: what names an image for want of a better one says so. */
static bool asks_for_machine(yyjson_val *pod) {
    return str_is(json_str(json_get(json_path(pod, "metadata.annotations"), STR(FILES_ANNOTATION))),
                  "machine");
}

/* What it wishes, once. ERR_INVALID: it waits with a name that is none. */
static int begin_wishes(struct pod *p, yyjson_val *pod, struct err *err) {
    int containers = 0;

    if (p->images) {
        return 0;
    }
    int code = read_wishes(p, pod, &containers, err);
    if (code == 0 && may_be_process(p) && asks_for_machine(pod)) {
        run_as_process(p, NULL);
    } else if (code == 0 && containers && may_be_process(p)) {
        run_as_process(p, err->text);
    } else {
        code = code ? code : containers;
    }
    return code;
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
    code = code ? code : begin_wishes(p, pod, &err);
    if (code) {
        p->images = NULL;
        wait_for_image(p, "Failed", "InvalidImageName", err.text);
    } else {
        p->images_known = bring(p, pod);
    }
    arena_release(&a);
    return p->images_known;
}

static int find_image(struct pod *p, const struct pod_image_wish *w, struct arena *a,
                      struct image *ret, struct err *err) {
    int code = image_store_find(p->pods->o.images_dir, str_of(w->name), str_of(p->ns), a, ret, err);

    if (code) { /* removed meanwhile: all are looked for again */
        p->images_known = false;
        p->images = NULL;
        code = ERR_NOT_FOUND;
    }
    return code;
}

int pod_images_read(struct pod *p, struct arena *a, struct pod_images_found *ret, struct err *err) {
    size_t all = p->images ? p->n_images : 0;
    struct image *v = ARENA_ARRAY(a, struct image, all + 1);
    struct pod_volume_image *volumes = ARENA_ARRAY(a, struct pod_volume_image, all + 1);
    struct pod_image_wish *wishes = p->images;
    size_t n = 0;
    int code = v && volumes ? 0 : err_set(err, ERR_NOMEM, "no memory");

    for (size_t i = 0; i < all && code == 0; i++) {
        const struct pod_image_wish *w = &wishes[i];
        if (w->volume.n || p->in_images) {
            code = find_image(p, w, a, &v[i], err);
        }
        if (code == 0 && w->volume.n) {
            volumes[n++] = (struct pod_volume_image){w->volume, str_of(v[i].root)};
        }
    }
    *ret = (struct pod_images_found){all && p->in_images ? v : NULL, volumes, n};
    return code;
}
