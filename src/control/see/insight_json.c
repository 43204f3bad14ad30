/* insight_json: an explanation as JSON and as text, as its asker may see it. */
#include "api/schema/kind.h"
#include "base/limits.h"
#include "control/see/insight.h"
#include "wire/json/json.h"
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
    struct arena a;
};

/* ---- small parts ---- */

static void text_member(struct buf *b, const char *name, struct str v) {
    if (v.n > 0) {
        buf_f(b, ",\"%s\":", name);
        buf_json(b, v);
    }
}

static void time_member(struct buf *b, const char *name, int64_t ns) {
    char text[TIME_TEXT_MAX];
    if (ns > 0 && ns < INT64_MAX) {
        text_member(b, name, time_text(ns, text));
    }
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

static void amount_member(const struct page *p, const char *name, uint32_t resource, int64_t v) {
    buf_f(p->out, ",\"%s\":\"", name);
    amount(p, resource, v, p->out);
    buf_ch(p->out, '"');
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
                       struct buf *out) {
    const struct clone_work *c = &in->clone.works[i];
    bool shows = insight_shows(in, v, i) && in->works[i].obj != NULL;
    buf_f(out, "\"priority\":%lld", (long long)c->in.priority);
    if (shows) {
        text_member(out, "namespace", in->works[i].obj->ns);
        text_member(out, "name", in->works[i].obj->name);
    }
    if (v->queues || shows) {
        text_member(out, "clusterQueue", c->in.queue);
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

static void holder_json(const struct page *p, const struct explain_lack *l,
                        const struct explain_holder *h) {
    ptrdiff_t i = insight_find(p->in, h->uid);
    buf_ch(p->out, '{');
    if (i >= 0) {
        const struct insight_work *w = &p->in->works[i];
        insight_reference(p->in, (size_t)i, p->v, p->out);
        time_member(p->out, "ends", w->ends);
        text_member(p->out, "basis", str_of(basis_text(p->in->runs[i].basis)));
        if (w->overdue) {
            buf_c(p->out, ",\"overdue\":true");
        }
    } else {
        buf_f(p->out, "\"priority\":%lld", (long long)h->priority);
    }
    amount_member(p, "amount", l->resource, h->amount);
    text_member(p->out, "keeps", str_of(keep_rule_name(h->keeps)));
    buf_ch(p->out, '}');
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

static void people_json(const struct page *p, const struct explain_lack *l) {
    int64_t listed = 0;
    buf_c(p->out, ",\"holders\":[");
    for (size_t i = 0; i < l->n_holders; i++) {
        buf_c(p->out, i ? "," : "");
        holder_json(p, l, &l->holders[i]);
        listed = amount_add(listed, l->holders[i].amount);
    }
    buf_f(p->out, "],\"holderCount\":%zu", l->n_holders_all);
    if (l->n_holders_all > l->n_holders) {
        amount_member(p, "heldByOthers", l->resource, amount_sub(l->held_all, listed));
    }
    for (size_t i = 0; i < l->n_borrowers; i++) {
        const struct explain_borrower *b = &l->borrowers[i];
        buf_c(p->out, i ? ",{" : ",\"borrowers\":[{");
        buf_c(p->out, "\"amount\":\"");
        amount(p, l->resource, b->amount, p->out);
        buf_ch(p->out, '"');
        if (queue_shows(p, b->queue)) {
            text_member(p->out, "clusterQueue", b->queue);
        }
        buf_c(p->out, i + 1 == l->n_borrowers ? "}]" : "}");
    }
}

static void lack_json(const struct page *p, const struct explain_lack *l) {
    struct buf reason;
    buf_init(&reason, 1024);
    lack_reason(p, l, &reason);
    buf_c(p->out, "{\"resource\":");
    buf_json(p->out, resource_of(p, l->resource));
    text_member(p->out, "flavor", flavor_of(p, l->flavor));
    text_member(p->out, "reason", buf_view(&reason));
    buf_release(&reason);
    if (l->need > 0) {
        amount_member(p, "needed", l->resource, l->need);
        amount_member(p, "missing", l->resource, l->missing);
    }
    if (l->kind == LACK_QUOTA || l->kind == LACK_CAPACITY) {
        amount_member(p, "available", l->resource, l->available);
        amount_member(p, "capacity", l->resource, l->capacity);
    }
    if (l->kind == LACK_QUOTA) {
        if (queue_shows(p, l->limit_at)) {
            text_member(p->out, "limitedBy", l->limit_at);
        }
        people_json(p, l);
    }
    buf_ch(p->out, '}');
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

static void bars_json(const struct page *p) {
    struct buf field;
    buf_init(&field, 256);
    for (size_t i = 0; i < p->why.n_bars; i++) {
        const struct explain_bar *b = &p->why.bars[i];
        buf_c(p->out, i ? ",{\"resource\":" : ",\"borrowing\":[{\"resource\":");
        buf_json(p->out, resource_of(p, b->resource));
        text_member(p->out, "flavor", flavor_of(p, b->flavor));
        amount_member(p, "requested", b->resource, b->need);
        amount_member(p, "nominalQuota", b->resource, b->nominal);
        amount_member(p, "used", b->resource, b->used);
        amount_member(p, "missing", b->resource, b->missing);
        if (b->remedy) {
            buf_reset(&field);
            remedy_text(p->in->engine, p->in, p->i, b, &field);
            text_member(p->out, "remedy", buf_view(&field));
        }
        buf_c(p->out, i + 1 == p->why.n_bars ? "}]" : "}");
    }
    buf_release(&field);
}

static void rules_json(const struct page *p) {
    struct buf words;
    buf_init(&words, LIMIT_CONDITION_MESSAGE);
    buf_c(p->out, ",\"preemption\":[");
    for (size_t i = 0; i < p->why.n_rules; i++) {
        const struct explain_rule *r = &p->why.rules[i];
        buf_f(p->out, "%s{\"rule\":\"%s\",\"workloads\":%zu", i ? "," : "", keep_rule_name(r->rule),
              r->workloads);
        buf_reset(&words);
        rule_words(p, r, &words);
        text_member(p->out, "message", buf_view(&words));
        time_member(p->out, "until", r->until_ns);
        buf_ch(p->out, '}');
    }
    buf_ch(p->out, ']');
    buf_release(&words);
    bars_json(p);
}

/* ---- position and estimate ---- */

/* Those before it in its queue, the first of them first. */
static size_t first_ahead(const struct page *p) {
    return p->i - (p->in->works[p->i].position - 1);
}

static void position_json(const struct page *p) {
    const struct insight_work *w = &p->in->works[p->i];
    buf_f(p->out, ",\"position\":{\"clusterQueue\":%zu,\"localQueue\":%zu,\"ahead\":%zu",
          w->position, w->local_position, w->position - 1);
    size_t n = p->full && w->position - 1 > NEXT_FULL ? NEXT_FULL : p->full ? w->position - 1 : 0;
    for (size_t k = 0; k < n; k++) {
        buf_c(p->out, k ? ",{" : ",\"next\":[{");
        insight_reference(p->in, first_ahead(p) + k, p->v, p->out);
        buf_c(p->out, k + 1 == n ? "}]" : "}");
    }
    buf_ch(p->out, '}');
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
    if (c->places_left_out) {
        buf_c(out, "Places on nodes were left out. ");
    }
    if (p->in->works[p->i].checked) {
        buf_c(out,
              "This is when it gets quota: admission checks, of others too, are not foreseen. ");
    }
    out->n -= out->n > 0;
}

static void estimate_json(const struct page *p) {
    const struct outlook *o = &p->in->outlooks[p->i];
    enum outlook_kind says = outlook_of(p);
    bool known = says == OUTLOOK_TIME || says == OUTLOOK_RANGE;
    struct buf text;
    buf_init(&text, 1024);
    buf_f(p->out, ",\"estimate\":{\"basis\":\"%s\"",
          says != OUTLOOK_NEVER ? basis_text(p->in->runs[p->i].after)
          : !never_starts(p)    ? "unknown"
                                : "none needed");
    if (says == OUTLOOK_TIME) {
        time_member(p->out, "start", o->mid);
    }
    if (known) {
        time_member(p->out, "earliest", o->early);
        time_member(p->out, "latest", o->late);
    } else {
        time_member(p->out, "notBefore", bound_of(p));
    }
    estimate_text(p, &text);
    text_member(p->out, "text", buf_view(&text));
    buf_reset(&text);
    estimate_note(p, &text);
    text_member(p->out, "note", buf_view(&text));
    buf_release(&text);
    buf_ch(p->out, '}');
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

void explanation_head(const struct object *o, const char *state, struct str job, struct str local,
                      struct str cluster, int64_t priority, struct buf *out) {
    buf_c(out, "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"WorkloadExplanation\","
               "\"metadata\":{\"name\":");
    buf_json(out, o->name);
    text_member(out, "namespace", o->ns);
    text_member(out, "uid", o->uid);
    time_member(out, "creationTimestamp", o->created_ns);
    buf_f(out, "},\"status\":{\"state\":\"%s\",\"priority\":%lld", state, (long long)priority);
    text_member(out, "job", job);
    text_member(out, "localQueue", local);
    text_member(out, "clusterQueue", cluster);
}

static void page_write(struct page *p) {
    const struct insight_work *w = &p->in->works[p->i];
    const struct workload_input *c = &p->in->clone.works[p->i].in;
    struct buf summary, text;
    buf_init(&summary, LIMIT_CONDITION_MESSAGE);
    buf_init(&text, LIMIT_OBJECT_BYTES);
    summary_text(p, &summary);
    explanation_head(w->obj, "Waiting", w->job, w->local, c->queue, c->priority, p->out);
    text_member(p->out, "reason", str_of(w->reason));
    text_member(p->out, "summary", buf_view(&summary));
    position_json(p);
    buf_c(p->out, ",\"lacks\":[");
    for (size_t i = 0; i < p->why.n_lacks; i++) {
        buf_c(p->out, i ? "," : "");
        lack_json(p, &p->why.lacks[i]);
    }
    buf_ch(p->out, ']');
    rules_json(p);
    estimate_json(p);
    time_member(p->out, "computed", p->in->now);
    if (p->full) {
        whole_text(p, buf_view(&summary), &text);
        text_member(p->out, "text", buf_view(&text));
    }
    buf_c(p->out, "}}");
    buf_release(&summary);
    buf_release(&text);
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
    int r = explain_workload(in->index, in->clone.works[i].in.uid, &o, &p.a, &p.why);
    if (r == 0) {
        page_write(&p);
        r = buf_ok(out);
    }
    arena_release(&p.a);
    return r;
}
