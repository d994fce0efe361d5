// Leaves in batches on devices, and the code that teams of threads run there, by a thread of the host: against all entries, and
// against what the host's own code makes of them.
#include "sordino/hmatrix/leaf_batches.hpp"

#include <chrono>
#include <thread>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/bem/helmholtz.hpp"
#include "sordino/hmatrix/recompression.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/dense.hpp"
#include "unit/hmatrix/host_leaves.hpp"

namespace {

using namespace sordino;
using namespace sordino::hmatrix;

BuildOptions options(double eps, int devices = 1) {
  return {.compression = {.eps = eps}, .gpus = std::vector<int>(std::size_t(devices))};
}

template <class V>
double error(const HMatrixOf<V>& H, const GeneratorOf<V>& generator) {
  const auto exact = dense::of(generator, H.tree());
  return dense::distance(dense::of(H), exact) / dense::norm(exact);
}

/// A function of pairs of points.
class Function final : public Generator {
 public:
  using Entry = std::function<double(i32 i, i32 j, double inverse)>;
  Function(fresh::Random& random, i64 n, Entry entry) : entry_(std::move(entry)) {
    for (i64 k = 0; k < 3 * n; k++) points_.push_back(random.real(0, 1));
  }
  i64 size() const override { return i64(points_.size()) / 3; }
  const double* points() const override { return points_.data(); }
  void entries(std::span<const i32> rows, std::span<const i32> columns, double* out) const override {
    for (i32 i : rows)
      for (i32 j : columns) *out++ = entry_(i, j, inverse(i, j));
  }

 private:
  double inverse(i32 i, i32 j) const {
    double sum = 0;
    for (std::size_t axis = 0; axis < 3; axis++)
      sum += std::pow(points_[3 * std::size_t(i) + axis] - points_[3 * std::size_t(j) + axis], 2);
    return sum > 0 ? 1 / std::sqrt(sum) : 100;
  }

  std::vector<double> points_;
  Entry entry_;
};

}  // namespace

namespace {

template <class V>
void check_beside_the_host(const GeneratorOf<V>& generator, std::initializer_list<double> tolerances) {
  for (double eps : tolerances) {
    const HMatrixOf<V> host(generator, {.compression = {.eps = eps}});
    const HMatrixOf<V> H(host_leaves::Generator<V>(generator), options(eps));
    NOTE("eps = ", eps);
    CHECK(error(H, generator) <= eps);
    CHECK(H.statistics().low_rank_blocks == host.statistics().low_rank_blocks);
    CHECK(H.statistics().dense_blocks == host.statistics().dense_blocks);
    CHECK_NEAR(double(H.stored_bytes()) / double(host.stored_bytes()), 1.0, 0.005);
    CHECK_NEAR(H.statistics().norm, dense::norm(dense::of(H)), 1e-12 * H.statistics().norm);
    CHECK_NEAR(H.statistics().compression_error, host.statistics().compression_error, 0.3 * eps);
  }
}

}  // namespace

TEST("devices build what the host builds: the same blocks, to the same tolerance, in as many values") {
  check_beside_the_host<double>(bem::Laplace(surfaces::sphere(6, 10).view()), {1e-2, 1e-5, 1e-9, 1e-12});
}

TEST("devices build complex matrices, of long waves and of short ones") {
  for (double k : {0.5, 3.0, 12.0}) {
    NOTE("k = ", k);
    check_beside_the_host<Number>(bem::Helmholtz(surfaces::sphere(6, 10, 1.0).view(), k), {1e-2, 1e-5, 1e-8});
  }
}

TEST("what is not recompressed, or not certified, is HACApK's on devices, too") {
  const bem::Laplace laplace(surfaces::sphere(6, 10).view());
  for (bool recompress : {false, true})
    for (bool certify : {false, true}) {
      BuildOptions host{.compression = {.eps = 1e-5, .recompress = recompress, .certify = certify}}, devices = host;
      devices.gpus = {0};
      const HMatrix a(laplace, host), b(host_leaves::Generator<double>(laplace), devices);
      NOTE(recompress ? "recompressed " : "", certify ? "certified" : "");
      CHECK_NEAR(double(b.stored_bytes()) / double(a.stored_bytes()), 1.0, 0.005);
      CHECK_NEAR(error(b, laplace), error(a, laplace), 0.2 * error(a, laplace));
    }
}

TEST("values depend neither on how many devices there are, nor on their memory") {
  const bem::Laplace laplace(surfaces::sphere(5, 9).view());
  const host_leaves::Generator<double> much(laplace), little(laplace, 30000);
  const HMatrix one(much, options(1e-6)), two(much, options(1e-6, 2)), small(little, options(1e-6));
  CHECK(little.made[0]->batches > 4);
  CHECK(dense::of(one) == dense::of(two));
  CHECK(dense::of(one) == dense::of(small));
}

