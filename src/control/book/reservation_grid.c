/* reservation_grid: see reservation_grid.h. */
#include "control/book/reservation_grid.h"

#include "wire/text/zone.h"

static int64_t modulo(int64_t a, int64_t n) {
    int64_t m = a % n;
    return m < 0 ? m + n : m;
}

int64_t reservation_grid_base(struct zones *zones, struct str zone, int64_t grid_s, int64_t at) {
    const struct zone *z;
    if (zones == NULL || grid_s <= 0 || zones_get(zones, zone, &z, NULL) != 0) {
        return 0;
    }
    return modulo(-(int64_t)zone_at(z, at).offset, grid_s);
}

int64_t reservation_grid_down(int64_t at, int64_t grid_s, int64_t base) {
    return grid_s > 0 ? at - modulo(at - base, grid_s) : at;
}

int64_t reservation_grid_up(int64_t at, int64_t grid_s, int64_t base) {
    int64_t down = reservation_grid_down(at, grid_s, base);
    return down == at ? at : down + grid_s;
}
