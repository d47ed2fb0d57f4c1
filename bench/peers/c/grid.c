// GP-UCB-SDF (Verma et al. 2022, eq. 5) over a fixed set of points. A round adds a row of V = L^-1 K(rows, points) and refits nothing.
#include <emmintrin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "factor.h"
#include "gaussian-process.h"
#include "workload.h"

/** Points solved together: eight registers of two lanes. */
enum { GROUP = 16 };

struct grid {
  long dimension, k, rounds, window, delay;
  const double *settings, *points, *values;
  struct gaussian_process gp;
  /** Groups of 16 points, each with `rounds` rows of 16. */
  double *solved, *kernel, *means, *variances;
  long *chosen;
  double *scores;
};

/** Parameters d, k, rounds, window, delay. Inputs: lengthscale, noise variance, beta, k points, their rewards. */
static void *start(const long *p, const double *inputs) {
  struct grid *state = (struct grid *)doubles(sizeof *state / sizeof(double) + 1);
  *state = (struct grid){.dimension = p[0], .k = p[1], .rounds = p[2], .window = p[3], .delay = p[4], .settings = inputs,
                         .points = inputs + 3, .values = inputs + 3 + p[0] * p[1]};
  long padded = (state->k + GROUP - 1) / GROUP * GROUP;
  state->solved = doubles(padded * state->rounds);
  state->kernel = doubles(padded);
  state->means = doubles(padded);
  state->variances = doubles(padded);
  state->chosen = (long *)doubles(state->rounds);
  state->scores = doubles(state->rounds);
  return state;
}

/** Appends the row of V for the newest row of L, and subtracts its squares from the variances. */
static void solve_row(struct grid *state) {
  long row = state->gp.size - 1;
  const double *l = factor_row(state->gp.factor, row);
  gp_kernel(&state->gp, state->gp.points + row * state->dimension, state->points, state->k, state->kernel);
  for (long first = 0; first < state->k; first += GROUP) {
    double *rows = state->solved + first * state->rounds;
    __m128d sums[8];
    for (int a = 0; a < 8; a++) sums[a] = _mm_load_pd(state->kernel + first + 2 * a);
    for (long j = 0; j < row; j++) {
      __m128d entry = _mm_set1_pd(l[j]);
      for (int a = 0; a < 8; a++) sums[a] = _mm_sub_pd(sums[a], _mm_mul_pd(entry, _mm_load_pd(rows + j * GROUP + 2 * a)));
    }
    __m128d scale = _mm_set1_pd(state->gp.reciprocals[row]);
    for (int a = 0; a < 8; a++) {
      __m128d solved = _mm_mul_pd(sums[a], scale);
      double *variance = state->variances + first + 2 * a;
      _mm_store_pd(rows + row * GROUP + 2 * a, solved);
      _mm_store_pd(variance, _mm_sub_pd(_mm_load_pd(variance), _mm_mul_pd(solved, solved)));
    }
  }
}

static void write_means(struct grid *state) {
  const double *z = gp_whitened(&state->gp);
  for (long first = 0; first < state->k; first += GROUP) {
    const double *rows = state->solved + first * state->rounds;
    __m128d sums[8];
    for (int a = 0; a < 8; a++) sums[a] = _mm_setzero_pd();
    for (long j = 0; j < state->gp.size; j++) {
      __m128d entry = _mm_set1_pd(z[j]);
      for (int a = 0; a < 8; a++) sums[a] = _mm_add_pd(sums[a], _mm_mul_pd(entry, _mm_load_pd(rows + j * GROUP + 2 * a)));
    }
    for (int a = 0; a < 8; a++) _mm_store_pd(state->means + first + 2 * a, sums[a]);
  }
}

/** nu: beta plus the current posterior deviations of the impressions whose window is open. */
static double multiplier(const struct grid *state, long round) {
  double nu = state->settings[2];
  for (long s = round - state->window < 1 ? 1 : round - state->window; s < round; s++) {
    nu += sqrt(fmax(state->variances[state->chosen[s - 1]], 0));
  }
  return nu;
}

static void play(void *at) {
  struct grid *state = at;
  state->gp = gp_create(state->dimension, state->settings[0], state->settings[1], state->rounds);
  for (long c = 0; c < state->k; c++) state->means[c] = 0, state->variances[c] = 1;
  for (long round = 1; round <= state->rounds; round++) {
    double nu = multiplier(state, round), best = -INFINITY;
    long index = 0;
    if (round > 1) write_means(state);
    for (long c = 0; c < state->k; c++) {
      double score = state->means[c] + nu * sqrt(fmax(state->variances[c], 0));
      if (score > best) best = score, index = c;
    }
    state->chosen[round - 1] = index;
    state->scores[round - 1] = best;
    gp_add(&state->gp, state->points + index * state->dimension);
    solve_row(state);
    long due = round - state->delay;
    if (due > 0) gp_reward(&state->gp, due - 1, state->values[state->chosen[due - 1]]);
  }
  gp_release(&state->gp);
}

static long answer(void *at, double *out) {
  struct grid *state = at;
  play(state);
  for (long i = 0; i < state->rounds; i++) {
    out[2 * i] = (double)state->chosen[i];
    out[2 * i + 1] = state->scores[i];
  }
  return 2 * state->rounds;
}

const struct workload gp_ucb_sdf_grid = {"gp-ucb-sdf-grid", start, play, answer};
