/* Sordino from C and from Fortran: solves A x = b for a sparse matrix, in one process or with the rows of an MPI program.
 *
 *   sordino_rows A = {.rows = n, .row_starts = starts, .columns = columns, .values = values, .index_bits = 32};
 *   sordino_solver* solver = NULL;
 *   if (sordino_create(&A, "rtol=1e-8 ranks=4", &solver) != SORDINO_OK) fprintf(stderr, "%s\n", sordino_message());
 *   int code = sordino_solve(solver, b, x, NULL);   // SORDINO_OK: verified, ||b - A x|| has been recomputed from x
 *   sordino_destroy(solver);
 *
 * Codes. Every function that can fail returns one of sordino_code; they are the exit codes of the command line. What was wrong
 * stands in one sentence in sordino_message() of the same thread. No exception leaves the library, and it prints nothing.
 *
 * Ownership. What is passed in is copied: 12 bytes an entry and 8 a row, and on several ranks 4 more an entry; on GPUs, their
 * copy beside that. Your arrays may change or go when a function returns. What is returned stays the library's.
 *
 * Memory. The arrays of a matrix, b, x, x0 and new values may each be in memory of the host or, in builds with CUDA, of any
 * GPU: of cudaMalloc or a pool, not managed. With engine=cuda b, x0 and x travel between their GPU and those of the ranks, 8
 * bytes a row each; with another engine, and where b is beyond 1e-30 ... 1e30, by way of the host. A matrix and new values on a
 * GPU are copied to the host first. Builds without CUDA cannot tell, and take all for the host's. The structs are the host's.
 *
 * Order. A function reads arrays on a GPU after all work that their GPU's legacy default stream has been given, and so after
 * that of all streams that were not made non-blocking; sordino_set_stream() names another one. When it returns, x is complete
 * for every stream, and nothing is under way on any of your arrays. The calling thread's current device stays what it was.
 *
 * Threads. Functions on one solver are called by one thread at a time, those on different solvers by any. sordino_solve() keeps
 * its thread until it ends, and works in threads of its own, one a rank.
 *
 * Stability: experimental until version 1.0. Of the structs below the members keep their order, and new ones come last.
 */
#ifndef SORDINO_API_SORDINO_H
#define SORDINO_API_SORDINO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sordino_code {
  SORDINO_OK = 0,            /* done; of a solve: converged, verified */
  SORDINO_BAD_INPUT = 2,     /* an argument that cannot be used, or what this build cannot do; nothing has changed */
  SORDINO_NOT_CONVERGED = 3, /* x is the best one met; sordino_figures() says how good, sordino_message() why */
  SORDINO_FAILED = 4         /* a device, a rank or a process failed: destroy the solver */
};

/* How a solve ended, more closely. */
enum sordino_status {
  SORDINO_CONVERGED,
  SORDINO_MAX_ITERATIONS,
  SORDINO_TIME_LIMIT,
  SORDINO_BREAKDOWN,
  SORDINO_INDEFINITE,
  SORDINO_STAGNATED,
  SORDINO_DIVERGED,
  SORDINO_INTERRUPTED,
  SORDINO_STOPPED_BY_USER
};

typedef struct sordino_solver sordino_solver;

/* Consecutive rows of a square matrix in compressed sparse rows. Row i of these, of 0 ... rows - 1, has the entries
 * row_starts[i] ... row_starts[i + 1] - 1. Within a row columns increase; every row has an entry; no value is NaN or Inf. */
typedef struct sordino_rows {
  int64_t first_row;      /* number of row 0 of these in the whole matrix */
  int64_t rows;           /* how many are here */
  const void* row_starts; /* [rows + 1] begins with index_base */
  const void* columns;    /* [entries] numbers in the whole matrix, which has fewer than 2^31 rows */
  const double* values;   /* [entries] real ones: from C there are no complex systems */
  int index_bits;         /* of row_starts and columns: 32 (int32_t) or 64 (int64_t) */
  int index_base;         /* 0, or 1 as in Fortran: of row_starts, columns and first_row; sentences count rows from 0 */
} sordino_rows;

/* A solver of a whole matrix, by this process alone, even where MPI runs several. `options`: "name=value" pairs with spaces
 * between them, as "solver=cg precond=jacobi rtol=1e-8 ranks=4"; NULL or "": the defaults. The names are those of the table
 * of options in the documentation, and max_iterations, method and M for maxiter, solver and precond; booleans are true or
 * false. From C, partition is blocks, storage is auto or csr, and trace and time_commands change nothing that can be read.
 * Reports, traces, monitors, described machines and files of options are of Python and of the command line. Of a singular
 * matrix nullspace=constant says that it maps the constant vector to zero, and what is solved, verified and said is then about
 * the part of b that the matrix can reach. first_row must be index_base. Sets up once: partition, halos, vectors, threads.
 * *solver is NULL unless SORDINO_OK is returned. */
int sordino_create(const sordino_rows* matrix, const char* options, sordino_solver** solver);

