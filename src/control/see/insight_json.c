/* insight_json: an explanation as an object and as text, as its asker may see it. */
#include "api/kinds/kinds.h"
#include "api/schema/codec_encode.h"
#include "base/limits.h"
#include "control/see/insight.h"
#include "wire/text/time.h"

enum { HOLDERS_FULL = 10, HOLDERS_SHORT = 3, BORROWERS_FULL = 5, NEXT_FULL = 5 };
#define OTHERS "another team's workload"

struct page {
    struct insight *in;
    size_t i; /* of the workload */
    const struct insight_viewer *v;
    bool full;
    struct buf *out;
    struct explanation why;
    struct arena a, *mem; /* mem: it */
};

/* ---- small parts ---- */

/* What the buffer says, in the page's memory; the buffer is empty then. */
static struct str said(const struct page *p, struct buf *b) {
    struct str text = arena_str(p->mem, buf_view(b));
    b->failed = b->failed ? b->failed : arena_ok(p->mem);
    p->out->failed = p->out->failed ? p->out->failed : b->failed;
    buf_reset(b);
    return text;
}

/* A time that is known; 0: it is not. */
static int64_t known_time(int64_t ns) {
    return ns > 0 && ns < INT64_MAX ? ns : 0;
}

static struct str resource_of(const struct page *p, uint32_t id) {
    return names_text(engine_resources(p->in->engine), id);
}

static struct str flavor_of(const struct page *p, uint32_t id) {
    return names_text(engine_flavors(p->in->engine), id);
}

static void amount(const struct page *p, uint32_t resource, int64_t v, struct buf *out) {
    if (v == AMOUNT_UNLIMITED) {
        buf_c(out, "unlimited");
    } else {
        amount_text(resource_of(p, resource), v, out);
    }
}

static struct str amount_of(const struct page *p, uint32_t resource, int64_t v) {
    struct buf b;
    buf_init(&b, 64);
    amount(p, resource, v, &b);
    struct str text = said(p, &b);
    buf_release(&b);
    return text;
}

static const char *basis_text(unsigned set) {
    static const char *const texts[] = {"none needed",
                                        "unknown",
                                        "declared",
                                        "declared and unknown",
                                        "observed",
                                        "observed and unknown",
                                        "declared and observed",
                                        "declared, observed and unknown"};
    return texts[set & 7];
}

static void span(int64_t ns, struct buf *out) {
    long long sec = (ns + 500000000) / 1000000000, m = sec / 60, h = m / 60, d = h / 24;
    if (sec < 120) {
        buf_f(out, "%llds", sec);
    } else if (m < 120) {
        buf_f(out, sec % 60 ? "%lldm%llds" : "%lldm", m, sec % 60);
    } else if (h < 48) {
        buf_f(out, m % 60 ? "%lldh%lldm" : "%lldh", h, m % 60);
    } else {
        buf_f(out, h % 24 ? "%lldd%lldh" : "%lldd", d, h % 24);
    }
}

/* "in 2h5m", "now" */
static void from_now(int64_t ns, struct buf *out) {
    if (ns < 500000000) {
        buf_c(out, "now");
    } else {
        buf_c(out, "in ");
        span(ns, out);
    }
}

static bool queue_shows(const struct page *p, struct str queue) {
    return p->v->queues || str_eq(queue, p->in->clone.works[p->i].in.queue);
}

void insight_reference(const struct insight *in, size_t i, const struct insight_viewer *v,
                       struct explained_workload *to) {
    const struct clone_work *c = &in->clone.works[i];
    const struct object *o = insight_shows(in, v, i) ? in->works[i].obj : NULL;
    *to = (struct explained_workload){.priority = c->in.priority};
    if (o != NULL) {
        to->namespace = o->ns;
        to->name = o->name;
    }
    if (v->queues || o != NULL) {
        to->cluster_queue = c->in.queue;
    }
}

