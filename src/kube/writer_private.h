/* writer_private: the parts of the writer: what waits and in which order (writer_queue.c), what is sent (writer.c). */
#ifndef BERTH_KUBE_WRITER_PRIVATE_H
#define BERTH_KUBE_WRITER_PRIVATE_H

#include "kube/limiter.h"
#include "kube/pace.h"
#include "kube/writer.h"
#include "mirror/pset.h"

struct kube_writer;

/* Most urgent first. */
enum urgency { URGENT, NORMAL, COUNTERS, EVENTS, URGENCIES };

/* Who is told of a write that another replaced. */
struct listener {
    struct listener *next;
    write_done *done;
    void *ctx;
};

/* One write, in one allocation with its texts. Tens of thousands may wait: what can be made when it is sent, as the
 * path is, is not kept, and what is the same for all writes of an object lies in its line. */
struct pending {
    struct pending *next, *prev; /* among the ready ones of its urgency, or under way, or failed */
    struct pending *after;       /* the next write of the same object */
    struct line *line;           /* of its object; NULL for a creation */
    struct kube_writer *owner;
    enum urgency urgency;
    bool sent;
    bool mergeable;   /* a merge patch */
    bool forced;      /* an apply patch */
    bool conditional; /* names the version that it changes: sent twice, it still happens once */
    bool doubt;       /* sent, and no answer came: it may have happened */
    bool asking;      /* what became of it is being read */
    bool happened;    /* and that it happened is known already */
    uint16_t tries;   /* since then */
    int64_t sent_ns;  /* monotonic */
    struct kube_call *call;
    const struct kind *kind;
    const char *method, *content_type;
    const char *who;              /* the field manager; NULL: not said */
    char *path;                   /* while it flies */
    struct str subresource, body; /* in text */
    struct str ns, name;          /* in the line; of a creation in text */
    struct str uid;               /* in text; of a deletion: the precondition */
    write_done *done;
    void *ctx;
    struct listener *others;
    struct err *early; /* of one that is not sent: why */
    char text[];
};

/* The writes of one object, in order; the first is ready or under way. */
struct line {
    struct pending *first, *last;
    const struct kind *kind;
    struct str ns, name; /* in text */
    uint64_t hash;
    char text[];
};

struct pending_list {
    struct pending *first, *last;
    size_t n;
};

struct write_queue {
    struct pending_list ready[URGENCIES], flying;
    size_t flying_of[URGENCIES];
    int64_t sent_ns[URGENCIES]; /* when one was last sent */
    struct pace pace;
    size_t places;       /* that may fly at once */
    size_t waiting, max; /* ready, or behind another in a line */
    size_t bytes;        /* of bodies */
    struct pset lines;   /* by kind, namespace and name */
};

void list_push(struct pending_list *l, struct pending *p);
void list_remove(struct pending_list *l, struct pending *p);

enum urgency urgency_of(const struct kind *k, const char *subresource);
/* Takes p in; 0, or ERR_TOO_MANY or ERR_NOMEM with nothing changed. */
int queue_add(struct write_queue *q, struct pending *p, struct err *err);
/* A status patch that still waits and that `like` may replace; NULL: none. */
struct pending *queue_find_status(struct write_queue *q, const struct pending *like);
/* `by` takes the place of `old` and its listeners; frees old. 0 or ERR_NOMEM with nothing changed. */
int queue_replace(struct write_queue *q, struct pending *old, struct pending *by);
struct pending *queue_peek(struct write_queue *q,
                           int64_t now_ns); /* the next that may fly, or NULL */
void queue_fly(struct write_queue *q, struct pending *p, int64_t now_ns);
bool queue_room(const struct write_queue *q);                /* for one that nobody waits for */
void queue_landed(struct write_queue *q, struct pending *p); /* p is in no list any more */
void queue_release(struct write_queue *q); /* frees all that waits; nothing may fly */
void pending_free(struct pending *p);

#endif
