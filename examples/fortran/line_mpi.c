/* An MPI program in C whose solver is written in Fortran (line.f90); checks the residual with messages of its own.
 *   mpiexec -n 4 fortran_line_mpi */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 500 };

int64_t rows_of_line(void) { return n; }
int solve_line(int comm, int64_t first_row, int64_t rows, const double* b, double* x);

int main(int argc, char** argv) {
  int granted, process, processes;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const int64_t first = (int64_t)n * process / processes, rows = (int64_t)n * (process + 1) / processes - first;
  double* b = malloc((size_t)rows * sizeof *b);
  double* padded = calloc((size_t)rows + 2, sizeof *padded); /* x, with an entry of each neighbour around it */
  double* x = padded + 1;
  for (int64_t i = 0; i < rows; i++) b[i] = cos(0.1 * (double)(first + i));

  const int code = solve_line(MPI_Comm_c2f(MPI_COMM_WORLD), first + 1, rows, b, x);
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);

  const int before = process > 0 ? process - 1 : MPI_PROC_NULL, after = process + 1 < processes ? process + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(x, 1, MPI_DOUBLE, before, 0, x + rows, 1, MPI_DOUBLE, after, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(x + rows - 1, 1, MPI_DOUBLE, after, 1, padded, 1, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  double sums[2] = {0, 0};
  for (int64_t i = 0; i < rows; i++) {
    const double r = b[i] - (2.01 * x[i] - x[i - 1] - x[i + 1]);
    sums[0] += r * r;
    sums[1] += b[i] * b[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double relative = sqrt(sums[0] / sums[1]);
  if (process == 0) printf("%d processes: residual %.2e\n", processes, relative);
  free(b), free(padded);
  MPI_Finalize();
  return relative > 1e-9;
}
