/* control_set: names of controllers. See control_set.h. */
#include "control/control_set.h"

struct word {
    const char *name;
    unsigned set;
};

/* The single ones, one bit each, in the order in which they are listed to people. */
static const struct word words[] = {
    {"queues", CONTROL_QUEUES},         {"job-queue", CONTROL_JOB_QUEUE},
    {"workloads", CONTROL_WORKLOADS},   {"reservations", CONTROL_RESERVATIONS},
    {"defaults", CONTROL_DEFAULTS},     {"bootstrap", CONTROL_BOOTSTRAP},
    {"namespaces", CONTROL_NAMESPACES}, {"service-accounts", CONTROL_SERVICEACCOUNTS},
    {"garbage-collector", CONTROL_GC},  {"jobs", CONTROL_JOBS},
    {"nodes", CONTROL_NODES},           {"roles", CONTROL_ROLES},
    {"event-ttl", CONTROL_EVENT_TTL},   {"endpoints", CONTROL_ENDPOINTS},
    {"cron-jobs", CONTROL_CRON_JOBS},   {"disruptions", CONTROL_DISRUPTIONS},
    {"quotas", CONTROL_QUOTAS},         {"apps", CONTROL_APPS},
    {"volumes", CONTROL_VOLUMES},       {"autoscaling", CONTROL_AUTOSCALING},
    {"serving", CONTROL_SERVING},
};
static const struct word groups[] = {
    {"none", 0},
    {"kubernetes", CONTROL_KUBERNETES},
    {"kueue", CONTROL_CLUSTER},
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct word *find(const struct word *v, size_t n, struct str name) {
    for (size_t i = 0; i < n; i++) {
        if (str_is(name, v[i].name)) {
            return &v[i];
        }
    }
    return NULL;
}

static int unknown(struct str word, struct err *err) {
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < COUNT(words); i++) {
        buf_f(&b, ", %s", words[i].name);
    }
    int r = err_set(err, ERR_BAD_REQUEST,
                    "there is no controller \"%.*s\"; there are: all, none, kubernetes, kueue%.*s",
                    STR_ARG(str_head(word, 64)), STR_ARG(buf_view(&b)));
    buf_release(&b);
    return r;
}

int control_set_parse(struct str list, unsigned all, struct control_list *ret, struct err *err) {
    struct control_list got = {0};
    struct str rest = list, part;
    bool first = true;
    if (str_empty(str_trim(list))) {
        return err_set(err, ERR_BAD_REQUEST, "expected names of controllers, with commas");
    }
    for (; str_next(&rest, ',', &part); first = false) {
        struct str word = str_trim(part);
        bool less = str_starts(word, STR("-"));
        word = str_skip(word, less);
        bool whole = str_is(word, "all") || str_is(word, "*");
        const struct word *w = find(words, COUNT(words), word);
        w = w ? w : find(groups, COUNT(groups), word);
        if (!whole && w == NULL) {
            return unknown(word, err);
        }
        unsigned set = whole ? all : w->set;
        if (less) {
            got.set = (first ? all : got.set) & ~set;
            got.named &= ~set;
        } else {
            got.set |= set;
            got.named |= whole ? 0 : set;
        }
    }
    *ret = got;
    return 0;
}

void control_set_words(unsigned set, struct buf *out) {
    bool any = false;
    for (size_t i = 0; i < COUNT(words); i++) {
        if (set & words[i].set) {
            buf_f(out, "%s%s", any ? "," : "", words[i].name);
            any = true;
        }
    }
    buf_c(out, any ? "" : "none");
}
