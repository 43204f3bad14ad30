/* verdict (core): reasons to text. */
#include "core/admit/verdict.h"

#include "core/quota/amount.h"

const char *pend_reason_text(enum pend_reason r) {
    static const char *const texts[] = {
        [PEND_NONE] = "PendingEvaluation",
        [PEND_EVALUATION] = "PendingEvaluation",
        [PEND_WAITING_FOR_READY] = "WaitingForPodsReady",
        [PEND_WAITING_FOR_PREEMPTED] = "WaitingForPreemptedWorkloads",
        [PEND_GATED] = "AdmissionGated",
        [PEND_WAITING_FOR_PLACEMENT] = "WaitingForPlacement",
        [PEND_WAITING_FOR_QUOTA] = "WaitingForQuota",
        [PEND_EXCEEDS_MAX_QUOTA] = "ExceedsMaxQuota",
        [PEND_NO_MATCHING_FLAVOR] = "NoMatchingFlavor",
    };
    return texts[r];
}

struct quantity amount_quantity(struct str resource, int64_t v) {
    bool binary = str_is(resource, "memory") || str_is(resource, "ephemeral-storage") ||
                  str_starts(resource, STR("hugepages-"));
    return str_is(resource, "cpu") ? quantity_of_milli(v, QUANTITY_DECIMAL)
                                   : quantity_of(v, binary ? QUANTITY_BINARY : QUANTITY_DECIMAL);
}

void amount_text(struct str resource, int64_t v, struct buf *out) {
    quantity_write(out, amount_quantity(resource, v));
}

static void detail_text(const struct verdict_detail *d, const struct names *flavors,
                        const struct names *resources, struct buf *b) {
    struct str f = names_text(flavors, d->flavor), r = names_text(resources, d->resource);
    switch (d->kind) {
    case DETAIL_RESOURCE_UNAVAILABLE:
        buf_f(b, "resource %.*s unavailable in ClusterQueue", STR_ARG(r));
        break;
    case DETAIL_FLAVOR_MISSING:
        buf_f(b, "flavor %.*s not found", STR_ARG(f));
        break;
    case DETAIL_TAINT:
        buf_f(b, "untolerated taint {%.*s %.*s %.*s <nil>} in flavor %.*s", STR_ARG(d->taint->key),
              STR_ARG(d->taint->value), STR_ARG(d->taint->effect), STR_ARG(f));
        break;
    case DETAIL_AFFINITY:
        buf_f(b, "flavor %.*s doesn't match node affinity", STR_ARG(f));
        break;
    case DETAIL_EXCEEDS:
        buf_f(b,
              "insufficient quota for %.*s in flavor %.*s, previously considered podsets "
              "requests (",
              STR_ARG(r), STR_ARG(f));
        amount_text(r, d->a, b);
        buf_c(b, ") + current podset request (");
        amount_text(r, d->b, b);
        buf_c(b, ") > maximum capacity (");
        amount_text(r, d->c, b);
        buf_c(b, ")");
        break;
    case DETAIL_UNUSED:
        buf_f(b, "insufficient unused quota for %.*s in flavor %.*s, ", STR_ARG(r), STR_ARG(f));
        amount_text(r, d->a, b);
        buf_c(b, " more needed");
        break;
    case DETAIL_OTHER_FLAVOR:
        buf_f(b, "could not assign %.*s flavor since the original workload is assigned: %.*s",
              STR_ARG(f), STR_ARG(names_text(flavors, (uint32_t)d->a)));
        break;
    }
}