/* The same over the processes of an MPI communicator, each of which passes the rows that it has; they stay there. The rows of a
 * process follow on those of the process before; each has one at least. b and x are distributed like the rows. No process needs
 * memory that grows with the rows of the others, but for those entries of x that its own rows touch. (With solver=auto the
 * test of symmetry takes 24 bytes for each entry whose column another process has, while it lasts.)
 *
 * Collective, as all functions on that solver are but the queries: all processes of `comm` call the same in the same order, and
 * wait for each other, up to option timeout (60 s without any progress; timeout=0: as long as it takes). What is refused in one
 * process is refused in all, with the same sentence, which names the process. The options must be the same in all processes,
 * but for ranks, which is 1 a process unless set, also where there is one process, and devices.
 *
 * Who waits longer than the timeout returns SORDINO_FAILED, with a sentence that says for what, and for which processes where
 * that is known. If some never came to sordino_create_mpi(), a collective stays under way on `comm`, which is then of no use
 * for others. A few calls of MPI cannot be given up (MPI_Comm_split_type, MPI_Comm_dup and a gather of one number, where an
 * engine is set up). They stand behind a barrier that can: a process that has not come there is told of in time; one that dies
 * between the two is left to MPI.
 *
 * MPI must be running, with MPI_THREAD_SERIALIZED at least (MPI_Init_thread); it is neither initialised nor finalised here.
 * `comm` is duplicated: messages of the two never meet. While a function runs in a process, its other threads make no MPI calls
 * unless MPI grants MPI_THREAD_MULTIPLE. Destroy solvers before MPI_Finalize.
 *
 * Bits: the same distribution of rows gives the same bits on every run; another one rounds differently.
 *
 * The first is declared if mpi.h has been included before this file, and is there in builds with MPI; the second takes the
 * integer that is a communicator in Fortran, and refuses in builds without MPI. */
#ifdef MPI_VERSION
int sordino_create_mpi(MPI_Comm comm, const sordino_rows* rows, const char* options, sordino_solver** solver);
#endif
int sordino_create_mpi_fortran(int comm, const sordino_rows* rows, const char* options, sordino_solver** solver);

/* Solves A x = b. b [rows], x [rows] (out), x0 [rows] (where to start, or NULL for 0); x may be b or x0. Allocates nothing on
 * later calls but what a right-hand side beyond 1e-30 ... 1e30 needs. Returns SORDINO_OK only if ||b - A x||_2 <=
 * max(rtol ||b||_2, atol), recomputed. One right-hand side at a time, of real numbers. */
int sordino_solve(sordino_solver* solver, const double* b, double* x, const double* x0);

/* New values [entries], in the same order, for the same pattern: no new partition or halo, and after the first update no
 * allocation. If they are refused the old ones stay. */
int sordino_update_values(sordino_solver* solver, const double* values);

/* The stream (a cudaStream_t of any GPU) whose work is waited for before b, x, x0 or new values on a GPU are touched, in
 * functions to come; NULL, as at first: the legacy default stream. One that is named must exist until another is. Not
 * collective; builds without CUDA ignore it. */
int sordino_set_stream(sordino_solver* solver, void* stream);

/* Changes rtol, atol, maxiter or time_limit for solves to come, as "rtol=1e-10 maxiter=500"; others are fixed. Not collective,
 * but the next solve refuses what processes do not agree on. */
int sordino_set(sordino_solver* solver, const char* options);

/* Ends a solver; NULL is allowed. Over MPI all processes come here, but do not wait for each other. After SORDINO_FAILED what a
 * rank that never came back may still read is kept. The solver is gone then, as after free(): who passes it to any function,
 * or destroys it again, does what is not defined. */
void sordino_destroy(sordino_solver* solver);

/* Figures of the last solve of a solver, and of its setup. Counts and seconds are those of the first rank of this process. */
typedef struct sordino_report {
  int status; /* enum sordino_status */
  int iterations;
  double residual_norm; /* ||b - A x||_2, recomputed */
  double true_residual; /* the same relative to ||b||_2 */
  double seconds;       /* of the solve */
  double setup_seconds;
  int64_t reductions; /* all-reduces */
  int64_t messages;   /* sent for products with A */
  int64_t bytes_sent; /* in them */
  int64_t n;          /* rows of the whole matrix */
  int ranks;          /* of all processes */
} sordino_report;

/* What a solve did where its recurrence led no further. */
typedef struct sordino_recovery {
  int iteration;    /* after so many */
  const char* kind; /* "residual replaced", "smaller s", "classic CG" or "classic BiCGStab" */
  const char* why;  /* half a sentence, valid until the next solve */
  double residual;  /* ||b - A x||_2 / ||b||_2, recomputed, of the x from which it went on */
} sordino_recovery;

/* Queries. None of them communicates. What they return lives as long as the solver, but for sordino_message(). */
int sordino_figures(const sordino_solver* solver, sordino_report* report); /* SORDINO_BAD_INPUT before the first solve */
/* Copies min(capacity, iterations) values of ||r||_2 / ||b||_2 after each iteration; returns how many there are. */
int64_t sordino_history(const sordino_solver* solver, double* values, int64_t capacity);
/* The same of what was done where the recurrence led no further, in order: copies min(capacity, as many as there are). */
int64_t sordino_recoveries(const sordino_solver* solver, sordino_recovery* recoveries, int64_t capacity);
const char* sordino_method(const sordino_solver* solver);         /* what solver=auto has become */
const char* sordino_preconditioner(const sordino_solver* solver); /* and precond=auto */
const char* sordino_engine(const sordino_solver* solver);         /* and engine=auto */
const char* sordino_status_name(int status);                      /* "max_iterations" */
/* One sentence: what was wrong in the last call of this thread that failed, or how its last solve ended, whichever was later.
 * Valid until the next of these. */
const char* sordino_message(void);
/* Its kind: "bad_argument", "io", "device", "peer_failed" or "unsupported"; "" if it was no error. */
const char* sordino_error(void);
const char* sordino_version(void);

#ifdef __cplusplus
}
#endif
#endif
