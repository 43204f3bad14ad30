/* unicode_category: the general category of characters, for regular expressions (\p{L}, \p{Nd}). */
#ifndef BERTH_WIRE_UNICODE_CATEGORY_H
#define BERTH_WIRE_UNICODE_CATEGORY_H

#include <stdint.h>

#include "base/str.h"

#define UNICODE_ALL UINT32_C(0x3fffffff) /* the set of all categories */

/* Its number, which is its bit in a set. */
int unicode_category(uint32_t c);
/* "Lu", "L", "Any": the set that is called so; 0: none is. */
uint32_t unicode_categories(struct str name);

#endif
