/* cel_named: the named formats of Kubernetes: format.dns1123Label().validate(x). See cel_tree.h. */
#include "api/cel/cel_tree.h"
#include "base/limits.h"
#include "wire/text/base64.h"
#include "wire/text/regex.h"
#include "wire/text/time.h"

/* A format: a pattern with the longest text that it takes, and what is told of one that does not match. */
struct named_format {
    const char *name;
    size_t most; /* bytes; 0: any */
    const char *pattern, *fault;
};

#define LABEL "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define DNS1035 "[a-z]([-a-z0-9]*[a-z0-9])?"
#define QUALIFIED "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define LABEL_FAULT                                                                                \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "   \
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "     \
    "used for validation is '" LABEL "')"
#define SUBDOMAIN_FAULT                                                                            \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '" LABEL "(\\." LABEL ")*')"
#define DNS1035_FAULT                                                                              \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "   \
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "           \
    "'abc-123', regex used for validation is '" DNS1035 "')"

static const struct named_format formats[] = {
    {"dns1123Label", 63, LABEL, LABEL_FAULT},
    {"dns1123Subdomain", 253, LABEL "(\\." LABEL ")*", SUBDOMAIN_FAULT},
    {"dns1035Label", 63, DNS1035, DNS1035_FAULT},
    {"dns1123LabelPrefix", 63, LABEL "-?|" LABEL "[-a-z0-9]*", LABEL_FAULT},
    {"dns1123SubdomainPrefix", 253, LABEL "(\\." LABEL ")*[-.]?", SUBDOMAIN_FAULT},
    {"dns1035LabelPrefix", 63, DNS1035 "-?", DNS1035_FAULT},
    {"qualifiedName", 317, "(" LABEL "(\\." LABEL ")*/)?" QUALIFIED,
     "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
     "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
     "validation is '" QUALIFIED "')"},
    {"labelValue", 63, "(" QUALIFIED ")?",
     "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
     "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', "
     " or '12345', regex used for validation is '(" QUALIFIED ")?')"},
    {"uri", 0, "([a-zA-Z][-a-zA-Z0-9+.]*:.+|/.*)", "invalid URI for request"},
    {"uuid", 0, "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}",
     "does not match the UUID format"},
    {"byte", 0, NULL, "invalid base64"},
    {"date", 0, NULL, "invalid date"},
    {"datetime", 0, NULL, "invalid datetime"},
};

static const struct named_format *find(struct str name) {
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (str_is(name, formats[i].name)) {
            return &formats[i];
        }
    }
    return NULL;
}

static struct cel_value format_value(struct str name) {
    return (struct cel_value){.type = CEL_V_FORMAT, .s = name};
}

CEL_CALL(call_named) {
    (void)e;
    (void)n;
    struct cel_value none = {.type = CEL_V_OPTIONAL};
    struct cel_value *some = ARENA_NEW(r->in->arena, struct cel_value);
    if (find(v[0].s) == NULL || some == NULL) {
        return none;
    }
    *some = format_value(v[0].s);
    none.some = some;
    return none;
}

CEL_CALL(call_format_of) {
    (void)r;
    (void)v;
    (void)n;
    return format_value(str_skip(e->name, strlen("format.")));
}

static bool is_date(struct cel_run *r, struct str s) {
    int64_t ns;
    struct str whole = arena_f(r->in->arena, "%.*sT00:00:00Z", STR_ARG(str_head(s, 16)));
    return s.n == 10 && time_parse(whole, &ns, NULL) == 0;
}

/* 1, 0; negative: it takes too long. */
static int matches(struct cel_run *r, const struct named_format *f, struct str s) {
    struct regex *re;
    int64_t ns;
    if (f->pattern == NULL) {
        return !cel_spend(r, s.n / 8)            ? -1
               : str_is(str_of(f->name), "date") ? is_date(r, s)
               : str_is(str_of(f->name), "datetime")
                   ? time_parse(s, &ns, NULL) == 0
                   : s.n == 0 || base64_decode(r->in->arena, s).n > 0;
    }
    struct str whole = arena_f(r->in->arena, "^(?:%s)$", f->pattern);
    size_t had = cel_left(r), left = had;
    if (!cel_spend(r, whole.n * 10) || regex_new(r->in->arena, whole, &re, NULL) != 0) {
        return -1;
    }
    int m = regex_matches(re, s, &left);
    return cel_spend(r, m == ERR_TOO_LARGE ? had + 1 : had - left) ? m : -1;
}

CEL_CALL(call_validate) {
    (void)e;
    (void)n;
    const struct named_format *f = find(v[0].s);
    struct cel_list *l = ARENA_NEW(r->in->arena, struct cel_list);
    struct cel_value *some = ARENA_NEW(r->in->arena, struct cel_value);
    struct cel_value out = {.type = CEL_V_OPTIONAL};
    int m = f != NULL && l != NULL && some != NULL ? matches(r, f, v[1].s) : -1;
    if (m < 0) {
        return cel_error(r, "the format cannot be checked");
    }
    if (f->most > 0 && v[1].s.n > f->most) {
        struct str text = arena_f(r->in->arena, "must be no more than %zu characters", f->most);
        (void)cel_push(r, l, cel_str(text));
    }
    if (m == 0) {
        (void)cel_push(r, l, cel_str(str_of(f->fault)));
    }
    *some = (struct cel_value){.type = CEL_V_LIST, .list = l};
    out.some = l->n > 0 ? some : NULL;
    return out;
}

#define FORMAT(name_)                                                                              \
    { "format." name_, false, ">F", call_format_of }
static const struct cel_function functions[] = {
    {"format.named", false, "s>?F", call_named},
    {"validate", true, "Fs>?[s]", call_validate},
    FORMAT("dns1123Label"),
    FORMAT("dns1123Subdomain"),
    FORMAT("dns1035Label"),
    FORMAT("dns1123LabelPrefix"),
    FORMAT("dns1123SubdomainPrefix"),
    FORMAT("dns1035LabelPrefix"),
    FORMAT("qualifiedName"),
    FORMAT("labelValue"),
    FORMAT("uri"),
    FORMAT("uuid"),
    FORMAT("byte"),
    FORMAT("date"),
    FORMAT("datetime"),
};
CEL_FUNCTIONS(cel_named_functions, functions);
