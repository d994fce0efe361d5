#include "sordino/lattice/faces.hpp"

#include <algorithm>

namespace sordino::lattice {
namespace {

/// Faces that go to one neighbour, `sent` and behind it, and those that come from it.
struct Meeting {
  int rank;
  int sent, received, faces;
};

/// In increasing rank.
std::vector<Meeting> meetings(const Box& box) {
  std::vector<Meeting> all;
  for (int mu = 0; mu < 4; mu++) {
    int behind = 2 * mu, ahead = 2 * mu + 1;
    if (box.grid()[mu] == 2) all.push_back({box.neighbour(mu, 1), behind, behind, 2});
    if (box.grid()[mu] > 2) {
      all.push_back({box.neighbour(mu, -1), behind, ahead, 1});
      all.push_back({box.neighbour(mu, 1), ahead, behind, 1});
    }
  }
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
  return all;
}

int place_in(const std::vector<Meeting>& list, int rank) {
  return int(std::find_if(list.begin(), list.end(), [&](auto& m) { return m.rank == rank; }) - list.begin());
}

}  // namespace

CutBox cut_box(const Box& box, int parities) {
  CutBox c;
  c.sites = box.sites();
  c.parities = parities;
  for (int mu = 0; mu < 4; mu++) {
    c.cut[mu] = box.is_cut(mu);
    c.face[mu] = box.face(mu);
    for (int face : {2 * mu, 2 * mu + 1}) {
      c.first[face] = c.face_sites;
      if (c.cut[mu]) c.face_sites += parities * c.face[mu];
    }
  }
  return c;
}

Exchange face_exchange(const Box& box, const CutBox& cut, i32 words) {
  Exchange x;
  i32 own = cut.face_sites * words;
  x.ghosts = own;
  for (auto& m : meetings(box)) {
    ExchangePeer p;
    p.rank = m.rank;
    p.send_first = cut.first[m.sent] * words;
    p.recv_first = own + cut.first[m.received] * words;
    p.remote_first = own + p.send_first;  // a face arrives where it left: all boxes are alike
    p.send_count = p.recv_count = m.faces * cut.parities * cut.face[m.sent / 2] * words;
    p.remote_index = place_in(meetings(Box(box.lattice(), box.grid(), m.rank)), box.rank());
    x.peers.push_back(std::move(p));
  }
  return x;
}

}  // namespace sordino::lattice
