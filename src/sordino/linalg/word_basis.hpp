// Nullspaces of complex matrices by words. P = I - V V^H on n complex numbers is I - N N^T on their 2 n words, where N has a
// column for each v of V and one for i v: (v, x) is the real part of v^H x, and (i v, x) its imaginary part. So what projects
// real vectors projects complex ones, with the conjugate on the right side.
#pragma once
#include <functional>

#include "sordino/linalg/nullspace.hpp"

namespace sordino {

/// v and i v by words, one behind the other, for each column v of a basis that is here in full: real vectors, of n rows, or
/// complex ones, of 2 n words. Memory: 4 n words a vector.
Basis word_basis(const Basis& given, i64 n);

/// What processes that hold consecutive rows of vectors make of a number that each of them has, the same in all.
struct OfAll {
  std::function<double(double)> sum = [](double mine) { return mine; };
  std::function<double(double)> most = [](double mine) { return mine; };
};

/// orthonormalise() of a basis of which `words` consecutive columns belong to one vector of the caller's, by whose number a
/// refusal names it, and others may hold other rows: k (k + 3) sums, each after the other.
void orthonormalise(Basis& basis, const char* what, int words, const OfAll& of_all = {});

}  // namespace sordino