/* "team-a/train" or "another team's workload" */
static void who(const struct page *p, size_t i, struct buf *out) {
    const struct object *o = p->in->works[i].obj;
    if (o != NULL && insight_shows(p->in, p->v, i)) {
        buf_f(out, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
    } else {
        buf_c(out, OTHERS);
    }
}

void remedy_text(struct engine *e, const struct insight *in, size_t i, const struct explain_bar *x,
                 struct buf *out) {
    struct str resource = names_text(engine_resources(e), x->resource);
    struct str flavor = names_text(engine_flavors(e), x->flavor);
    if (in->works[i].booked) {
        buf_c(out, "ask for no more than ");
        amount_text(resource, amount_max(0, amount_sub(x->need, x->missing)), out);
        buf_f(out, " %.*s, which is what its booking has left in flavor %.*s", STR_ARG(resource),
              STR_ARG(flavor));
        return;
    }
    buf_c(out, "raise ");
    remedy_field(x, out);
    buf_f(out, " (%.*s in flavor %.*s) of ClusterQueue %.*s from ", STR_ARG(resource),
          STR_ARG(flavor), STR_ARG(in->clone.works[i].in.queue));
    amount_text(resource, x->nominal, out);
    buf_c(out, " to ");
    amount_text(resource, amount_add(x->nominal, x->missing), out);
}

void remedy_field(const struct explain_bar *x, struct buf *out) {
    buf_f(out, "spec.resourceGroups[%zu].flavors[%zu].resources[%zu].nominalQuota", x->group,
          x->flavor_at, x->resource_at);
}

/* ---- what it lacks ---- */

static void set_holder(const struct page *p, const struct explain_lack *l,
                       const struct explain_holder *h, struct explained_workload *to) {
    ptrdiff_t i = insight_find(p->in, h->uid);
    char text[TIME_TEXT_MAX];
    *to = (struct explained_workload){.priority = h->priority};
    if (i >= 0) {
        const struct insight_work *w = &p->in->works[i];
        insight_reference(p->in, (size_t)i, p->v, to);
        to->ends = known_time(w->ends) > 0 ? arena_str(p->mem, time_text(w->ends, text)) : to->ends;
        to->basis = str_of(basis_text(p->in->runs[i].basis));
        to->overdue = w->overdue;
    }
    to->amount = amount_of(p, l->resource, h->amount);
    to->keeps = str_of(keep_rule_name(h->keeps));
}

static void lack_reason(const struct page *p, const struct explain_lack *l, struct buf *out) {
    switch (l->kind) {
    case LACK_NO_FLAVOR:
        buf_c(out, "the flavor does not exist");
        break;
    case LACK_TAINT:
        buf_f(out, "the flavor's taint %.*s=%.*s:%.*s is not tolerated", STR_ARG(l->taint_key),
              STR_ARG(l->taint_value), STR_ARG(l->taint_effect));
        break;
    case LACK_AFFINITY:
        buf_c(out, "the pods' node selector or affinity excludes the flavor");
        break;
    case LACK_RESOURCE:
        buf_c(out, "no resource group of the ClusterQueue covers it");
        break;
    case LACK_CAPACITY:
        buf_c(out, "more than the ClusterQueue can ever have");
        break;
    case LACK_QUOTA:
    case LACK_NOTHING:
        break;
    }
}

static void set_people(const struct page *p, const struct explain_lack *l,
                       struct explained_lack *to) {
    int64_t listed = 0;
    to->holders.v = ARENA_ARRAY(p->mem, struct explained_workload, l->n_holders + 1);
    for (size_t i = 0; to->holders.v != NULL && i < l->n_holders; i++) {
        set_holder(p, l, &l->holders[i], &to->holders.v[to->holders.n++]);
        listed = amount_add(listed, l->holders[i].amount);
    }
    to->holder_count = (struct opt_i64){true, (int64_t)l->n_holders_all};
    if (l->n_holders_all > l->n_holders) {
        to->held_by_others = amount_of(p, l->resource, amount_sub(l->held_all, listed));
    }
    to->borrowers.v = ARENA_ARRAY(p->mem, struct explained_borrower, l->n_borrowers + 1);
    for (size_t i = 0; to->borrowers.v != NULL && i < l->n_borrowers; i++) {
        const struct explain_borrower *b = &l->borrowers[i];
        to->borrowers.v[to->borrowers.n++] = (struct explained_borrower){
            .amount = amount_of(p, l->resource, b->amount),
            .cluster_queue = queue_shows(p, b->queue) ? b->queue : (struct str){0}};
    }
}

static void set_lack(const struct page *p, const struct explain_lack *l,
                     struct explained_lack *to) {
    struct buf reason;
    buf_init(&reason, 1024);
    lack_reason(p, l, &reason);
    *to = (struct explained_lack){.resource = resource_of(p, l->resource),
                                  .flavor = flavor_of(p, l->flavor),
                                  .reason = said(p, &reason)};
    buf_release(&reason);
    if (l->need > 0) {
        to->needed = amount_of(p, l->resource, l->need);
        to->missing = amount_of(p, l->resource, l->missing);
    }
    if (l->kind == LACK_QUOTA || l->kind == LACK_CAPACITY) {
        to->available = amount_of(p, l->resource, l->available);
        to->capacity = amount_of(p, l->resource, l->capacity);
    }
    if (l->kind == LACK_QUOTA) {
        to->limited_by = queue_shows(p, l->limit_at) ? l->limit_at : (struct str){0};
        set_people(p, l, to);
    }
}

/* "10m cpu in flavor default (nominal quota 0, 0 used)", all of them */
static void bars_text(const struct page *p, struct buf *b) {
    for (size_t i = 0; i < p->why.n_bars; i++) {
        const struct explain_bar *x = &p->why.bars[i];
        buf_c(b, i ? ", " : "");
        amount(p, x->resource, x->need, b);
        buf_f(b, " %.*s in flavor %.*s (nominal quota ", STR_ARG(resource_of(p, x->resource)),
              STR_ARG(flavor_of(p, x->flavor)));
        amount(p, x->resource, x->nominal, b);
        buf_c(b, ", ");
        amount(p, x->resource, x->used, b);
        buf_c(b, " used)");
    }
}

static void bars_names(const struct page *p, struct buf *b) {
    for (size_t i = 0; i < p->why.n_bars; i++) {
        buf_f(b, i ? ", %.*s" : "%.*s", STR_ARG(resource_of(p, p->why.bars[i].resource)));
    }
}

static void rule_words(const struct page *p, const struct explain_rule *r, struct buf *b) {
    buf_c(b, keep_rule_text(r->rule));
    if (keep_rule_borrows(r->rule) && p->why.n_bars > 0) {
        buf_c(b, "; it counts as borrowing, since it is asked for ");
        bars_text(p, b);
    }
}

static bool has_remedy(const struct explanation *why) {
    for (size_t i = 0; i < why->n_bars; i++) {
        if (why->bars[i].remedy) {
            return true;
        }
    }
    return false;
}

static void set_bars(const struct page *p, struct explanation_status *to) {
    struct buf text;
    to->borrowing.v = ARENA_ARRAY(p->mem, struct explained_borrowing, p->why.n_bars + 1);
    buf_init(&text, LIMIT_CONDITION_MESSAGE);
    for (size_t i = 0; to->borrowing.v != NULL && i < p->why.n_bars; i++) {
        const struct explain_bar *b = &p->why.bars[i];
        if (b->remedy) {
            remedy_text(p->in->engine, p->in, p->i, b, &text);
        }
        to->borrowing.v[to->borrowing.n++] =
            (struct explained_borrowing){.resource = resource_of(p, b->resource),
                                         .flavor = flavor_of(p, b->flavor),
                                         .requested = amount_of(p, b->resource, b->need),
                                         .nominal_quota = amount_of(p, b->resource, b->nominal),
                                         .used = amount_of(p, b->resource, b->used),
                                         .missing = amount_of(p, b->resource, b->missing),
                                         .remedy = said(p, &text)};
    }
    buf_release(&text);
}

static void set_rules(const struct page *p, struct explanation_status *to) {
    struct buf words;
    to->preemption.v = ARENA_ARRAY(p->mem, struct explained_rule, p->why.n_rules + 1);
    buf_init(&words, LIMIT_CONDITION_MESSAGE);
    for (size_t i = 0; to->preemption.v != NULL && i < p->why.n_rules; i++) {
        const struct explain_rule *r = &p->why.rules[i];
        rule_words(p, r, &words);
        to->preemption.v[to->preemption.n++] =
            (struct explained_rule){.rule = str_of(keep_rule_name(r->rule)),
                                    .workloads = (int64_t)r->workloads,
                                    .message = said(p, &words),
                                    .until_ns = known_time(r->until_ns)};
    }
    buf_release(&words);
}

/* ---- position and estimate ---- */

/* Those before it in its queue, the first of them first. */
static size_t first_ahead(const struct page *p) {
    return p->i - (p->in->works[p->i].position - 1);
}

static void set_position(const struct page *p, struct explained_position *to) {
    const struct insight_work *w = &p->in->works[p->i];
    size_t ahead = w->position - 1, n = !p->full ? 0 : ahead > NEXT_FULL ? NEXT_FULL : ahead;
    *to = (struct explained_position){.cluster_queue = (int64_t)w->position,
                                      .local_queue = (int64_t)w->local_position,
                                      .ahead = (int64_t)ahead};
    to->next.v = ARENA_ARRAY(p->mem, struct explained_workload, n + 1);
    for (size_t k = 0; to->next.v != NULL && k < n; k++) {
        insight_reference(p->in, first_ahead(p) + k, p->v, &to->next.v[to->next.n++]);
    }
}

/* It would not start even if all whose run times are not known ended at once. */
static bool never_starts(const struct page *p) {
    return p->in->n_unknown == 0 ||
           (p->in->least != NULL && !p->in->cut && p->in->least[p->i].start == FORECAST_NEVER);
}

static enum outlook_kind outlook_of(const struct page *p) {
    return outlook_says(&p->in->outlooks[p->i], p->in->now);
}

/* As fine as a range deserves: 10 s of minutes, minutes of an hour, ten minutes of a day, hours. */
static int64_t rough(int64_t ns) {
    static const int64_t sec = 1000000000;
    int64_t step = ns < 120 * sec     ? sec
                   : ns < 1200 * sec  ? 10 * sec
                   : ns < 7200 * sec  ? 60 * sec
                   : ns < 86400 * sec ? 600 * sec
                                      : 3600 * sec;
    return (ns + step / 2) / step * step;
}

/* "in 20m to 1h10m", "within 40m" */
static void range_text(const struct page *p, struct buf *out) {
    const struct outlook *o = &p->in->outlooks[p->i];
    int64_t early = o->early - p->in->now, late = o->late - p->in->now;
    if (early < 1000000000) {
        buf_c(out, "within ");
    } else {
        buf_c(out, "in ");
        span(rough(early), out);
        buf_c(out, " to ");
    }
    span(rough(late), out);
}

static int64_t bound_of(const struct page *p) {
    const struct forecast_work *least = p->in->least != NULL ? &p->in->least[p->i] : NULL;
    int64_t at = outlook_of(p) == OUTLOOK_UNKNOWN ? p->in->outlooks[p->i].early
                 : least != NULL                  ? least->start
                                                  : FORECAST_NEVER;
    /* "Not before now" would say nothing, and something else each second. */
    return at != FORECAST_NEVER && at - p->in->now >= 1000000000 ? at : 0;
}

static void unknown_text(const struct page *p, const char *why, struct buf *out) {
    int64_t bound = bound_of(p);
    buf_f(out, "unknown (%s", why);
    if (bound > 0) {
        buf_c(out, "; not within ");
        span(bound - p->in->now, out);
    }
    buf_ch(out, ')');
}

static void estimate_text(const struct page *p, struct buf *out) {
    unsigned after = p->in->runs[p->i].after;
    switch (outlook_of(p)) {
    case OUTLOOK_TIME:
        from_now(p->in->outlooks[p->i].mid - p->in->now, out);
        break;
    case OUTLOOK_RANGE:
        range_text(p, out);
        break;
    case OUTLOOK_UNKNOWN:
        unknown_text(p, "earlier ones differ too much", out);
        return;
    case OUTLOOK_NEVER:
        if (!never_starts(p)) {
            unknown_text(p, "run times are not known", out);
        } else {
            buf_c(out, p->in->cut ? "too far ahead to tell" : "not as things are");
        }
        return;
    }
    if (after != 0) {
        buf_f(out, " (%s run times)", basis_text(after));
    }
}

/* What was said first, of one that waits on past it. */
static void slid_text(const struct page *p, struct buf *out) {
    const struct hindsight_told *t = &p->in->works[p->i].told;
    if (t->at > 0 && p->in->now > t->said.late) {
        buf_c(out, "At first it was to start in ");
        span(rough(t->said.late - t->at), out);
        buf_c(out, ", which was ");
        span(rough(p->in->now - t->said.late), out);
        buf_c(out, " ago. ");
    }
}

static void estimate_note(const struct page *p, struct buf *out) {
    const struct clone *c = &p->in->clone;
    slid_text(p, out);
    if (c->pending_left_out > 0) {
        buf_f(out, "%zu pending workloads further back were left out. ", c->pending_left_out);
    }
    if (c->holding_left_out > 0) {
        buf_f(out, "%zu workloads that hold quota were left out. ", c->holding_left_out);
    }
    if (c->places.left_out) {
        buf_c(out, "Places on nodes were left out. ");
    }
    if (p->in->works[p->i].checked) {
        buf_c(out,
              "This is when it gets quota: admission checks, of others too, are not foreseen. ");
    }
    out->n -= out->n > 0;
}

static void set_estimate(const struct page *p, struct explained_estimate *to) {
    const struct outlook *o = &p->in->outlooks[p->i];
    enum outlook_kind says = outlook_of(p);
    bool is_known = says == OUTLOOK_TIME || says == OUTLOOK_RANGE;
    struct buf text;
    buf_init(&text, 1024);
    *to = (struct explained_estimate){.basis = str_of(says != OUTLOOK_NEVER
                                                          ? basis_text(p->in->runs[p->i].after)
                                                      : !never_starts(p) ? "unknown"
                                                                         : "none needed"),
                                      .start_ns = says == OUTLOOK_TIME ? known_time(o->mid) : 0,
                                      .earliest_ns = is_known ? known_time(o->early) : 0,
                                      .latest_ns = is_known ? known_time(o->late) : 0,
                                      .not_before_ns = is_known ? 0 : known_time(bound_of(p))};
    estimate_text(p, &text);
    to->text = said(p, &text);
    estimate_note(p, &text);
    to->note = said(p, &text);
    buf_release(&text);
}

/* ---- text ---- */

static const struct explain_lack *main_lack(const struct page *p) {
    const struct explain_lack *best = NULL;
    for (size_t i = 0; i < p->why.n_lacks; i++) {
        const struct explain_lack *l = &p->why.lacks[i];
        best = best == NULL || (l->kind == LACK_QUOTA && best->kind != LACK_QUOTA) ? l : best;
    }
    return best;
}

static const char *plural(size_t n) {
    return n == 1 ? "" : "s";
}

static void lack_words(const struct page *p, const struct explain_lack *l, struct buf *b) {
    struct str flavor = flavor_of(p, l->flavor);
    if (l->kind == LACK_QUOTA || l->kind == LACK_CAPACITY || l->kind == LACK_RESOURCE) {
        amount(p, l->resource, l->missing, b);
        buf_f(b, " %.*s missing", STR_ARG(resource_of(p, l->resource)));
        buf_f(b, flavor.n > 0 ? " in flavor %.*s" : "%.*s", STR_ARG(flavor));
        buf_c(b, l->least ? " (at least " : " (");
        amount(p, l->resource, l->need, b);
        buf_c(b, " needed, ");
        if (l->kind == LACK_QUOTA) {
            amount(p, l->resource, l->available, b);
            buf_c(b, " free)");
        } else if (l->kind == LACK_CAPACITY) {
            amount(p, l->resource, l->capacity, b);
            buf_c(b, " is all there is)");
        } else {
            buf_c(b, "no resource group covers it)");
        }
        return;
    }
    buf_f(b, "flavor %.*s: ", STR_ARG(flavor));
    lack_reason(p, l, b);
}

static void summary_text(const struct page *p, struct buf *b) {
    const struct insight_work *w = &p->in->works[p->i];
    const struct explain_lack *l = main_lack(p);
    if (!p->why.fits && l != NULL) {
        lack_words(p, l, b);
        if (l->n_holders_all > 0) {
            buf_f(b, ", held by %zu workload%s", l->n_holders_all, plural(l->n_holders_all));
        }
        if (has_remedy(&p->why)) {
            buf_c(b, "; not reclaimed, since it would borrow ");
            bars_names(p, b);
        }
    } else if (w->message.n > 0) {
        buf_str(b, w->message);
    } else if (w->position > 1) {
        buf_f(b, "quota is free; %zu workload%s %s before it%s", w->position - 1,
              plural(w->position - 1), w->position == 2 ? "is" : "are",
              p->why.strict ? " in a StrictFIFO ClusterQueue" : "");
    } else {
        buf_c(b, "quota is free: it is about to start");
    }
}

static void holder_text(const struct page *p, const struct explain_lack *l,
                        const struct explain_holder *h, struct buf *b) {
    ptrdiff_t i = insight_find(p->in, h->uid);
    buf_c(b, "    ");
    amount(p, l->resource, h->amount, b);
    buf_c(b, " held by ");
    if (i < 0) {
        buf_c(b, OTHERS);
    } else {
        who(p, (size_t)i, b);
    }
    buf_f(b, ", priority %lld", (long long)h->priority);
    if (i >= 0 && p->in->works[i].awaits.n > 0 && insight_shows(p->in, p->v, (size_t)i)) {
        buf_f(b, ", stopping: awaits the end of %.*s", STR_ARG(p->in->works[i].awaits));
    } else if (i >= 0 && p->in->works[i].overdue) {
        buf_f(b, ", overdue (%s run time)", basis_text(p->in->runs[i].basis));
    } else if (i >= 0 && p->in->works[i].ends > 0) {
        buf_c(b, ", ends ");
        from_now(p->in->works[i].ends - p->in->now, b);
        buf_f(b, " (%s run time)", basis_text(p->in->runs[i].basis));
    } else {
        buf_c(b, ", unknown run time");
    }
    if (keep_rule_borrows(h->keeps)) {
        buf_f(b, ", kept by %s", keep_rule_name(h->keeps));
    }
    buf_ch(b, '\n');
}

static void lacks_text(const struct page *p, struct buf *b) {
    for (size_t i = 0; i < p->why.n_lacks; i++) {
        const struct explain_lack *l = &p->why.lacks[i];
        buf_c(b, "  ");
        lack_words(p, l, b);
        buf_ch(b, '\n');
        int64_t listed = 0;
        for (size_t k = 0; k < l->n_holders; k++) {
            holder_text(p, l, &l->holders[k], b);
            listed = amount_add(listed, l->holders[k].amount);
        }
        if (l->n_holders_all > l->n_holders) {
            buf_c(b, "    ");
            amount(p, l->resource, amount_sub(l->held_all, listed), b);
            buf_f(b, " held by %zu more\n", l->n_holders_all - l->n_holders);
        }
        for (size_t k = 0; k < l->n_borrowers; k++) {
            struct str q = l->borrowers[k].queue;
            buf_c(b, "    ");
            amount(p, l->resource, l->borrowers[k].amount, b);
            buf_f(b,
                  queue_shows(p, q) ? " borrowed by ClusterQueue %.*s\n"
                                    : " borrowed by another ClusterQueue%.*s\n",
                  queue_shows(p, q) ? (int)q.n : 0, q.p);
        }
    }
}

static void rules_text(const struct page *p, struct buf *b) {
    for (size_t i = 0; i < p->why.n_rules; i++) {
        const struct explain_rule *r = &p->why.rules[i];
        char text[TIME_TEXT_MAX];
        buf_f(b, "  %zu workload%s: %s ", r->workloads, plural(r->workloads),
              r->workloads == 1 ? "it" : "each");
        rule_words(p, r, b);
        if (r->until_ns > 0) {
            buf_f(b, " (first until %.*s)", STR_ARG(time_text(r->until_ns, text)));
        }
        buf_ch(b, '\n');
    }
}

static void remedies_text(const struct page *p, struct buf *b) {
    for (size_t i = 0; i < p->why.n_bars; i++) {
        if (p->why.bars[i].remedy) {
            buf_c(b, "Remedy: ");
            remedy_text(p->in->engine, p->in, p->i, &p->why.bars[i], b);
            buf_ch(b, '\n');
        }
    }
}

static void whole_text(const struct page *p, struct str summary, struct buf *b) {
    const struct insight_work *w = &p->in->works[p->i];
    buf_f(b, "Waits for: %.*s\n", STR_ARG(summary));
    buf_f(b, "Position: %zu in ClusterQueue %.*s, %zu in LocalQueue %.*s\n", w->position,
          STR_ARG(p->in->clone.works[p->i].in.queue), w->local_position, STR_ARG(w->local));
    for (size_t k = 0; k + 1 < w->position && k < NEXT_FULL; k++) {
        buf_c(b, k ? ", " : "Ahead: ");
        who(p, first_ahead(p) + k, b);
    }
    if (w->position > 1) {
        size_t more = w->position - 1 > NEXT_FULL ? w->position - 1 - NEXT_FULL : 0;
        buf_f(b, more > 0 ? " and %zu more\n" : "\n", more);
    }
    if (p->why.n_lacks > 0) {
        buf_c(b, "Lacks:\n");
        lacks_text(p, b);
    }
    if (p->why.n_rules > 0) {
        buf_c(b, "Why nobody is preempted for it:\n");
        rules_text(p, b);
        remedies_text(p, b);
    }
    buf_c(b, "Estimated start: ");
    estimate_text(p, b);
    buf_ch(b, '\n');
    size_t before = b->n;
    buf_c(b, "Note: ");
    size_t head = b->n;
    estimate_note(p, b);
    if (b->n <= head) {
        b->n = before;
    } else {
        buf_ch(b, '\n');
    }
}

/* ---- the whole ---- */

struct meta explanation_meta(const struct object *o) {
    return (struct meta){
        .name = o->name, .namespace = o->ns, .uid = o->uid, .creation_ns = o->created_ns};
}

static void page_write(struct page *p) {
    const struct insight_work *w = &p->in->works[p->i];
    const struct workload_input *c = &p->in->clone.works[p->i].in;
    struct meta meta = explanation_meta(w->obj);
    struct explained_position position;
    struct explained_estimate estimate;
    struct explanation_status s = {.state = STR("Waiting"),
                                   .job = w->job,
                                   .local_queue = w->local,
                                   .cluster_queue = c->queue,
                                   .priority = c->priority,
                                   .reason = str_of(w->reason != NULL ? w->reason : ""),
                                   .position = &position,
                                   .estimate = &estimate,
                                   .computed_ns = p->in->now};
    struct buf text;
    buf_init(&text, LIMIT_OBJECT_BYTES);
    summary_text(p, &text);
    s.summary = said(p, &text);
    set_position(p, &position);
    s.lacks.v = ARENA_ARRAY(p->mem, struct explained_lack, p->why.n_lacks + 1);
    for (size_t i = 0; s.lacks.v != NULL && i < p->why.n_lacks; i++) {
        set_lack(p, &p->why.lacks[i], &s.lacks.v[s.lacks.n++]);
    }
    set_rules(p, &s);
    set_bars(p, &s);
    set_estimate(p, &estimate);
    if (p->full) {
        whole_text(p, s.summary, &text);
        s.text = said(p, &text);
    }
    buf_release(&text);
    codec_list_object(&kind_workload_explanation,
                      &(struct workload_explanation){.metadata = &meta, .status = &s}, p->out);
}

int insight_explain(struct insight *in, size_t i, const struct insight_viewer *v, bool full,
                    struct buf *out) {
    struct page p = {.in = in, .i = i, .v = v, .full = full, .out = out};
    struct explain_options o = {.now = in->now,
                                .holders_max = full ? HOLDERS_FULL : HOLDERS_SHORT,
                                .borrowers_max = full ? BORROWERS_FULL : 0};
    if (in->works[i].obj == NULL) {
        return ERR_NOT_FOUND;
    }
    arena_init(&p.a, 64 << 20);
    p.mem = &p.a;
    int r = explain_workload(in->index, in->clone.works[i].in.uid, &o, &p.a, &p.why);
    if (r == 0) {
        page_write(&p);
        r = arena_ok(&p.a) != 0 ? ERR_NOMEM : buf_ok(out);
    }
    arena_release(&p.a);
    return r;
}
