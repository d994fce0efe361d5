#include "sordino/solvers/before_classic.hpp"

namespace sordino {

std::optional<Recovery::Kind> BeforeClassic::fall_back() {
  if (fallen_) return {};
  take(classic_, true);
  return kind_;
}

std::string BeforeClassic::remark() const { return fallen_ ? remark_ : ""; }

void BeforeClassic::take(const Way& way, bool fallen) {
  static_cast<Way&>(*this) = way;
  fallen_ = fallen;
}

}  // namespace sordino
