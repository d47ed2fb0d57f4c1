// Packed triangular factors and panels of four right-hand sides, blocked as in assembly/linalg.ts.
#ifndef FACTOR_H
#define FACTOR_H

enum { LANES = 4 };

/** Row i of a packed lower triangle. */
static inline double *factor_row(double *factor, long i) { return factor + i * (i + 1) / 2; }

/** Allocates `count` zeroed doubles, aligned for vectors. Ends the program if there is no memory. */
double *doubles(long count);

/** Transposes `count` <= 4 rows of n entries (row-major) into a panel (n x 4), and clears its other lanes. */
void pack_panel(const double *rows, long count, long n, double *panel);

/** Solves L Y = P for a panel P (n x 4), in place. */
void solve_panel(double *factor, const double *reciprocals, long n, double *panel);

/** Solves L y = b for entries [from, n), in place. Entries before `from` already hold y. */
void solve(double *factor, const double *reciprocals, long from, long n, double *vector);

/** Solves L^T x = b in place. */
void solve_transposed(double *factor, const double *reciprocals, long n, double *vector);

/** Turns the factor of A into that of A + x x^T by Givens rotations. `rotations`: workspace of 2 n. */
void update(double *factor, double *reciprocals, long n, const double *x, double *rotations);

#endif
