// How a rank's slice of a matrix lies in memory. The host keeps CSR and views the caller's values; a device gets SELL-32 where
// padding is small, else CSR with several threads a row. Ranks choose for themselves, so all layouts record the same commands.
// On request all engines keep the values by diagonals (dia_layout.cpp, of boxes box_layout.cpp).
#pragma once
#include <functional>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "sordino/base/large_array.hpp"
#include "sordino/linalg/box_rows.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/ghost_ranges.hpp"
#include "sordino/linalg/stencil_rows.hpp"

namespace sordino {

struct CsrOperator::Layout {
  /// `columns` empty: the caller's column array `viewed` serves as it is. `words`: of a value; `held`: how many words of x
  /// there are, where they may be fewer than rows.
  Layout(Rank& rank, LargeArray<u32> ptr, std::vector<i32> columns, const i32* viewed, i32 first, int words,
         i32 held = std::numeric_limits<i32>::max());
  /// By diagonals, which are those of the whole matrix. `own`: storage rows before the ghosts.
  Layout(Rank& rank, const CsrView& A, const CsrSlice& slice, const std::vector<i64>& ghosts, i32 first, i64 own,
         const Diagonals& diagonals);
  /// The same of a matrix that is made by them.
  Layout(Rank& rank, const MadeRows& A, const CsrSlice& slice, const GhostRanges& ghosts);
  /// By diagonals that the rows are not in the order of: `columns` are storage rows, [nnz].
  Layout(Rank& rank, const CsrView& A, const CsrSlice& slice, const i32* columns, i32 first, i64 own,
         const Diagonals& diagonals);
  ~Layout();
  Layout(const Layout&) = delete;

  /// Row pointers [rows + 1] of a slice, from its first entry.
  static LargeArray<u32> pointers(const CsrView& A, const CsrSlice& slice);
  static i64 bytes_on_device(std::span<const u32> ptr, int words);
  static i64 bytes_by_diagonals(const CsrSlice& slice, bool device, const Diagonals& diagonals);
  static i64 bytes_by_runs(const CsrView& A, const CsrSlice& slice, const i32* columns, i32 first, i64 own, bool device,
                           const Diagonals& diagonals);

  i64 bytes() const;                      // on a device where it lies there, else of row pointers and columns
  void set_values(const double* values);  // [nnz][words] of the slice; of a matrix that is made null: it is filled again
  void apply(Rank& rank, Vec x, Vec y, const Split& split, const StartDots& epilogue) const;
  void apply_pair(Rank& rank, Vec x0, Vec y0, Vec x1, Vec y1, const Split& split) const;
  /// By rows, of real entries: y = A x, or y = plus + A x, with x on another space than y.
  void map(Rank& rank, Vec x, Vec plus, Vec y, const Split& split) const;

 private:
  template <class E, class... More>
  using RowsOf = std::variant<HostCsrRowsOf<E>, SellRowsOf<E>, CsrRows<4, E>, CsrRows<32, E>, More...>;
  using Real = RowsOf<RealEntries, DiaRows, StencilRows<7>, StencilRows<27>, StencilRows<7, OnceEntries>, ConstantRows,
                      StencilRows<7, SharedEntries>, StencilRows<27, SharedEntries>, BoxRows, ConstantBoxRows>;
  using Complex = RowsOf<ComplexEntries>;

  template <class Entries>
  std::variant<Real, Complex> stored(i32 first);
  template <class Rows>
  Rows on_host(i32 first);
  template <class Rows>
  Rows sliced(const i32* col, i32 first);
  template <class Visit>
  void for_padded(const Visit& visit) const;
  template <class Rows>
  Rows as_csr(const i32* col, i32 first);
  template <class Rows>
  Rows of_slice(i32 first) const;
  template <class T>
  T* upload(const std::vector<T>& v) {
    return upload(v.data(), v.size());
  }
  template <class T>
  T* upload(const LargeArray<T>& v) {
    return upload(v.data(), v.size());
  }
  template <class T>
  T* upload(const T* values, std::size_t count);
  void upload_staged() { rank_.engine().upload(rank_, device_values_, staging_.data(), staged_ * sizeof(double)); }
  std::size_t entries() const { return ptr_[ptr_.size() - 1]; }
  double* reserve_values(std::size_t entries);
  DiagonalPlaces begin_diagonals(const Diagonals& diagonals, i64 n, const CsrSlice& slice, const GhostRanges& ghosts, i64 own);
  template <class Entries>
  void keep_diagonals(const Entries& entries, const CsrSlice& slice, std::size_t ghosts, i32 first, i64 own);
  void reserve_places(i64 stored);
  static i64 bytes_of_places(i64 stored, const CsrSlice& slice, bool device, const Diagonals& diagonals);
  OwnEntries own_entries(const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals, std::vector<i64> places = {});
  SharedEntries shared_entries(const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals);
  void set_diagonals(const double* values);
  void set_row_kinds(const double* values);

  Rank& rank_;
  int words_;
  LargeArray<u32> ptr_;       // [rows + 1]
  std::vector<i32> columns_;  // host engine only
  const i32* viewed_;
  i32 held_words_ = std::numeric_limits<i32>::max();  // of x
  const double* host_values_ = nullptr;
  double* device_values_ = nullptr;
  LargeArray<double> staging_;  // values in the device's order; kept, so that updates allocate nothing
  std::size_t staged_ = 0;      // how many
  std::vector<u32> slices_;
  std::vector<StoredDiagonal> diagonals_;
  Diagonals held_;                          // by diagonals: they themselves
  RowRuns runs_;                            // instead, where rows are not in their order
  std::vector<i64> places_;                 // by diagonals: where each of them begins
  LargeArray<std::uint8_t> on_diagonal_;    // [nnz] the one that an entry is on
  std::function<void(double*)> fill_ = {};  // likewise, of a matrix that is made
  CsrView slice_of_;                        // the caller's arrays, where rows are kept by their kinds
  std::vector<std::uint8_t> kinds_;         // likewise, of rows
  std::uint8_t* device_kinds_ = nullptr;
  struct Block {
    void* pointer;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
  std::variant<Real, Complex> rows_;
};

template <class T>
T* CsrOperator::Layout::upload(const T* values, std::size_t count) {
  std::size_t bytes = count * sizeof(T);
  void* p = rank_.engine().allocate_bytes(rank_, bytes);
  blocks_.push_back({p, bytes});
  rank_.engine().upload(rank_, p, values, bytes);
  return static_cast<T*>(p);
}

}  // namespace sordino
