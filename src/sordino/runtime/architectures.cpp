#include "sordino/runtime/architectures.hpp"

#include <sstream>

namespace sordino {

bool runs_on(const std::string& architectures, int major, int minor) {
  std::istringstream list(architectures);
  for (std::string item; std::getline(list, item, ';');) {
    int made_for = 0;
    std::string rest;
    std::istringstream words(item);
    if (!(words >> made_for)) return true;  // native
    words >> rest;
    int capability = 10 * major + minor;
    bool only_there = !rest.empty() && rest[0] == 'a';
    bool code = rest.find("virtual") == std::string::npos, ptx = rest.find("real") == std::string::npos;
    if (capability == made_for || (!only_there && capability > made_for && (ptx || (code && made_for / 10 == major))))
      return true;
  }
  return false;
}

}  // namespace sordino
