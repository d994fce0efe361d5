// Dot products of groups of ranks on GPUs, where a thread block adds up a block of rows.
#include "sordino/api/cuda/engines.hpp"
#include "support.hpp"
#include "unit/solvers/groups_dots.hpp"

using namespace sordino;

namespace {

cuda::Options deterministic(cuda::Options o = {}) {
  o.deterministic = true;
  return o;
}

void need_kernels() {
  test::need_gpu();
  cuda::enable_kernels();
}

}  // namespace

TEST("shared dots: GPUs in fixed order have the bits of hosts, with tiles beyond the warps of a thread block") {
  need_kernels();
  const auto expected = groups_dots::expected();
  for (auto [ranks, group] : {std::pair{1, 1}, {2, 1}, {2, 2}, {4, 2}, {4, 4}, {7, 7}}) {
    NOTE(ranks, " ranks in groups of ", group);
    auto engine = test::cuda_engine(ranks, deterministic());
    for (const auto& found : groups_dots::found(*engine, group)) CHECK(found == expected);
  }
  auto engine = test::cuda_engine(2, deterministic(test::spinning(1)));  // one thread block, which computes all rows
  for (const auto& found : groups_dots::found(*engine, 2)) CHECK(found == expected);
}

TEST("shared dots: in the order of grids, too, all ranks of a group have the same bits") {
  need_kernels();
  const auto expected = groups_dots::expected();
  for (auto [ranks, group] : {std::pair{1, 1}, {2, 2}, {4, 2}, {4, 4}}) {
    NOTE(ranks, " ranks in groups of ", group);
    auto engine = test::cuda_engine(ranks);
    const auto found = groups_dots::found(*engine, group);
    for (const auto& of_rank : found) {
      CHECK(of_rank == found[0]);
      for (std::size_t k = 0; k < expected.size(); k++) CHECK_NEAR(of_rank[k], expected[k], 1e-10 * std::abs(expected[1]));
    }
  }
}
