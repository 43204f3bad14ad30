/* policy_scope: see policy_scope.h. */
#include "api/policies/policy_scope.h"

#include "base/buf.h"

void policy_scope_init(struct policy_scope *s, struct arena *a, const struct cel_sort *object,
                       const struct cel_sort *params, bool authorizer) {
    size_t n = 0;
    *s = (struct policy_scope){0};
    s->names[n++] = (struct cel_decl){STR("object"), object};
    s->names[n++] = (struct cel_decl){STR("oldObject"), object};
    s->names[n++] = (struct cel_decl){STR("request"), cel_sort_of_request(a)};
    s->names[n++] = (struct cel_decl){STR("namespaceObject"), cel_sort_of_namespace(a)};
    if (params != NULL) {
        s->names[n++] = (struct cel_decl){STR("params"), params};
    }
    if (authorizer) {
        s->names[n++] = (struct cel_decl){STR("authorizer"), cel_sort_of('Z')};
    }
    s->scope = (struct cel_scope){.v = s->names, .n = n};
}

void policy_scope_use_variables(struct policy_scope *s) {
    s->scope.variables = s->variables;
}

void policy_scope_add(struct policy_scope *s, struct str name, const struct cel_sort *sort) {
    if (s->scope.n_variables < LIMIT_POLICY_VARIABLES) {
        s->variables[s->scope.n_variables++] = (struct cel_decl){name, sort};
    }
}

static bool fits(const struct cel_sort *s, const char *wanted) {
    bool object = s->letter == 'o' && str_is(s->shape->name, "Object");
    bool patch =
        s->letter == '[' &&
        (s->a->letter == '*' || (s->a->letter == 'o' && str_is(s->a->shape->name, "JSONPatch")));
    return *wanted == '\0' || (strchr(wanted, 'o') != NULL && object) ||
           (strchr(wanted, 'J') != NULL && patch) ||
           (s->letter != 'o' && strchr(wanted, s->letter) != NULL);
}

/* "must evaluate to bool but got int" */
static struct str wrong_type(struct arena *a, const struct cel_sort *s, const char *wanted) {
    struct buf b;
    buf_init(&b, 4096);
    if (wanted[1] != '\0') {
        buf_c(&b, "must evaluate to one of [string null_type]");
    } else {
        buf_f(&b, "must evaluate to %s but got ",
              *wanted == 'b'   ? "bool"
              : *wanted == 's' ? "string"
              : *wanted == 'o' ? "Object"
                               : "list(JSONPatch)");
        cel_sort_write(s, &b);
    }
    struct str text = arena_str(a, buf_view(&b));
    buf_release(&b);
    return text;
}

int policy_compile(struct arena *a, const struct policy_scope *s, struct str text,
                   const char *wanted, const struct cel_sort **ret_sort, struct str *ret_fault) {
    const struct cel_expr *e;
    const struct cel_sort *sort;
    struct str faults = {0};
    int code = cel_compile(a, text, &s->scope, &e, &sort, &faults);
    if (code == 0 && fits(sort, wanted)) {
        *ret_sort = sort;
        return 0;
    }
    *ret_fault = code == 0 ? wrong_type(a, sort, wanted)
                           : arena_f(a, "compilation failed: %.*s", STR_ARG(faults));
    return code == ERR_NOMEM ? code : ERR_SYNTAX;
}
