/*
 * images: brings images here without making the node's loop wait.
 *
 * Each image that is asked for is brought by a helper process (image_get.h), IMAGES_AT_ONCE at a time, of which one
 * namespace has IMAGES_OF_ONE at most. The next is one of the namespace that has the fewest on their way, the oldest of
 * these; and a namespace that has none may have one beside the others, up to IMAGES_MOST in all: slow registries of
 * some projects hold up no other. Who asks for one that is on its way waits for the same. What could not be had is not
 * tried again before its back-off is over (10 s, doubled up to 5 min): until then the answer comes at once.
 */
#ifndef BERTH_NODE_IMAGES_H
#define BERTH_NODE_IMAGES_H

#include "base/log.h"
#include "net/loop.h"
#include "node/images/image_get.h"

enum { IMAGES_AT_ONCE = 3, IMAGES_OF_ONE = 2, IMAGES_MOST = 8 };
enum { IMAGES_WAITING = 1000, IMAGES_FAILED = 1000 };

struct images;

struct images_options {
    struct loop *loop;
    struct log *log;
    const char *program; /* offers the hidden verb image-get */
    const char *dir;     /* DATA/images */
    const char *hosts;   /* images may be pulled from (image_hosts.h); NULL: any. Outlives it */
};

struct images *images_new(const struct images_options *o, struct err *err);
void images_free(struct images *im); /* ends what is on its way; nobody is answered */

struct image_ask {
    struct str ns, name, policy; /* name: whole (image_name_full) */
    struct str auth;             /* credentials, as podman's authfile; empty: none */
    bool if_reachable;           /* do not try where the registry does not answer */
};

enum image_answer {
    IMAGE_PULLING, /* it begins */
    IMAGE_NOTE,    /* it goes on; text: how far */
    /* the last is one of: */
    IMAGE_HERE,
    IMAGE_PULLED,
    IMAGE_ABSENT,  /* not here, and not to be fetched */
    IMAGE_FAILED,  /* text: why */
    IMAGE_BACKOFF, /* it failed not long ago; text: why */
};

struct image_news {
    enum image_answer answer;
    struct str text;
    int64_t bytes, took_ns; /* of IMAGE_PULLED */
};

/* `told` comes on the loop, some times, never from within; after the last nothing more. 0, ERR_NOMEM, ERR_TOO_MANY. */
int images_ask(struct images *im, const struct image_ask *ask,
               void (*told)(void *ctx, const struct image_news *news), void *ctx, struct err *err);

#endif
