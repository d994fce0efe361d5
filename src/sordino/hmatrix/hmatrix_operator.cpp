#include "sordino/hmatrix/hmatrix_operator.hpp"

#include <algorithm>
#include <numeric>

#include "sordino/linalg/halo.hpp"

namespace sordino::hmatrix {
namespace {

RowRange own_rows(const Partition& partition, int rank) {
  return {i32(partition.first_row(rank)), i32(partition.first_row(rank + 1))};
}

std::vector<i64> all_but(RowRange rows, i64 n) {
  std::vector<i64> others(std::size_t(n - rows.size()));
  std::iota(others.begin(), others.begin() + rows.begin, i64(0));
  std::iota(others.begin() + rows.begin, others.end(), i64(rows.end));
  return others;
}

/// Collects values for a device's memory, a large piece at a time.
class Upload {
 public:
  Upload(Rank& rank, double* to) : rank_(rank), next_(to) {}
  const double* append(const double* values, i64 count) {
    const double* at = next_ + staged_.size();
    staged_.insert(staged_.end(), values, values + count);
    if (staged_.size() > enough) flush();
    return at;
  }
  void flush() {
    rank_.engine().upload(rank_, next_, staged_.data(), staged_.size() * sizeof(double));
    next_ += staged_.size();
    staged_.clear();
  }

 private:
  static constexpr std::size_t enough = std::size_t(1) << 21;
  Rank& rank_;
  double* next_;
  std::vector<double> staged_;
};

}  // namespace

Partition balance(const HMatrix& matrix, int ranks) {
  constexpr double values_an_entry = 12.0 / 8;  // what balance() takes an entry for
  std::vector<i64> cost = costs_before(matrix);
  for (i64& c : cost) c = i64(double(c) / values_an_entry);
  return balance(CsrView{.n = matrix.size(), .indptr = cost.data()}, ranks);
}

HMatrixOperator::HMatrixOperator(Rank& rank, const HMatrix& matrix, const Partition& partition)
    : HMatrixOperator(rank, matrix, partition, false) {}

std::unique_ptr<HMatrixOperator> HMatrixOperator::gathered(Rank& rank, const HMatrix& matrix, const Partition& partition) {
  return std::unique_ptr<HMatrixOperator>(new HMatrixOperator(rank, matrix, partition, true));
}

HMatrixOperator::HMatrixOperator(Rank& rank, const HMatrix& matrix, const Partition& partition, bool gathers)
    : gathers_(gathers), strips_(matrix, own_rows(partition, rank.id())), device_(rank) {
  const RowRange own = strips_.rows;
  const i32 n = i32(matrix.size());
  Space space = gathers ? replicated_space(partition) : distributed_space(partition, rank.id());
  if (gathers) {
    exchange_ = make_gather(rank, partition, space);
    rows_.first = {own};
  } else {
    exchange_ = make_halo(rank, partition, space, all_but(own, n));
    rows_.first = exchange_.consumer.rest = {{0, own.size()}};
  }
  space_ = rank.add_space(std::move(space));
  projections_.n = n;
  projections_.places = gathers ? Places{0, n} : Places{own.begin, own.size()};
  projections_.values = strips_.projected_values;
  strip_rows_.values = strips_.strip_values;
  strip_rows_.operands = n + i64(strips_.projections.size());
  strip_rows_.begin = own.begin;
  strip_rows_.first = gathers ? own.begin : 0;
  add_operands(rank, n);
  store(rank);
}

// What is a rank's own, and terms whose columns are, need nothing of what is under way.
void HMatrixOperator::add_operands(Rank& rank, i32 n) {
  const i32 all = n + i32(strips_.projections.size()), own_terms = n + strips_.own;
  const RowRange own = gathers_ ? RowRange{0, n} : strips_.rows;
  Space z;
  z.n_global = z.rows = all;
  std::vector<i32> blocks{0};
  for (i32 end : {own.begin, own.end, n, own_terms, all})
    if (end > blocks.back()) blocks.push_back(end);
  z.n_blocks = i32(blocks.size()) - 1;
  set_tiles(z, blocks);
  auto add = [](std::vector<RowRange>& ranges, i32 begin, i32 end) {
    if (end > begin) ranges.push_back({begin, end});
  };
  add(split_.first, own.begin, own.end);
  add(split_.first, n, gathers_ ? all : own_terms);
  add(split_.rest, 0, own.begin);
  add(split_.rest, own.end, n);
  if (!gathers_) add(split_.rest, own_terms, all);
  z_ = rank.vector("x and terms", rank.add_space(std::move(z)));
}

void HMatrixOperator::store(Rank& rank) {
  auto bytes_of = [](const auto& table) { return i64(table.size() * sizeof(table[0])); };
  bytes_ = bytes_of(strips_.projections) + bytes_of(strips_.strips) + bytes_of(strips_.strip_of) + bytes_of(strips_.pieces);
  if (rank.engine().is_device()) {
    const i64 values = strips_.projected_values + strips_.strip_values;
    auto reserve = [&](std::size_t bytes) { return device_.reserve(bytes); };
    Upload upload(rank, static_cast<double*>(reserve(std::size_t(values) * sizeof(double))));
    for (Piece& p : strips_.projections) p.values = upload.append(p.values, p.length);
    for (std::size_t s = 0; s + 1 < strips_.strips.size(); s++) {
      const i64 rows = strips_.strips[s + 1].row - strips_.strips[s].row;
      for (u32 k = strips_.strips[s].pieces; k < strips_.strips[s + 1].pieces; k++) {
        Piece& p = strips_.pieces[k];
        p.values = upload.append(p.values, rows * p.length);
      }
    }
    upload.flush();
    bytes_ += 8 * values;
    auto table = [&]<class T>(std::vector<T>& from) {
      void* to = reserve(from.size() * sizeof(T));
      rank.engine().upload(rank, to, from.data(), from.size() * sizeof(T));
      from = {};
      return static_cast<const T*>(to);
    };
    projections_.pieces = table(strips_.projections);
    strip_rows_.strips = table(strips_.strips);
    strip_rows_.strip_of = table(strips_.strip_of);
    strip_rows_.pieces = table(strips_.pieces);
    return;
  }
  projections_.pieces = strips_.projections.data();
  strip_rows_.strips = strips_.strips.data();
  strip_rows_.strip_of = strips_.strip_of.data();
  strip_rows_.pieces = strips_.pieces.data();
}

void* HMatrixOperator::Memory::reserve(std::size_t bytes) {
  pieces.emplace_back(rank.engine().allocate_bytes(rank, bytes), bytes);
  return pieces.back().first;
}

HMatrixOperator::Memory::~Memory() {
  for (auto [pointer, bytes] : pieces) rank.engine().release_bytes(rank, pointer, bytes);
}

void HMatrixOperator::apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue) const {
  if (gathers_ && !epilogue.dots.empty())
    bad_argument("a gathered product has only its own rows at hand: take dot products after the gather");
  Projections project = projections_;
  project.x = x;
  project.z = z_;
  rank.apply_rows(project, &split_, z_, {});
  StripRows strips = strip_rows_;
  strips.z = z_;
  strips.y = y;
  rank.apply_rows(strips, &rows_, y, epilogue);
  if (gathers_) rank.push_last(y);
}

}  // namespace sordino::hmatrix
