#include "sordino/linalg/nullspace.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/linalg/epilogue.hpp"
#include "sordino/linalg/word_basis.hpp"

namespace sordino {
namespace {

constexpr double independent = 1e-8;  // what must be left of a column of norm 1 when the others are taken out
constexpr int together = 4;           // columns that share a reduction, as Deflate takes them

double product(const double* a, const double* b, i64 n) {
  double sum = 0;
  for (i64 i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

void scale(double* v, i64 n, double factor) {
  for (i64 i = 0; i < n; i++) v[i] *= factor;
}

double largest(const double* v, i64 n) {
  double most = 0;
  for (i64 i = 0; i < n; i++) most = std::max(most, std::abs(v[i]));
  return most;
}

}  // namespace

void orthonormalise(Basis& basis, const char* what) { orthonormalise(basis, what, 1); }

// Gram-Schmidt, twice: after the second round what rounding left of the first is gone, too.
void orthonormalise(Basis& basis, const char* what, int words, const OfAll& of_all) {
  i64 n = basis.rows;
  auto refuse = [&](int k, const char* why) {
    bad_argument(std::string(what) + ": vector " + std::to_string(k / words) + why);
  };
  for (int k = 0; k < basis.count; k++) {
    double* v = basis.column(k);
    double size = of_all.most(largest(v, n));
    if (size == 0) refuse(k, " (counted from 0) is zero");
    scale(v, n, 1 / size);  // squares neither vanish nor overflow
    scale(v, n, 1 / std::sqrt(of_all.sum(product(v, v, n))));
    for (int round = 0; round < 2; round++) {
      for (int j = 0; j < k; j++) {
        const double* u = basis.column(j);
        double c = of_all.sum(product(u, v, n));
        for (i64 i = 0; i < n; i++) v[i] -= c * u[i];
      }
      double left = std::sqrt(of_all.sum(product(v, v, n)));
      if (left < independent) refuse(k, " (counted from 0) depends on those before it");
      scale(v, n, 1 / left);
    }
  }
}

Projector::Projector(Rank& rank, int space, const Basis& basis, const char* name) : s_(rank) {
  for (int k = 0; k < basis.count; k++) {
    std::string number = std::string(name) + " " + std::to_string(k);
    columns_.push_back(rank.vector(number, space));
    parts_.push_back(rank.scalar("(" + number + ", v)", 0));
    rank.write(columns_.back(), basis.column(k) + (rank.space(space).first_row - basis.first_row));
  }
}

void Projector::record(Vec v) const {
  for (std::size_t first = 0; first < columns_.size(); first += together) {
    auto from = [&](std::size_t k) { return first + k < columns_.size() ? columns_[first + k] : Vec{}; };
    auto part = [&](std::size_t k) { return parts_[std::min(first + k, parts_.size() - 1)]; };
    auto to = [&](std::size_t k) { return dot(from(k), v) >> part(k); };
    switch (columns_.size() - first) {
      case 1: s_.dots(to(0)); break;
      case 2: s_.dots(to(0), to(1)); break;
      case 3: s_.dots(to(0), to(1), to(2)); break;
      default: s_.dots(to(0), to(1), to(2), to(3));
    }
    s_.run(Deflate{.c0 = finish(part(0)),
                   .c1 = part(1),
                   .c2 = part(2),
                   .c3 = part(3),
                   .n0 = from(0),
                   .n1 = from(1),
                   .n2 = from(2),
                   .n3 = from(3),
                   .v = v});
  }
}

double Projector::taken() const {
  double sum = 0;
  for (Scal part : parts_) sum += s_.get(part) * s_.get(part);
  return std::sqrt(sum);
}

void DeflatedOperator::apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue) const {
  M_.apply(rank, r, z);
  without_.record(z);
  record_dots(rank, epilogue);
}

}  // namespace sordino
