#include "sordino/trsv/incomplete_device.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/config.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/trsv/cuda/incomplete_kernel.hpp"
#endif

namespace sordino::trsv {
namespace {

#if SORDINO_WITH_CUDA
void substitute(const DeviceView& view, const WayTables& forward, const WayTables& back, const double* r, double* z,
                int blocks) {
  const cuda::TaskWaits& waits = cuda::waits_of(view);
  launch_way({forward, back.x, back.tickets, r, z}, waits, view.stream(), blocks);
  launch_way({back, forward.x, forward.tickets, z, z}, waits, view.stream(), blocks);
}
int blocks_at_once() { return way_blocks_at_once(); }
#else
int blocks_at_once() { return 1; }
void substitute(const DeviceView&, const WayTables&, const WayTables&, const double*, double*, int) {
  throw Error(Errc::unsupported, "this Sordino has no code for GPUs");
}
#endif

}  // namespace

IncompleteDevice::IncompleteDevice(Rank& rank, const IncompletePattern& factors, Incomplete kind, int one_row, int blocks)
    : memory_(rank),
      forward_(stored(rank, way_forward(factors, kind))),
      back_(stored(rank, way_back(factors, kind))),
      state_(rank.vector("passes of an incomplete factor", one_row)),
      blocks_(blocks == 0 && rank.engine().is_device() ? blocks_at_once() : blocks) {}

IncompleteDevice::Stored IncompleteDevice::stored(Rank& rank, IncompleteWay way) {
  Stored s{.way = std::move(way)};
  const i64 rows = s.way.rows(), slots = s.way.packed.slots();
  s.values = memory_.reserve<double>(slots);
  if (s.way.has_pivots) s.pivots = memory_.reserve<double>(rows);
  for (const LevelRow& row : s.way.packed.rows()) s.entries += row.count;
  WayTables& t = s.tables;
  t.slices = memory_.uploaded(s.way.packed.slices());
  t.rows = memory_.uploaded(s.way.packed.rows());
  t.columns = memory_.uploaded(s.way.columns);
  std::vector<i32>().swap(s.way.columns);  // new values do not need them
  t.values = s.values, t.pivots = s.pivots;
  t.x = memory_.reserve<u64>(rows);
  t.tickets = memory_.reserve<u32>(1);
  t.count = i32(s.way.packed.slices().size());
  const std::vector<u64> empty(std::size_t(rows), not_there);
  const u32 none = 0;
  if (rows > 0) rank.engine().upload(rank, t.x, empty.data(), empty.size() * sizeof(u64));
  rank.engine().upload(rank, t.tickets, &none, sizeof none);
  return s;
}

void IncompleteDevice::fill(Rank& rank, const double* values, const double* inverse_pivots) {
  auto put = [&](double* to, const std::vector<double>& from) {
    if (!from.empty()) rank.engine().upload(rank, to, from.data(), from.size() * sizeof(double));
  };
  for (Stored* s : {&forward_, &back_}) {
    put(s->values, values_of(s->way, values));
    if (s->way.has_pivots) put(s->pivots, pivots_of(s->way, inverse_pivots));
  }
}

DeviceTask IncompleteDevice::task(Vec r, Vec z) const {
  double bytes = 0, flops = 0;
  for (const Stored* s : {&forward_, &back_}) {
    const double entries = double(s->entries), rows = s->way.rows();
    bytes += 12 * entries + (s->way.has_pivots ? 56 : 48) * rows;
    flops += 2 * entries + (s->way.has_pivots ? rows : 0);
  }
  auto launch = [r, z, forward = forward_.tables, back = back_.tables, blocks = blocks_](const DeviceView& view) {
    substitute(view, forward, back, view.words(r), view.words(z), blocks);
  };
  return {.name = "Incomplete factor",
          .uses = {{r, Access::read}, {z, Access::write}, {state_, Access::update}},
          .on_device = launch,
          .bytes = bytes,
          .flops = flops};
}

i64 IncompleteDevice::bytes_of(const IncompletePattern& factors, Incomplete kind) {
  const i64 words = sizeof(double) + 2 * sizeof(u32);  // of the state, and tickets
  return way_forward(factors, kind).bytes() + way_back(factors, kind).bytes() + words;
}

}  // namespace sordino::trsv
