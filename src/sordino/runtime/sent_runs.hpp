// What goes to a neighbour, by pieces of rows that follow one another: a layer of a grid is one, of however many rows.
#pragma once
#include "sordino/runtime/exchange.hpp"

namespace sordino {

/// Calls f(rows, k) for each piece, in order: the k-th row sent to the peer is the first one of `rows`, which are local. Pieces
/// are as long as can be.
template <class F>
void for_sent_runs(const ExchangePeer& peer, F&& f) {
  if (peer.send_rows.empty()) {
    if (peer.send_count > 0) f(RowRange{peer.send_first, peer.send_first + peer.send_count}, i32(0));
    return;
  }
  for (i32 k = 0; k < peer.send_count;) {
    const i32 first = peer.send_rows[std::size_t(k)];
    i32 n = 1;
    while (k + n < peer.send_count && peer.send_rows[std::size_t(k + n)] == first + n) n++;
    f(RowRange{first, first + n}, k);
    k += n;
  }
}

}  // namespace sordino
