// sordino._core: incomplete factorisations without fill.
#include "sordino/trsv/incomplete.hpp"

#include <complex>

#include "convert.hpp"

namespace sordino::python {
namespace {

using trsv::Number;

/// The factors' values, in the order of the matrix's.
template <class V, class Factorise>
std::vector<V> factorised(const trsv::SparseRows& A, const V* values, const Factorise& factorise) {
  std::vector<V> found(values, values + A.begin[A.n]);
  nb::gil_scoped_release release;
  factorise(A, found.data());
  return found;
}

nb::object incomplete(Array<i64> begin, Array<i32> columns,
                      nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> values, bool cholesky) {
  if (begin.size() < 2 || begin.data()[begin.size() - 1] != i64(columns.size()) || columns.size() != values.size())
    bad_argument("the arrays of a matrix do not belong together");
  const trsv::SparseRows A{i64(begin.size()) - 1, begin.data(), columns.data()};
  if (values.dtype() == nb::dtype<double>())
    return owned_array(factorised(A, static_cast<const double*>(values.data()),
                                  [&](const auto& rows, double* v) { cholesky ? trsv::ic0(rows, v) : trsv::ilu0(rows, v); }));
  if (values.dtype() != nb::dtype<std::complex<double>>()) bad_argument("the matrix holds neither float64 nor complex128");
  const auto* from = static_cast<const std::complex<double>*>(values.data());
  std::vector<Number> numbers;
  for (std::size_t k = 0; k < values.size(); k++) numbers.push_back({from[k].real(), from[k].imag()});
  const std::vector<Number> found =
      factorised(A, numbers.data(), [&](const auto& rows, Number* v) { cholesky ? trsv::ic0(rows, v) : trsv::ilu0(rows, v); });
  std::vector<std::complex<double>> handed;
  for (const Number& a : found) handed.emplace_back(a.re, a.im);
  return owned_array(std::move(handed));
}

}  // namespace

void define_incomplete(nb::module_& m) {
  using namespace nb::literals;
  m.def("incomplete_factors", &incomplete, "begin"_a, "columns"_a, "values"_a, "cholesky"_a);
}

}  // namespace sordino::python
