#include "sordino/api/hmatrix_products.hpp"

#include <vector>

#include "sordino/api/callers.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"

namespace sordino {
namespace {

/// What one rank has.
struct Multiplier {
  std::unique_ptr<hmatrix::HMatrixOperator> A;
  Vec x, y;
  Recorded product;

  void multiply(Rank& rank, const double* from, double* to) {
    const i64 first = rank.space(A->space()).first_row;
    rank.reset_names();
    rank.write(x, from + first);
    rank.replay(product);
    rank.read(y, to + first);
  }
};

template <class V>
Multiplier multiplier(Rank& rank, const hmatrix::HMatrixOf<V>& matrix, const Partition& partition, hmatrix::Distribution how) {
  Multiplier m{.A = std::make_unique<hmatrix::HMatrixOperator>(rank, matrix, partition, how), .x = {}, .y = {}, .product = {}};
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
  std::vector<Multiplier> ranks = {};  // destroyed before the engine

  Engine& engine() { return *choice.engine; }
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
  s.ranks.resize(std::size_t(s.engine().size()));
  s.engine().run([&](Rank& rank) { s.ranks[std::size_t(rank.id())] = multiplier(rank, matrix, partition, how); });
}

template HMatrixProducts::HMatrixProducts(const hmatrix::HMatrix&, const Options&);
template HMatrixProducts::HMatrixProducts(const hmatrix::ComplexHMatrix&, const Options&);

HMatrixProducts::HMatrixProducts(HMatrixProducts&&) noexcept = default;
HMatrixProducts::~HMatrixProducts() = default;

void HMatrixProducts::Release::operator()(State* state) const {
  if (!state->choice.engine || !state->engine().has_lost_a_rank()) delete state;
}

void HMatrixProducts::multiply(const double* x, double* y) {
  Range range("sordino: multiply");
  State& s = *state_;
  auto run = [&](const double* from, double* to) {
    s.engine().run([&](Rank& rank) { s.ranks[std::size_t(rank.id())].multiply(rank, from, to); });
  };
  if (!s.callers.settle(x, y, nullptr) || s.engine().is_device()) return run(x, y);
  std::vector<double> from(std::size_t(s.words)), to(from.size());
  copy_callers(from.data(), x, from.size() * sizeof(double));
  run(from.data(), to.data());
  copy_callers(y, to.data(), to.size() * sizeof(double));
}

int HMatrixProducts::ranks() const { return state_->engine().size(); }

}  // namespace sordino
