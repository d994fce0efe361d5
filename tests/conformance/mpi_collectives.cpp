// Collectives of host data between ranks of several MPI processes, in even and uneven layouts.
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "check.hpp"
#include "mpi_world.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace sordino;
using namespace mpi_world;
using host::HostEngine;

namespace {

using Lists = std::vector<std::vector<double>>;

/// Ranks of each process: one, two, or one and three in turn.
std::vector<std::vector<int>> layouts() {
  std::vector<int> one(std::size_t(processes()), 1), two(std::size_t(processes()), 2), uneven;
  for (int p = 0; p < processes(); p++) uneven.push_back(1 + 2 * (p % 2));
  return {one, two, uneven};
}

/// With a progress thread in every second process: they need not agree about it.
template <class Job>
void on(const std::vector<int>& layout, const Job& job, double patience = 20) {
  int mine = layout[std::size_t(process())];
  bool thread = process() % 2 == 1;
  HostEngine({.ranks = mine, .timeout = patience, .progress_thread = thread}, mpi::transport(mine)).run(job, {});
}

int ranks_of(const std::vector<int>& layout) { return std::accumulate(layout.begin(), layout.end(), 0); }

std::vector<AllReduceOptions> ways() {
  std::vector<AllReduceOptions> all;
  for (int a = 0; a <= int(Algorithm::mpi); a++) all.push_back({.algorithm = Algorithm(a)});
  all.push_back({.algorithm = Algorithm::tree, .reduce_degree = 3, .broadcast_degree = 2});
  return all;
}

Lists lists(fresh::Random& random, int count) {
  Lists all;
  for (int k = 0; k < count; k++) all.push_back(random.normals(random.whole(0, 30)));
  return all;
}

std::string cause(const std::vector<int>& layout, const std::function<void(Rank&)>& job) {
  try {
    on(layout, job);
  } catch (const Error& e) {
    return e.what();
  }
  return "no failure";
}

}  // namespace

TEST("every collective gives what one process computes, in every layout") {
  fresh::Random random = shared_random(210);
  NOTE(fresh::said());
  for (auto& layout : layouts()) {
    int P = ranks_of(layout);
    NOTE("layout ", check::text(layout));
    std::vector<Lists> values;
    for (int r = 0; r < P; r++) values.push_back(lists(random, P));
    on(layout, [&](Rank& s) {
      Communicator c(s, 3);
      std::size_t me = std::size_t(s.id());
      Lists column, first_of_all;
      for (auto& of_rank : values) column.push_back(of_rank[me]), first_of_all.push_back(of_rank[0]);
      for (int root = 0; root < P; root++) {
        CHECK(c.broadcast(values[me][0], root) == first_of_all[std::size_t(root)]);
        CHECK(c.gather(values[me][0], root) == (s.id() == root ? first_of_all : Lists()));
        CHECK(c.scatter(values[me], root) == values[std::size_t(root)][me]);
        CHECK(c.reduce(std::vector<i32>{s.id(), 1}, root) ==
              (s.id() == root ? std::vector<i32>{P * (P - 1) / 2, P} : std::vector<i32>()));
      }
      CHECK(c.all_gather(values[me][0]) == first_of_all);
      CHECK(c.all_to_all(values[me]) == column);
      c.barrier();
      std::vector<std::vector<i64>> ones(std::size_t(P), std::vector<i64>{s.id()});
      CHECK(c.reduce_scatter(ones) == std::vector<i64>{P * (P - 1) / 2});
    });
  }
}

TEST("reproducible all-reduces have the same bits in every layout, and all have the same on every rank") {
  fresh::Random random = shared_random(211);
  NOTE(fresh::said());
  std::map<std::pair<int, int>, std::vector<double>> seen;  // (ranks, way)
  Lists values;
  for (int r = 0; r < 16; r++) values.push_back(random.normals(5));
  auto check = [&](const std::vector<int>& layout, int k) {
    auto way = ways()[std::size_t(k)];
    NOTE("layout ", check::text(layout), ", ", name(way.algorithm), way.reduce_degree);
    std::vector<double> of_mine;
    on(layout, [&](Rank& s) {
      auto result = Communicator(s, 3).all_reduce(values[std::size_t(s.id())], Fold::sum, way);
      for (auto& other : Communicator(s, 4).all_gather(result)) CHECK(other == result);
      if (s.id() == s.engine().first_rank()) of_mine = result;
    });
    for (double x : of_mine) CHECK(agree(x));
    if (!reproducible(way.algorithm)) return;
    auto& first = seen.try_emplace({ranks_of(layout), k}, of_mine).first->second;
    CHECK(first == of_mine);
  };
  for (auto& layout : layouts())
    for (int k = 0; k < int(ways().size()); k++) {
      check(layout, k);
      if (reproducible(ways()[std::size_t(k)].algorithm)) {  // as many ranks, but all of them in one process
        std::vector<double> alone;
        int P = ranks_of(layout);
        HostEngine({.ranks = P, .timeout = 20})
            .run(
                [&](Rank& s) {
                  auto result = Communicator(s, 3).all_reduce(values[std::size_t(s.id())], Fold::sum, ways()[std::size_t(k)]);
                  if (s.id() == 0) alone = result;
                },
                {});
        CHECK((seen[{P, k}] == alone));
      }
    }
}

