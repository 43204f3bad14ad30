/* verdict (core): reasons to text. */
#include "core/verdict.h"

#include "core/amount.h"

const char *pend_reason_text(enum pend_reason r) {
    static const char *const texts[] = {
        [PEND_NONE] = "PendingEvaluation",
        [PEND_WAITING_FOR_PLACEMENT] = "WaitingForPlacement",
        [PEND_WAITING_FOR_QUOTA] = "WaitingForQuota",
        [PEND_EXCEEDS_MAX_QUOTA] = "ExceedsMaxQuota",
        [PEND_NO_MATCHING_FLAVOR] = "NoMatchingFlavor",
    };
    return texts[r];
}

void amount_text(struct str resource, int64_t v, struct buf *out) {
    static const char *const decimal[] = {"", "k", "M", "G", "T", "P", "E"};
    static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    bool is_binary = str_is(resource, "memory") || str_is(resource, "ephemeral-storage") ||
                     str_starts(resource, STR("hugepages-"));
    int64_t step = is_binary ? 1024 : 1000;
    if (str_is(resource, "cpu")) {
        if (v % 1000 != 0) {
            buf_f(out, "%lldm", (long long)v);
            return;
        }
        v /= 1000;
    }
    size_t i = 0;
    while (v != 0 && v % step == 0 && i < 6) {
        v /= step;
        i++;
    }
    buf_f(out, "%lld%s", (long long)v, is_binary ? binary[i] : decimal[i]);
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
    }
}

static int text_cmp(const void *a, const void *b) {
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void set_text(const struct verdict_set *s, const struct names *flavors,
                     const struct names *resources, struct arena *a, struct buf *out) {
    struct str *texts = ARENA_ARRAY(a, struct str, s->n);
    struct buf one;
    buf_init(&one, 0);
    size_t n = 0;
    for (size_t i = 0; texts != NULL && i < s->n; i++) {
        buf_reset(&one);
        detail_text(&s->v[i], flavors, resources, &one);
        texts[n++] = arena_str(a, buf_view(&one));
    }
    buf_release(&one);
    if (n > 1) {
        qsort(texts, n, sizeof(*texts), text_cmp);
    }
    buf_f(out, "couldn't assign flavors to pod set %.*s: ", STR_ARG(s->name));
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !str_eq(texts[i], texts[i - 1])) {
            buf_c(out, i > 0 ? ", " : "");
            buf_str(out, texts[i]);
        }
    }
}

static const char *plural(int64_t n) {
    return n == 1 ? "" : "s";
}

static void place_text(const struct place_why *w, const struct names *resources, struct buf *b) {
    struct str r = names_text(resources, w->resource);
    buf_c(b, "quota is available, but ");
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

void verdict_text(const struct verdict *v, const struct names *flavors,
                  const struct names *resources, struct arena *a, struct buf *out) {
    if (v->turn == TURN_CONTENDED) {
        buf_c(out, "Workload no longer fits after processing another workload");
        return;
    }
    if (v->reason == PEND_WAITING_FOR_PLACEMENT) {
        place_text(&v->place, resources, out);
        return;
    }
    for (size_t i = 0; i < v->n_sets; i++) {
        buf_c(out, i > 0 ? "; " : "");
        set_text(&v->sets[i], flavors, resources, a, out);
    }
}
