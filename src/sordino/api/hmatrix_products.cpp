#include "sordino/api/hmatrix_products.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sordino/api/callers.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/api/part.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/comm/accord.hpp"
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

/// [processes * part] where this process has put its own part: all of it.
std::vector<double> gathered(Accord& accord, std::vector<double> words, i64 part) {
  auto all = std::make_unique<std::vector<double>>(std::move(words));
  try {
    accord.processes()->gather(all->data(), part);
  } catch (...) {
    (void)all.release();  // the library may still write there
    throw;
  }
  return std::move(*all);
}

/// Of the engine's ranks, which are those of a part. Throws bad_argument if they are others.
template <class V>
Partition partition_for(const hmatrix::HMatrixOf<V>& matrix, const Engine& engine, hmatrix::Distribution how) {
  hmatrix::Ranks ranks = ranks_of(engine, how);
  if (matrix.part()) ranks.cuts = matrix.part()->cuts;
  matrix.require_part_of(ranks);
  return hmatrix::partition_of(matrix, ranks);
}

}  // namespace

struct HMatrixProducts::State {
  i64 words;  // of a vector
  Accord accord;
  Callers callers = {};
  EngineChoice choice = {};
  int most_columns = hmatrix::most_columns;
  std::vector<i64> begins = {};  // [processes + 1] the first word of each one's rows, of one column
  std::function<hmatrix::HMatrixOperator(Rank&, const hmatrix::HMatrixOperator& single, int columns)> widen = {};
  std::map<int, std::vector<Multiplier>> of_columns = {};  // destroyed before the engine

  Engine& engine() { return *choice.engine; }
  std::size_t place(const Rank& rank) { return std::size_t(rank.id() - engine().first_rank()); }
  void settle(const Partition& partition);
  void require(int columns) const {
    if (columns > most_columns)
      bad_argument("a product takes at most " + std::to_string(most_columns) + " vectors at once, not " +
                   std::to_string(columns));
  }
  /// Throws bad_argument, in all processes, if they do not say the same.
  void agree_on(double mine, const char* otherwise) {
    const std::vector<double> most = accord.most({mine, -mine});
    if (most[0] != -most[1]) bad_argument(otherwise);
  }
  void gather(double* y, int columns);
  /// What ranks have of so many columns; they make it together when it is first asked for.
  std::vector<Multiplier>& multipliers(int columns) {
    if (const auto found = of_columns.find(columns); found != of_columns.end()) return found->second;
    const std::vector<Multiplier>& single = of_columns.at(1);
    std::vector<Multiplier> ranks(single.size());
    engine().run([&](Rank& rank) {
      const std::size_t here = place(rank);
      ranks[here] = multiplier(rank, std::make_unique<hmatrix::HMatrixOperator>(widen(rank, *single[here].A, columns)));
    });
    return of_columns[columns] = std::move(ranks);
  }
};

/// Once ranks have their shares.
void HMatrixProducts::State::settle(const Partition& partition) {
  for (const Multiplier& m : of_columns.at(1)) most_columns = std::min(most_columns, m.A->most_columns());
  most_columns = -int(accord.most({-double(most_columns)})[0]);
  std::vector<double> begin(std::size_t(accord.count()));
  begin[std::size_t(accord.index())] = double(partition.first_row(engine().first_rank()));
  for (double row : accord.most(std::move(begin))) begins.push_back(i64(row) * (words / partition.n));
  begins.push_back(words);
}

/// y [n][columns] of which each process has its rows: the others'.
void HMatrixProducts::State::gather(double* y, int columns) {
  if (accord.count() == 1) return;
  auto begin = [&](int process) { return columns * begins[std::size_t(process)]; };
  i64 part = 0;  // the longest: all pass as many words
  for (int p = 0; p < accord.count(); p++) part = std::max(part, begin(p + 1) - begin(p));
  const int me = accord.index();
  std::vector<double> all(std::size_t(part * accord.count()));
  std::copy(y + begin(me), y + begin(me + 1), all.begin() + me * part);
  all = gathered(accord, std::move(all), part);
  for (int p = 0; p < accord.count(); p++) std::copy_n(all.begin() + p * part, begin(p + 1) - begin(p), y + begin(p));
}

