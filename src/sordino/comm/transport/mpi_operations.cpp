#include "sordino/comm/transport/mpi_operations.hpp"

#include "sordino/comm/folding.hpp"

namespace sordino::mpi {
namespace {

MPI_Datatype whole_numbers(Scalar type, bool is_signed) {
  switch (type.bytes) {
    case 1: return is_signed ? MPI_INT8_T : MPI_UINT8_T;
    case 2: return is_signed ? MPI_INT16_T : MPI_UINT16_T;
    case 4: return is_signed ? MPI_INT32_T : MPI_UINT32_T;
    default: return is_signed ? MPI_INT64_T : MPI_UINT64_T;
  }
}

template <class T, Fold fold>
void fold_into(void* from, void* into, int* count, MPI_Datatype*) {
  combine<T>(fold, static_cast<std::byte*>(into), static_cast<const std::byte*>(from), std::size_t(*count));
}

template <class T, Fold fold>
MPI_Op ours() {
  static const MPI_Op created = [] {
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(fold_into<T, fold>, 1, &op);
    return op;
  }();
  return created;
}

template <class T>
MPI_Op of_reals(Fold fold) {
  switch (fold) {
    case Fold::product: return MPI_PROD;
    case Fold::min: return ours<T, Fold::min>();
    case Fold::max: return ours<T, Fold::max>();
    default: return MPI_SUM;
  }
}

MPI_Op of_whole_numbers(Fold fold) {
  switch (fold) {
    case Fold::product: return MPI_PROD;
    case Fold::min: return MPI_MIN;
    case Fold::max: return MPI_MAX;
    default: return MPI_SUM;
  }
}

}  // namespace

Folding folding(Fold fold, Scalar type) {
  bool orders = fold == Fold::min || fold == Fold::max;
  if (type.kind != 'f') return {whole_numbers(type, type.kind == 'i' && orders), of_whole_numbers(fold)};
  if (type.bytes == sizeof(float)) return {MPI_FLOAT, of_reals<float>(fold)};
  if (type.bytes == sizeof(double)) return {MPI_DOUBLE, of_reals<double>(fold)};
  return {MPI_LONG_DOUBLE, of_reals<long double>(fold)};
}

}  // namespace sordino::mpi
