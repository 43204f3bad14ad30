/* booking (core): phases and events as a table; the clock of one booking; amounts. */
#include "core/booking/booking.h"

static const char *const PHASES[BOOKING_PHASES] = {
    [BOOKING_NEW] = "",
    [BOOKING_PENDING_APPROVAL] = "PendingApproval",
    [BOOKING_WAITLISTED] = "Waitlisted",
    [BOOKING_OFFERED] = "Offered",
    [BOOKING_CONFIRMED] = "Confirmed",
    [BOOKING_PREPARING] = "Preparing",
    [BOOKING_ACTIVE] = "Active",
    [BOOKING_DEGRADED] = "Degraded",
    [BOOKING_ENDING] = "Ending",
    [BOOKING_ENDED] = "Ended",
    [BOOKING_REJECTED] = "Rejected",
    [BOOKING_CANCELLED] = "Cancelled",
    [BOOKING_RELEASED] = "Released",
    [BOOKING_EXPIRED] = "Expired",
};

static const char *const EVENTS[BOOKING_EVENTS] = {
    [BOOKING_NOTHING] = "Nothing",
    [BOOKING_ACCEPT] = "Accepted",
    [BOOKING_HOLD] = "Held",
    [BOOKING_WAIT] = "Waiting",
    [BOOKING_REFUSE] = "Refused",
    [BOOKING_APPROVE] = "Approved",
    [BOOKING_REJECT] = "Rejected",
    [BOOKING_APPROVAL_OVER] = "ApprovalOver",
    [BOOKING_ROOM] = "RoomFound",
    [BOOKING_OFFER] = "RoomOffered",
    [BOOKING_CLAIM] = "Claimed",
    [BOOKING_OFFER_OVER] = "OfferOver",
    [BOOKING_TOO_LATE] = "TooLate",
    [BOOKING_CHANGE] = "Changed",
    [BOOKING_CHANGE_WAIT] = "ChangedWaiting",
    [BOOKING_CANCEL] = "Cancelled",
    [BOOKING_PROJECT_GONE] = "ProjectDeleted",
    [BOOKING_PREPARE] = "Preparing",
    [BOOKING_START] = "Started",
    [BOOKING_LATE] = "NotReadyAtStart",
    [BOOKING_READY] = "Ready",
    [BOOKING_EXTEND] = "Extended",
    [BOOKING_WARN] = "EndsSoon",
    [BOOKING_NO_SHOW_WARN] = "NotUsed",
    [BOOKING_NO_SHOW] = "NoShow",
    [BOOKING_LOST] = "HardwareLost",
    [BOOKING_RESTORED] = "Restored",
    [BOOKING_END] = "TimeOver",
    [BOOKING_DRAINED] = "Drained",
    [BOOKING_MISSED] = "ControllerDown",
};

enum {
    TAKE = BOOKING_TAKE,
    GIVE = BOOKING_GIVE,
    COMMIT = BOOKING_COMMIT,
    REFUND = BOOKING_REFUND,
    CREDIT = BOOKING_CREDIT,
    CLOSE = BOOKING_CLOSE_LEDGER,
    MAKE = BOOKING_MAKE,
    OPEN = BOOKING_OPEN,
    SHUT = BOOKING_SHUT,
    REPLAN = BOOKING_REPLAN,
    CUT = BOOKING_END_NOW,
    TELL = BOOKING_NOTIFY,
    BACK = BOOKING_TO_BACK,
};

/* Which phases an event may come in: bits. */
#define IN(p) (1u << BOOKING_##p)
#define WAITING (IN(PENDING_APPROVAL) | IN(WAITLISTED) | IN(OFFERED))

