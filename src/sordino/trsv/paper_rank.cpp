#include "sordino/trsv/paper_rank.hpp"

#include <algorithm>

namespace sordino::trsv::paper {
namespace {

template <class T>
void add_atomically(T& to, T value) {
  std::atomic_ref<T>(to).fetch_add(value, std::memory_order_relaxed);
}
void add_atomically(Number& to, Number value) {
  add_atomically(to.re, value.re);
  add_atomically(to.im, value.im);
}

auto counters(std::size_t count) { return std::make_unique<std::atomic<i32>[]>(count); }

}  // namespace

template <class V>
Rank<V>::Rank(const Factor<V>& factor, const Layout& layout, i32 rank)
    : factor_(factor),
      pattern_(factor.pattern()),
      layout_(layout),
      part_(layout.parts[std::size_t(rank)]),
      rank_(rank),
      x_(std::size_t(pattern_.n())),
      sums_(x_.size()),
      slots_(2 * x_.size()),
      fmod_(counters(std::size_t(pattern_.count()))),
      flag_x_(counters(std::size_t(pattern_.count()))),
      flag_sum_(counters(2 * std::size_t(pattern_.count()))) {
  reset();
}

template <class V>
void Rank<V>::reset() {
  std::fill(x_.begin(), x_.end(), unknown<V>());
  std::fill(slots_.begin(), slots_.end(), unknown<V>());
  for (i32 I = 0; I < pattern_.count(); I++) {
    const std::size_t i = std::size_t(I);
    const bool has_sum = owns(I) || part_.fmod[i] > 0;
    std::fill_n(sums_.begin() + first(I), pattern_.width(I), has_sum ? V{} : unknown<V>());
    fmod_[i].store(part_.fmod[i], std::memory_order_relaxed);
    for (auto* flag : {&flag_x_[i], &flag_sum_[2 * i], &flag_sum_[2 * i + 1]}) flag->store(0, std::memory_order_relaxed);
  }
}

template <class V>
void Rank<V>::begin(i32 K, const V* b, const Post<V>& post) {
  if (owns(K)) {                                   // l.10, 11: may_begin()
    for (i32 k = 0; k < pattern_.width(K); k++) {  // l.12, 004-E2: b - lsum
      const std::size_t at = std::size_t(first(K) + k);
      x_[at] = b[factor_.order()[at]] - sums_[at];
    }
    substitute(K);  // l.13, 004-E3: into ready_x, too
  }  // l.24 belongs here (004-E3)
  for (i32 child : layout_.broadcasts.children(K, rank_))  // l.16
    if (child >= 0) post({.to = child, .index = K, .data = x(K), .count = pattern_.width(K)});
}

template <class V>
void Rank<V>::substitute(i32 K) {
  const i32 w = pattern_.width(K);
  const V* D = factor_.values(pattern_.begin[std::size_t(K)]);
  V* x = x_.data() + first(K);
  for (i32 j = 0; j < w; j++, D += w) {
    if (!factor_.is_unit()) x[j] = x[j] * reciprocal(D[j]);
    for (i32 i = j + 1; i < w; i++) x[i] = x[i] - D[i] * x[j];
  }
}

template <class V>
void Rank<V>::multiply(i32 K, i64 e, std::vector<V>& product, const Post<V>& post) {
  const i32 I = pattern_.row[std::size_t(e)], height = pattern_.height[std::size_t(e)];
  product.assign(std::size_t(height), V{});
  const V* L = factor_.values(e);
  for (i32 j = 0; j < pattern_.width(K); j++, L += height)
    for (i32 i = 0; i < height; i++) product[std::size_t(i)] = product[std::size_t(i)] + L[i] * x(K)[j];
  const i32* rows = pattern_.rows.data() + pattern_.row_begin[std::size_t(e)];
  for (i32 i = 0; i < height; i++)  // l.18, 004-E4: atomic
    add_atomically(sums_[std::size_t(first(I) + rows[i])], product[std::size_t(i)]);
  count_down(I, post);  // l.19 - 22
}

/// 004-E4: the value that the atomic returns decides, so that one caller sends; it has seen all that others have added.
template <class V>
void Rank<V>::count_down(i32 I, const Post<V>& post) {
  if (fmod_[std::size_t(I)].fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const i32 place = layout_.reductions.place(I, rank_);
  if (place == 0) return;  // 004-E5: the root has no parent
  post({.is_sum = true,    // l.21, 49, 004-E5: lsum, to the child's slot
        .to = layout_.reductions.at(I, (place - 1) / 2),
        .index = 2 * I + (place - 1) % 2,
        .data = sums_.data() + first(I),
        .count = pattern_.width(I)});
}

template <class V>
void Rank<V>::deliver(const Message<V>& m) {
  const i64 n = pattern_.n();
  V* to = m.is_sum ? slots_.data() + (m.index % 2) * n + first(m.index / 2) : x_.data() + first(m.index);
  std::copy_n(m.data, m.count, to);
  (m.is_sum ? flag_sum_ : flag_x_)[std::size_t(m.index)].store(1, std::memory_order_release);
}

template <class V>
void Rank<V>::add_slot(i32 slot, i32 I) {
  const V* from = slots_.data() + (slot % 2) * pattern_.n() + first(slot / 2);
  for (i32 k = 0; k < pattern_.width(I); k++) add_atomically(sums_[std::size_t(first(I) + k)], from[k]);
}

template <class V>
void Rank<V>::receive_sum(i32 slot, const Post<V>& post) {
  const i32 I = slot / 2;  // 004-E8
  add_slot(slot, I);       // l.38 - 46, 004-E6, E7: what has come, and no other
  count_down(I, post);     // l.48 - 50
}

template class Rank<float>;
template class Rank<double>;
template class Rank<Number>;

}  // namespace sordino::trsv::paper
