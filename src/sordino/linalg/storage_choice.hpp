// Which way a matrix is stored, where option `storage` leaves it open: the one function that setups, estimates of memory and
// predictions ask.
#pragma once
#include <string>

#include "sordino/linalg/grid_matrix.hpp"

namespace sordino {

struct StorageChoice {
  std::string name = "csr";  // csr, dia, symdia or constant
  std::string why = "";      // in words that go on after "stored by rows, as ..."
  Diagonals diagonals = {};  // of A, where it is stored by them
};

/// Values by diagonals of a rank that stay in the second cache of a GPU, or nearly so. There reading each of them once for two
/// rows saves nothing: on an H200, whose second cache has 50 MB, an iteration of conjugate gradients is the faster by dia with
/// 29 MB, by symdia with 117 (bench/records/2026-11-22_storage_h200x4.jsonl). Other engines choose alike, so that all of them
/// have the same ledgers, and predictions and estimates know what will be chosen elsewhere.
constexpr i64 most_cached = 50'000'000;

/// `asked`: option storage; `rows`: of a rank, on average. auto takes diagonals where each of them saves bytes: a product reads
/// 8 B for each of its places, and 12 B for an entry by rows, so two thirds of its places must be filled (which bounds what
/// ghosts without an entry add to messages, too). They are symdia where entries of A equal their mirrors, bit by bit, and dia's
/// values are more than most_cached, else dia; constant only if asked for (ADR 32). Cost: one pass over the arrays, for symdia
/// with a binary search an entry, on several threads. Throws bad_argument, or unsupported for complex entries, where what is
/// asked for cannot be had. `unit`: the main diagonal will be 1 everywhere, and needs no memory.
/// `cells`: those of Diagonals, where diagonals are those of another order of rows. `mirrored`: entries are known to equal
/// their mirrors, bit by bit, and are not looked at again.
StorageChoice choose_storage(const CsrView& A, const std::string& asked, i64 rows, bool unit = false,
                             const i64* cells = nullptr, bool mirrored = false);
/// The same of a grid's fields, by diagonals: for csr and constant there are no rows to look at.
StorageChoice choose_storage(const GridMatrix& A, const std::string& asked, i64 rows);

}  // namespace sordino