static const struct {
    uint32_t from;
    enum booking_event event;
    enum booking_phase to;
    uint32_t effects;
} TABLE[] = {
    {IN(NEW), BOOKING_ACCEPT, BOOKING_CONFIRMED, TAKE | COMMIT},
    {IN(NEW), BOOKING_HOLD, BOOKING_PENDING_APPROVAL, TAKE | TELL},
    {IN(NEW), BOOKING_WAIT, BOOKING_WAITLISTED, 0},
    {IN(NEW), BOOKING_REFUSE, BOOKING_REJECTED, TELL},
    {IN(NEW), BOOKING_CANCEL, BOOKING_CANCELLED, 0},
    {IN(NEW), BOOKING_PROJECT_GONE, BOOKING_CANCELLED, 0},
    {IN(NEW), BOOKING_MISSED, BOOKING_EXPIRED, TELL},

    {IN(PENDING_APPROVAL), BOOKING_APPROVE, BOOKING_CONFIRMED, COMMIT | TELL},
    {IN(PENDING_APPROVAL), BOOKING_REJECT, BOOKING_REJECTED, GIVE | TELL},
    {IN(PENDING_APPROVAL), BOOKING_APPROVAL_OVER, BOOKING_EXPIRED, GIVE | TELL},
    {IN(PENDING_APPROVAL), BOOKING_CHANGE, BOOKING_PENDING_APPROVAL, TAKE | TELL},
    {IN(PENDING_APPROVAL), BOOKING_CHANGE_WAIT, BOOKING_WAITLISTED, GIVE},
    {IN(PENDING_APPROVAL), BOOKING_LOST, BOOKING_WAITLISTED, GIVE | TELL},
    {IN(PENDING_APPROVAL), BOOKING_MISSED, BOOKING_EXPIRED, GIVE | TELL},

    {IN(WAITLISTED), BOOKING_ROOM, BOOKING_CONFIRMED, TAKE | COMMIT | TELL},
    {IN(WAITLISTED), BOOKING_HOLD, BOOKING_PENDING_APPROVAL, TAKE | TELL},
    {IN(WAITLISTED), BOOKING_OFFER, BOOKING_OFFERED, TAKE | TELL},
    {IN(WAITLISTED), BOOKING_TOO_LATE, BOOKING_EXPIRED, TELL},
    {IN(WAITLISTED), BOOKING_REJECT, BOOKING_REJECTED, TELL},
    {IN(WAITLISTED), BOOKING_CHANGE_WAIT, BOOKING_WAITLISTED, 0},
    {IN(WAITLISTED), BOOKING_MISSED, BOOKING_EXPIRED, TELL},

    {IN(OFFERED), BOOKING_CLAIM, BOOKING_CONFIRMED, COMMIT | TELL},
    {IN(OFFERED), BOOKING_OFFER_OVER, BOOKING_WAITLISTED, GIVE | TELL | BACK},
    {IN(OFFERED), BOOKING_CHANGE_WAIT, BOOKING_WAITLISTED, GIVE},
    {IN(OFFERED), BOOKING_LOST, BOOKING_WAITLISTED, GIVE | TELL},
    {IN(OFFERED), BOOKING_MISSED, BOOKING_EXPIRED, GIVE | TELL},
    {WAITING, BOOKING_CANCEL, BOOKING_CANCELLED, GIVE},
    {WAITING, BOOKING_PROJECT_GONE, BOOKING_CANCELLED, GIVE},

    {IN(CONFIRMED), BOOKING_CHANGE, BOOKING_CONFIRMED, TAKE | COMMIT},
    {IN(CONFIRMED), BOOKING_HOLD, BOOKING_PENDING_APPROVAL, TAKE | TELL},
    {IN(CONFIRMED), BOOKING_CANCEL, BOOKING_CANCELLED, GIVE | REFUND},
    {IN(CONFIRMED), BOOKING_PROJECT_GONE, BOOKING_CANCELLED, GIVE | REFUND},
    {IN(CONFIRMED), BOOKING_PREPARE, BOOKING_PREPARING, MAKE},
    {IN(CONFIRMED), BOOKING_LOST, BOOKING_DEGRADED, REPLAN | TELL},
    {IN(CONFIRMED), BOOKING_MISSED, BOOKING_ENDED, GIVE | CREDIT | TELL},

    {IN(PREPARING), BOOKING_START, BOOKING_ACTIVE, OPEN | TELL},
    {IN(PREPARING), BOOKING_LATE, BOOKING_DEGRADED, OPEN | CREDIT | TELL},
    {IN(PREPARING), BOOKING_CHANGE, BOOKING_CONFIRMED, TAKE | COMMIT | SHUT},
    {IN(PREPARING), BOOKING_EXTEND, BOOKING_PREPARING, TAKE | COMMIT},
    {IN(PREPARING), BOOKING_LOST, BOOKING_DEGRADED, REPLAN | TELL},
    {IN(PREPARING), BOOKING_CANCEL, BOOKING_CANCELLED, GIVE | REFUND | SHUT},
    {IN(PREPARING), BOOKING_PROJECT_GONE, BOOKING_CANCELLED, GIVE | REFUND | SHUT},
    {IN(PREPARING), BOOKING_MISSED, BOOKING_ENDED, GIVE | CREDIT | SHUT | TELL},

    {IN(ACTIVE) | IN(DEGRADED), BOOKING_WARN, BOOKING_PHASES, TELL},
    {IN(ACTIVE), BOOKING_NO_SHOW_WARN, BOOKING_ACTIVE, TELL},
    {IN(ACTIVE), BOOKING_NO_SHOW, BOOKING_RELEASED, GIVE | CUT | CREDIT | CLOSE | SHUT | TELL},
    {IN(ACTIVE) | IN(DEGRADED), BOOKING_EXTEND, BOOKING_PHASES, TAKE | COMMIT},
    {IN(ACTIVE) | IN(DEGRADED), BOOKING_CHANGE, BOOKING_PHASES, TAKE | COMMIT},
    {IN(ACTIVE), BOOKING_LOST, BOOKING_DEGRADED, REPLAN | CREDIT | TELL},
    {IN(ACTIVE) | IN(DEGRADED), BOOKING_END, BOOKING_ENDING, GIVE | SHUT},
    {IN(ACTIVE) | IN(DEGRADED), BOOKING_CANCEL, BOOKING_CANCELLED, GIVE | CUT | CLOSE | SHUT},
    {IN(ACTIVE) | IN(DEGRADED), BOOKING_PROJECT_GONE, BOOKING_CANCELLED, GIVE | CUT | CLOSE | SHUT},

    {IN(DEGRADED), BOOKING_READY, BOOKING_ACTIVE, OPEN | CREDIT | TELL},
    {IN(DEGRADED), BOOKING_RESTORED, BOOKING_CONFIRMED, TELL},
    {IN(DEGRADED), BOOKING_MISSED, BOOKING_ENDED, GIVE | CREDIT | SHUT | TELL},

    {IN(ENDING), BOOKING_DRAINED, BOOKING_ENDED, CLOSE},
    {IN(ENDING), BOOKING_CANCEL, BOOKING_CANCELLED, CLOSE},
    {IN(ENDING), BOOKING_PROJECT_GONE, BOOKING_CANCELLED, CLOSE},
};

