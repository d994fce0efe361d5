// Compiled without fused products and sums: coarse matrices have the host's bits.
#include "sordino/precond/cuda/device_levels.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "sordino/precond/cuda/pair_kernels.cuh"
#include "sordino/precond/cuda/sum_kernels.cuh"

namespace sordino {
namespace {

using namespace aggregate_kernels;
using cuda::call, cuda::DeviceArrayOf, cuda::Message;

/// Two arrays by turns.
template <class T>
struct TwoArrays {
  DeviceArrayOf<T> arrays[2];
};

struct DeviceMatrix {
  i64 n = 0, nnz = 0;
  DeviceArrayOf<i64> begins;
  DeviceArrayOf<i32> columns;
  DeviceArrayOf<double> values;

  Entries entries() const { return {begins.data(), columns.data(), values.data()}; }
};

/// A GPU that makes one level after the other.
class Aggregator : private cuda::Workbench {
 public:
  explicit Aggregator(int device) : Workbench(device, "levels of multigrid") {
    int processors = 0;
    call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    blocks_ = 4 * processors;
  }

  using Workbench::is_lost;

  void upload(const CsrView& A) {
    DeviceMatrix& to = *here_;
    to.n = A.n;
    to.nnz = A.nnz();
    copy(to.begins.take(to.n + 1), A.indptr, to.n + 1, cudaMemcpyHostToDevice);
    copy(to.columns.take(to.nnz), A.indices, to.nnz, cudaMemcpyHostToDevice);
    copy(to.values.take(to.nnz), A.values, to.nnz, cudaMemcpyHostToDevice);
  }

  /// Pairs of pairs, as the host makes them.
  Aggregates fours(const std::vector<i64>& cuts) {
    const i64 n = here_->n;
    require_small(*here_);
    couple(*here_, rows_);
    const std::vector<i64> cuts_of_pairs = pair(*here_, rows_, Lonely::outside, cuts, of_);
    Aggregates found;
    found.cuts = cuts_of_pairs.back() == 0 ? cuts_of_pairs : pair_pairs(cuts_of_pairs);
    wait();
    found.of.resize(std::size_t(n));
    fetch(found.of.data(), of_.data(), n);
    count_ = found.count();
    return found;
  }

  /// Of the last aggregates; the level's own matrix from now on.
  CsrMatrix coarse() {
    add_up(*here_, of_, count_, *next_);
    std::swap(here_, next_);
    const DeviceMatrix& from = *here_;
    CsrMatrix to{.n = from.n,
                 .indptr = std::vector<i64>(std::size_t(from.n) + 1),
                 .indices = std::vector<i32>(std::size_t(from.nnz)),
                 .values = std::vector<double>(std::size_t(from.nnz))};
    wait();
    fetch(to.indptr.data(), from.begins.data(), from.n + 1);
    fetch(to.indices.data(), from.columns.data(), from.nnz);
    fetch(to.values.data(), from.values.data(), from.nnz);
    return to;
  }

 private:
  static void require_small(const DeviceMatrix& A) {
    if (std::max(A.n, A.nnz) >= std::numeric_limits<i32>::max())
      throw Error(Errc::unsupported, "a GPU makes levels of multigrid of fewer than 2^31 entries");
  }

  std::vector<i64> pair_pairs(const std::vector<i64>& cuts) {
    const i64 n = here_->n;
    add_up(*here_, of_, cuts.back(), between_);
    couple(between_, rows_of_pairs_);
    start("raise_pairs", raise_pairs, n, rows_.data(), of_.data(), n, rows_of_pairs_.data());
    std::vector<i64> next = pair(between_, rows_of_pairs_, Lonely::alone, cuts, of_pairs_);
    start("compose", compose, n, of_.data(), n, of_pairs_.data());
    return next;
  }

  void couple(const DeviceMatrix& A, DeviceArrayOf<Coupled>& rows) {
    start("couple", aggregate_kernels::couple, A.n, A.entries(), A.n, room(rows, A.n));
  }

  /// Aggregates of a part's rows each, `of` them; returns where those of each part begin.
  std::vector<i64> pair(const DeviceMatrix& A, const DeviceArrayOf<Coupled>& rows, Lonely lonely, const std::vector<i64>& cuts,
                        DeviceArrayOf<i32>& of) {
    wait();  // for what was sent before
    cuts_.send(cuts, stream());
    const PairView v{.rule = {A.entries(), rows.data()},
                     .n = A.n,
                     .cuts = cuts_.there.data(),
                     .ranks = i32(cuts.size()) - 1,
                     .state = room(state_, A.n),
                     .joins = room(joins_, A.n),
                     .others = room(others_, A.n),
                     .open = room(open_, A.n),
                     .rooted = room(rooted_, A.n),
                     .of = room(of, A.n),
                     .first = room(first_, A.n),
                     .before = room(before_, A.n + 1),
                     .failed = failed_.there.take(1)};
    clear(v.failed, 0, sizeof(i32));
    clear(taken_.take(1), 0, sizeof(u32));
    start("begin_pairing", begin_pairing, A.n, v);
    if (heard(failed_)) throw Error(Errc::unsupported, "a GPU pairs rows that are strongly coupled with each other alike");
    start_blocks("choose_partners", choose_partners, std::min(blocks_, blocks_for(A.n)), v, taken_.data());
    if (heard(failed_)) throw Error(Errc::unsupported, "rows are paired along lines that are too long for a GPU");
    start("choose_joined", choose_joined, A.n, v);
    copy(v.open, v.others, A.n, cudaMemcpyDeviceToDevice);
    start("find_rooted", find_rooted, A.n, v);
    start("find_aggregates", find_aggregates, A.n, v, lonely);
    start("flag_first_rows", flag_first_rows, A.n + 1, v);
    scan(v.before, v.before, A.n + 1);
    start("number_rows", number_rows, A.n, v);
    const i64 parts = i64(cuts.size());
    start("cut_aggregates", cut_aggregates, parts, v, next_cuts_.there.take(parts));
    next_cuts_.bring(parts, stream());
    wait();
    return {next_cuts_.here.data(), next_cuts_.here.data() + parts};
  }

