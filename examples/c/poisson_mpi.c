/* The same from a program that runs on MPI already: each process has some lines of the grid, and keeps them.
 *   mpiexec -n 4 c_poisson_mpi
 *   mpiexec -n 2 c_poisson_mpi "engine=cuda rtol=1e-9" */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include <sordino/api/sordino.h> /* after mpi.h: so it declares what takes an MPI_Comm */

enum { side = 60 };

static int process, processes;

static int first_line(int p) { return (int)((long)side * p / processes); }

static void need(int code) {
  if (code == SORDINO_OK) return;
  fprintf(stderr, "process %d, code %d: %s\n", process, code, sordino_message());
  MPI_Abort(MPI_COMM_WORLD, code);
}

/* My rows of A; columns are numbers in the whole matrix. Returns the number of entries. */
static int64_t fill(int64_t first, int64_t rows, int64_t* starts, int64_t* columns, double* values) {
  const int64_t n = (int64_t)side * side, steps[5] = {-side, -1, 0, 1, side};
  int64_t entries = 0;
  starts[0] = 0;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t row = first + i;
    const int there[5] = {row >= side, row % side > 0, 1, row % side < side - 1, row < n - side};
    for (int k = 0; k < 5; k++) {
      if (!there[k]) continue;
      columns[entries] = row + steps[k];
      values[entries++] = k == 2 ? 4 : -1;
    }
    starts[i + 1] = entries;
  }
  return entries;
}

/* ||b - A x|| / ||b||, by our own messages: `padded` is x with a line of each neighbour around it. */
static double residual(int64_t first, int64_t rows, const int64_t* starts, const int64_t* columns, const double* values,
                       const double* b, double* padded) {
  const int up = process > 0 ? process - 1 : MPI_PROC_NULL, down = process + 1 < processes ? process + 1 : MPI_PROC_NULL;
  double* x = padded + side;
  MPI_Sendrecv(x, side, MPI_DOUBLE, up, 0, x + rows, side, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(x + rows - side, side, MPI_DOUBLE, down, 1, padded, side, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  double sums[2] = {0, 0};
  for (int64_t i = 0; i < rows; i++) {
    double r = b[i];
    for (int64_t k = starts[i]; k < starts[i + 1]; k++) r -= values[k] * x[columns[k] - first];
    sums[0] += r * r;
    sums[1] += b[i] * b[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sqrt(sums[0] / sums[1]);
}

int main(int argc, char** argv) {
  int granted;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);

  const int64_t first = (int64_t)side * first_line(process), rows = (int64_t)side * first_line(process + 1) - first;
  int64_t* starts = malloc((size_t)(rows + 1) * sizeof *starts);
  int64_t* columns = malloc((size_t)(5 * rows) * sizeof *columns);
  double* values = malloc((size_t)(5 * rows) * sizeof *values);
  double* b = malloc((size_t)rows * sizeof *b);
  double* padded = calloc((size_t)(rows + 2 * side), sizeof *padded);
  fill(first, rows, starts, columns, values);
  for (int64_t i = 0; i < rows; i++) b[i] = 1 + (double)((first + i) % 7);

  sordino_solver* solver;
  sordino_rows A = {first, rows, starts, columns, values, 64, 0};
  need(sordino_create_mpi(MPI_COMM_WORLD, &A, argc > 1 ? argv[1] : "engine=host rtol=1e-8", &solver));
  need(sordino_solve(solver, b, padded + side, NULL)); /* my rows of x only */
  double relative = residual(first, rows, starts, columns, values, b, padded);

  sordino_report r;
  need(sordino_figures(solver, &r));
  if (process == 0)
    printf("%d processes, %s: %d iterations, residual %.2e, ours %.2e\n", processes, sordino_method(solver), r.iterations,
           r.true_residual, relative);
  sordino_destroy(solver);
  free(starts), free(columns), free(values), free(b), free(padded);
  MPI_Finalize(); /* ours to call: Sordino never does where it has not initialised MPI */
  return relative > 1e-8;
}
