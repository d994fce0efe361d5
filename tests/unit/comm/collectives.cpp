// Every collective, on several numbers of ranks, against a serial computation.
#include <bit>
#include <numeric>

#include "cases.hpp"
#include "sordino/comm/algorithms/algorithms.hpp"

using namespace comm_cases;

namespace {

using Lists = std::vector<std::vector<double>>;

/// Lists of any length, also 0.
Lists lists(fresh::Random& random, int count) {
  Lists all;
  for (int k = 0; k < count; k++) all.push_back(random.normals(random.chance(0.3) ? 0 : random.whole(1, 40)));
  return all;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](double x, double y) { return std::bit_cast<u64>(x) == std::bit_cast<u64>(y); });
}

template <class T>
std::vector<T> serial(const std::vector<std::vector<T>>& values, Fold fold) {
  auto all = values[0];
  for (std::size_t r = 1; r < values.size(); r++)
    for (std::size_t k = 0; k < all.size(); k++) all[k] = folded(fold, all[k], values[r][k]);
  return all;
}

template <class T>
std::vector<std::vector<T>> whole_numbers(fresh::Random& random, int ranks, int count, i64 most) {
  std::vector<std::vector<T>> values;
  for (int r = 0; r < ranks; r++) {
    values.emplace_back();
    for (int k = 0; k < count; k++) values.back().push_back(T(random.whole(1, most)));
  }
  return values;
}

}  // namespace

TEST("lists of any length are broadcast, gathered and scattered, from and to every root") {
  NOTE(fresh::said());
  fresh::Random random(60);
  for (int ranks : rank_counts)
    for (int root = 0; root < ranks; root++) {
      NOTE(ranks, " ranks, root ", root);
      Lists values = lists(random, ranks);
      on_engines(ranks, [&](Rank& s) {
        Communicator c(s, 3);
        auto& mine = values[std::size_t(s.id())];
        CHECK(c.broadcast(s.id() == root ? mine : std::vector<double>{9}, root) == values[std::size_t(root)]);
        CHECK(c.gather(mine, root) == (s.id() == root ? values : Lists()));
        CHECK(c.scatter(s.id() == root ? values : Lists(), root) == mine);
        CHECK(c.all_gather(mine) == values);
      });
    }
}

TEST("everybody sends a list to everybody") {
  NOTE(fresh::said());
  fresh::Random random(61);
  for (int ranks : rank_counts) {
    NOTE(ranks, " ranks");
    std::vector<Lists> values;
    for (int r = 0; r < ranks; r++) values.push_back(lists(random, ranks));
    on_engines(ranks, [&](Rank& s) {
      Lists expected;
      for (auto& of_rank : values) expected.push_back(of_rank[std::size_t(s.id())]);
      CHECK(Communicator(s, 3).all_to_all(values[std::size_t(s.id())]) == expected);
    });
  }
}

TEST("the default all-reduce of few ranks has the bits of a serial loop; every other way has the same bits on all ranks") {
  NOTE(fresh::said());
  fresh::Random random(62);
  for (int ranks : rank_counts)
    for (auto& way : ways())
      for (Fold fold : folds) {
        NOTE(ranks, " ranks, ", name(way.algorithm), way.reduce_degree, way.broadcast_degree, ", fold ", int(fold));
        Lists values;
        i64 count = random.whole(0, 20);
        for (int r = 0; r < ranks; r++) values.push_back(random.normals(count));
        auto expected = serial(values, fold);
        on_engines(ranks, [&](Rank& s) {
          Communicator c(s, 3);
          auto result = c.all_reduce(values[std::size_t(s.id())], fold, way);
          REQUIRE(result.size() == expected.size());
          for (std::size_t k = 0; k < result.size(); k++)
            CHECK_NEAR(result[k], expected[k], 1e-12 * (1 + std::abs(expected[k])));
          if (way.algorithm <= Algorithm::ordered) CHECK(same_bits(result, expected));
          for (auto& of_rank : c.all_gather(result)) CHECK(same_bits(of_rank, result));
        });
      }
}

