// The paper's batches of single blocks, multiplied here one after the other: against all entries of what is stored.
#include "sordino/hmatrix/gemv_batches.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/dense.hpp"

using namespace sordino;
using namespace sordino::hmatrix;

namespace {

constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();

HMatrix matrix(int m0, int M) {
  const bem::Laplace laplace(surfaces::sphere(m0, M).view());
  return HMatrix(laplace, {.compression = {.eps = 1e-5}});
}

/// Adds to what is there, or stores, as the GPU does it.
void multiply(const Gemv& g, const GemvBatches& plan, const std::vector<double>& values, std::vector<double>& vectors) {
  for (i32 i = 0; i < g.rows; i++) {
    double sum = 0;
    for (i32 j = 0; j < g.columns; j++) {
      const i64 place = g.values + (g.factor == Factor::u ? i64(j) * g.rows + i : i64(i) * g.columns + j);
      sum += values[std::size_t(place)] * vectors.at(std::size_t(g.from + j));
    }
    double& to = vectors.at(std::size_t(g.to + i));
    to = g.to >= plan.result ? to + sum : sum;
  }
}

std::vector<double> product(const HMatrix& H, const GemvBatches& plan, const std::vector<double>& x) {
  std::vector<double> values(std::size_t(plan.values), nowhere), vectors(std::size_t(plan.places));
  for (const GemvPhase& phase : plan.phases)
    for (const Gemv& g : phase.gemvs) copy_values(H.leaves()[std::size_t(g.leaf)], g, values.data() + g.values);
  for (double v : values) CHECK(!std::isnan(v));
  std::copy(x.begin(), x.end(), vectors.begin());
  for (const GemvPhase& phase : plan.phases)
    for (const GemvBatch& batch : phase.batches)
      for (i64 k = batch.begin; k < batch.end; k++) multiply(phase.gemvs[std::size_t(k)], plan, values, vectors);
  return {vectors.begin() + plan.result, vectors.begin() + plan.result + H.size()};
}

/// met [leaves][factors]: how often each product is done.
void require_once(const HMatrix& H, const std::vector<int>& met) {
  for (std::size_t leaf = 0; leaf < H.leaves().size(); leaf++) {
    const bool is_dense = H.leaves()[leaf].is_dense();
    CHECK(std::tuple(met[3 * leaf], met[3 * leaf + 1], met[3 * leaf + 2]) == std::tuple(is_dense, !is_dense, !is_dense));
  }
}

const GemvOptions all_options[] = {
    {GemvOrder::stored, 1},        {GemvOrder::stored, 64},           {GemvOrder::by_rows, 64},
    {GemvOrder::by_groups, 64},    {GemvOrder::by_groups, 1'000'000}, {GemvOrder::by_groups, 0},
    {GemvOrder::by_rows, 0},       {GemvOrder::by_groups, 64, true},  {GemvOrder::stored, 7, true},
    {GemvOrder::by_rows, 0, true}, {GemvOrder::stored, of_one_size}};

}  // namespace

TEST("batches in any order, padded or not, multiply what is stored") {
  NOTE(fresh::said());
  fresh::Random random(80);
  for (auto [m0, M] : {std::pair{3, 1}, {5, 6}, {7, 9}, {6, 12}}) {
    const HMatrix H = matrix(m0, M);
    const auto x = random.normals(H.size()), exact = dense::times(dense::of(H), x);
    for (const GemvOptions& options : all_options) {
      NOTE("n = ", H.size(), ", order ", int(options.order), ", batches of ", options.count, options.padded ? ", padded" : "");
      CHECK(dense::distance(product(H, GemvBatches(H, options), x), exact) <= 1e-14 * dense::norm(exact));
    }
  }
}

TEST("each block has its products once, in batches that follow one another") {
  const HMatrix H = matrix(7, 12);
  const Statistics& s = H.statistics();
  for (const GemvOptions& options : all_options) {
    NOTE("order ", int(options.order), ", batches of ", options.count);
    const GemvBatches plan(H, options);
    CHECK(i64(plan.phases[0].gemvs.size()) == s.dense_blocks + s.low_rank_blocks);
    CHECK(i64(plan.phases[1].gemvs.size()) == s.low_rank_blocks);
    CHECK((options.padded ? plan.values >= s.stored_values : plan.values == s.stored_values));
    std::vector<int> met(3 * H.leaves().size());
    for (const GemvPhase& phase : plan.phases) {
      i64 next = 0;
      for (const GemvBatch& batch : phase.batches) {
        CHECK(batch.begin == next);
        next = batch.end;
        if (options.count > 0) CHECK((batch.end - batch.begin == options.count || batch.end == i64(phase.gemvs.size())));
        for (i64 k = batch.begin; k < batch.end; k++) {
          const Gemv& g = phase.gemvs[std::size_t(k)];
          met[3 * std::size_t(g.leaf) + std::size_t(g.factor)]++;
          CHECK((options.padded ? g.rows == batch.rows && g.columns == batch.columns
                                : g.rows <= batch.rows && g.columns <= batch.columns));
        }
      }
      CHECK(next == i64(phase.gemvs.size()));
    }
    require_once(H, met);
  }
}

