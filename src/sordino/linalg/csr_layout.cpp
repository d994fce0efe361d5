#include "sordino/linalg/csr_layout.hpp"

#include <algorithm>

#include "sordino/base/parallel.hpp"
#include "sordino/linalg/map_rows.hpp"

namespace sordino {
namespace {
constexpr double most_padding = 1.15;  // stored over true entries, beyond which SELL would move more than it saves
constexpr double long_row = 48;        // mean entries from which a warp a row pays
constexpr i64 least_slices = 1024;     // that are worth a thread of the host

i64 padded_entries(std::span<const u32> ptr) {
  i64 total = 0;
  i32 rows = i32(ptr.size()) - 1;
  for (i32 s = 0; s < rows; s += SellRows::height) {
    u32 longest = 0;
    for (i32 i = s; i < std::min(s + SellRows::height, rows); i++) longest = std::max(longest, ptr[i + 1] - ptr[i]);
    total += i64(longest) * SellRows::height;
  }
  return total;
}

template <class Rows>
constexpr bool is_by_rows = std::is_same_v<Rows, HostCsrRows> || std::is_same_v<Rows, SellRows> ||
                            std::is_same_v<Rows, CsrRows<4>> || std::is_same_v<Rows, CsrRows<32>>;

bool is_sliced(std::span<const u32> ptr) { return double(padded_entries(ptr)) <= most_padding * double(ptr.back()); }

}  // namespace

LargeArray<u32> CsrOperator::Layout::pointers(const CsrView& A, const CsrSlice& slice) {
  LargeArray<u32> ptr(std::size_t(slice.rows) + 1);
  for_parts(0, slice.rows + 1, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; i++) ptr[std::size_t(i)] = u32(A.begin(slice.first_row + i) - slice.first_entry);
  });
  return ptr;
}

i64 CsrOperator::Layout::bytes_on_device(std::span<const u32> ptr, int words) {
  const i64 entry = i64(sizeof(double)) * words + i64(sizeof(i32));
  i64 rows = i64(ptr.size()) - 1;
  if (!is_sliced(ptr)) return entry * i64(ptr.back()) + 4 * (rows + 1);
  return entry * padded_entries(ptr) + 4 * ((rows + SellRows::height - 1) / SellRows::height + 1);
}

i64 CsrOperator::Layout::bytes() const {
  if (blocks_.empty())
    return i64(sizeof(i32)) * i64(ptr_.size() + columns_.size()) + i64(on_diagonal_.size() + kinds_.size()) +
           i64(sizeof(double)) * i64(staged_) + i64(sizeof(StoredDiagonal) * diagonals_.size()) + runs_.bytes();
  i64 sum = 0;
  for (auto& b : blocks_) sum += i64(b.bytes);
  return sum;
}

CsrOperator::Layout::Layout(Rank& rank, LargeArray<u32> ptr, std::vector<i32> columns, const i32* viewed, i32 first, int words,
                            i32 held)
    : rank_(rank), words_(words), ptr_(std::move(ptr)), columns_(std::move(columns)), viewed_(viewed), held_words_(held) {
  rows_ = words == 2 ? stored<ComplexEntries>(first) : stored<RealEntries>(first);
  if (rank.engine().is_device()) columns_ = {};
}

template <class E>
auto CsrOperator::Layout::stored(i32 first) -> std::variant<Real, Complex> {
  using Any = std::conditional_t<E::words == 1, Real, Complex>;
  if (!rank_.engine().is_device()) return Any{on_host<HostCsrRowsOf<E>>(first)};
  const i32* col = columns_.empty() ? viewed_ : columns_.data();
  if (is_sliced(ptr_)) return Any{sliced<SellRowsOf<E>>(col, first)};
  bool is_long = double(entries()) >= long_row * double(ptr_.size() - 1);
  return is_long ? Any{as_csr<CsrRows<32, E>>(col, first)} : Any{as_csr<CsrRows<4, E>>(col, first)};
}

CsrOperator::Layout::~Layout() {
  for (auto& b : blocks_) rank_.engine().release_bytes(rank_, b.pointer, b.bytes);
}

double* CsrOperator::Layout::reserve_values(std::size_t entries) {
  std::size_t bytes = entries * std::size_t(words_) * sizeof(double);
  void* p = rank_.engine().allocate_bytes(rank_, bytes);
  blocks_.push_back({p, bytes});
  return static_cast<double*>(p);
}

template <class Rows>
Rows CsrOperator::Layout::of_slice(i32 first) const {
  Rows r{};
  r.first = first;
  r.rows = i32(ptr_.size()) - 1;
  r.nnz = entries();
  return r;
}

