/* The system that peers are asked to solve, and what the programs here have in common: a file of machine words, int64 n, nnz;
   int64 indptr[n + 1]; int32 indices[nnz]; float64 values[nnz], b[n]. */
#ifndef SORDINO_BENCH_SYSTEM_H
#define SORDINO_BENCH_SYSTEM_H
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

typedef struct {
  int64_t n, nnz, first, rows, entries; /* first..entries: of this rank */
  int64_t* indptr;                      /* [rows + 1] from 0 */
  int32_t* indices;
  double *values, *b;
} Rows;

static inline int read_at(FILE* file, int64_t offset, void* into, size_t bytes) {
  return fseek(file, (long)offset, SEEK_SET) != 0 || fread(into, 1, bytes, file) != bytes;
}

/* This rank's share of the file: consecutive rows, as even as can be. Not 0: there is none. */
static inline int read_rows(const char* path, Rows* r) {
  int rank, ranks, bad = 0;
  int64_t head[2];
  FILE* file = fopen(path, "rb");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!file || read_at(file, 0, head, sizeof head)) return 1;
  r->n = head[0], r->nnz = head[1];
  r->first = r->n * rank / ranks;
  r->rows = r->n * (rank + 1) / ranks - r->first;
  r->indptr = malloc(8 * (size_t)(r->rows + 1));
  if (!r->indptr || read_at(file, 16 + 8 * r->first, r->indptr, 8 * (size_t)(r->rows + 1))) return 1;
  const int64_t begin = r->indptr[0];
  r->entries = r->indptr[r->rows] - begin;
  r->indices = malloc(4 * (size_t)r->entries);
  r->values = malloc(8 * (size_t)r->entries);
  r->b = malloc(8 * (size_t)r->rows);
  if (!r->indices || !r->values || !r->b) return 1;
  int64_t at = 16 + 8 * (r->n + 1);
  bad |= read_at(file, at + 4 * begin, r->indices, 4 * (size_t)r->entries);
  at += 4 * r->nnz;
  bad |= read_at(file, at + 8 * begin, r->values, 8 * (size_t)r->entries);
  at += 8 * r->nnz;
  bad |= read_at(file, at + 8 * r->first, r->b, 8 * (size_t)r->rows);
  for (int64_t i = 0; i <= r->rows; i++) r->indptr[i] -= begin;
  fclose(file);
  return bad;
}

static inline void free_rows(Rows* r) {
  free(r->indptr);
  free(r->indices);
  free(r->values);
  free(r->b);
}

/* Not 0: it cannot be written. */
static inline int write_x(const char* path, const double* x, const Rows* r) {
  MPI_File file;
  return MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) ||
         MPI_File_write_at_all(file, 8 * r->first, x, (int)r->rows, MPI_DOUBLE, MPI_STATUS_IGNORE) || MPI_File_close(&file);
}

/* Seconds of a clock, and user seconds of this process so far; of the difference of two, the slowest rank's. */
typedef struct {
  double clock, user;
} Seconds;

static inline Seconds seconds_now(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (Seconds){MPI_Wtime(), (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec};
}

static inline Seconds slowest_since(Seconds begun) {
  Seconds now = seconds_now(), slowest;
  double taken[2] = {now.clock - begun.clock, now.user - begun.user}, most[2];
  MPI_Allreduce(taken, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  slowest.clock = most[0], slowest.user = most[1];
  return slowest;
}

#endif
