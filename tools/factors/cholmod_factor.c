/* Factors a symmetric positive definite matrix by CHOLMOD, and writes its factor for `sordino trsv`.
 *
 *     gcc -O2 cholmod_factor.c -I/usr/include/suitesparse -lcholmod -lm -o cholmod_factor
 *     mkdir L && ./cholmod_factor A.mtx L
 *
 * and the files in L, packed into L.npz, are one of factors (docs/triangular_solves.md). Factors of up to 2^31 values.
 *
 * Sordino neither builds nor links this program: CHOLMOD's supernodal module is under the GPL, and so is a program linked with
 * it. Supernode s of CHOLMOD's factor has columns super[s], ..., super[s + 1] - 1 and rows s[pi[s]], ..., s[pi[s + 1] - 1], the
 * first of them its columns; its values lie column by column at x[px[s]]. What lies above the diagonal is left out here. */
#include <cholmod.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "npy.h"

static void fail(const char* sentence, const char* name) {
  fprintf(stderr, "cholmod_factor: %s %s\n", sentence, name);
  exit(2);
}

static void write_factor(const cholmod_factor* L, const char* folder) {
  const int *super = L->super, *pi = L->pi, *px = L->px, *s = L->s, *perm = L->Perm;
  const double* x = L->x;
  int64_t n = (int64_t)L->n, entries = 0, at = 0;
  for (size_t k = 0; k < L->nsuper; k++) {
    int64_t w = super[k + 1] - super[k], rows = pi[k + 1] - pi[k];
    entries += w * rows - w * (w - 1) / 2;
  }
  int64_t* begin = malloc(sizeof(int64_t) * (size_t)(n + 1));
  int64_t* order = malloc(sizeof(int64_t) * (size_t)n);
  int32_t* rows_of = malloc(sizeof(int32_t) * (size_t)entries);
  double* data = malloc(sizeof(double) * (size_t)entries);
  if (!begin || !order || !rows_of || !data) fail("there is not enough memory for the factor in", folder);
  for (size_t k = 0; k < L->nsuper; k++) {
    int64_t rows = pi[k + 1] - pi[k];
    for (int j = super[k]; j < super[k + 1]; j++) {
      begin[j] = at;
      for (int64_t i = j - super[k]; i < rows; i++, at++) {
        rows_of[at] = s[pi[k] + i];
        data[at] = x[px[k] + (int64_t)(j - super[k]) * rows + i];
      }
    }
  }
  begin[n] = at;
  for (int64_t k = 0; k < n; k++) order[k] = perm[k];
  int bad = npy_write_format(folder, 0);
  bad |= npy_write(folder, "lower_indptr", "<i8", begin, n + 1, 8);
  bad |= npy_write(folder, "lower_indices", "<i4", rows_of, entries, 4);
  bad |= npy_write(folder, "lower_data", "<f8", data, entries, 8);
  bad |= npy_write(folder, "row_order", "<i8", order, n, 8);
  bad |= npy_write(folder, "column_order", "<i8", order, n, 8);
  if (bad) fail("cannot write all arrays to", folder);
  printf("%lld rows, %lld entries in %lld supernodes\n", (long long)n, (long long)entries, (long long)L->nsuper);
}

int main(int count, char** words) {
  if (count != 3) fail("usage:", "cholmod_factor A.mtx FOLDER");
  FILE* file = fopen(words[1], "r");
  if (!file) fail("cannot read", words[1]);
  cholmod_common c;
  cholmod_start(&c);
  c.supernodal = CHOLMOD_SUPERNODAL;
  c.final_ll = 1;
  c.nmethods = 1;
  c.method[0].ordering = CHOLMOD_METIS;
  cholmod_sparse* A = cholmod_read_sparse(file, &c);
  if (!A || A->stype == 0 || A->xtype != CHOLMOD_REAL) fail("no real symmetric Matrix Market file:", words[1]);
  cholmod_factor* L = cholmod_analyze(A, &c);
  if (!L || !cholmod_factorize(A, L, &c) || c.status != CHOLMOD_OK || !L->is_super) fail("not positive definite:", words[1]);
  write_factor(L, words[2]);
  cholmod_free_factor(&L, &c);
  cholmod_free_sparse(&A, &c);
  cholmod_finish(&c);
  return fclose(file);
}
