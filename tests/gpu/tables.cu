// Tables of products of tall vectors on GPUs, where a thread block multiplies a batch.
#include "sordino/api/cuda/engines.hpp"
#include "support.hpp"
#include "unit/solvers/tables.hpp"

using namespace sordino;

namespace {

void need_kernels() {
  test::need_gpu();
  cuda::enable_kernels();
}

}  // namespace

TEST("tables: GPUs in fixed order have the bits of hosts") {
  NOTE(fresh::said());
  need_kernels();
  fresh::Random random(5300);
  for (int s : {1, 2, 4, 5, 12, 16}) {
    const auto v = tables::vectors(random, s);
    const int batch = int(random.whole(32, 1200));
    NOTE("s = ", s, ", batch = ", batch);
    const auto expected = tables::found(*test::host_engine(1), v, batch)[0];
    for (int ranks : {1, 2, 6}) {
      cuda::Options o;
      o.deterministic = true;
      auto engine = test::cuda_engine(ranks, o);
      for (const auto& found : tables::found(*engine, v, batch)) CHECK(found == expected);
    }
  }
}

TEST("tables: matrices multiplied by warps hold every product, of any s, batch and first row") {
  NOTE(fresh::said());
  need_kernels();
  fresh::Random random(5301);
  for (int s = 1; s <= gram::most_s; s++) {
    const auto v = tables::vectors(random, s);
    const auto expected = tables::expected(v);
    for (int ranks : {1, 2, 3}) {
      const int batch = ranks == 1 ? 1024 : int(random.whole(32, 1200));
      NOTE("s = ", s, ", ranks = ", ranks, ", batch = ", batch);
      auto engine = test::cuda_engine(ranks);
      const auto found = tables::found(*engine, v, batch);
      for (const auto& of_rank : found) {
        CHECK(of_rank == found[0]);
        for (std::size_t k = 0; k < expected.symmetric.size(); k++)
          CHECK_NEAR(of_rank.symmetric[k], expected.symmetric[k], 1e-10);
        for (std::size_t k = 0; k < expected.whole.size(); k++) CHECK_NEAR(of_rank.whole[k], expected.whole[k], 1e-10);
      }
    }
  }
}
