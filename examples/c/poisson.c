/* A Poisson problem on a square, from C, in one process: a matrix goes in once, right-hand sides come and go. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sordino/api/sordino.h>

enum { side = 50, n = side * side };

static int32_t starts[n + 1], columns[5 * n];
static double values[5 * n], b[n], x[n];

/* Four neighbours, in increasing order of their numbers. */
static void fill(void) {
  const int steps[5] = {-side, -1, 0, 1, side};
  int entries = 0;
  for (int row = 0; row < n; row++) {
    const int there[5] = {row >= side, row % side > 0, 1, row % side < side - 1, row < n - side};
    for (int k = 0; k < 5; k++) {
      if (!there[k]) continue;
      columns[entries] = row + steps[k];
      values[entries++] = k == 2 ? 4 : -1;
    }
    starts[row + 1] = entries;
    b[row] = 1;
  }
}

/* ||b - A x|| / ||b||, by our own sums. */
static double residual(void) {
  double rr = 0, bb = 0;
  for (int row = 0; row < n; row++) {
    double r = b[row];
    for (int k = starts[row]; k < starts[row + 1]; k++) r -= values[k] * x[columns[k]];
    rr += r * r;
    bb += b[row] * b[row];
  }
  return sqrt(rr / bb);
}

static void need(int code) {
  if (code == SORDINO_OK) return;
  fprintf(stderr, "code %d: %s\n", code, sordino_message());
  exit(code);
}

int main(void) {
  fill();
  sordino_solver* solver;
  sordino_rows A = {.rows = n, .row_starts = starts, .columns = columns, .values = values, .index_bits = 32};
  need(sordino_create(&A, "engine=host ranks=2 rtol=1e-8", &solver));
  need(sordino_solve(solver, b, x, NULL));

  sordino_report r;
  need(sordino_figures(solver, &r));
  printf("Sordino %s, %s with %s on %d ranks: %d iterations, residual %.2e, ours %.2e\n", sordino_version(),
         sordino_method(solver), sordino_preconditioner(solver), r.ranks, r.iterations, r.true_residual, residual());
  if (residual() > 1e-8) return 1;

  for (int k = 0; k < starts[n]; k++) values[k] *= 2; /* the same pattern: nothing is set up again */
  need(sordino_update_values(solver, values));
  need(sordino_set(solver, "rtol=1e-10"));
  need(sordino_solve(solver, b, x, x));
  printf("with new values: residual %.2e\n", residual());
  sordino_destroy(solver);
  return residual() > 1e-10;
}