static int text_cmp(const void *a, const void *b) {
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Sorted, without repetition. */
static void details_text(const struct verdict_detail *v, size_t n, const struct names *flavors,
                         const struct names *resources, struct arena *a, struct buf *out) {
    struct str *texts = ARENA_ARRAY(a, struct str, n);
    struct buf one;
    buf_init(&one, 0);
    size_t count = 0;
    for (size_t i = 0; texts != NULL && i < n; i++) {
        buf_reset(&one);
        detail_text(&v[i], flavors, resources, &one);
        texts[count++] = arena_str(a, buf_view(&one));
    }
    buf_release(&one);
    if (count > 1) {
        qsort(texts, count, sizeof(*texts), text_cmp);
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !str_eq(texts[i], texts[i - 1])) {
            buf_c(out, i > 0 ? ", " : "");
            buf_str(out, texts[i]);
        }
    }
}

static void sets_text(const struct verdict *v, const struct names *flavors,
                      const struct names *resources, struct arena *a, struct buf *out) {
    for (size_t i = 0; i < v->n_sets; i++) {
        const struct verdict_set *s = &v->sets[i];
        buf_c(out, i > 0 ? "; " : "");
        buf_f(out, "couldn't assign flavors to pod set %.*s: ", STR_ARG(s->name));
        details_text(s->v, s->n, flavors, resources, a, out);
    }
}

static const char *plural(int64_t n) {
    return n == 1 ? "" : "s";
}

static void place_text(const struct verdict *v, const struct names *resources, struct buf *b) {
    const struct place_why *w = &v->place;
    struct str r = names_text(resources, w->resource);
    if (v->n_preempting > 0 && v->turn != TURN_PREEMPTING) {
        buf_f(b, "the preemption of %u workload(s) would not help: then ", v->n_preempting);
    } else {
        buf_c(b, "quota is available, but ");
    }
    switch (w->trouble) {
    case PLACE_NO_NODE:
        buf_c(b, "no node matches the node selector, affinity and tolerations");
        break;
    case PLACE_NOT_READY:
        buf_c(b, "no matching node is ready");
        break;
    case PLACE_NO_SLICE:
        buf_f(b,
              "no GPU has room for %.*s: %d GPU%s in service on %d node%s, at most %lld memory "
              "slice%s free on one GPU",
              STR_ARG(w->profile), w->gpus, plural(w->gpus), w->nodes, plural(w->nodes),
              (long long)w->most, plural(w->most));
        break;
    case PLACE_NO_GPU:
        buf_f(b, "no node has %lld whole GPU%s free: at most %lld on one node", (long long)w->need,
              plural(w->need), (long long)w->most);
        break;
    case PLACE_NO_AMOUNT:
        buf_f(b, "no node has enough %.*s free: ", STR_ARG(r));
        amount_text(r, w->need, b);
        buf_c(b, " needed for one pod, at most ");
        amount_text(r, w->most, b);
        buf_c(b, " free on one node");
        break;
    case PLACE_TAKEN:
        buf_c(b, "all places of its workload are held by pods that have not ended");
        break;
    case PLACE_SMALL:
        buf_f(b,
              "it asks for %lld %.*s, and its workload was admitted with %lld for each pod: let it "
              "ask for no more",
              (long long)w->need, STR_ARG(r), (long long)w->most);
        break;
    case PLACE_TOO_MANY:
        buf_f(b,
              "its pods and their devices would take %lld places, and one workload may have at "
              "most %lld: let it ask for fewer at once, or make several of it",
              (long long)w->need, (long long)w->most);
        break;
    case PLACE_TOO_MANY_PLAIN:
        buf_f(b,
              "it has %lld pods without devices, and one workload may have at most %lld on nodes "
              "of Berth: let it ask for fewer at once, or make several of it",
              (long long)w->need, (long long)w->most);
        break;
    case PLACE_NO_DOMAIN:
        buf_f(b, "no nodes with one value of label %.*s have room for all %lld pods",
              STR_ARG(w->label), (long long)w->need);
        break;
    case PLACE_NO_TOGETHER:
    case PLACE_OK:
        buf_c(b, "no single node has room for all that one pod asks for");
        break;
    }
    buf_f(b, " (pod set %.*s", STR_ARG(w->set));
    if (w->pods > 1) {
        buf_f(b, "; %d of %d pods would have a place", w->placed, w->pods);
    }
    buf_c(b, ")");
}

