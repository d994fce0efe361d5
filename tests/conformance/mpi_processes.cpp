// What measurements compare with: MPI's own collectives, as split-phase calls whose waits end; and the programs that are
// measured beside them, over processes.
#include "sordino/comm/transport/mpi_processes.hpp"
#include "check.hpp"
#include "mpi_world.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/overlap_programs.hpp"
#include "sordino/comm/transport/mpi.hpp"

using namespace sordino;
using namespace mpi_world;

TEST("processes add, gather, and find the largest of plain arrays") {
  auto all = mpi::processes(30);
  REQUIRE(all != nullptr);
  const int n = all->count(), me = all->index();
  CHECK(n == processes());
  CHECK(me == process());
  for (i64 words : {1, 1000, 300'000}) {
    NOTE(words, " words");
    std::vector<double> sum(std::size_t(words), 0.0), whole(std::size_t(words * n), -1.0);
    for (i64 i = 0; i < words; i++) sum[std::size_t(i)] = whole[std::size_t(me * words + i)] = double(i + 10 * me);
    all->add(sum.data(), words);
    all->gather(whole.data(), words);
    for (i64 i = 0; i < words; i++) REQUIRE(sum[std::size_t(i)] == double(i * n + 5 * n * (n - 1)));
    for (i64 i = 0; i < words * n; i++) REQUIRE(whole[std::size_t(i)] == double(i % words + 10 * (i / words)));
  }
  std::vector<double> values{double(me), double(-me), 7};
  all->most(values);
  CHECK(values == std::vector<double>({double(n - 1), 0, 7}));
}

TEST("a process that waits in vain for the others says so in time") {
  bool late = process() == processes() - 1;
  auto all = mpi::processes(late ? 30 : 2);
  if (late) {  // comes when the others have given up
    MPI_Barrier(MPI_COMM_WORLD);
    all->barrier();
    return;
  }
  std::string said;
  try {
    all->barrier();
  } catch (const Error& e) {
    CHECK(e.code() == Errc::peer_failed);
    said = e.what();
  }
  NOTE("process ", process(), " says: ", said);
  std::string last = std::to_string(processes() - 1);  // who alone has not said that it waits
  CHECK(said == "process " + std::to_string(process()) + " waited 2 s for process " + last +
                    " to make the same call: it has failed, is stuck, or needs a longer timeout");
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST("whether MPI takes memory of GPUs is known once it has begun") { CHECK(mpi::reaches_devices() != mpi::Answer::not_known); }

TEST("pieces that all gather, and sums of vectors, come out right over processes, however often") {
  for (int ranks : {1, 2}) {
    NOTE(ranks, " ranks in each process");
    Options o;
    o.engine = "host";
    o.ranks = ranks;
    o.timeout = 30;
    auto choice = make_engine(o, {});
    const int all = choice.engine->size();
    for (i32 words : {all, 1000}) {
      overlap::Stopwatch of_pieces(all, 2, 5), of_sums(all, 2, 5);
      choice.engine->run([&](Rank& s) { overlap::gather(s, {.words = words}, false, of_pieces); });
      choice.engine->run([&](Rank& s) { overlap::vector_sum(s, {.words = words}, of_sums); });
      for (auto* watch : {&of_pieces, &of_sums}) CHECK(watch->seconds[std::size_t(choice.engine->first_rank())].size() == 2);
    }
  }
}
