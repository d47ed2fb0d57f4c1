#include "factor.h"

#include <emmintrin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double *doubles(long count) {
  size_t bytes = ((size_t)count * sizeof(double) + 63) / 64 * 64;
  double *memory = aligned_alloc(64, bytes ? bytes : 64);
  if (!memory) abort();
  return memset(memory, 0, bytes);
}

void pack_panel(const double *rows, long count, long n, double *panel) {
  if (count < LANES) memset(panel, 0, (size_t)n * LANES * sizeof(double));
  for (long lane = 0; lane < count; lane++) {
    for (long j = 0; j < n; j++) panel[j * LANES + lane] = rows[lane * n + j];
  }
}

/** Subtracts entry * (lower, upper) from the four lanes of one row. */
static inline void subtract(__m128d *row, double entry, __m128d lower, __m128d upper) {
  __m128d factor = _mm_set1_pd(entry);
  row[0] = _mm_sub_pd(row[0], _mm_mul_pd(factor, lower));
  row[1] = _mm_sub_pd(row[1], _mm_mul_pd(factor, upper));
}

static void solve_four_rows(double *factor, const double *reciprocals, long i, double *panel) {
  const double *l0 = factor_row(factor, i), *l1 = factor_row(factor, i + 1);
  const double *l2 = factor_row(factor, i + 2), *l3 = factor_row(factor, i + 3);
  double *own = panel + i * LANES;
  __m128d r0[2] = {_mm_load_pd(own), _mm_load_pd(own + 2)};
  __m128d r1[2] = {_mm_load_pd(own + 4), _mm_load_pd(own + 6)};
  __m128d r2[2] = {_mm_load_pd(own + 8), _mm_load_pd(own + 10)};
  __m128d r3[2] = {_mm_load_pd(own + 12), _mm_load_pd(own + 14)};
  for (long j = 0; j < i; j++) {
    __m128d lower = _mm_load_pd(panel + j * LANES), upper = _mm_load_pd(panel + j * LANES + 2);
    subtract(r0, l0[j], lower, upper);
    subtract(r1, l1[j], lower, upper);
    subtract(r2, l2[j], lower, upper);
    subtract(r3, l3[j], lower, upper);
  }
  __m128d scale = _mm_set1_pd(reciprocals[i]);
  r0[0] = _mm_mul_pd(r0[0], scale), r0[1] = _mm_mul_pd(r0[1], scale);
  subtract(r1, l1[i], r0[0], r0[1]);
  subtract(r2, l2[i], r0[0], r0[1]);
  subtract(r3, l3[i], r0[0], r0[1]);
  scale = _mm_set1_pd(reciprocals[i + 1]);
  r1[0] = _mm_mul_pd(r1[0], scale), r1[1] = _mm_mul_pd(r1[1], scale);
  subtract(r2, l2[i + 1], r1[0], r1[1]);
  subtract(r3, l3[i + 1], r1[0], r1[1]);
  scale = _mm_set1_pd(reciprocals[i + 2]);
  r2[0] = _mm_mul_pd(r2[0], scale), r2[1] = _mm_mul_pd(r2[1], scale);
  subtract(r3, l3[i + 2], r2[0], r2[1]);
  scale = _mm_set1_pd(reciprocals[i + 3]);
  r3[0] = _mm_mul_pd(r3[0], scale), r3[1] = _mm_mul_pd(r3[1], scale);
  _mm_store_pd(own, r0[0]), _mm_store_pd(own + 2, r0[1]);
  _mm_store_pd(own + 4, r1[0]), _mm_store_pd(own + 6, r1[1]);
  _mm_store_pd(own + 8, r2[0]), _mm_store_pd(own + 10, r2[1]);
  _mm_store_pd(own + 12, r3[0]), _mm_store_pd(own + 14, r3[1]);
}

void solve_panel(double *factor, const double *reciprocals, long n, double *panel) {
  long i = 0;
  for (; i + 4 <= n; i += 4) solve_four_rows(factor, reciprocals, i, panel);
  for (; i < n; i++) {
    const double *l = factor_row(factor, i);
    double *own = panel + i * LANES;
    __m128d row[2] = {_mm_load_pd(own), _mm_load_pd(own + 2)};
    for (long j = 0; j < i; j++) subtract(row, l[j], _mm_load_pd(panel + j * LANES), _mm_load_pd(panel + j * LANES + 2));
    __m128d scale = _mm_set1_pd(reciprocals[i]);
    _mm_store_pd(own, _mm_mul_pd(row[0], scale)), _mm_store_pd(own + 2, _mm_mul_pd(row[1], scale));
  }
}

/** <l, y> over n entries, in eight sums. A single sum would wait for each of its additions. */
static double dot(const double *l, const double *y, long n) {
  __m128d sums[4] = {_mm_setzero_pd(), _mm_setzero_pd(), _mm_setzero_pd(), _mm_setzero_pd()};
  long j = 0;
  for (; j + 8 <= n; j += 8) {
    sums[0] = _mm_add_pd(sums[0], _mm_mul_pd(_mm_loadu_pd(l + j), _mm_loadu_pd(y + j)));
    sums[1] = _mm_add_pd(sums[1], _mm_mul_pd(_mm_loadu_pd(l + j + 2), _mm_loadu_pd(y + j + 2)));
    sums[2] = _mm_add_pd(sums[2], _mm_mul_pd(_mm_loadu_pd(l + j + 4), _mm_loadu_pd(y + j + 4)));
    sums[3] = _mm_add_pd(sums[3], _mm_mul_pd(_mm_loadu_pd(l + j + 6), _mm_loadu_pd(y + j + 6)));
  }
  __m128d both = _mm_add_pd(_mm_add_pd(sums[0], sums[1]), _mm_add_pd(sums[2], sums[3]));
  double sum = _mm_cvtsd_f64(both) + _mm_cvtsd_f64(_mm_unpackhi_pd(both, both));
  for (; j < n; j++) sum += l[j] * y[j];
  return sum;
}

void solve(double *factor, const double *reciprocals, long from, long n, double *vector) {
  for (long i = from; i < n; i++) vector[i] = (vector[i] - dot(factor_row(factor, i), vector, i)) * reciprocals[i];
}

void solve_transposed(double *factor, const double *reciprocals, long n, double *vector) {
  for (long i = n - 1; i >= 0; i--) {
    const double *l = factor_row(factor, i);
    double x = vector[i] *= reciprocals[i];
    for (long j = 0; j < i; j++) vector[j] -= l[j] * x;
  }
}

void update(double *factor, double *reciprocals, long n, const double *x, double *rotations) {
  for (long i = 0; i < n; i++) {
    double *row = factor_row(factor, i);
    double rest = x[i];
    for (long j = 0; j < i; j++) {
      double cosine = rotations[2 * j], sine = rotations[2 * j + 1], entry = row[j];
      row[j] = cosine * entry + sine * rest;
      rest = cosine * rest - sine * entry;
    }
    double radius = sqrt(row[i] * row[i] + rest * rest);
    reciprocals[i] = 1 / radius;
    rotations[2 * i] = row[i] / radius;
    rotations[2 * i + 1] = rest / radius;
    row[i] = radius;
  }
}