template <class V>
HMatrixProducts::HMatrixProducts(const hmatrix::HMatrixOf<V>& matrix, const Options& options) {
  Range range("sordino: share an H-matrix");
  constexpr const char* call = "products with an H-matrix";
  state_.reset(
      new State{.words = hmatrix::words_of<V> * matrix.size(), .accord = Accord(all_processes(options.timeout, call))});
  State& s = *state_;
  hmatrix::Distribution how{};
  s.accord.together([&] {
    how = hmatrix::distribution(options.distribution);
    require_devices(options);
  });
  s.agree_on(double(how), "processes give different distributions of an H-matrix: give all of them the same");
  s.agree_on(double(s.words), "processes have H-matrices of different sizes: multiply by the same one in all of them");
  s.choice = make_engine(options, {}, s.accord.processes(), matrix.size() / s.accord.count());
  std::optional<Partition> found;
  s.accord.together([&] { found = partition_for(matrix, s.engine(), how); });
  const Partition partition = *std::move(found);
  s.widen = [&matrix, partition, how](Rank& rank, const hmatrix::HMatrixOperator& single, int columns) {
    return single.of_columns(rank, matrix, partition, how, columns);
  };
  std::vector<Multiplier>& single = s.of_columns[1];
  single.resize(std::size_t(s.engine().local_ranks()));
  s.engine().run([&](Rank& rank) {
    auto A = std::make_unique<hmatrix::HMatrixOperator>(rank, matrix, partition, how);
    single[s.place(rank)] = multiplier(rank, std::move(A));
  });
  s.settle(partition);
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
  bool on_gpus = false;
  s.accord.enter("a product with an H-matrix");
  s.accord.together([&] {
    s.require(columns);
    on_gpus = s.callers.settle(x, y, nullptr);
  });
  s.agree_on(columns, "processes multiply different numbers of vectors by an H-matrix: bring the same ones to all of them");
  std::vector<Multiplier>& ranks = s.multipliers(columns);
  auto run = [&](const double* from, double* to) {
    s.engine().run([&](Rank& rank) { ranks[s.place(rank)].multiply(rank, from, to); });
    s.gather(to, columns);
  };
  const bool ranks_reach = s.engine().is_device() && s.accord.count() == 1;  // the gather is by hosts
  if (!on_gpus || ranks_reach) return run(x, y);
  std::vector<double> from(std::size_t(s.words * columns)), to(from.size());
  copy_callers(from.data(), x, from.size() * sizeof(double));
  run(from.data(), to.data());
  copy_callers(y, to.data(), to.size() * sizeof(double));
}

double HMatrixProducts::time_product(int pairs, int columns) {
  Range range("sordino: time products");
  State& s = *state_;
  s.accord.enter("the timing of products with an H-matrix");
  s.accord.together([&] {
    s.require(columns);
    if (pairs < 1) bad_argument("products are timed by pairs, at least 1, not " + std::to_string(pairs));
  });
  s.agree_on(columns, "processes time products of different numbers of vectors: give the same to all of them");
  s.agree_on(pairs, "processes time different numbers of products: give the same to all of them");
  std::vector<Multiplier>& ranks = s.multipliers(columns);
  std::vector<double> seconds(ranks.size());
  s.engine().run([&](Rank& rank) { seconds[s.place(rank)] = ranks[s.place(rank)].seconds(rank, pairs); });
  return s.accord.most({*std::max_element(seconds.begin(), seconds.end())})[0];
}

int HMatrixProducts::most_columns() const { return state_->most_columns; }

std::vector<i64> HMatrixProducts::held_bytes() const {
  std::vector<i64> bytes;
  for (const Multiplier& m : state_->of_columns.at(1)) bytes.push_back(m.A->bytes());
  return bytes;
}

int HMatrixProducts::ranks() const { return state_->engine().size(); }

}  // namespace sordino