  /// to = P^T A P / 1.6, for `count` aggregates.
  void add_up(const DeviceMatrix& A, const DeviceArrayOf<i32>& of, i64 count, DeviceMatrix& to) {
    const SumView v{A.entries(), A.n, A.nnz, of.data(), count};
    auto [keys, values] = sorted(v);
    add_up_diagonals(v);
    to.n = count;
    i64* const begins = room(to.begins, count + 1);
    i32* const before = room(before_, A.nnz + 1);
    clear(begins, 0, (count + 1) * i64(sizeof(i64)));
    start("flag_kinds", flag_kinds, A.nnz + 1, v, keys, before, begins);
    scan(before, before, A.nnz + 1);
    scan(begins, begins, count + 1);
    copy(kinds_.there.take(1), before + A.nnz, 1, cudaMemcpyDeviceToDevice);
    to.nnz = heard(kinds_);
    start("add_kinds", add_kinds, A.nnz, v, keys, values, before, sums_.data(), room(to.columns, to.nnz),
          room(to.values, to.nnz));
  }

  /// Keys and values of the entries, in the order of keys, and for each in that of values. Sorts keep what is alike in order.
  std::pair<const u64*, const double*> sorted(const SumView& v) {
    for (auto& array : keys_.arrays) room(array, v.nnz);
    for (auto& array : values_.arrays) room(array, v.nnz);
    cub::DoubleBuffer<u64> keys(keys_.arrays[0].data(), keys_.arrays[1].data());
    cub::DoubleBuffer<double> values(values_.arrays[0].data(), values_.arrays[1].data());
    start("number_entries", number_entries, v.n, v, keys.Current(), values.Current(), room(diagonal_, v.n));
    sort(values, keys, v.nnz, 64);
    sort(keys, values, v.nnz, std::bit_width(u64(v.count) * u64(v.count)));
    return {keys.Current(), values.Current()};
  }

  void add_up_diagonals(const SumView& v) {
    for (auto& array : owners_.arrays) room(array, v.n);
    for (auto& array : members_.arrays) room(array, v.n);
    i64* const begins = room(member_begins_, v.count + 1);
    clear(begins, 0, (v.count + 1) * i64(sizeof(i64)));
    cub::DoubleBuffer<u32> owners(owners_.arrays[0].data(), owners_.arrays[1].data());
    cub::DoubleBuffer<i32> members(members_.arrays[0].data(), members_.arrays[1].data());
    start("number_members", number_members, v.n, v, owners.Current(), members.Current(), begins);
    sort(owners, members, v.n, std::bit_width(u64(v.count)));
    scan(begins, begins, v.count + 1);
    start("add_diagonals", add_diagonals, v.count, v, begins, members.Current(), diagonal_.data(), room(sums_, v.count));
  }

  i64 blocks_ = 0;  // that fit beside each other
  DeviceMatrix matrices_[2], between_;
  DeviceMatrix *here_ = &matrices_[0], *next_ = &matrices_[1];
  i64 count_ = 0;
  DeviceArrayOf<Coupled> rows_, rows_of_pairs_;
  DeviceArrayOf<i32> of_, of_pairs_, state_, joins_, others_, open_, rooted_, first_, before_;
  DeviceArrayOf<u32> taken_;
  Message<i64> cuts_, next_cuts_;
  Message<i32> failed_, kinds_;
  TwoArrays<u64> keys_;
  TwoArrays<double> values_;
  TwoArrays<u32> owners_;
  TwoArrays<i32> members_;
  DeviceArrayOf<i64> member_begins_;
  DeviceArrayOf<double> diagonal_, sums_;
};

class DeviceLevels final : public LevelMaker {
 public:
  explicit DeviceLevels(int device) : device_(device) {
    cuda::OnDevice here(device);
    aggregator_ = std::make_unique<Aggregator>(device);
  }

  Aggregates aggregates(const CsrView& A, const std::vector<i64>& cuts) override {
    return made([&](Aggregator& by) {
      if (!std::exchange(has_first_, true)) by.upload(A);
      return by.fours(cuts);
    });
  }
  CsrMatrix coarse(const CsrView&, const MapView&) override {
    return made([](Aggregator& by) { return by.coarse(); });
  }

 private:
  template <class Make>
  std::invoke_result_t<Make, Aggregator&> made(const Make& make) {
    cuda::OnDevice here(device_);
    return cuda::with_maker(aggregator_, make);
  }

  int device_;
  std::unique_ptr<Aggregator> aggregator_;
  bool has_first_ = false;
};

}  // namespace

std::unique_ptr<LevelMaker> device_levels(int device) { return std::make_unique<DeviceLevels>(device); }

}  // namespace sordino
