// Several numbers that are computed with beside each other, one of each column: a row of vectors that lie interleaved.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino {

template <class V, int C>
struct alignas(16) Several {
  V at[C] = {};

  SORDINO_HD friend Several operator+(const Several& a, const Several& b) {
    Several sum;
    for (int c = 0; c < C; c++) sum.at[c] = a.at[c] + b.at[c];
    return sum;
  }
  SORDINO_HD friend Several operator-(const Several& a, const Several& b) {
    Several difference;
    for (int c = 0; c < C; c++) difference.at[c] = a.at[c] - b.at[c];
    return difference;
  }
  SORDINO_HD friend Several operator*(V a, const Several& x) {
    Several product;
    for (int c = 0; c < C; c++) product.at[c] = a * x.at[c];
    return product;
  }
  SORDINO_HD friend Several operator*(const Several& a, const Several& b) {  // column by column
    Several product;
    for (int c = 0; c < C; c++) product.at[c] = a.at[c] * b.at[c];
    return product;
  }
};

}  // namespace sordino
