// Methods behind which classic conjugate gradients stand.
#pragma once
#include "sordino/solvers/cg.hpp"

namespace sordino {

/// A method whose recurrences carry more than classic CG's, and lose more: where they lead no further, cg goes on from x. It
/// computes in vectors of the method's own, so that it costs setup and no memory.
class BeforeCg : public Method {
 public:
  std::optional<Recovery::Kind> fall_back() override;
  void forget() override { take(own_, false); }
  std::string remark() const override;

 protected:
  /// Last in a constructor, whose recordings it keeps.
  void then_cg(const Problem& problem, const char* name, const cg::Lent& vectors);

 private:
  void take(const Way& way, bool fallen);

  Way own_, cg_;
  std::string name_;
  bool fallen_ = false;
};

}  // namespace sordino
