#include "sordino/base/recovery.hpp"

namespace sordino {

const char* name(Recovery::Kind kind) {
  switch (kind) {
    case Recovery::Kind::residual_replaced: return "residual replaced";
    case Recovery::Kind::smaller_s: return "smaller s";
    case Recovery::Kind::classic_cg: return "classic CG";
    case Recovery::Kind::classic_bicgstab: return "classic BiCGStab";
  }
  return "unknown";
}

}  // namespace sordino
