#include "sordino/comm/accord.hpp"

#include <algorithm>
#include <string>

namespace sordino {
namespace {

constexpr std::size_t longest = 512;  // bytes of a sentence that others are told

}  // namespace

std::vector<double> Accord::most(std::vector<double> values) {
  if (!processes_) return values;
  auto kept = std::make_unique<std::vector<double>>(std::move(values));
  try {
    processes_->most(*kept);
  } catch (...) {
    (void)kept.release();  // the library may still write there
    throw;
  }
  return std::move(*kept);
}

// Numbers are all that there is to be exchanged before an engine: a sentence goes as those of its bytes.
void Accord::settle(const std::optional<Error>& error) {
  if (!processes_) {
    if (error) throw *error;
    return;
  }
  int first = count() - int(most({error ? double(count() - index()) : 0.0})[0]);
  if (first == count()) return;
  std::vector<double> word(longest + 1);
  if (first == index()) {
    const std::string sentence = error->what();
    word[0] = double(error->code());
    for (std::size_t k = 0; k < std::min(longest, sentence.size()); k++)
      word[k + 1] = double(static_cast<unsigned char>(sentence[k]));
  }
  word = most(std::move(word));
  std::string sentence = "process " + std::to_string(first) + ": ";
  for (std::size_t k = 1; k <= longest && word[k] != 0; k++) sentence += char(static_cast<unsigned char>(word[k]));
  throw Error(Errc(int(word[0])), sentence);
}

}  // namespace sordino
