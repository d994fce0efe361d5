// A matrix with its rows and columns in another order, and vectors there and back.
#pragma once
#include "unit/linalg/matrices.hpp"

namespace matrices {

/// P A P^T: row r of the result is row places[r] of A.
inline CsrMatrix reordered(const CsrMatrix& A, const std::vector<i64>& places) {
  Rows from = rows(A), to(from.size());
  std::vector<i32> number(from.size());
  for (std::size_t r = 0; r < places.size(); r++) number[std::size_t(places[r])] = i32(r);
  for (std::size_t r = 0; r < places.size(); r++)
    for (auto& [column, value] : from[std::size_t(places[r])]) to[r][number[std::size_t(column)]] = value;
  return csr(to);
}

inline std::vector<double> into(const std::vector<i64>& places, const std::vector<double>& x) {
  std::vector<double> moved;
  for (i64 place : places) moved.push_back(x[std::size_t(place)]);
  return moved;
}

inline std::vector<double> back(const std::vector<i64>& places, const std::vector<double>& x) {
  std::vector<double> moved(x.size());
  for (std::size_t r = 0; r < places.size(); r++) moved[std::size_t(places[r])] = x[r];
  return moved;
}

}  // namespace matrices
