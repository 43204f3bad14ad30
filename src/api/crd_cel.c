/* crd_cel: the rules of x-kubernetes-validations beside the object. See crd_validate.h. */
#include "api/cel.h"
#include "api/crd_validate.h"

void crd_validate_cel(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *obj,
                      yyjson_val *old) {
    (void)v;
    (void)n;
    (void)obj;
    (void)old;
}
