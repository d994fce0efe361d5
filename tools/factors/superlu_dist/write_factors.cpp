#include "write_factors.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "../npy.h"

namespace {

// What one process has of a supernode's columns of L, or of U^T: column by column, rows in no order.
template <class Number>
struct Piece {
  std::vector<int> counts;
  std::vector<int> rows;
  std::vector<Number> values;

  void add(int_t row, Number value) {
    ++counts.back();
    rows.push_back(static_cast<int>(row));
    values.push_back(value);
  }
};

// A block column of L as it lies in memory. The diagonal block has U in its upper triangle.
template <class Number>
struct Panel {
  std::vector<int_t> rows;  // of all of its blocks, one below the other
  const Number* values;     // column by column
};

template <class Number, class LU>
class Blocks {
 public:
  Blocks(const LU* lu, gridinfo_t* grid) : llu(lu->Llu), xsup(lu->Glu_persist->xsup), grid(grid) {}

  Piece<Number> of_lower(int_t k) const {
    Piece<Number> piece;
    const Panel<Number> panel = panel_of(k);
    for (int_t j = xsup[k]; j < xsup[k + 1]; ++j) {
      piece.counts.push_back(0);
      const Number* column = panel.values + (j - xsup[k]) * panel.rows.size();
      for (std::size_t r = 0; r < panel.rows.size(); ++r) {
        if (panel.rows[r] > j) piece.add(panel.rows[r], column[r]);
      }
    }
    return piece;
  }

  // Columns of U^T are rows of U: the diagonal block's upper triangle, and right of it skylines, each column from its first
  // row to the supernode's last one.
  Piece<Number> of_upper(int_t k) const {
    Piece<Number> piece;
    const bool has_diagonal = PCOL(k, grid) == MYCOL(grid->iam, grid);
    const Panel<Number> panel = has_diagonal ? panel_of(k) : Panel<Number>{};
    const int_t* index = llu->Ufstnz_br_ptr[LBi(k, grid)];
    for (int_t i = xsup[k]; i < xsup[k + 1]; ++i) {
      piece.counts.push_back(0);
      for (std::size_t r = 0; r < panel.rows.size(); ++r) {
        if (panel.rows[r] != i) continue;
        for (int_t j = i; j < xsup[k + 1]; ++j) piece.add(j, panel.values[(j - xsup[k]) * panel.rows.size() + r]);
      }
      if (index) add_skylines(index, llu->Unzval_br_ptr[LBi(k, grid)], i, xsup[k + 1], piece);
    }
    return piece;
  }

  int_t width(int_t k) const { return xsup[k + 1] - xsup[k]; }

 private:
  // Index: blocks, rows; then for each block its number, how many rows, and these.
  Panel<Number> panel_of(int_t k) const {
    Panel<Number> panel{{}, llu->Lnzval_bc_ptr[LBj(k, grid)]};
    const int_t* index = llu->Lrowind_bc_ptr[LBj(k, grid)];
    if (!index) return panel;
    const int_t* block = index + BC_HEADER;
    for (int_t b = 0; b < index[0]; ++b) {
      panel.rows.insert(panel.rows.end(), block + LB_DESCRIPTOR, block + LB_DESCRIPTOR + block[1]);
      block += LB_DESCRIPTOR + block[1];
    }
    return panel;
  }

  // Row i of a block row. Index: blocks, and two lengths; then for each block its number, how many values, and the first row
  // of each column.
  void add_skylines(const int_t* index, const Number* values, int_t i, int_t end, Piece<Number>& piece) const {
    const int_t* block = index + BR_HEADER;
    for (int_t b = 0; b < index[0]; ++b) {
      const int_t* first = block + UB_DESCRIPTOR;
      for (int_t j = 0; j < width(block[0]); ++j) {
        if (first[j] <= i) piece.add(xsup[block[0]] + j, values[i - first[j]]);
        values += end - first[j];
      }
      block = first + width(block[0]);
    }
  }

  decltype(LU::Llu) llu;
  const int_t* xsup;
  gridinfo_t* grid;
};

const char* type_of(double) { return "<f8"; }
const char* type_of(doublecomplex) { return "<c16"; }

template <class Number>
void send(const Piece<Number>& piece, gridinfo_t* grid) {
  const auto bytes = static_cast<int>(piece.counts.size());
  MPI_Send(piece.counts.data(), bytes, MPI_INT, 0, 0, grid->comm);
  MPI_Send(piece.rows.data(), static_cast<int>(piece.rows.size()), MPI_INT, 0, 1, grid->comm);
  const std::size_t doubles = piece.values.size() * sizeof(Number) / sizeof(double);
  MPI_Send(piece.values.data(), static_cast<int>(doubles), MPI_DOUBLE, 0, 2, grid->comm);
}

template <class Number>
Piece<Number> received(int_t width, int from, gridinfo_t* grid) {
  Piece<Number> piece;
  piece.counts.resize(width);
  MPI_Recv(piece.counts.data(), static_cast<int>(width), MPI_INT, from, 0, grid->comm, MPI_STATUS_IGNORE);
  const int entries = std::accumulate(piece.counts.begin(), piece.counts.end(), 0);
  piece.rows.resize(entries);
  piece.values.resize(entries);
  MPI_Recv(piece.rows.data(), entries, MPI_INT, from, 1, grid->comm, MPI_STATUS_IGNORE);
  const std::size_t doubles = piece.values.size() * sizeof(Number) / sizeof(double);
  MPI_Recv(piece.values.data(), static_cast<int>(doubles), MPI_DOUBLE, from, 2, grid->comm, MPI_STATUS_IGNORE);
  return piece;
}

// One triangle by columns, written as it comes.
template <class Number>
class TriangleFile {
 public:
  TriangleFile(const char* folder, std::string name)
      : folder(folder),
        name(std::move(name)),
        indices(npy_begin(folder, (this->name + "_indices").c_str())),
        data(npy_begin(folder, (this->name + "_data").c_str())) {}

