// Recordings with several queues: the same bits as with one, and commands that run beside each other.
#include "grid.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"

using namespace sordino;

namespace {

struct Residual {  // r -= alpha q, z = d r
  Get rho, pq;
  Put alpha;
  In q;
  Scaling d;
  InOut r;
  Out z;
  double a = 0;
  SORDINO_HD void head() {
    a = rho / pq;
    alpha = a;
  }
  SORDINO_HD Sums<2> row(i32 i) {
    double ri = r[i] - a * q[i], zi = d[i] * ri;
    r[i] = ri;
    z[i] = zi;
    return {{ri * zi, ri * ri}};
  }
};
struct Solution {  // x += alpha p
  Get alpha;
  In p;
  InOut x;
  SORDINO_HD void row(i32 i) { x[i] += alpha * p[i]; }
};

/// Stays until it finds the word set, or for a good second; then says whether it did.
struct Linger {
  const double* word;
  Out found;
  SORDINO_HD void row(i32 i) {
    double seen = 0;
    for (int n = 0; n < 2000000 && seen != 1; n++) seen = *static_cast<const volatile double*>(word);
    found[i] = seen;
  }
};
struct Raise {
  double* word;
  InOut e;
  SORDINO_HD void row(i32 i) {
    if (i == 0) *static_cast<volatile double*>(word) = 1;
    e[i] += 1;
  }
};
struct Lower {
  double* word;
  InOut e;
  SORDINO_HD void row(i32 i) {
    if (i == 0) *word = 0;
    e[i] += 1;
  }
};

using QueueKernels = KernelList<Kernel<Residual>, Kernel<Solution>, Kernel<Linger>, Kernel<Raise>, Kernel<Lower>>;

struct Run {
  std::vector<double> x, history;
  int iterations = 0;
  bool operator==(const Run&) const = default;
};

/// Conjugate gradients whose update of x goes to `queue`.
Run solve(Engine& engine, int queue, double limit, int max) {
  std::vector<Run> of_rank(std::size_t(engine.size()));
  engine.run(
      [&](Rank& s) {
        test::Cg cg(s, 16, 14, 18, 100);
        Scal alpha = s.scalar("alpha");
        s.write(cg.b, cg.right_hand_side().data());
        cg.begin();
        Recorded loop = s.loop({.scalars = {{cg.rho_new, cg.rho}}}, [&] {
          cg.multiply();
          s.run(Residual{cg.rho, finish(cg.pq), alpha, cg.q, cg.d, cg.r, cg.z}, start(cg.rho_new, cg.rr));
          s.on(queue, [&] { s.run(Solution{alpha, cg.p, cg.x}); });
          s.exit_if(test::Converged{finish(cg.rr), limit});
          s.run(test::Direction{finish(cg.rho_new), cg.rho, cg.z, cg.p}, push(cg.p));
        });
        Outcome outcome = s.replay(loop, max);
        of_rank[std::size_t(s.id())] = {cg.solution(), s.history, outcome.iterations};
      },
      {});
  Run all = of_rank[0];
  for (std::size_t r = 1; r < of_rank.size(); r++) all.x.insert(all.x.end(), of_rank[r].x.begin(), of_rank[r].x.end());
  return all;
}

}  // namespace

TEST("queues: an update on a queue of its own leaves the bits as they are, to the last iteration") {
  test::need_gpu();
  cuda::enable(QueueKernels{});
  std::vector<cuda::Options> ways(5);
  ways[1].looping = cuda::Looping::launches;
  ways[2].looping = cuda::Looping::while_graph;
  ways[3].time_commands = true;
  ways[4] = test::spinning();
  for (int ranks : {1, 2, 4})
    for (auto [limit, max] : {std::pair(1e-12, 400), std::pair(0.0, 1), std::pair(0.0, 47)})
      for (std::size_t way = 0; way < ways.size(); way++) {
        NOTE(ranks, " ranks, at most ", max, " iterations, way ", way);
        auto one = test::cuda_engine(ranks, ways[way]), two = test::cuda_engine(ranks, ways[way]);
        CHECK(solve(*two, 1, limit, max) == solve(*one, 0, limit, max));
      }
}

TEST("queues: commands that need nothing of each other run at the same time") {
  test::need_gpu();
  cuda::enable(QueueKernels{});
  for (auto looping : {cuda::Looping::launches, cuda::Looping::graph}) {
    cuda::Options o;
    o.looping = looping;
    auto gpu = test::cuda_engine(1, o);
    gpu->run(
        [&](Rank& s) {
          constexpr i32 rows = 64;
          int space = s.add_space(equal_parts(rows, 0, 1));
          Vec found = s.vector("found", space), e = s.vector("e", space);
          auto* word = static_cast<double*>(s.engine().allocate_bytes(s, sizeof(double)));
          double down = 0;
          s.engine().upload(s, word, &down, sizeof down);
          // What a raw pointer leads to is no field: only the order of the queues keeps these apart, and the last waits.
          Recorded loop = s.loop({}, [&] {
            Event lingers = s.on(1, [&] { return s.run(Linger{word, found}); });
            s.run(Raise{word, e});
            s.run(Lower{word, e}, after(lingers));
          });
          s.replay(loop, 8);
          std::vector<double> seen(rows);
          s.read(found, seen.data());
          CHECK(seen == std::vector<double>(rows, 1.0));
          s.engine().release_bytes(s, word, sizeof(double));
        },
        {});
  }
}
