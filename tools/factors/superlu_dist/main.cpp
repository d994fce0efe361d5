// Factors a matrix by SuperLU_DIST, and writes its factors for `sordino trsv`.
//
//     cmake -S tools/factors/superlu_dist -B factors && cmake --build factors
//     mkdir LU && mpiexec -n 4 factors/superlu_dist_factor A.mtx LU 2x2
//     python -m zipfile -c LU.npz LU/*.npy
//
// A.mtx: a square Matrix Market file with coordinates, real or complex, of fewer than 2^31 entries. The grid is 1 x the
// processes, unless it is given. Scaling and orders are SuperLU_DIST's defaults; a last word says how rows are permuted for
// large pivots: none, mc64 (upstream's default, which Debian leaves out), hwpm (by CombBLAS, on P x P processes), or a file
// that has, for each row, which one it becomes. Whoever has a program with SuperLU_DIST calls write_factors.h instead.
//
// Sordino neither builds nor links this program.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "write_factors.h"

namespace {

[[noreturn]] void fail(const char* sentence, const char* what) {
  fprintf(stderr, "superlu_dist_factor: %s %s\n", sentence, what);
  MPI_Abort(MPI_COMM_WORLD, 2);
  abort();
}

// SuperLU_DIST's names, by the type of numbers.
struct Real {
  using Number = double;
  using LU = dLUstruct_t;
  using Scale = dScalePermstruct_t;
  using Solve = dSOLVEstruct_t;
  static constexpr Dtype_t dtype = SLU_D;
  static constexpr auto read = dreadMM_dist;
  static constexpr auto make = dCreate_CompRowLoc_Matrix_dist;
  static constexpr auto begin_scale = dScalePermstructInit;
  static constexpr auto begin_lu = dLUstructInit;
  static constexpr auto solve = pdgssvx;
  static constexpr auto write = write_real_factors;
  static constexpr auto end_factors = dDestroy_LU;
  static constexpr auto end_scale = dScalePermstructFree;
  static constexpr auto end_lu = dLUstructFree;
};

struct Complex {
  using Number = doublecomplex;
  using LU = zLUstruct_t;
  using Scale = zScalePermstruct_t;
  using Solve = zSOLVEstruct_t;
  static constexpr Dtype_t dtype = SLU_Z;
  static constexpr auto read = zreadMM_dist;
  static constexpr auto make = zCreate_CompRowLoc_Matrix_dist;
  static constexpr auto begin_scale = zScalePermstructInit;
  static constexpr auto begin_lu = zLUstructInit;
  static constexpr auto solve = pzgssvx;
  static constexpr auto write = write_complex_factors;
  static constexpr auto end_factors = zDestroy_LU;
  static constexpr auto end_scale = zScalePermstructFree;
  static constexpr auto end_lu = zLUstructFree;
};

bool is_zero(double value) { return value == 0.0; }
bool is_zero(doublecomplex value) { return value.r == 0.0 && value.i == 0.0; }

// What is said on the command line.
struct Wanted {
  const char *path = "", *folder = "", *rows = "";

