#include "sordino/precond/local_rows.hpp"

#include <algorithm>

#include "sordino/base/parallel.hpp"
#include "sordino/linalg/csr_operator.hpp"

namespace sordino {
namespace {

constexpr int channel = 11;

i64 place(const std::vector<i64>& sorted, i64 number) {
  return std::lower_bound(sorted.begin(), sorted.end(), number) - sorted.begin();
}

std::vector<i64> ghosts_of(const Partition& processes, const CsrView& A, int process) {
  return CsrOperator::columns_outside_of(A.indices, A.nnz(), processes.first_row(process), processes.first_row(process + 1));
}

}  // namespace

Partition partition_of_parts(const std::vector<i64>& firsts) {
  std::vector<std::vector<i64>> blocks(firsts.size() - 1);
  for (std::size_t p = 0; p < blocks.size(); p++)
    if (firsts[p] < firsts[p + 1]) blocks[p].push_back(firsts[p]);
  return partition_at(firsts.back(), blocks);
}

LocalNumbers::LocalNumbers(Rank& rank, const Partition& processes, std::vector<i64> of_others)
    : first(processes.first_row(rank.id())),
      own(processes.rows(rank.id())),
      ghosts(std::move(of_others)),
      before(place(ghosts, first)),
      others(rank, processes, ghosts) {}

i32 LocalNumbers::here(i64 number) const {
  if (number >= first && number < first + own) return i32(number - shift());
  const i64 at = place(ghosts, number);
  return i32(at < before ? at : at + own);
}

i64 LocalNumbers::whole(i32 here) const {
  if (here >= before && here < before + own) return here + shift();
  return ghosts[std::size_t(here < before ? here : here - own)];
}

LocalRows::LocalRows(Rank& rank, const Partition& processes, const CsrView& A)
    : numbers(rank, processes, ghosts_of(processes, A, rank.id())),
      indptr(std::size_t(numbers.size()) + 1, A.nnz()),
      indices(std::size_t(A.nnz())) {
  std::fill_n(indptr.begin(), numbers.before, 0);
  std::copy_n(A.indptr, A.rows(), indptr.begin() + numbers.before);
  for_parts(0, A.nnz(), [&](i64 begin, i64 end) {
    for (i64 k = begin; k < end; k++) indices[std::size_t(k)] = numbers.here(A.indices[k]);
  });
}

CsrView LocalRows::own_rows(const double* values) const {
  CsrView A = view(values);
  A.indptr += numbers.before;
  A.first_row = numbers.before;
  A.held = numbers.own;
  return A;
}

Aggregates SharedAggregates::operator()(Aggregates found) {
  const i64 mine = found.cuts.back(), before_rows = rows_.before;
  firsts_ = {0};
  for (const auto& count : Communicator(rank_, channel).all_gather(std::vector<i64>{mine}))
    firsts_.push_back(firsts_.back() + count[0]);
  const i64 first = firsts_[std::size_t(rank_.id())];
  std::vector<i32> numbers(found.of.begin() + before_rows, found.of.begin() + before_rows + rows_.own);
  for (i32& number : numbers)
    if (number != aggregates::outside) number += i32(first);
  numbers = rows_.with_others(rank_, numbers);
  ghosts_.clear();
  for (i32 number : numbers)
    if (number >= 0 && (number < first || number >= first + mine)) ghosts_.push_back(number);
  std::sort(ghosts_.begin(), ghosts_.end());
  ghosts_.erase(std::unique(ghosts_.begin(), ghosts_.end()), ghosts_.end());
  const i64 before = place(ghosts_, first);
  for (i32& number : numbers) {
    if (number == aggregates::outside) continue;
    const bool is_own = number >= first && number < first + mine;
    const i64 at = is_own ? 0 : place(ghosts_, number);
    number = i32(is_own ? number - first + before : at < before ? at : at + mine);
  }
  for (i64& cut : found.cuts) cut += before;
  return {std::move(numbers), std::move(found.cuts), i64(ghosts_.size()) - before};
}

Partition SharedAggregates::processes() const { return partition_of_parts(firsts_); }

}  // namespace sordino
