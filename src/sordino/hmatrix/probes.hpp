// Rows of the whole, drawn at random, that say how far a stored matrix is from its generator's.
#pragma once
#include "sordino/hmatrix/hmatrix.hpp"

namespace sordino::hmatrix {

/// What is known of a leaf: the square of the error in those of its rows that were compared.
struct LeafError {
  i64 leaf;
  double squared;
};

/// ||A - H||, Frobenius; its square is estimated without bias.
struct Probed {
  double error = 0;
  double standard_error = 0;  // of it; 0: all rows were compared
  std::vector<LeafError> leaves = {};
};

/// Drawn rows, and the generator's entries in them, which may be computed before there is a matrix.
template <class V>
struct ExactRows {
  std::vector<i32> rows;  // they increase
  LargeArray<V> entries;  // [rows][n], in the tree's order
};

/// Those that probe() draws. Cost: their entries, by so many threads; memory: 8 or 16 B each.
template <class V>
ExactRows<V> exact_rows(const GeneratorOf<V>& generator, std::span<const i32> order, i64 probes, u64 seed, int threads);

/// Compares `probes` rows, drawn by the seed, or all, if there are no more. Leaves with rows that are drawn are dealt out to
/// threads, on whose number the result does not depend. Cost: the entries of these rows, and once through all leaves; memory:
/// 24 B for each row and each leaf that it meets, some 100 a row. Entries that are `known` are not computed again; their rows
/// are those of this seed. With processes, collectively: each compares what it holds of these rows, and no two of them hold the
/// same.
template <class V>
Probed probe(const GeneratorOf<V>& generator, const HMatrixOf<V>& matrix, i64 probes, u64 seed, int threads,
             Accord* processes = nullptr, const ExactRows<V>* known = nullptr);

}  // namespace sordino::hmatrix