int booking_step(enum booking_phase from, enum booking_event event, enum booking_phase *ret_to,
                 uint32_t *ret_effects) {
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(*TABLE); i++) {
        if (TABLE[i].event == event && (TABLE[i].from & (1u << from)) != 0) {
            *ret_to = TABLE[i].to == BOOKING_PHASES ? from : TABLE[i].to; /* PHASES: stays */
            *ret_effects = TABLE[i].effects;
            return 0;
        }
    }
    return ERR_CONFLICT;
}

bool booking_final(enum booking_phase p) {
    return p >= BOOKING_ENDED && p < BOOKING_PHASES;
}

bool booking_holds(enum booking_phase p) {
    return p == BOOKING_PENDING_APPROVAL || p == BOOKING_OFFERED || p == BOOKING_CONFIRMED ||
           p == BOOKING_PREPARING || p == BOOKING_ACTIVE || p == BOOKING_DEGRADED;
}

bool booking_begun(enum booking_phase p) {
    return p == BOOKING_PREPARING || p == BOOKING_ACTIVE || p == BOOKING_DEGRADED ||
           p == BOOKING_ENDING;
}

const char *booking_phase_name(enum booking_phase p) {
    return PHASES[p];
}

const char *booking_event_name(enum booking_event e) {
    return EVENTS[e];
}

enum booking_phase booking_phase_of(struct str name) {
    enum booking_phase p = 0;
    while (p < BOOKING_PHASES && !str_is(name, PHASES[p])) {
        p++;
    }
    return p;
}

/* ---- the clock ---- */

struct due {
    enum booking_event event;
    int64_t at;
};

static void sooner(struct due *d, enum booking_event event, int64_t at) {
    if (at < d->at) {
        *d = (struct due){event, at};
    }
}

