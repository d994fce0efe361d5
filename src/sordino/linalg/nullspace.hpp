// What a singular matrix maps to zero, and how vectors are kept free of it.
#pragma once
#include <vector>

#include "sordino/linalg/operator.hpp"

namespace sordino {

/// Vectors by columns, of which this process holds consecutive rows.
struct Basis {
  int count = 0;  // 0: there are none
  i64 rows = 0;   // held here
  i64 first_row = 0;
  std::vector<double> values = {};  // [count][rows]

  const double* column(int k) const { return values.data() + i64(k) * rows; }
  double* column(int k) { return values.data() + i64(k) * rows; }
};

/// null(A), and null(A^T) where that is another one.
struct Nullspace {
  Basis right = {}, left = {};

  bool empty() const { return right.count == 0; }
  const Basis& of_transpose() const { return left.count > 0 ? left : right; }
};

/// The same span by orthonormal columns, of a basis that is here in full. Throws bad_argument, with `what` it is, for a column
/// that is zero, or that depends on those before it to eight digits. Cost: 8 k^2 flops a row, on this thread.
void orthonormalise(Basis& basis, const char* what);

/// v -= c0 n0 + c1 n1 + c2 n2 + c3 n3; what is unset is left out.
struct Deflate {
  Get c0, c1, c2, c3;
  In n0, n1, n2, n3;
  InOut v;
  static constexpr double flops = 8;
  SORDINO_HD void row(i32 i) {
    double vi = v[i] - c0 * n0[i];
    if (n1.p) vi -= c1 * n1[i];
    if (n2.p) vi -= c2 * n2[i];
    if (n3.p) vi -= c3 * n3[i];
    v[i] = vi;
  }
};

/// One rank's part of v -= N N^T v, for N with orthonormal columns. SPMD.
///
/// Each time: a reduction of up to 4 values, two commands, and 2 k + 3 words a row for every 4 columns. Memory: k words a row.
class Projector {
 public:
  /// Vectors of `space`; the basis is copied.
  Projector(Rank& rank, int space, const Basis& basis, const char* name);
  /// Inside a recording.
  void record(Vec v) const;
  /// ||N^T v||, of the last replay.
  double taken() const;

 private:
  Rank& s_;
  std::vector<Vec> columns_;
  std::vector<Scal> parts_;
};

/// z = (I - N N^T) M r: what the preconditioner of a singular system finds, without what A maps to zero. Where M comes from
/// factors of A itself, rounding would make that part as large as it likes. Costs a Projector more than M.
class DeflatedOperator final : public Operator {
 public:
  DeflatedOperator(const Operator& M, const Projector& without) : M_(M), without_(without) {}
  void apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue = {}) const override;
  int space() const override { return M_.space(); }
  Vec operand(Rank& rank, const char* name) const override { return M_.operand(rank, name); }
  Vec result(Rank& rank, const char* name) const override { return M_.result(rank, name); }

 private:
  const Operator& M_;
  const Projector& without_;
};

}  // namespace sordino
