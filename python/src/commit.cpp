// The commit that was built, in a file of its own: a new one compiles nothing else.
#include "sordino_commit.hpp"

namespace sordino::python {

const char* commit() { return SORDINO_COMMIT; }

}  // namespace sordino::python