  // Who is on the diagonal: by a method of SuperLU_DIST, or place_of_row from a file.
  void permute_rows(superlu_dist_options_t& options, int_t n, int_t* place_of_row) const {
    const std::string word = rows;
    if (word.empty()) return;
    options.RowPerm = word == "none" ? NOROWPERM : word == "mc64" ? LargeDiag_MC64 : word == "hwpm" ? LargeDiag_HWPM : MY_PERMR;
    if (options.RowPerm != MY_PERMR) return;
    FILE* file = fopen(rows, "r");
    std::vector<bool> taken(n, false);
    for (int_t i = 0; i < n; ++i) {
      long long place = -1;
      if (!file || fscanf(file, "%lld", &place) != 1 || place < 0 || place >= n || taken[place])
        fail("rows are none, mc64, hwpm or a file with a permutation, counted from 0, not", rows);
      taken[place] = true;
      place_of_row[i] = static_cast<int_t>(place);
    }
    fclose(file);
  }
};

// The matrix by columns, in all processes.
template <class Number>
struct Matrix {
  int_t n = 0;
  std::vector<int_t> begins, rows;
  std::vector<Number> values;
};

template <class Type>
Matrix<typename Type::Number> matrix_of(FILE* file, const char* path, gridinfo_t* grid) {
  using Number = typename Type::Number;
  int_t rows = 0, columns = 0, entries = 0, *row_of = nullptr, *begin = nullptr;
  Number* value = nullptr;
  if (grid->iam == 0) Type::read(file, &rows, &columns, &entries, &value, &row_of, &begin);
  if (rows != columns) fail("no square matrix:", path);
  Matrix<Number> all;
  if (grid->iam == 0) {
    all.begins = {0};
    for (int_t j = 0; j < columns; ++j) {  // without zeros that are stored: the search for large pivots takes them for entries
      for (int_t k = begin[j]; k < begin[j + 1]; ++k) {
        if (is_zero(value[k])) continue;
        all.rows.push_back(row_of[k]);
        all.values.push_back(value[k]);
      }
      all.begins.push_back(static_cast<int_t>(all.rows.size()));
    }
    SUPERLU_FREE(begin);
    SUPERLU_FREE(row_of);
    SUPERLU_FREE(value);
  }
  int_t sizes[2] = {rows, static_cast<int_t>(all.rows.size())};
  MPI_Bcast(sizes, 2, mpi_int_t, 0, grid->comm);
  all.n = sizes[0];
  all.begins.resize(sizes[0] + 1);
  all.rows.resize(sizes[1]);
  all.values.resize(sizes[1]);
  MPI_Bcast(all.begins.data(), static_cast<int>(all.begins.size()), mpi_int_t, 0, grid->comm);
  MPI_Bcast(all.rows.data(), static_cast<int>(sizes[1]), mpi_int_t, 0, grid->comm);
  const auto each = static_cast<int>(sizeof(Number) / sizeof(double));
  for (int part = 0; part < each; ++part) {  // the parts of complex numbers, so that counts stay small
    auto* numbers = reinterpret_cast<double*>(all.values.data()) + static_cast<std::size_t>(part) * sizes[1];
    MPI_Bcast(numbers, static_cast<int>(sizes[1]), MPI_DOUBLE, 0, grid->comm);
  }
  return all;
}

// Rows [first, end) of it by rows, which SuperLU_DIST frees.
template <class Type>
SuperMatrix rows_of(const Matrix<typename Type::Number>& all, int_t first, int_t end) {
  using Number = typename Type::Number;
  std::vector<int_t> at(end - first + 1, 0);
  for (const int_t row : all.rows) {
    if (row >= first && row < end) ++at[row - first + 1];
  }
  for (int_t i = 0; i < end - first; ++i) at[i + 1] += at[i];
  const int_t entries = at[end - first];
  auto* begins = static_cast<int_t*>(SUPERLU_MALLOC(at.size() * sizeof(int_t)));
  auto* columns = static_cast<int_t*>(SUPERLU_MALLOC((entries + 1) * sizeof(int_t)));
  auto* values = static_cast<Number*>(SUPERLU_MALLOC((entries + 1) * sizeof(Number)));
  memcpy(begins, at.data(), at.size() * sizeof(int_t));
  for (int_t j = 0; j < all.n; ++j) {
    for (int_t k = all.begins[j]; k < all.begins[j + 1]; ++k) {
      if (all.rows[k] < first || all.rows[k] >= end) continue;
      const int_t place = at[all.rows[k] - first]++;
      columns[place] = j;
      values[place] = all.values[k];
    }
  }
  SuperMatrix mine;
  Type::make(&mine, all.n, all.n, entries, end - first, first, values, columns, begins, SLU_NR_loc, Type::dtype, SLU_GE);
  return mine;
}

template <class Type>
void factor(FILE* file, const Wanted& wanted, gridinfo_t* grid) {
  const auto all = matrix_of<Type>(file, wanted.path, grid);
  const int_t processes = grid->nprow * grid->npcol, each = all.n / processes;
  const int_t first = grid->iam * each, end = grid->iam + 1 == processes ? all.n : first + each;
  if (each == 0) fail("more processes than rows:", wanted.path);
  SuperMatrix A = rows_of<Type>(all, first, end);
  superlu_dist_options_t options;
  set_default_options_dist(&options);
  options.PrintStat = NO;
  options.IterRefine = NOREFINE;
  typename Type::Scale scale;
  typename Type::LU lu;
  typename Type::Solve solve = {};
  SuperLUStat_t statistics;
  Type::begin_scale(all.n, all.n, &scale);
  Type::begin_lu(all.n, &lu);
  wanted.permute_rows(options, all.n, scale.perm_r);
  PStatInit(&statistics);
  int info = 0;
  double none = 0.0;  // without right-hand sides it only factors
  Type::solve(&options, &A, &scale, nullptr, static_cast<int>(end - first), 0, grid, &lu, &solve, &none, &statistics, &info);
  if (info != 0) fail("singular, or too large for the memory:", wanted.path);
  if (Type::write(all.n, &lu, &scale, grid, wanted.folder)) fail("cannot write all arrays to", wanted.folder);
  if (grid->iam == 0) printf("%lld rows, %lld supernodes\n", (long long)all.n, (long long)lu.Glu_persist->supno[all.n - 1] + 1);
  PStatFree(&statistics);
  Destroy_CompRowLoc_Matrix_dist(&A);
  Type::end_factors(all.n, grid, &lu);
  Type::end_scale(&scale);
  Type::end_lu(&lu);
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int processes = 1, rows = 1, columns = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (count < 3 || count > 5) fail("usage:", "superlu_dist_factor A.mtx FOLDER [PxQ [none|mc64|hwpm|FILE]]");
  if (count == 3) columns = processes;
  if (count > 3 && sscanf(words[3], "%dx%d", &rows, &columns) != 2) fail("a grid is PxQ, such as 2x2, not", words[3]);
  if (rows < 1 || columns < 1 || rows * columns != processes)
    fail("there are more or fewer processes than a grid of", words[3]);
  FILE* file = fopen(words[1], "r");
  char first_line[256] = "";
  if (!file || !fgets(first_line, sizeof first_line, file)) fail("cannot read", words[1]);
  if (strncmp(first_line, "%%MatrixMarket matrix coordinate ", 33)) fail("no Matrix Market file with coordinates:", words[1]);
  rewind(file);
  gridinfo_t grid;
  superlu_gridinit(MPI_COMM_WORLD, rows, columns, &grid);
  const auto run = strstr(first_line, " complex ") ? factor<Complex> : factor<Real>;
  run(file, Wanted{words[1], words[2], count == 5 ? words[4] : ""}, &grid);
  fclose(file);
  superlu_gridexit(&grid);
  MPI_Finalize();
  return 0;
}
