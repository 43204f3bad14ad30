/* Tests of fair sharing. */
#include "core/search_fixture.h"

int main(void) {
    return 0;
}