  void append(const std::vector<Piece<Number>>& pieces) {
    if (!indices || !data) return;
    std::vector<std::size_t> at(pieces.size());
    for (std::size_t j = 0; j < pieces.front().counts.size(); ++j) {
      begins.push_back(begins.back());
      for (std::size_t p = 0; p < pieces.size(); ++p) {
        const int count = pieces[p].counts[j];
        fwrite(pieces[p].rows.data() + at[p], sizeof(int), count, indices);
        fwrite(pieces[p].values.data() + at[p], sizeof(Number), count, data);
        at[p] += count;
        begins.back() += count;
      }
    }
  }

  // 0 if all is written.
  int close() {
    int bad = npy_end(indices, "<i4", begins.back()) | npy_end(data, type_of(Number{}), begins.back());
    bad |= npy_write(folder, (name + "_indptr").c_str(), "<i8", begins.data(), begins.size(), 8);
    return bad;
  }

 private:
  const char* folder;
  std::string name;
  FILE* indices;
  FILE* data;
  std::vector<std::int64_t> begins = {0};
};

// All supernodes in their order: processes of a column of the grid have the blocks of L, those of a row the blocks of U.
template <class Number, class LU>
int write_triangle(const Blocks<Number, LU>& blocks, int_t supernodes, bool lower, gridinfo_t* grid,
                   TriangleFile<Number>* file) {
  for (int_t k = 0; k < supernodes; ++k) {
    std::vector<Piece<Number>> pieces;
    const int many = lower ? grid->nprow : grid->npcol;
    for (int other = 0; other < many; ++other) {
      const int who = lower ? PNUM(other, PCOL(k, grid), grid) : PNUM(PROW(k, grid), other, grid);
      const bool own = who == grid->iam;
      if (!own && !file) continue;
      pieces.push_back(!own ? received<Number>(blocks.width(k), who, grid) : lower ? blocks.of_lower(k) : blocks.of_upper(k));
      if (!file) send(pieces.back(), grid);
    }
    if (file) file->append(pieces);
  }
  return file ? file->close() : 0;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& permutation) {
  std::vector<std::int64_t> order(permutation.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[permutation[i]] = static_cast<std::int64_t>(i);
  return order;
}

// Rows go where perm_r says, for large pivots, and then with the columns where perm_c says.
template <class Scale>
int write_orders(int_t n, const Scale* scale, const char* folder) {
  std::vector<std::int64_t> rows(n), columns(n);
  for (int_t i = 0; i < n; ++i) {
    rows[i] = scale->perm_c[scale->perm_r[i]];
    columns[i] = scale->perm_c[i];
  }
  int bad = npy_write(folder, "row_order", "<i8", inverse(rows).data(), n, 8);
  bad |= npy_write(folder, "column_order", "<i8", inverse(columns).data(), n, 8);
  const std::vector<double> ones(n, 1.0);
  const bool of_rows = scale->DiagScale == ROW || scale->DiagScale == BOTH;
  const bool of_columns = scale->DiagScale == COL || scale->DiagScale == BOTH;
  bad |= npy_write(folder, "row_scale", "<f8", of_rows ? scale->R : ones.data(), n, 8);
  bad |= npy_write(folder, "column_scale", "<f8", of_columns ? scale->C : ones.data(), n, 8);
  return bad;
}

template <class Number, class LU, class Scale>
int write_factors(int_t n, const LU* lu, const Scale* scale, gridinfo_t* grid, const char* folder) {
  const Blocks<Number, LU> blocks(lu, grid);
  const int_t supernodes = lu->Glu_persist->supno[n - 1] + 1;
  int bad = grid->iam == 0 ? npy_write_format(folder, 1) | write_orders(n, scale, folder) : 0;
  for (const bool lower : {true, false}) {
    if (grid->iam == 0) {
      TriangleFile<Number> file(folder, lower ? "lower" : "upper_transposed");
      bad |= write_triangle(blocks, supernodes, lower, grid, &file);
    } else {
      write_triangle<Number, LU>(blocks, supernodes, lower, grid, nullptr);
    }
  }
  MPI_Bcast(&bad, 1, MPI_INT, 0, grid->comm);
  return bad;
}

}  // namespace

int write_real_factors(int_t n, const dLUstruct_t* lu, const dScalePermstruct_t* scale, gridinfo_t* grid, const char* folder) {
  return write_factors<double>(n, lu, scale, grid, folder);
}

int write_complex_factors(int_t n, const zLUstruct_t* lu, const zScalePermstruct_t* scale, gridinfo_t* grid,
                          const char* folder) {
  return write_factors<doublecomplex>(n, lu, scale, grid, folder);
}
