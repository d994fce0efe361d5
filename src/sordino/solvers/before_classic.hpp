// Methods behind which the classic one of their family stands.
#pragma once
#include "sordino/solvers/method.hpp"

namespace sordino {

/// A method whose recurrences carry more than the classic one's, and lose more: where they lead no further, that one goes on
/// from x. It computes in vectors of the method's own, so that it costs setup and no memory.
class BeforeClassic : public Method {
 public:
  std::optional<Recovery::Kind> fall_back() override;
  void forget() override { take(own_, false); }
  std::string remark() const override;

 protected:
  /// Last in a constructor, whose recordings it keeps. `name`: its method's.
  template <class Classic>
  void then(const char* name, const Classic& classic, Recovery::Kind kind) {
    own_ = *this;
    classic_ = classic;
    kind_ = kind;
    remark_ = std::string("; ") + Classic::name + " went on where " + name + " did not get on";
  }

 private:
  void take(const Way& way, bool fallen);

  Way own_, classic_;
  Recovery::Kind kind_ = {};
  std::string remark_;
  bool fallen_ = false;
};

}  // namespace sordino
