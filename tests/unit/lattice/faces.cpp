// What ranks send each other: both sides agree, and every half spinor that is awaited is sent once.
#include "sordino/lattice/faces.hpp"

#include "check.hpp"
#include "fields.hpp"

using namespace sordino;
using namespace sordino::lattice;

namespace {

const Lattice lattice{{8, 4, 12, 8}};
const Coords grids[] = {{1, 1, 1, 1}, {1, 1, 1, 2}, {1, 1, 1, 4}, {2, 2, 1, 1}, {4, 1, 3, 2}, {2, 2, 3, 4}, {2, 2, 6, 1}};

int ranks_of(const Coords& grid) { return grid[0] * grid[1] * grid[2] * grid[3]; }

std::vector<Exchange> exchanges(const Coords& grid, int parities, i32 words) {
  std::vector<Exchange> all;
  for (int rank = 0; rank < ranks_of(grid); rank++) {
    Box box(lattice, grid, rank);
    all.push_back(face_exchange(box, cut_box(box, parities), words));
  }
  return all;
}

}  // namespace

TEST("what a rank sends is what its neighbour expects, where it expects it") {
  for (auto& grid : grids)
    for (int parities : {1, 2}) {
      NOTE(to_string(grid), ", ", parities, " parities");
      auto all = exchanges(grid, parities, 12);
      for (int rank = 0; rank < ranks_of(grid); rank++)
        for (std::size_t k = 0; k < all[std::size_t(rank)].peers.size(); k++) {
          auto& p = all[std::size_t(rank)].peers[k];
          if (k > 0) CHECK(p.rank > all[std::size_t(rank)].peers[k - 1].rank);
          REQUIRE(p.remote_index < int(all[std::size_t(p.rank)].peers.size()));
          auto& q = all[std::size_t(p.rank)].peers[std::size_t(p.remote_index)];
          CHECK(q.rank == rank);
          CHECK(q.remote_index == int(k));
          CHECK(q.recv_first == p.remote_first);
          CHECK(q.recv_count == p.send_count);
        }
    }
}

TEST("all faces are sent, and all ghosts received, once") {
  for (auto& grid : grids) {
    NOTE(to_string(grid));
    for (auto& x : exchanges(grid, 2, 6)) {
      i32 own = x.ghosts;
      std::vector<int> sent(static_cast<std::size_t>(own)), received = sent;
      for (auto& p : x.peers)
        for (i32 k = 0; k < p.send_count; k++) {
          sent[std::size_t(p.send_row(k))]++;
          received[std::size_t(p.recv_first - own + k)]++;
        }
      CHECK(sent == std::vector<int>(sent.size(), 1));
      CHECK(received == sent);
    }
  }
}
