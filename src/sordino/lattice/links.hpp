// The gauge field of a rank's box, stored as an operator's array.
#pragma once
#include <variant>

#include "sordino/lattice/gauge.hpp"
#include "sordino/lattice/link_view.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino::lattice {

enum class Precision { single_precision, double_precision };

/// Owns the links of a box on a rank. Moves no data between ranks.
class LinkField {
 public:
  /// `reals`: 18 or 12 a link. Cost: every link of the box is computed once, on this rank's thread.
  LinkField(Rank& rank, const Box& box, const Links& links, Precision precision, int reals);
  ~LinkField();
  LinkField(const LinkField&) = delete;

  using View = std::variant<LinkView<double, 18>, LinkView<double, 12>, LinkView<float, 18>, LinkView<float, 12>>;
  const View& view() const { return view_; }

 private:
  template <class T, int reals>
  void store(const Box& box, const Links& links);

  Rank& rank_;
  View view_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sordino::lattice
