// What an installed Sordino says of itself.
#include <sordino/config.hpp>

#include <cstdio>

int main() {
  std::printf("Sordino %s, CUDA %s, MPI %s\n", SORDINO_VERSION, SORDINO_WITH_CUDA ? "yes" : "no",
              SORDINO_WITH_MPI ? "yes" : "no");
}
