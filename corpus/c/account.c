// Deposits and a withdrawal on one account. Wrong: the balance is read before the lock is taken.
// case: verified
// case: -DWRONG violated assertion
#include "task.h"

MUTEX(mutex);
static int balance = 100;

static void *deposit(void *p) {
#ifdef WRONG
    int seen = balance;
    LOCK(mutex);
    balance = seen + 50;
    UNLOCK(mutex);
#else
    LOCK(mutex);
    balance += 50;
    UNLOCK(mutex);
#endif
    return p;
}
static void *withdraw(void *p) {
    LOCK(mutex);
    balance -= 30;
    UNLOCK(mutex);
    return p;
}

int main(void) {
    TOGETHER(3, deposit, withdraw, withdraw);
    assert(balance == 90);
}