TEST("a device has the batches of the first phase that were dealt to it, and U where its V is") {
  const HMatrix H = matrix(7, 12);
  for (const GemvOptions& options : all_options)
    for (std::size_t devices : {1, 2, 3, 5}) {
      NOTE("order ", int(options.order), ", batches of ", options.count, ", devices: ", devices);
      const auto all = GemvBatches(H, options).phases[0];
      const auto leaves = deal(H, options, int(devices));
      CHECK(leaves.size() == devices);
      for (std::size_t device = 0; device < devices; device++) {
        const auto [mine, second] = GemvBatches(H, options, leaves[device]).phases;
        std::size_t dealt = device;  // of all batches the next one of this device
        for (const GemvBatch& batch : mine.batches) {
          const GemvBatch& same = all.batches.at(dealt);
          CHECK(batch.end - batch.begin == same.end - same.begin);
          for (i64 k = 0; k < batch.end - batch.begin; k++)
            CHECK(mine.gemvs[std::size_t(batch.begin + k)].leaf == all.gemvs[std::size_t(same.begin + k)].leaf);
          dealt += devices;
        }
        CHECK(dealt >= all.batches.size());
        std::set<i32> with_v, with_u;
        for (const Gemv& g : mine.gemvs)
          if (g.factor == Factor::v) with_v.insert(g.leaf);
        for (const Gemv& g : second.gemvs) with_u.insert(g.leaf);
        CHECK(with_u == with_v);
      }
    }
}

TEST("devices share the products: each is done once, and results add up to the whole") {
  NOTE(fresh::said());
  fresh::Random random(81);
  const HMatrix H = matrix(6, 12);
  const auto x = random.normals(H.size()), exact = dense::times(dense::of(H), x);
  for (const GemvOptions& options : all_options) {
    std::vector<double> sum(x.size());
    std::vector<int> met(3 * H.leaves().size());
    i64 values = 0;
    for (const std::vector<i32>& leaves : deal(H, options, 3)) {
      const GemvBatches plan(H, options, leaves);
      for (const GemvPhase& phase : plan.phases)
        for (const Gemv& g : phase.gemvs) met[3 * std::size_t(g.leaf) + std::size_t(g.factor)]++;
      const auto part = product(H, plan, x);
      for (std::size_t i = 0; i < sum.size(); i++) sum[i] += part[i];
      values += plan.values;
    }
    require_once(H, met);
    CHECK((options.padded ? values >= H.statistics().stored_values : values == H.statistics().stored_values));
    CHECK(dense::distance(sum, exact) <= 1e-14 * dense::norm(exact));
  }
}

TEST("gemvs are in the order of the paper's figures") {
  const HMatrix H = matrix(7, 12);
  for (int phase : {0, 1}) {
    const auto stored = GemvBatches(H, {GemvOrder::stored, 64}).phases[std::size_t(phase)].gemvs;
    for (std::size_t k = 1; k < stored.size(); k++) CHECK(stored[k - 1].leaf < stored[k].leaf);
    const auto by_rows = GemvBatches(H, {GemvOrder::by_rows, 64}).phases[std::size_t(phase)].gemvs;
    for (std::size_t k = 1; k < by_rows.size(); k++)
      CHECK(std::pair(by_rows[k - 1].rows, by_rows[k - 1].leaf) < std::pair(by_rows[k].rows, by_rows[k].leaf));
    const auto grouped = GemvBatches(H, {GemvOrder::by_groups, 64}).phases[std::size_t(phase)].gemvs;
    auto key = [](const Gemv& g) { return std::tuple((g.rows + 7) / 8, g.columns, g.leaf); };
    for (std::size_t k = 1; k < grouped.size(); k++) CHECK(key(grouped[k - 1]) < key(grouped[k]));
  }
}

TEST("ranges of rows end at 8, 32, 64, 96 and so on") {
  i64 at_end = 0, wide = 0;  // gemvs that have as many rows as their range takes; batches of the ranges by 32
  for (auto [m0, M, order] :
       {std::tuple{12, 20, GemvOrder::by_rows}, {12, 20, GemvOrder::by_groups}, {16, 8, GemvOrder::by_rows}})
    for (const GemvPhase& phase : GemvBatches(matrix(m0, M), {order, 0}).phases) {
      i32 above = 0;  // the end of the last batch's range
      for (const GemvBatch& batch : phase.batches) {
        const i32 end = batch.rows <= 8 ? 8 : (batch.rows + 31) / 32 * 32;
        CHECK(end > above);
        above = end;
        wide += end > 96;
        for (i64 k = batch.begin; k < batch.end; k++) {
          const i32 rows = phase.gemvs[std::size_t(k)].rows;
          CHECK(rows > (end == 8 ? 0 : end == 32 ? 8 : end - 32));
          at_end += rows == end && end > 8;
        }
      }
    }
  CHECK(wide > 0);
  CHECK(at_end > 0);
}

TEST("batches of one size hold all gemvs of that size") {
  for (const GemvPhase& phase : GemvBatches(matrix(7, 12), {GemvOrder::stored, of_one_size}).phases) {
    CHECK(phase.batches.size() > 3);
    for (std::size_t k = 0; k < phase.batches.size(); k++) {
      const GemvBatch& batch = phase.batches[k];
      for (i64 g = batch.begin; g < batch.end; g++) {
        CHECK(phase.gemvs[std::size_t(g)].rows == batch.rows);
        CHECK(phase.gemvs[std::size_t(g)].columns == batch.columns);
      }
      if (k > 0)
        CHECK(std::pair(phase.batches[k - 1].rows, phase.batches[k - 1].columns) < std::pair(batch.rows, batch.columns));
    }
  }
}

TEST("batches that cannot be made are refused in a sentence") {
  const HMatrix H = matrix(3, 1);
  CHECK_THROWS(GemvBatches(H, {GemvOrder::stored, 0}), Error, "take gemvs that are sorted by rows or by groups of rows");
  CHECK_THROWS(GemvBatches(H, {GemvOrder::by_rows, -2}), Error, "a batch has a gemv at least");
  CHECK_THROWS(deal(H, {GemvOrder::stored, 7}, 0), Error, "dealt to a device at least");
}
