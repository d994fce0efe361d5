// Right-hand sides that tell what inverting the blocks of a triangle has cost.
#pragma once
#include <vector>

#include "sordino/trsv/residual.hpp"

namespace sordino::trsv {

/// [n][trial_columns]: of T = L, L^T or L^H two columns T x that are aimed, T * 1, where inverting an ill-conditioned block
/// costs most if entries are alike, and random numbers from -1 to 1, the same in every run.
///
/// A row k whose pivot is small beside an entry of its own leaves in x_k roundings of the inverse that are so many times larger
/// than those of x. They are seen in a row i with an entry T_ik, unless larger entries hide it, as those of T * 1 may. So x is
/// 1, and less where row i has larger entries than T_ik: |T_im x_m| <= |T_ik| for all m. Two rows k are tried, the ones with
/// the largest
///
///   max_{m != k} |T_km| / |T_kk|  *  sqrt(max_i |T_ik| / max_m |T_im|),
///
/// where i is the row of the second maximum, and the root keeps those that are hidden before those that T * 1 sees. Columns of
/// T themselves, whose x has a single 1, would not do: rows in which all is zero have errors of 1 there, however good a
/// triangle is. Where no entry stands beside the diagonal, aimed columns are random, too. Cost: four passes over the entries,
/// by so many threads (0: as many as there are cores; one for some of them where the pattern is not sorted), which find the
/// same bits; 96 B a row.
template <class V>
std::vector<V> trial_of(const TriangleView<V>& L, How how, int threads = 1);

}  // namespace sordino::trsv
