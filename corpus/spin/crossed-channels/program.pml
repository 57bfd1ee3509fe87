/* expected: safety deadlock */
/* Both send twice before they receive, and neither channel has room for a second message. */

chan a = [1] of { byte };
chan b = [1] of { byte };

active proctype left() { byte x; a ! 1; a ! 2; b ? x; assert(x == 1) }
active proctype right() { byte y; b ! 1; b ! 2; a ? y; assert(y == 1) }