TEST("whole numbers are reduced exactly, in every type and every way, to every root") {
  NOTE(fresh::said());
  fresh::Random random(63);
  auto check = [&]<class T>(T, int ranks) {
    for (Fold fold : folds) {
      auto values = whole_numbers<T>(random, ranks, int(random.whole(0, 9)), sizeof(T) == 1 ? 1 : 5);
      auto expected = serial(values, fold);
      on_engines(ranks, [&](Rank& s) {
        Communicator c(s, 3);
        auto& mine = values[std::size_t(s.id())];
        for (auto& way : ways()) CHECK(c.all_reduce(mine, fold, way) == expected);
        for (int root = 0; root < ranks; root++)
          CHECK(c.reduce(mine, root, fold) == (s.id() == root ? expected : std::vector<T>()));
      });
    }
  };
  for (int ranks : rank_counts) {
    NOTE(ranks, " ranks");
    check(i64(), ranks);
    check(std::uint8_t(), ranks);
    check(float(), ranks);
    if (ranks == 3) check((long double)(0), ranks), check(short(), ranks), check(u32(), ranks);
  }
}

TEST("each rank gets its part of a reduction, with the bits of a serial loop") {
  NOTE(fresh::said());
  fresh::Random random(64);
  for (int ranks : rank_counts)
    for (Fold fold : folds) {
      NOTE(ranks, " ranks, fold ", int(fold));
      std::vector<Lists> values;
      std::vector<i64> lengths;
      for (int q = 0; q < ranks; q++) lengths.push_back(random.whole(0, 9));
      for (int r = 0; r < ranks; r++) {
        values.emplace_back();
        for (i64 length : lengths) values.back().push_back(random.normals(length));
      }
      on_engines(ranks, [&](Rank& s) {
        Lists for_me;
        for (auto& of_rank : values) for_me.push_back(of_rank[std::size_t(s.id())]);
        CHECK(same_bits(Communicator(s, 3).reduce_scatter(values[std::size_t(s.id())], fold), serial(for_me, fold)));
      });
    }
}

TEST("whole numbers that overflow wrap around in their type, in every way") {
  auto check = []<class T>(T) {
    constexpr T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
    for (auto& way : ways())
      on_engines(3, [&](Rank& s) {
        Communicator c(s, 3);
        CHECK(c.all_reduce(std::vector<T>{s.id() == 2 ? T(1) : most}, Fold::sum, way) == std::vector<T>{T(-1)});
        CHECK(c.all_reduce(std::vector<T>{s.id() == 0 ? T(2) : most}, Fold::product, way) == std::vector<T>{T(2)});
        CHECK(c.all_reduce(std::vector<T>{s.id() == 0 ? T(0) : least}, Fold::sum, way) == std::vector<T>{T(0)});
        CHECK(c.all_reduce(std::vector<T>{s.id() == 1 ? most : least}, Fold::max, way) == std::vector<T>{most});
        CHECK(c.all_reduce(std::vector<T>{s.id() == 1 ? most : least}, Fold::min, way) == std::vector<T>{least});
      });
  };
  check(i32()), check(i64()), check(short()), check(std::uint8_t()), check(std::uint16_t()), check(u64());
}

TEST("tags of collectives are their own for all numbers there are") {
  CHECK(Desk::tag(3, 5) != Desk::tag(3, 5 + (1u << 20)));
  CHECK(Desk::tag(3, 0xffffffffu) != Desk::tag(4, 0));
  for (int channel : {0, 1, Desk::most_channels - 1})
    for (u32 number : {0u, 1u, 0xffffffffu}) CHECK(Desk::tag(channel, number) < 0);
}

