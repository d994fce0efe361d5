#include "sordino/api/hmatrix_products.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sordino/api/callers.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/linalg/timed_products.hpp"

namespace sordino {
namespace {

/// What one rank has, of a number of columns.
struct Multiplier {
  std::unique_ptr<hmatrix::HMatrixOperator> A;
  Vec x, y;
  Recorded product;
  std::unique_ptr<TimedProducts> timed = {};  // where somebody has asked for them

  void multiply(Rank& rank, const double* from, double* to) {
    const i64 first = rank.space(A->space()).first_row;
    rank.reset_names();
    rank.write(x, from + first);
    rank.replay(product);
    rank.read(y, to + first);
  }
  double seconds(Rank& rank, int pairs) {
    if (!timed) timed = std::make_unique<TimedProducts>(rank, *A, x);
    const std::vector<double> ones(std::size_t(rank.space(A->space()).rows), 1.0);
    return timed->seconds(rank, pairs, ones.data());
  }
};

Multiplier multiplier(Rank& rank, std::unique_ptr<hmatrix::HMatrixOperator> A) {
  Multiplier m{.A = std::move(A), .x = {}, .y = {}, .product = {}};
  m.x = m.A->operand(rank, "x"), m.y = m.A->result(rank, "y");
  m.product = rank.record([&] {
    rank.run(Nothing{}, push(m.x));
    m.A->apply(rank, m.x, m.y);
  });
  return m;
}

}  // namespace

struct HMatrixProducts::State {
  i64 words;  // of a vector
  Callers callers = {};
  EngineChoice choice;
  std::function<hmatrix::HMatrixOperator(Rank&, const hmatrix::HMatrixOperator& single, int columns)> widen = {};
  std::map<int, std::vector<Multiplier>> of_columns = {};  // destroyed before the engine

  Engine& engine() { return *choice.engine; }
  void require(int columns) const {
    const int most = most_columns();
    if (columns > most)
      bad_argument("a product takes at most " + std::to_string(most) + " vectors at once, not " + std::to_string(columns));
  }
  int most_columns() const {
    int most = hmatrix::most_columns;
    for (const Multiplier& m : of_columns.at(1)) most = std::min(most, m.A->most_columns());
    return most;
  }
  /// What ranks have of so many columns; they make it together when it is first asked for.
  std::vector<Multiplier>& multipliers(int columns) {
    if (const auto found = of_columns.find(columns); found != of_columns.end()) return found->second;
    const std::vector<Multiplier>& single = of_columns.at(1);
    std::vector<Multiplier> ranks(single.size());
    engine().run([&](Rank& rank) {
      const auto id = std::size_t(rank.id());
      ranks[id] = multiplier(rank, std::make_unique<hmatrix::HMatrixOperator>(widen(rank, *single[id].A, columns)));
    });
    return of_columns[columns] = std::move(ranks);
  }
};

template <class V>
HMatrixProducts::HMatrixProducts(const hmatrix::HMatrixOf<V>& matrix, const Options& options) {
  Range range("sordino: share an H-matrix");
  if (number_of_processes() > 1)
    throw Error(Errc::unsupported, "products on engines are of one process: over several, multiply on the CPU, or solve");
  state_.reset(new State{.words = hmatrix::words_of<V> * matrix.size(), .choice = make_engine(options, {}, matrix.size())});
  State& s = *state_;
  const Partition partition = hmatrix::balance(matrix, s.engine().size());
  const hmatrix::Distribution how = hmatrix::distribution(options.distribution);
  s.widen = [&matrix, partition, how](Rank& rank, const hmatrix::HMatrixOperator& single, int columns) {
    return single.of_columns(rank, matrix, partition, how, columns);
  };
  std::vector<Multiplier>& single = s.of_columns[1];
  single.resize(std::size_t(s.engine().size()));
  s.engine().run([&](Rank& rank) {
    auto A = std::make_unique<hmatrix::HMatrixOperator>(rank, matrix, partition, how);
    single[std::size_t(rank.id())] = multiplier(rank, std::move(A));
  });
}

template HMatrixProducts::HMatrixProducts(const hmatrix::HMatrix&, const Options&);
template HMatrixProducts::HMatrixProducts(const hmatrix::ComplexHMatrix&, const Options&);

HMatrixProducts::HMatrixProducts(HMatrixProducts&&) noexcept = default;
HMatrixProducts::~HMatrixProducts() = default;

void HMatrixProducts::Release::operator()(State* state) const {
  if (!state->choice.engine || !state->engine().has_lost_a_rank()) delete state;
}

void HMatrixProducts::multiply(const double* x, double* y, int columns) {
  Range range("sordino: multiply");
  State& s = *state_;
  s.require(columns);
  std::vector<Multiplier>& ranks = s.multipliers(columns);
  auto run = [&](const double* from, double* to) {
    s.engine().run([&](Rank& rank) { ranks[std::size_t(rank.id())].multiply(rank, from, to); });
  };
  if (!s.callers.settle(x, y, nullptr) || s.engine().is_device()) return run(x, y);
  std::vector<double> from(std::size_t(s.words * columns)), to(from.size());
  copy_callers(from.data(), x, from.size() * sizeof(double));
  run(from.data(), to.data());
  copy_callers(y, to.data(), to.size() * sizeof(double));
}

double HMatrixProducts::time_product(int pairs, int columns) {
  Range range("sordino: time products");
  State& s = *state_;
  s.require(columns);
  if (pairs < 1) bad_argument("products are timed by pairs, at least 1, not " + std::to_string(pairs));
  std::vector<Multiplier>& ranks = s.multipliers(columns);
  std::vector<double> seconds(ranks.size());
  s.engine().run([&](Rank& rank) {
    const auto id = std::size_t(rank.id());
    seconds[id] = ranks[id].seconds(rank, pairs);
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

int HMatrixProducts::most_columns() const { return state_->most_columns(); }

std::vector<i64> HMatrixProducts::held_bytes() const {
  std::vector<i64> bytes;
  for (const Multiplier& m : state_->of_columns.at(1)) bytes.push_back(m.A->bytes());
  return bytes;
}

int HMatrixProducts::ranks() const { return state_->engine().size(); }

}  // namespace sordino