TEST("devices are made at the same time, and a build's seconds have their places") {
  const bem::Laplace laplace(surfaces::sphere(5, 9).view());
  host_leaves::Generator<double> devices(laplace);
  std::atomic<int> inside{0};
  std::atomic<bool> met{true};
  devices.while_made = [&] {
    inside++;
    for (int k = 0; inside < 3 && k < 10000; k++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (inside < 3) met = false;
  };
  const HMatrix H(devices, options(1e-4, 3));
  const Phases& p = H.statistics().phases;
  CHECK(met);
  CHECK(devices.made.size() == 3);
  for (double seconds : {p.trees, p.devices, p.leaves, p.waiting, p.fetching, p.probes}) CHECK(seconds > 0);
  CHECK(p.waiting + p.fetching < p.leaves);
  CHECK(p.trees + p.devices + p.leaves + p.probes <= H.statistics().seconds);
}

TEST("rows that are compared at the end are computed while devices compute leaves") {
  const bem::Laplace laplace(surfaces::sphere(5, 9).view());
  host_leaves::Generator<double> devices(laplace);
  bool asked = false;
  devices.while_computed = [&] {
    for (int k = 0; !devices.asked_of_host && k < 10000; k++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    asked = devices.asked_of_host;
  };
  BuildOptions o = options(1e-4);
  const HMatrix ahead(devices, o);
  CHECK(asked);
  o.probes = 65;  // too many to be kept: compared one after the other, at the end
  devices.while_computed = {};
  CHECK(HMatrix(devices, o).statistics().compression_error <= 1e-4);
  o.probes = 32;
  host_leaves::Generator<double> again(laplace);
  CHECK(HMatrix(again, o).statistics().compression_error == ahead.statistics().compression_error);
}

TEST("values of devices do not depend on how many threads put them where they belong") {
  const bem::Laplace laplace(surfaces::sphere(13, 20).view());
  const host_leaves::Generator<double> devices(laplace, 1 << 24);  // some 10,000 leaves a batch
  auto built = [&](int threads) {
    BuildOptions of = options(1e-2);
    of.threads = threads;
    return HMatrix(devices, of);
  };
  const HMatrix one = built(1), seven = built(7);
  CHECK(devices.made[0]->batches < 5);
  CHECK(one.statistics().norm == seven.statistics().norm);
  CHECK(one.leaves().size() == seven.leaves().size());
  bool same = true;
  for (std::size_t l = 0; l < one.leaves().size(); l++) {
    const Leaf &a = one.leaves()[l], &b = seven.leaves()[l];
    same = same && a.rank == b.rank && std::equal(a.u, a.u + a.entries(), b.u);
  }
  CHECK(same);
}

TEST(
    "values come to the host while the next batch is computed: only the first batch's seconds and the last one's fetch stand "
    "alone") {
  const bem::Laplace laplace(surfaces::sphere(5, 9).view());
  const host_leaves::Generator<double> little(laplace, 30000);
  const HMatrix H(little, options(1e-6));
  const auto& device = *little.made[0];
  CHECK(device.batches > 4);
  CHECK(device.clock == device.batches + 1);
}

TEST("leaves without room on a device are computed by threads of the host") {
  const bem::Laplace laplace(surfaces::sphere(5, 9).view());
  for (i64 capacity : {i64(0), i64(2000), i64(10000)}) {
    const host_leaves::Generator<double> tiny(laplace, capacity);
    CHECK(error(HMatrix(tiny, options(1e-6)), laplace) <= 1e-6);
  }
}

TEST("leaves that want more terms than others get room for them on a device, after all others") {
  NOTE(fresh::said());
  fresh::Random random(95);
  const Function noise(random, 700, [](i32 i, i32 j, double) { return std::sin(1e3 * (i + 0.37) * (j + 0.731)); });
  BuildOptions o = options(1e-3, 2);  // whose usual room is for 31 terms
  o.probes = 0;
  for (double eta : {2.0, 1e6}) {
    o.eta = eta;
    const host_leaves::Generator<double> devices(noise), little(noise, 150000);
    const HMatrix H(devices, o);
    NOTE("eta = ", eta);
    CHECK(std::max(devices.made[0]->most_room, devices.made[1]->most_room) > 31);
    CHECK(H.statistics().largest_rank > (eta == 2 ? 31 : most_terms));
    CHECK(devices.asked_of_host == (eta != 2));
    CHECK(error(H, noise) <= 1e-3);
    if (eta == 2) CHECK(dense::of(H) == dense::of(HMatrix(little, o)));
  }
}

TEST("what crosses cannot see is found on devices, too, and done again") {
  NOTE(fresh::said());
  fresh::Random random(91);
  const Function tied(random, 1500, [](i32 i, i32 j, double inverse) {
    return inverse * (i % 4 == 1 && j % 4 == 2 ? 1 + 1e-3 * std::sin(i * 0.37 + j * 0.73) : 1);
  });
  const HMatrix H(host_leaves::Generator<double>(tied), options(1e-6));
  CHECK(H.statistics().redone_blocks > 0);
  CHECK(error(H, tied) <= 1e-6);
}

TEST("blocks of zeros have rank 0 on devices, and a rank that is allowed is kept") {
  NOTE(fresh::said());
  fresh::Random random(92);
  const Function nothing(random, 400, [](i32 i, i32 j, double) { return i == j ? 1.0 : 0.0; });
  const HMatrix zero(host_leaves::Generator<double>(nothing), options(1e-6));
  CHECK(zero.statistics().largest_rank == 0);
  CHECK(zero.statistics().compression_error == 0);
  const bem::Laplace laplace(surfaces::sphere(5, 9).view());
  for (i32 most : {1, 3}) {
    BuildOptions few = options(1e-6);
    few.compression.most_rank = most;
    CHECK(HMatrix(host_leaves::Generator<double>(laplace), few).statistics().largest_rank == most);
  }
}

TEST("entries that are not finite are refused whoever computes them") {
  NOTE(fresh::said());
  fresh::Random random(93);
  for (double bad : {std::nan(""), HUGE_VAL, 1e200}) {
    const Function rotten(random, 600, [bad](i32 i, i32 j, double inverse) { return i + j == 500 ? bad : inverse; });
    CHECK_THROWS(HMatrix(host_leaves::Generator<double>(rotten), options(1e-6)), sordino::Error, "not finite");
  }
  const bem::Laplace laplace(surfaces::sphere(5, 9).view());
  BuildOptions others = options(1e-6);
  others.compression.approximation = Approximation::aca;
  CHECK_THROWS(HMatrix(host_leaves::Generator<double>(laplace), others), sordino::Error, "the compression aca+");
  const Function plain(random, 50, [](i32, i32, double inverse) { return inverse; });
  CHECK_THROWS(HMatrix(plain, options(1e-6)), sordino::Error, "no code for GPUs");
}

TEST("a build on devices tells how far it is, and what its caller throws ends it") {
  const bem::Laplace laplace(surfaces::sphere(13, 20).view());
  const host_leaves::Generator<double> devices(laplace, 200000);
  struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  auto stop = [](double share) {
    CHECK(share > 0);
    CHECK(share < 1);
    throw Stop("enough");
  };
  CHECK_THROWS((HMatrix(devices, options(1e-9, 2), stop)), Stop, "enough");
  CHECK(devices.made[0]->stopped);
}

namespace {

template <class V>
V normal(fresh::Random& random) {
  if constexpr (std::is_same_v<V, double>)
    return random.normal();
  else
    return {random.normal(), random.normal()};
}

/// `rank` terms, each smaller than the one before, or that once more.
template <class V>
LowRank<V> dependent_terms(fresh::Random& random, i32 height, i32 width, i32 rank) {
  LowRank<V> sum(height, width);
  std::vector<V> column(static_cast<std::size_t>(height)), row(static_cast<std::size_t>(width));
  for (i32 k = 0; k < rank; k++) {
    if (k % 4 != 3) {
      for (V& x : column) x = normal<V>(random) * std::pow(10, -k);
      for (V& x : row) x = normal<V>(random);
    }
    sum.append(column, row);
  }
  return sum;
}

template <class V>
void check_recompression(fresh::Random& random, i32 rank) {
  const i32 height = random.whole(rank, 60), width = random.whole(rank, 60);
  LowRank<V> host = dependent_terms<V>(random, height, width, rank);
  std::vector<V> memory(std::size_t(LeafSpace<V>::values(height, width, rank)), V{std::nan("")});
  const LeafSpace<V> space(memory.data(), height, width, rank);
  std::copy(host.u.begin(), host.u.end(), space.u);
  std::copy(host.v.begin(), host.v.end(), space.v);
  const double distance = 1e-4;
  const i32 left = TeamRecompression<Alone, V>(Alone{}, space, rank).run(distance);
  recompress(host, distance);
  NOTE("rank ", rank, ", ", height, " x ", width, " of ", words_of<V>, " words");
  CHECK(left == host.rank);
  double worst = 0;
  for (i32 i = 0; i < height; i++)
    for (i32 j = 0; j < width; j++) worst = std::max(worst, magnitude(space.entry(i, j, left) - host.entry(i, j)));
  CHECK(worst <= 1e-12);
}

}  // namespace

TEST("a team's recompression has the host's singular values, of columns that depend on each other, too") {
  NOTE(fresh::said());
  fresh::Random random(94);
  for (i32 rank : {1, 2, 3, 7, 12}) {
    check_recompression<double>(random, rank);
    check_recompression<Number>(random, rank);
  }
}
