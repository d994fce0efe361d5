#include "sordino/solvers/before_cg.hpp"

namespace sordino {

void BeforeCg::then_cg(const Problem& problem, const char* name, const cg::Lent& vectors) {
  own_ = *this;
  cg_ = cg::Cg(problem, vectors);
  name_ = name;
}

std::optional<Recovery::Kind> BeforeCg::fall_back() {
  if (fallen_) return {};
  take(cg_, true);
  return Recovery::Kind::classic_cg;
}

std::string BeforeCg::remark() const { return fallen_ ? "; cg went on where " + name_ + " did not get on" : ""; }

void BeforeCg::take(const Way& way, bool fallen) {
  static_cast<Way&>(*this) = way;
  fallen_ = fallen;
}

}  // namespace sordino