template <class Rows>
Rows CsrOperator::Layout::on_host(i32 first) {
  Rows r = of_slice<Rows>(first);
  r.ptr = ptr_.data();
  r.col = columns_.empty() ? viewed_ : columns_.data();
  r.values = &host_values_;
  return r;
}

/// visit(place, row, entry, padding) for all places of a sliced layout, on several threads: memory fills a slice at a time.
template <class Visit>
void CsrOperator::Layout::for_padded(const Visit& visit) const {
  constexpr i32 H = SellRows::height;
  const i32 rows = i32(ptr_.size()) - 1;
  auto fill = [&](i64 begin, i64 end) {
    for (i64 s = begin; s < end; s++)
      for (u32 place = slices_[std::size_t(s)], k = 0; place < slices_[std::size_t(s) + 1]; k++)
        for (i32 l = 0; l < H; l++, place++) {
          i32 row = std::min(i32(s) * H + l, rows - 1);
          u32 entry = ptr_[std::size_t(row)] + k;
          visit(place, row, entry, i32(s) * H + l >= rows || entry >= ptr_[std::size_t(row) + 1]);
        }
  };
  for_parts(0, i64(slices_.size()) - 1, fill, least_slices);
}

template <class Rows>
Rows CsrOperator::Layout::sliced(const i32* col, i32 first) {
  constexpr i32 H = SellRows::height;
  const i32 rows = i32(ptr_.size()) - 1;
  slices_ = {0};
  for (i32 s = 0; s < rows; s += H) {
    u32 longest = 0;
    for (i32 i = s; i < std::min(s + H, rows); i++) longest = std::max(longest, ptr_[i + 1] - ptr_[i]);
    slices_.push_back(slices_.back() + longest * H);
  }
  LargeArray<i32> columns(slices_.back());
  for_padded([&](u32 place, i32 row, u32 entry, bool padding) {
    // Padding multiplies the row's own x by 0, or, of a map to more rows than it has words, the last one.
    columns[place] = padding ? std::min(first + row, held_words_ - 1) : col[entry];
  });
  Rows r = of_slice<Rows>(first);
  r.slice = upload(slices_);
  r.col = upload(columns);
  r.values = device_values_ = reserve_values(slices_.back());
  staged_ = slices_.back() * std::size_t(words_);
  staging_ = LargeArray<double>(staged_);
  return r;
}

template <class Rows>
Rows CsrOperator::Layout::as_csr(const i32* col, i32 first) {
  Rows r = of_slice<Rows>(first);
  r.ptr = upload(ptr_);
  r.col = upload(col, entries());
  r.values = device_values_ = reserve_values(entries());
  return r;
}

void CsrOperator::Layout::set_values(const double* values) {
  if (fill_) return fill_(device_values_ ? device_values_ : staging_.data());
  if (slice_of_.indptr) return set_row_kinds(values);
  if (on_diagonal_.size() > 0) return set_diagonals(values);
  host_values_ = values;
  if (!device_values_) return;
  const std::size_t words = std::size_t(words_);
  if (slices_.empty()) return rank_.engine().upload(rank_, device_values_, values, entries() * words * sizeof(double));
  for_padded([&](u32 place, i32, u32 entry, bool padding) {
    for (std::size_t w = 0; w < words; w++) staging_[place * words + w] = padding ? 0.0 : values[entry * words + w];
  });
  upload_staged();
}

void CsrOperator::Layout::apply(Rank& rank, Vec x, Vec y, const Split& split, const StartDots& epilogue) const {
  auto record = [&](auto rows) {
    rows.x = x;
    rows.y = y;
    rank.apply_rows(rows, &split, y, epilogue);
  };
  std::visit([&](auto& layouts) { std::visit(record, layouts); }, rows_);
}

void CsrOperator::Layout::apply_pair(Rank& rank, Vec x0, Vec y0, Vec x1, Vec y1, const Split& split) const {
  auto record = [&](auto rows) { rank.run_split(RowPair<decltype(rows)>{rows, x0, x1, y0, y1}, split); };
  std::visit([&](auto& layouts) { std::visit(record, layouts); }, rows_);
}

void CsrOperator::Layout::map(Rank& rank, Vec x, Vec plus, Vec y, const Split& split) const {
  auto record = [&]<class Rows>(const Rows& rows) {
    if constexpr (is_by_rows<Rows>)
      rank.run_split(MapRows<Rows>{rows, x, plus, y, held_words_}, split);
    else
      bad_argument("a map between two spaces is stored by rows, of real entries");
  };
  std::visit([&](auto& layouts) { std::visit(record, layouts); }, rows_);
}

}  // namespace sordino
