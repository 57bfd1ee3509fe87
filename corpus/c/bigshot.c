// One thread allocates a text and another fills it in. Wrong: they do so at the same time.
// case: verified
// case: -DWRONG violated null pointer
#include "task.h"
#include <string.h>

static char *text;

static void *allocate(void *p) { text = malloc(8); return p; }
static void *fill(void *p) { strcpy(text, "Big"); return p; }

int main(void) {
#ifdef WRONG
    TOGETHER(2, allocate, fill);
#else
    TOGETHER(1, allocate);
    TOGETHER(1, fill);
#endif
    assert(text[0] == 'B');
    free(text);
}