/* A text that stands for itself, or NULL. */
static const char *turn_text(enum pend_turn turn) {
    switch (turn) {
    case TURN_CONTENDED:
        return "Workload no longer fits after processing another workload";
    case TURN_OVERLAP:
        return "Workload has overlapping preemption targets with another workload";
    case TURN_DEFERRED_FIT:
        return "Workload has overlapping preemption targets with another workload, but will fit "
               "after these preemptions complete";
    case TURN_REFUSED:
        return "its victims may not go: they and this workload would evict each other without end";
    case TURN_FAILED_CHECKS:
        return "The workload has failed admission checks";
    case TURN_NONE:
    case TURN_PREEMPTING:
        break;
    }
    return NULL;
}

void verdict_text(const struct verdict *v, const struct names *flavors,
                  const struct names *resources, struct arena *a, struct buf *out) {
    const char *text = turn_text(v->turn);
    if (text == NULL && v->reason == PEND_GATED) {
        text = "Workload requires preemption, but it's gated";
    }
    if (text == NULL && v->reason == PEND_WAITING_FOR_READY) {
        text = "waiting for all admitted workloads to be in PodsReady condition";
    }
    if (text != NULL) {
        buf_c(out, text);
    } else if (v->reason == PEND_WAITING_FOR_PLACEMENT ||
               (v->turn == TURN_PREEMPTING && v->place.trouble != PLACE_OK)) {
        place_text(v, resources, out);
    } else {
        sets_text(v, flavors, resources, a, out);
    }
    if (v->turn == TURN_PREEMPTING && v->n_preempting == 0) {
        buf_c(out, ". Pending the end of pods that are on their way out");
    } else if (v->turn == TURN_PREEMPTING) {
        buf_f(out, ". Pending the preemption of %u workload(s)", v->n_preempting);
    }
}

/* ---- flavors considered ---- */

struct considered_name {
    struct str name;
    const struct considered_flavor *f;
};

static int name_cmp(const void *a, const void *b) {
    const struct considered_name *x = a, *y = b;
    return str_cmp(x->name, y->name);
}

static void considered_set_text(const struct considered_set *s, const struct names *flavors,
                                const struct names *resources, struct arena *a, struct buf *out) {
    struct considered_name *v = ARENA_ARRAY(a, struct considered_name, s->n);
    for (size_t i = 0; v != NULL && i < s->n; i++) {
        v[i] = (struct considered_name){names_text(flavors, s->v[i].flavor), &s->v[i]};
    }
    if (v == NULL) {
        return;
    }
    if (s->n > 1) {
        qsort(v, s->n, sizeof(*v), name_cmp);
    }
    buf_f(out, "%.*s: ", STR_ARG(s->name));
    for (size_t i = 0; i < s->n; i++) {
        const struct considered_flavor *f = v[i].f;
        bool plain = strcmp(f->mode, "Fit") == 0 || strcmp(f->mode, "NoFit") == 0;
        buf_f(out, "%s%.*s(%s%s", i > 0 ? ", " : "", STR_ARG(v[i].name),
              plain ? "" : "preemptionMode=", f->mode);
        if (f->borrow > 0) {
            buf_f(out, ";borrow=%u", f->borrow);
        }
        if (f->n_why > 0) {
            buf_c(out, ";");
            details_text(f->why, f->n_why, flavors, resources, a, out);
        }
        buf_c(out, ")");
    }
}

void considered_text(const struct considered *c, const struct names *flavors,
                     const struct names *resources, struct arena *a, struct buf *out) {
    for (size_t i = 0; c != NULL && i < c->n_sets; i++) {
        buf_c(out, i > 0 ? " | " : "");
        considered_set_text(&c->sets[i], flavors, resources, a, out);
    }
}