TEST("a NaN stays a NaN on every rank, whichever contributes it, and -0 is less than 0") {
  double nan = std::numeric_limits<double>::quiet_NaN();
  for (auto& way : ways())
    for (Fold fold : {Fold::min, Fold::max})
      for (int whose = 0; whose < 7; whose++)
        on_engines(7, [&](Rank& s) {
          NOTE(name(way.algorithm), " of rank ", whose);
          Communicator c(s, 3);
          auto both = c.all_reduce(std::vector<double>{s.id() == whose ? nan : 1.0, s.id() == whose ? 0.0 : -0.0}, fold, way);
          CHECK(std::isnan(both[0]));
          CHECK(std::signbit(both[1]) == (fold == Fold::min));
          for (auto& of_rank : c.all_gather(both)) CHECK(same_bits(of_rank, both));
        });
}

TEST("nobody leaves a barrier before all have entered it") {
  for (int ranks : rank_counts) {
    std::atomic<int> inside{0};
    auto job = [&](Rank& s) {
      Communicator c(s, 3);
      for (int round = 1; round <= 5; round++) {
        inside++;
        c.barrier();
        CHECK(inside >= round * ranks);
      }
    };
    on_host(ranks, job);
    for (u64 seed : {0, 7, 8}) {
      inside = 0;
      model::ModelEngine(modelled(ranks, seed)).run(job);
    }
  }
}

TEST("values of a type of one's own are gathered") {
  struct Point {
    double x;
    i32 k;
  };
  on_engines(4, [](Rank& s) {
    auto all = Communicator(s, 3).all_gather(std::vector<Point>(std::size_t(s.id()), Point{0.5, s.id()}));
    for (int q = 0; q < 4; q++) {
      CHECK(all[std::size_t(q)].size() == q);
      for (auto& p : all[std::size_t(q)]) CHECK(p.k == q);
    }
  });
}

TEST("a k-nomial tree reaches every place once, and children's ranges follow each other") {
  for (int degree : {2, 3, 4})
    for (int size = 1; size < 70; size++) {
      std::vector<int> parents(std::size_t(size), -1);
      for (int place = 0; place < size; place++) {
        int before = place;
        for (auto& step : schedules::tree_place(place, size, degree).children) {
          CHECK(step.size() < degree);
          for (int child : step) {
            CHECK(child > before);
            CHECK(schedules::tree_place(child, size, degree).parent == place);
            CHECK(parents[std::size_t(child)] == -1);
            before = child;
            parents[std::size_t(child)] = place;
          }
        }
      }
      CHECK(std::count(parents.begin(), parents.end(), -1) == 1);
    }
}

TEST("names of algorithms, and what they stand for") {
  for (Algorithm a : {Algorithm::automatic, Algorithm::fastest, Algorithm::ordered, Algorithm::tree, Algorithm::two_level,
                      Algorithm::mpi, Algorithm::nccl})
    CHECK(algorithm_named(name(a)) == a);
  CHECK_THROWS(algorithm_named("ring"), Error, "there is no all-reduce 'ring'; there are automatic, fastest, ordered");
  model::ModelEngine few(modelled(16, 0)), many(modelled(64, 0));
  CHECK(chosen({}, few).algorithm == Algorithm::ordered);
  host::HostEngine eight({.ranks = 8});
  CHECK(chosen({}, eight).algorithm == Algorithm::ordered);
  CHECK(chosen({.algorithm = Algorithm::fastest}, eight).algorithm == Algorithm::recursive_doubling);
  CHECK(chosen({}, many).algorithm == Algorithm::recursive_doubling);
  CHECK(reproducible(chosen({}, many).algorithm));
  CHECK_THROWS(chosen({.algorithm = Algorithm::nccl}, few), Error, "whose ranks send to each other by NCCL");
  CHECK(!reproducible(Algorithm::two_level));
  CHECK(chosen({.algorithm = Algorithm::tree, .by_adapter = true}, few).by_adapter);
  CHECK(!chosen({.algorithm = Algorithm::two_level, .by_adapter = true}, few).by_adapter);
  CHECK_THROWS(chosen({.algorithm = Algorithm::mpi}, few), Error, "needs several MPI processes: engine model runs in one");
  CHECK_THROWS(chosen({.reduce_degree = 5}, few), Error, "the tree that reduces has degree 2, 3 or 4, not 5");
}
