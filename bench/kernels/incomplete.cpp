// Applications of incomplete factors, z = M^-1 r, as a recorded loop has them: ILU(0) or IC(0) of the 7- or 27-point matrix of
// a cube, block Jacobi with one block a rank. One line of JSON; `ms` is an application, both ways, with what a loop adds to it.
//
//   bench_incomplete 7 128 [engine=cuda|host] [kind=ilu0|ic0] [ranks=1] [applications=20] [repeats=15]
//
// Beside it, of a triangle: bench_levels 7 128, and cuSPARSE's SpSV by bench_spsv.
#include <cstdio>
#include <cstdlib>

#include "grid_triangles.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/trsv/incomplete_operator.hpp"

namespace {
using namespace sordino;
using namespace bench;

/// A rank's consecutive rows, about as many as any other's.
Space rows_of(i64 n, const Rank& rank, int ranks) {
  Space s;
  s.n_global = n;
  s.first_row = n * rank.id() / ranks;
  s.rows = i32(n * (rank.id() + 1) / ranks - s.first_row);
  s.n_blocks = ranks;
  s.first_block = rank.id();
  set_tiles(s, {0, s.rows});
  return s;
}

void measure(int points, i64 side, const Words& words) {
  const CsrMatrix A = poisson(side, side, side, points, 1);
  const trsv::Incomplete kind = words.is("kind", "ic0") ? trsv::Incomplete::ic0 : trsv::Incomplete::ilu0;
  const int applications = int(words.number("applications", 20)), repeats = int(words.number("repeats", 15));
  Options options;
  options.engine = words.is("engine", "host") ? "host" : "cuda";
  options.ranks = int(words.number("ranks", 1));
  const auto engine = make_engine(options, Machine{}, A.n).engine;
  std::vector<double> seconds;
  double set_up = 0;
  Cost cost;
  engine->run([&](Rank& rank) {
    const double begin = seconds_now();
    trsv::IncompleteOperator M(rank, A.view(), rank.add_space(rows_of(A.n, rank, rank.size())), kind);
    if (M.factorize(rank, A.view()) >= 0) bad_argument("the matrix has no incomplete factors");
    if (rank.id() == 0) set_up = seconds_now() - begin;
    const Vec r = M.operand(rank, "r"), z = M.result(rank, "z");
    rank.write(r, std::vector<double>(std::size_t(rank.space(M.space()).rows), 1.0).data());
    Recorded loop = rank.loop({}, [&] { M.apply(rank, r, z); });
    for (int k = 0; k < repeats + 2; k++) {
      rank.engine().barrier(rank);
      const double start = seconds_now();
      rank.replay(loop, applications);
      rank.engine().barrier(rank);
      if (rank.id() == 0) seconds.push_back((seconds_now() - start) / applications);
    }
    if (rank.id() == 0) cost = {rank.ledger.memory_bytes, rank.ledger.flops};
  });
  const double ms = 1e3 * median_of(seconds, 2), times = double(applications) * (repeats + 2);
  std::printf("{\"points\": %d, \"side\": %lld, \"n\": %lld, \"ms\": %.5g, \"setup_seconds\": %.3g, \"bytes\": %.6g, ", points,
              static_cast<long long>(side), static_cast<long long>(A.n), ms, set_up, cost.bytes / times);
  std::printf("\"flops\": %.6g, \"bytes_held\": %lld", cost.flops / times, static_cast<long long>(engine->bytes_held(0)));
  print_words(words);
  std::printf("}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int points = argc < 3 ? 0 : std::atoi(argv[1]), side = argc < 3 ? 0 : std::atoi(argv[2]);
  if ((points != 7 && points != 27) || side < 1) {
    std::fprintf(stderr, "usage: %s 7|27 SIDE [name=value]...\n", argv[0]);
    return 2;
  }
  try {
    measure(points, side, Words(argc, argv, 3));
    return 0;
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
