// Which rows of a vector travel between ranks: halos, all-gathers and, later, triangular plans are all exchanges.
// An exchange knows no matrix. Storage of a vector with an exchange is [own rows | ghosts]; a replicated vector's ghosts
// lie inside, at their global places.
#pragma once
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino {

/// One neighbour of this rank. Shapes in rows.
struct ExchangePeer {
  int rank = -1;
  i32 recv_first = 0, recv_count = 0;  // where this neighbour's rows land in my storage
  i32 send_count = 0;                  // rows I send to it:
  std::vector<i32> send_rows;          //   these local rows, or, if empty, the contiguous rows from send_first
  i32 send_first = 0;
  i32 remote_first = 0;  // where they land in its storage
  int remote_index = 0;  // which of its peers I am

  i32 send_row(i32 k) const { return send_rows.empty() ? send_first + k : send_rows[k]; }
};

/// How a command's rows divide around an exchange.
struct Split {
  std::vector<RowRange> first;  // consumer: rows that need no ghost; producer: rows that others wait for
  std::vector<RowRange> rest;
  // Rows that compute what the command itself sends (Sent fields): they come first, and it is sent before anything is awaited.
  // They add nothing to the command's sums.
  std::vector<RowRange> ahead = {};
  double ahead_share = 0;  // of the command's time
};

/// Rows may travel by two exchanges, one behind the other (linalg/group_gather.hpp): what the first one's flags say of requests
/// to stop is handed on by those of the second one, and only then known to all.
enum class Hop : unsigned char { only, first, second };

struct Exchange {
  std::vector<ExchangePeer> peers;  // in increasing rank; a rank may stand there once for each piece that it trades
  i32 ghosts = 0;                   // rows of storage beyond the own ones
  bool everybody = false;           // the peers are all other ranks: what all of them agree on may travel with it
  Hop hop = Hop::only;
  Split producer;  // rows to send first
  Split consumer;  // default division for commands that read ghosts; an operator may bring its own

  i64 rows_sent() const {
    i64 n = 0;
    for (auto& p : peers) n += p.send_count;
    return n;
  }
};

}  // namespace sordino