TEST("all types and folds go through MPI's own all-reduce") {
  auto check = [](auto zero, const std::vector<int>& layout) {
    using T = decltype(zero);
    on(layout, [&](Rank& s) {
      Communicator c(s, 3);
      AllReduceOptions mpi{.algorithm = Algorithm::mpi};
      std::vector<T> mine{T(1 + s.id() % 2), T(1)};
      CHECK(c.all_reduce(mine, Fold::sum, mpi)[1] == T(s.size()));
      CHECK(c.all_reduce(mine, Fold::product, mpi)[0] == T(1 << s.size() / 2));
      CHECK(c.all_reduce(mine, Fold::min, mpi) == (std::vector<T>{1, 1}));
      CHECK(c.all_reduce(mine, Fold::max, mpi)[0] == T(2));
      CHECK(c.all_reduce(std::vector<T>{}, Fold::max, mpi).empty());
    });
  };
  for (auto& layout : layouts()) {
    check(i32(), layout), check(i64(), layout), check(u64(), layout), check(short(), layout);
    check(float(), layout), check(0.0, layout), check((long double)(0), layout);
  }
}

TEST("MPI's own all-reduce wraps around, keeps a NaN and takes -0 for less than 0, with the bits of every other way") {
  double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr i32 most = std::numeric_limits<i32>::max();
  for (auto& layout : layouts())
    on(layout, [&](Rank& s) {
      Communicator c(s, 3);
      for (int whose = 0; whose < s.size(); whose++) {
        bool mine = s.id() == whose;
        std::vector<double> reals{mine ? nan : 1.0, mine ? 0.0 : -0.0, mine ? -0.0 : 0.0, mine ? -2.0 : 2.0};
        std::vector<i32> whole{mine ? most : i32(s.id()) + 2, mine ? -most : 7};
        for (Fold fold : {Fold::min, Fold::max}) {
          auto ours = c.all_reduce(reals, fold), mpis = c.all_reduce(reals, fold, {.algorithm = Algorithm::mpi});
          CHECK(std::memcmp(ours.data(), mpis.data(), ours.size() * sizeof(double)) == 0);
          CHECK(std::isnan(mpis[0]));
          CHECK(std::signbit(mpis[1]) == (fold == Fold::min));
        }
        for (Fold fold : {Fold::sum, Fold::product, Fold::min, Fold::max})
          CHECK(c.all_reduce(whole, fold) == c.all_reduce(whole, fold, {.algorithm = Algorithm::mpi}));
      }
    });
}

TEST("ranks of all processes finish what is in flight in different orders") {
  for (auto& layout : layouts())
    on(layout, [&](Rank& s) {
      Communicator c(s, 3);
      std::vector<Pending<std::vector<i64>>> pending;
      constexpr int many = 14;
      for (i64 k = 0; k < many; k++)
        pending.push_back(
            c.start_all_reduce(std::vector<i64>{k * s.id(), k}, Fold::sum, ways()[std::size_t(k) % ways().size()]));
      for (int i = 0; i < many; i++) {
        int k = (i * 5 + 3 * s.id()) % many;  // 5 and 14 have no common divisor
        CHECK(pending[std::size_t(k)].get() == (std::vector<i64>{k * s.size() * (s.size() - 1) / 2, k * s.size()}));
      }
    });
}

TEST("a rank inside a barrier lets the trees of others go on") {
  for (auto& layout : layouts())
    on(layout, [&](Rank& s) {
      bool last = s.id() == s.size() - 1;
      for (auto& way : ways()) {
        auto sum = Communicator(s, 3).start_all_reduce(std::vector<i64>{1}, Fold::sum, way);
        std::optional<std::vector<i64>> result;
        if (last) result = sum.get();
        s.engine().barrier(s);
        if (!last) result = sum.get();
        CHECK((*result)[0] == s.size());
      }
    });
}

TEST("ranks of different processes that disagree are told so in all processes, and the next engine works") {
  for (auto& way : ways()) {
    auto layout = layouts()[2];
    int odd_one = ranks_of(layout) - 1;
    std::string said = cause(layout, [&](Rank& s) {
      Communicator(s, 3).all_reduce(std::vector<double>(s.id() == odd_one ? 3 : 2), Fold::sum, way);
    });
    NOTE(name(way.algorithm), ": ", said);
    CHECK(said.find("reduce different numbers of values") != std::string::npos);
    MPI_Barrier(MPI_COMM_WORLD);
    on(layout, [](Rank& s) { CHECK(Communicator(s, 3).all_reduce(std::vector<i32>{1})[0] == s.size()); });
  }
  std::string said = cause(layouts()[1], [](Rank& s) {
    Communicator c(s, 3);
    if (s.id() == s.size() - 1) throw Error(Errc::device, "the cause");
    c.all_reduce(std::vector<double>(2), Fold::sum, {.algorithm = Algorithm::mpi});
  });
  CHECK(said.find("the cause") != std::string::npos);
}
