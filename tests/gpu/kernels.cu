// The kernels of these tests: the one file that knows how a functor becomes one.
#include "forms.hpp"
#include "grid.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"

namespace test {

void enable_kernels() {
  sordino::cuda::enable(CgKernels{});
  sordino::cuda::enable(FormKernels{});
}

}  // namespace test

TEST("kernels: four blocks of every kernel fit on a multiprocessor") {
  test::need_gpu();
  using namespace sordino;
  for (auto [functor, exit_test] :
       {std::pair(&typeid(Applied<test::StencilRows, 1>), &typeid(NoTest)), std::pair(&typeid(test::Update), &typeid(NoTest)),
        std::pair(&typeid(test::Direction), &typeid(test::Converged))}) {
    const cuda::Entry* entry = cuda::find_kernel(*functor, *exit_test);
    REQUIRE(entry != nullptr);
    CHECK(entry->blocks_per_multiprocessor() >= 4);
  }
}
