/* pace (kube): see pace.h. */
#include "kube/pace.h"

#include "base/clock.h"

enum { SLOW = 3 }; /* times the best */
static const int64_t MINUTE = 60 * NS_PER_SEC, SLACK = 2 * NS_PER_MS;

void pace_init(struct pace *p, size_t most, int64_t now_ns) {
    *p = (struct pace){.window = (double)most, .most = (double)most, .minute_ns = now_ns};
}

static int64_t best(const struct pace *p) {
    int64_t a = p->best_ns[0], b = p->best_ns[1];
    return a == 0 || (b != 0 && b < a) ? b : a;
}

void pace_answer(struct pace *p, int64_t took_ns, int64_t now_ns) {
    if (now_ns - p->minute_ns > MINUTE) {
        p->best_ns[0] = p->best_ns[1];
        p->best_ns[1] = 0;
        p->minute_ns = now_ns;
    }
    if (p->best_ns[1] == 0 || took_ns < p->best_ns[1]) {
        p->best_ns[1] = took_ns > 0 ? took_ns : 1;
    }
    if (took_ns <= SLOW * best(p) + SLACK) {
        p->window += 1 / p->window;
        p->window = p->window < p->most ? p->window : p->most;
    } else if (now_ns - p->halved_ns >
               took_ns) { /* what was sent before the last halving says nothing new */
        p->window = p->window > 2 ? p->window / 2 : 1;
        p->halved_ns = now_ns;
    }
}

bool pace_room(const struct pace *p, size_t flying) {
    return (double)flying + 1 <= p->window;
}
