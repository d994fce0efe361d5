#include "sordino/api/options.hpp"

#include <cmath>
#include <cstdio>
#include <type_traits>

#include "sordino/solvers/registry.hpp"

namespace sordino {

std::vector<std::string> solver_choices() {
  std::vector<std::string> names{"auto"};
  for (auto& m : methods()) names.push_back(m.name);
  return names;
}

std::vector<OptionInfo> option_table() {
  std::vector<OptionInfo> table;
  Options defaults;
  defaults.fields(
      [&](const char* name, auto& value, const char* group, const char* help, const std::vector<std::string>& choices) {
        using T = std::decay_t<decltype(value)>;
        OptionInfo o{name, "", "", help, group, choices};
        char text[32];
        if constexpr (std::is_same_v<T, double>) {
          std::snprintf(text, sizeof text, "%g", value);
          o.type = "float", o.default_text = text;
        } else if constexpr (std::is_same_v<T, int>) {
          o.type = "int", o.default_text = std::to_string(value);
        } else if constexpr (std::is_same_v<T, bool>) {
          o.type = "bool", o.default_text = value ? "true" : "false";
        } else {
          o.type = choices.empty() ? "str" : "choice", o.default_text = value;
        }
        table.push_back(o);
      });
  return table;
}

void validate(const Options& options) {
  Options o = options;
  o.fields([](const std::string& name, auto& value, const char*, const char*, const std::vector<std::string>& choices) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, double>)
      if (!std::isfinite(value) || value < 0) bad_argument(name + " must be a finite number >= 0");
    if constexpr (std::is_same_v<T, int>)
      if (value < 0) bad_argument(name + " must be >= 0, not " + std::to_string(value));
    if constexpr (std::is_same_v<T, std::string>) {
      if (choices.empty()) return;
      std::string known;
      for (auto& c : choices) {
        if (c == value) return;
        known += (known.empty() ? "" : ", ") + c;
      }
      bad_argument("there is no " + name + " '" + value + "'; there are " + known);
    }
  });
  if (o.rtol == 0 && o.atol == 0) bad_argument("rtol and atol are both 0: no residual would be small enough");
  for (int degree : {o.reduce_degree, o.broadcast_degree})
    if (degree < 2 || degree > 4)
      bad_argument("reduce_degree and broadcast_degree are 2, 3 or 4, not " + std::to_string(degree));
  if (o.check_every < 1) bad_argument("check_every must be at least 1");
}

}  // namespace sordino
