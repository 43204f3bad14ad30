/* retry: see retry.h. */
#include "core/route/retry.h"

#define SECOND INT64_C(1000000000)

enum { BALANCE_S = 10 }; /* deposits of so many seconds of reserve, or 100 retries, are kept */

static void keep_within(struct retry_budget *b) {
    b->balance = b->balance > b->most ? b->most : b->balance;
}

static void refill(struct retry_budget *b, int64_t now) {
    int64_t since = now - b->at;

    if (since <= 0) {
        return;
    }
    since = since > BALANCE_S * SECOND ? BALANCE_S * SECOND : since;
    b->balance += since / 1000 * b->reserve * RETRY_PPM / (SECOND / 1000);
    b->at = now;
    keep_within(b);
}

void retry_init(struct retry_budget *b, int64_t share_ppm, int64_t reserve_per_s, int64_t now) {
    int64_t reserve = reserve_per_s > 1000 ? 1000 : reserve_per_s < 0 ? 0 : reserve_per_s;
    *b = (struct retry_budget){.share = share_ppm,
                               .most = (reserve * BALANCE_S > 100 ? reserve * BALANCE_S : 100) *
                                       RETRY_PPM,
                               .reserve = reserve,
                               .balance = reserve * RETRY_PPM,
                               .at = now};
}

void retry_request(struct retry_budget *b, int64_t now) {
    refill(b, now);
    b->balance += b->share;
    keep_within(b);
}

static bool harmless(const struct retry_request *r, enum retry_cause cause) {
    switch (cause) {
    case RETRY_CONNECT:
        return true; /* it was not even read */
    case RETRY_RESET:
    case RETRY_GATEWAY:
    case RETRY_BUSY:
        return !r->effects;
    default:
        return false;
    }
}

bool retry_may(struct retry_budget *b, const struct retry_request *r, enum retry_cause cause,
               int64_t now) {
    refill(b, now);
    if (r->answered || r->body_gone || r->retries >= RETRY_TRIES || !harmless(r, cause) ||
        b->balance < RETRY_PPM) {
        return false;
    }
    b->balance -= RETRY_PPM;
    return true;
}
