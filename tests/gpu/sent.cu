// Sent fields on the cuda engine: words that a command sends before it waits, where a row list names them because they lie in
// too many pieces for the kernel that computes them.
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"
#include "unit/runtime/chain_program.hpp"

using namespace sordino;

namespace {

/// The words of a face lie apart: a rank with two neighbours sends 2 x words pieces. From 17 on they are a list of rows.
template <i32 words>
void hop_on_every_kind_of_engine() {
  cuda::enable(chain::Kernels<words>{});
  for (i32 sites : {12, 5000})
    for (int ranks : {2, 3, 4}) {
      chain::Chain expected = chain::serial<words>(sites);
      cuda::Options of_events;
      of_events.sharing = cuda::Sharing::always;
      for (auto& options : {cuda::Options{}, of_events, test::spinning()})
        for (bool ahead : {false, true}) {
          NOTE(words, " words, ", sites, " sites, ", ranks, " ranks", ahead ? ", one command" : ", two commands",
               options.sharing == cuda::Sharing::always  ? ", ordered by events"
               : options.sharing == cuda::Sharing::never ? ", spinning on one GPU"
                                                         : "");
          auto gpu = test::cuda_engine(ranks, options);
          chain::compare(chain::hopped<words>(*gpu, sites, ahead), expected);
        }
    }
}

}  // namespace

TEST("sent: few pieces, a list of rows on inner ranks, and on all ranks") {
  test::need_gpu();
  hop_on_every_kind_of_engine<3>();
  hop_on_every_kind_of_engine<12>();
  hop_on_every_kind_of_engine<20>();
}
