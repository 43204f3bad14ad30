/* select (server): which objects a list, watch or deletecollection is about: namespace, labels,
 * fields. */
#ifndef BERTH_SERVER_SELECT_H
#define BERTH_SERVER_SELECT_H

#include "api/selector.h"
#include "mirror/object.h"
#include "server/kit/request.h"

struct picker {
    struct str ns; /* empty: all */
    struct selector labels, fields;
    struct str name;       /* metadata.name must be this, when by_name */
    bool by_name, by_body; /* by_body: fields beyond the name need the object's tree */
    struct arena *scratch; /* reset for each object that is parsed */
    int failed; /* sticky: an object could not be looked at (ERR_NOMEM), and did not match */
};

/* ERR_BAD_REQUEST. Views live in `a`. */
int pick_init(struct picker *p, const struct api_request *q, struct arena *a, struct arena *scratch,
              struct err *err);
bool pick_matches(struct picker *p, const struct object *o);
/* True when something beside the namespace narrows the choice. */
bool pick_selects(const struct picker *p);

#endif
