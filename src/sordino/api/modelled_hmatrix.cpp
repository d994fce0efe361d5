#include "sordino/api/modelled_hmatrix.hpp"

#include "sordino/base/error.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "sordino/solvers/pipe1.hpp"

namespace sordino {
namespace {

constexpr int first_few = 4;    // in which a pipeline fills
constexpr int never = 1 << 30;  // iterations between looks at the best x

Problem problem_of(Rank& s, const hmatrix::HMatrixOperator& A) {
  const Vec b = s.vector("b", A.space()), best = s.vector("best x", A.space());
  return {.s = s,
          .A = A,
          .d = {},
          .b = b,
          .x = A.operand(s, "x"),
          .Ax = A.result(s, "A x"),
          .target = s.scalar("target", 0),
          .bound = s.scalar("bound", 0),
          .best = best,
          .best_rr = s.scalar("best (r,r)", 0),
          .check_every = never};
}

const MethodEntry& entry_of(const ModelledMethod& of) {
  const MethodEntry& named = method(of.name);
  if (of.at_once && of.name != gatherbicgstab::GatherBicgstab::name)
    bad_argument("solver " + of.name + " has no gathers that hide behind anything");
  if (!of.vectors) return of.at_once ? gatherbicgstab::pipe1() : named;
  if (of.name != bicgstab::Bicgstab::name) bad_argument("solver " + of.name + " has no way of its own with whole vectors");
  return whole_bicgstab(*of.vectors);
}

/// What a solve of so many iterations books.
Ledger booked(Rank& s, Method& method, int iterations) {
  const Ledger before = s.ledger;
  s.reset_names();
  s.replay(method.begin);
  s.replay(method.iterate, iterations);
  return difference(s.ledger, before);
}

}  // namespace

std::vector<Ledger> modelled_iterations(const hmatrix::HMatrix& matrix, const ModelledMethod& of, int iterations) {
  if (iterations < 1) bad_argument("iterations are at least 1, not " + std::to_string(iterations));
  const MethodEntry& entry = entry_of(of);
  if (of.group != 1 && !entry.replicated)
    bad_argument("solver " + of.name + " gathers no whole vectors, so groups of ranks have nothing to hand on");
  const Partition partition = hmatrix::balance(matrix, of.ranks);
  model::ModelEngine engine({.machine = of.machine, .ranks = of.ranks, .arithmetic = false});
  std::vector<Ledger> ledgers(std::size_t(of.ranks));
  engine.run([&](Rank& s) {
    using hmatrix::HMatrixOperator;
    const auto A = entry.replicated ? HMatrixOperator::gathered(s, matrix, partition, of.distribution, of.group)
                                    : std::make_unique<HMatrixOperator>(s, matrix, partition, of.distribution);
    const auto made = entry.make(problem_of(s, *A));
    if (of.fallen_back && !made->fall_back()) bad_argument("solver " + of.name + " has no other way to go over to");
    const Ledger few = booked(s, *made, first_few);
    ledgers[std::size_t(s.id())] = difference(booked(s, *made, first_few + iterations), few);
  });
  return ledgers;
}

}  // namespace sordino
