#include "sordino/api/hmatrix_products.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <new>
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

/// [words] zeros. Throws unsupported if the host has no room for them.
std::vector<double> room_for(i64 words) {
  try {
    return std::vector<double>(std::size_t(words));
  } catch (const std::bad_alloc&) {
    throw Error(Errc::unsupported, "products with an H-matrix need " + std::to_string(words * i64(sizeof(double))) +
                                       " bytes of the host's memory for a whole vector, and it has not as many: "
                                       "multiply by fewer vectors at once");
  }
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
  /// Words of so many columns that each process passes to a gather: as many as the longest has.
  i64 part(int columns) const;
  /// y [n][columns] of which each process has its rows: the others', by way of `all` [processes * part].
  void gather(double* y, int columns, std::vector<double> all);
  i64 begin(int process, int columns) const { return columns * begins[std::size_t(process)]; }
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

i64 HMatrixProducts::State::part(int columns) const {
  i64 longest = 0;
  for (int p = 0; p < accord.count(); p++) longest = std::max(longest, begin(p + 1, columns) - begin(p, columns));
  return longest;
}

void HMatrixProducts::State::gather(double* y, int columns, std::vector<double> all) {
  const i64 each = part(columns);
  const int me = accord.index();
  std::copy(y + begin(me, columns), y + begin(me + 1, columns), all.begin() + me * each);
  all = gathered(accord, std::move(all), each);
  for (int p = 0; p < accord.count(); p++)
    std::copy_n(all.begin() + p * each, begin(p + 1, columns) - begin(p, columns), y + begin(p, columns));
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
  const bool shared = s.accord.count() > 1;
  bool by_host = false;  // vectors of GPUs that ranks do not reach; a gather is by hosts
  std::vector<double> from, to, all;
  s.accord.enter("a product with an H-matrix");
  s.accord.together([&] {  // all that can fail in one process alone
    s.require(columns);
    by_host = s.callers.settle(x, y, nullptr) && (shared || !s.engine().is_device());
    if (shared) all = room_for(s.part(columns) * s.accord.count());
    if (!by_host) return;
    from = room_for(s.words * columns), to = room_for(s.words * columns);
    copy_callers(from.data(), x, from.size() * sizeof(double));
  });
  s.agree_on(columns, "processes multiply different numbers of vectors by an H-matrix: bring the same ones to all of them");
  std::vector<Multiplier>& ranks = s.multipliers(columns);
  const double* read = by_host ? from.data() : x;
  double* written = by_host ? to.data() : y;
  s.engine().run([&](Rank& rank) { ranks[s.place(rank)].multiply(rank, read, written); });
  if (shared) s.gather(written, columns, std::move(all));
  if (by_host) copy_callers(y, to.data(), to.size() * sizeof(double));
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
