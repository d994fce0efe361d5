/* Solves a small system from C with an installed Sordino. */
#include <sordino/api/sordino.h>

#include <math.h>
#include <stdio.h>

int main(void) {
  const int32_t starts[] = {0, 2, 5, 8, 10}, columns[] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3};
  const double values[] = {2, -1, -1, 2, -1, -1, 2, -1, -1, 2}, b[] = {1, 0, 0, 1};
  double x[4];
  sordino_rows A = {.rows = 4, .row_starts = starts, .columns = columns, .values = values, .index_bits = 32};
  sordino_solver* solver;
  int code = sordino_create(&A, "engine=host ranks=2 rtol=1e-12", &solver);
  if (code == SORDINO_OK) code = sordino_solve(solver, b, x, NULL);
  printf("Sordino %s from C: %s\n", sordino_version(), sordino_message());
  sordino_destroy(solver);
  for (int i = 0; i < 4 && code == SORDINO_OK; i++)
    if (fabs(x[i] - 1) > 1e-10) return 1;
  return code;
}
