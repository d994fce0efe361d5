// A sum of outer products with as few terms as its accuracy needs, as a team of threads computes it: recompress() of
// recompression.hpp, with Gram and Schmidt's factorization, done twice, whose Q is there at once, instead of Householder's.
#pragma once
#include "sordino/hmatrix/leaf_space.hpp"

namespace sordino::hmatrix {

template <class Team, class V>
class TeamRecompression {
 public:
  /// Of the first `rank` terms.
  SORDINO_HD TeamRecompression(const Team& team, const LeafSpace<V>& space, i32 rank) : team_(team), s_(space), rank_(rank) {}

  /// Leaves the terms of the smallest singular values out, whose sum is at most `distance` away. Returns how many are left;
  /// u_k are orthogonal and as long as the singular values, which decrease, and v_k are orthonormal.
  SORDINO_HD i32 run(double distance) const {
    orthogonalize(s_.u, s_.height, s_.r_u);
    orthogonalize(s_.v, s_.width, s_.r_v);
    multiply_triangles();
    find_singular_vectors();
    const i32 left = order_terms(distance);
    combine(s_.u, s_.height, s_.core, left);
    combine(s_.v, s_.width, s_.r_v, left);
    return left;
  }

 private:
  static constexpr double rounding = 1e-15;
  static constexpr int most_sweeps = 40;

  SORDINO_HD V& at(V* small, i32 i, i32 j) const { return small[i64(j) * rank_ + i]; }

  /// q r = q before, r an upper triangle. A column that depends on those before it is zero.
  [[gnu::noinline]] SORDINO_HD void orthogonalize(V* q, i32 n, V* r) const {
    V* share = s_.row;  // [rank], which is not more than the width
    for (i32 j = 0; j < rank_; j++) {
      V* a = q + i64(j) * n;
      const double before = norm(team_, a, n);
      team_.each(rank_, [&](i32 l) { at(r, l, j) = V{}; });
      for (int pass = 0; pass < 2; pass++) {
        team_.share(j, [&](i32 l, const auto& some) {
          const V found = product(some, q + i64(l) * n, a, n);
          some.each(1, [&](i32) { share[l] = found, at(r, l, j) = at(r, l, j) + found; });
        });
        team_.each(n, [&](i32 i) {
          V sum{};
          for (i32 l = 0; l < j; l++) sum = sum + q[i64(l) * n + i] * share[l];
          a[i] = a[i] - sum;
        });
      }
      const double left = norm(team_, a, n);
      const bool is_new = left > rounding * before;
      team_.each(n, [&](i32 i) { a[i] = is_new ? a[i] * (1 / left) : V{}; });
      team_.each(1, [&](i32) { at(r, j, j) = V{is_new ? left : 0}; });
    }
  }

  /// core = r_u r_v^T
  SORDINO_HD void multiply_triangles() const {
    team_.each(rank_ * rank_, [&](i32 e) {
      const i32 i = e % rank_, j = e / rank_;
      V sum{};
      for (i32 k = i > j ? i : j; k < rank_; k++) sum = sum + at(s_.r_u, i, k) * at(s_.r_v, j, k);
      s_.core[e] = sum;
    });
  }

  /// Jacobi's one-sided way: core turns into W S, and r_v is Z of core = W S Z^T. A sweep has all pairs of columns, those that
  /// have none in common at the same time: of 2m players in a round the last stays, the others go round.
  SORDINO_HD void find_singular_vectors() const {
    team_.each(rank_ * rank_, [&](i32 e) { s_.r_v[e] = V{e % rank_ == e / rank_ ? 1.0 : 0.0}; });
    const i32 players = rank_ + rank_ % 2, pairs = players / 2;
    for (int sweep = 0; sweep < most_sweeps; sweep++) {
      team_.each(pairs, [&](i32 k) { s_.turned[k] = 0; });
      for (i32 round = 0; round < players - 1; round++)
        team_.share(pairs, [&](i32 k, const auto& some) {
          const i32 a = k == 0 ? players - 1 : (round + k) % (players - 1), b = (round + players - 1 - k) % (players - 1);
          const i32 p = a < b ? a : b, q = a < b ? b : a;
          if (q < rank_ && turn(some, p, q)) some.each(1, [&](i32) { s_.turned[k] = 1; });
        });
      if (team_.total(pairs, [&](i32 k) { return s_.turned[k]; }) == 0) return;
    }
  }
  /// Makes columns p and q of the core orthogonal; false: they are.
  template <class Some>
  SORDINO_HD bool turn(const Some& some, i32 p, i32 q) const {
    V *a = &at(s_.core, 0, p), *b = &at(s_.core, 0, q);
    const double pp = some.total(rank_, [&](i32 k) { return squared(a[k]); });
    const double qq = some.total(rank_, [&](i32 k) { return squared(b[k]); });
    const V inner = product(some, a, b, rank_);
    const double pq = magnitude(inner);
    if (!(pq > rounding * sqrt(pp) * sqrt(qq))) return false;
    const double zeta = (qq - pp) / (2 * pq);
    const double tangent = copysign(1.0, zeta) / (fabs(zeta) + hypot(1.0, zeta));
    const double cosine = 1 / hypot(1.0, tangent);
    const V sine = direction(inner) * (cosine * tangent);
    rotate(some, a, b, cosine, sine);
    rotate(some, &at(s_.r_v, 0, p), &at(s_.r_v, 0, q), cosine, conjugate(sine));
    return true;
  }
  template <class Some>
  SORDINO_HD void rotate(const Some& some, V* a, V* b, double cosine, V sine) const {
    some.each(rank_, [&](i32 k) {
      const V x = a[k], y = b[k];
      a[k] = x * cosine - conjugate(sine) * y;
      b[k] = sine * x + y * cosine;
    });
  }

  /// Terms by their singular values, and how many of them are needed.
  SORDINO_HD i32 order_terms(double distance) const {
    team_.share(rank_, [&](i32 k, const auto& some) {
      const double square = some.total(rank_, [&](i32 i) { return squared(at(s_.core, i, k)); });
      some.each(1, [&](i32) { s_.squares[k] = square; });
    });
    team_.each(rank_, [&](i32 k) {
      i32 larger = 0;
      for (i32 l = 0; l < rank_; l++) larger += s_.squares[l] > s_.squares[k] || (s_.squares[l] == s_.squares[k] && l < k);
      s_.order[larger] = k;
    });
    double left_out = 0;
    i32 left = rank_;
    for (; left > 0; left--) {
      left_out += s_.squares[s_.order[left - 1]];
      if (!(left_out <= distance * distance)) break;
    }
    return left;
  }

  /// Each row of q times the columns of `small` that are left.
  [[gnu::noinline]] SORDINO_HD void combine(V* q, i32 n, V* small, i32 left) const {
    team_.each(n, [&](i32 i) {
      V held[most_terms];
      for (i32 l = 0; l < rank_; l++) held[l] = q[i64(l) * n + i];
      for (i32 k = 0; k < left; k++) {
        const V* column = &at(small, 0, s_.order[k]);
        V sum{};
        for (i32 l = 0; l < rank_; l++) sum = sum + held[l] * column[l];
        q[i64(k) * n + i] = sum;
      }
    });
  }

  const Team& team_;
  const LeafSpace<V>& s_;
  i32 rank_;
};

}  // namespace sordino::hmatrix
