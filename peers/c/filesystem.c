/* N threads allocate a block for their inode, under locks of inodes and blocks. */
#include <pthread.h>
#include <stdint.h>

#ifndef N
#define N 14
#endif
#ifndef BLOCKS
#define BLOCKS 26
#endif
#define INODES 32

static int inode[INODES], busy[BLOCKS];
pthread_mutex_t locki[INODES], lockb[BLOCKS];

static void *allocate(void *p) {
    int i = (int)(intptr_t)p % INODES;
    pthread_mutex_lock(&locki[i]);
    if (inode[i] == 0) {
        int b = (i * 2) % BLOCKS, searching = 1;
        while (searching) {
            pthread_mutex_lock(&lockb[b]);
            if (!busy[b]) {
                busy[b] = 1;
                inode[i] = b + 1;
                searching = 0;
            }
            pthread_mutex_unlock(&lockb[b]);
            b = (b + 1) % BLOCKS;
        }
    }
    pthread_mutex_unlock(&locki[i]);
    return NULL;
}

int main(void) {
    pthread_t all[N];
    for (intptr_t k = 0; k < N; k++) pthread_create(&all[k], NULL, allocate, (void *)k);
    for (int k = 0; k < N; k++) pthread_join(all[k], NULL);
    return 0;
}