/* The next warning before the end that was not given; those before the start never are. */
static void warning(const struct booking_clock *k, struct due *d) {
    for (size_t i = 0; i < k->n_warnings; i++) {
        int64_t at = k->end - k->warnings_s[i];
        if (at > k->start && at > k->warned_at) {
            sooner(d, BOOKING_WARN, at);
        }
    }
}

static void running(const struct booking_clock *k, struct due *d) {
    if (k->no_show_at != 0) {
        sooner(d, k->no_show, k->no_show_at);
    }
    warning(k, d);
    sooner(d, BOOKING_END, k->end);
}

static void waiting(const struct booking_clock *k, int64_t now, struct due *d) {
    switch (k->phase) {
    case BOOKING_PENDING_APPROVAL:
        sooner(d, BOOKING_APPROVAL_OVER, k->approval_until != 0 ? k->approval_until : d->at);
        break;
    case BOOKING_WAITLISTED:
        sooner(d, BOOKING_TOO_LATE, k->latest_start + 1);
        break;
    case BOOKING_OFFERED:
        sooner(d, BOOKING_OFFER_OVER, k->offer_until != 0 ? k->offer_until : d->at);
        break;
    case BOOKING_CONFIRMED:
        sooner(d, BOOKING_PREPARE, now >= k->end ? CALENDAR_FOREVER : k->prepare_at);
        break;
    case BOOKING_PREPARING:
        sooner(d, k->ready ? BOOKING_START : BOOKING_LATE,
               now >= k->end ? CALENDAR_FOREVER : k->start);
        break;
    default:
        break;
    }
    sooner(d, BOOKING_MISSED, k->end);
}

enum booking_event booking_due(const struct booking_clock *k, int64_t now, int64_t *ret_at) {
    struct due d = {BOOKING_NOTHING, CALENDAR_FOREVER};
    switch (k->phase) {
    case BOOKING_NEW:
    case BOOKING_PENDING_APPROVAL:
    case BOOKING_WAITLISTED:
    case BOOKING_OFFERED:
    case BOOKING_CONFIRMED:
    case BOOKING_PREPARING:
        waiting(k, now, &d);
        break;
    case BOOKING_ACTIVE:
        running(k, &d);
        break;
    case BOOKING_DEGRADED:
        if (k->ready && now < k->end) {
            sooner(&d, now >= k->start ? BOOKING_READY : BOOKING_RESTORED, now);
        }
        warning(k, &d);
        sooner(&d, BOOKING_END, k->end);
        break;
    case BOOKING_ENDING:
        sooner(&d, BOOKING_DRAINED, k->drained ? now : k->drained_until);
        break;
    default:
        break;
    }
    *ret_at = d.at;
    return d.at <= now ? d.event : BOOKING_NOTHING;
}

int64_t booking_approval_until(int64_t created, int64_t start, int64_t ttl_s, int64_t lead_s) {
    int64_t until = start - lead_s < created + ttl_s ? start - lead_s : created + ttl_s;
    return until > created ? until : created;
}

int64_t booking_offer_until(int64_t now, int64_t start, int64_t window_s) {
    int64_t until = now + window_s < start ? now + window_s : start;
    return until > now ? until : now;
}

/* ---- amounts ---- */

int64_t booking_share(int32_t size, int32_t slices) {
    return size <= 0 || size >= slices ? BOOKING_GPU
                                       : ((int64_t)size * BOOKING_GPU + slices / 2) / slices;
}

int64_t booking_gpu_ms(int64_t share, int64_t count, int64_t seconds) {
    int64_t v;
    if (__builtin_mul_overflow(share, count, &v) || __builtin_mul_overflow(v, seconds, &v)) {
        return INT64_MAX;
    }
    return v / 1000;
}

struct str booking_hours_text(struct arena *a, int64_t gpu_ms) {
    int64_t thousandths = gpu_ms / 3600 + (gpu_ms % 3600 >= 1800);
    struct str s =
        arena_f(a, "%lld.%03d", (long long)(thousandths / 1000), (int)(thousandths % 1000));
    while (s.n > 0 && s.p[s.n - 1] == '0') {
        s.n--;
    }
    s.n -= s.n > 0 && s.p[s.n - 1] == '.';
    return s;
}
