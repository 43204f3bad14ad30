/*
 * booking_fence: that quota stays as it was seen, although another wrote it.
 *
 * Raising one quota is right as long as all others stay what they are. What this process writes it waits for. But on a
 * cluster a request of a leader before, who decided from an older state, may be on its way still, and land after this
 * one has given the same hardware to somebody else. No lease helps: it was sent while it was allowed.
 *
 * So each patch of quota names the resourceVersion it was decided from, what is created has none, and who comes to lead
 * first gives all that there is a new resourceVersion: annotation TERM, unlike that of all leaders before. Whatever
 * they sent is refused from then on; what landed just before has that patch refused, is seen, and is marked then.
 * Until all is marked nothing is raised, nor before the Cohort is seen; what lowers goes on.
 *
 * The same when a patch of our own was given up with its end unknown: a new mark settles it.
 *
 * In `berth up` and in the simulator nobody's writes outlive him, and nothing is marked: env->term is empty.
 */
#include "api/meta.h"
#include "control/berths/booking_objects_private.h"
#include "control/kit/edit.h"

static struct str term_now(const struct booking_objects_controller *c, struct arena *a) {
    struct str term = c->base.env.term;
    return term.n > 0 && c->given_up > 0 ? arena_f(a, "%.*s.%u", STR_ARG(term), c->given_up) : term;
}

static bool fenced(const struct booking_picture *p, const struct object *o, const struct meta *m) {
    return o == NULL || p->term.n == 0 || str_eq(meta_annotation(m, BOOKING_TERM), p->term);
}

/* Everything of ours that has quota, whatever is to become of it: also what is being deleted. */
void booking_fence_read(struct booking_objects_controller *c, struct booking_picture *p) {
    p->term = term_now(c, &c->base.arena);
    p->cohort_fenced =
        !p->touch || fenced(p, p->cohort_obj, p->cohort != NULL ? p->cohort->metadata : NULL);
    /* A Cohort that is not seen may be there all the same, and have everything. */
    p->ledger.hold = !p->cohort_fenced || (p->touch && p->cohort_obj == NULL);
    for (size_t i = 0; i < p->n; i++) {
        struct berth_booking *b = &p->v[i];
        b->fenced = fenced(p, b->queue_obj, b->queue != NULL ? b->queue->metadata : NULL);
        p->ledger.hold = p->ledger.hold || !b->fenced;
    }
}

static void mark(struct booking_objects_controller *c, struct booking_picture *p,
                 const struct object *o) {
    struct meta *was, want;
    arena_reset(&c->scratch);
    int r = edit_read_meta(o, &c->scratch, &was);
    if (r == 0) {
        want = *was;
        r = meta_set(&want.annotations, &c->scratch, BOOKING_TERM, p->term);
    }
    round_tag(p->round, BOOKING_TAG_QUOTA);
    if (r != 0) {
        round_fail(p->round, r);
    } else {
        (void)edit_send_meta(p->round, o, EDIT_VERSION, was, &want);
    }
    round_tag(p->round, 0);
}

bool booking_fence_put(struct booking_objects_controller *c, struct booking_picture *p) {
    bool any = !p->cohort_fenced;
    if (!p->cohort_fenced) {
        mark(c, p, p->cohort_obj);
    }
    for (size_t i = 0; i < p->n; i++) {
        if (!p->v[i].fenced) {
            mark(c, p, p->v[i].queue_obj);
            any = true;
        }
    }
    return any;
}
