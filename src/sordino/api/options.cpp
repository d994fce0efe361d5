#include "sordino/api/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <type_traits>
#include <utility>

#include "sordino/linalg/extents.hpp"
#include "sordino/solvers/gmres.hpp"
#include "sordino/solvers/gram.hpp"
#include "sordino/solvers/registry.hpp"

namespace sordino {
namespace {

constexpr int most_devices = 4096;
constexpr int least_batch = 32, most_batch = 65536;

/// Other names of options; Python's are the same.
const std::vector<std::pair<std::string, std::string>> aliases{
    {"max_iterations", "maxiter"}, {"method", "solver"}, {"M", "precond"}};

/// From 0 to 1: twice the longest sequence of letters that is in both, relative to the letters of both.
double likeness(const std::string& a, const std::string& b) {
  std::vector<std::size_t> common(b.size() + 1);  // of what came of a so far, with the first letters of b
  for (char letter : a)
    for (std::size_t j = 0, before = 0; j < b.size(); j++)
      before = std::exchange(common[j + 1], letter == b[j] ? before + 1 : std::max(common[j], common[j + 1]));
  return 2 * double(common.back()) / double(a.size() + b.size());
}

/// Options with a range of their own, which says more than that they are not negative.
void require_ranges(const Options& o) {
  for (int degree : {o.reduce_degree, o.broadcast_degree})
    if (degree < 2 || degree > 4)
      bad_argument("reduce_degree and broadcast_degree are 2, 3 or 4, not " + std::to_string(degree));
  if (o.degree < 1 || o.degree > most_degree)
    bad_argument("degree must be from 1 to " + std::to_string(most_degree) + ", not " + std::to_string(o.degree));
  if (o.level_rows.value_or(0) < 0) bad_argument("level_rows must be auto, or 0 or more, not " + std::to_string(*o.level_rows));
  if (o.tile != "auto") parse_extents("tile", o.tile);
  if (!o.grid.empty()) parse_extents("grid", o.grid);
  if (o.boxes != "auto") parse_extents("boxes", o.boxes);
  if (o.s && (*o.s < 1 || *o.s > gram::most_s))
    bad_argument("s must be auto, or from 1 to " + std::to_string(gram::most_s) + ", not " + std::to_string(*o.s));
  if (o.batch < least_batch || o.batch > most_batch)
    bad_argument("batch must be from " + std::to_string(least_batch) + " to " + std::to_string(most_batch) + ", not " +
                 std::to_string(o.batch));
  if (o.restart < 1 || o.restart > gmres::most_m)
    bad_argument("restart must be from 1 to " + std::to_string(gmres::most_m) + ", not " + std::to_string(o.restart));
  if (!(o.omega > 0) || !std::isfinite(o.omega)) bad_argument("omega must be a finite number > 0");
  if (o.inner < 1 || o.inner > most_inner)
    bad_argument("inner must be from 1 to " + std::to_string(most_inner) + ", not " + std::to_string(o.inner));
  if (o.check_every < 1) bad_argument("check_every must be at least 1");
}

}  // namespace

std::string option_named(const std::string& name) {
  constexpr double alike = 0.7;
  for (auto& [alias, meant] : aliases)
    if (name == alias) return meant;
  std::string nearest, known;
  double best = 0;
  for (auto& o : option_table()) {
    if (o.name == name) return name;
    known += (known.empty() ? "" : ", ") + o.name;
    if (double like = likeness(name, o.name); like > best) best = like, nearest = o.name;
  }
  bad_argument("there is no option '" + name + "'" +
               (best >= alike ? ": did you mean '" + nearest + "'?" : "; there are " + known));
}

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
        } else if constexpr (std::is_same_v<T, std::optional<int>>) {
          o.type = "int or auto", o.default_text = value ? std::to_string(*value) : "auto";
        } else if constexpr (std::is_same_v<T, bool>) {
          o.type = "bool", o.default_text = value ? "true" : "false";
        } else {
          o.type = choices.empty() ? "str" : "choice", o.default_text = value;
        }
        table.push_back(o);
      });
  return table;
}

std::vector<int> parse_devices(const std::string& text) {
  const std::string refusal = "devices '" + text + "' is not a list such as 0-3 or 0,2";
  std::vector<int> devices;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    int first = -1, last = -1;
    char dash = 0, more = 0;
    std::istringstream p(part);
    if (!(p >> first)) bad_argument(refusal);
    last = first;
    if (p >> dash && (dash != '-' || !(p >> last) || p >> more)) bad_argument(refusal);
    if (first < 0 || last < first || last >= most_devices) bad_argument(refusal);
    for (int d = first; d <= last; d++) devices.push_back(d);
  }
  return devices;
}

int parse_group(const std::string& gather) {
  if (gather == "rank") return 1;
  if (gather == "node") return 0;
  int group = 0;
  const char* end = gather.data() + gather.size();
  if (auto [at, error] = std::from_chars(gather.data(), end, group); error != std::errc{} || at != end || group < 1)
    bad_argument("gather is rank, node, or how many ranks make a group, not '" + gather + "'");
  return group;
}

void validate(const Options& options) {
  Options o = options;
  require_ranges(o);
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
  parse_devices(o.devices);
  parse_group(o.gather);
}

}  // namespace sordino
