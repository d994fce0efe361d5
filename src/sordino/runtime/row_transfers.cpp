// What a rank allows while rows of its vectors are sent or received outside of recordings.
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {
namespace {

bool meet(const OwnRows& a, const OwnRows& b) {
  return a.v.id == b.v.id && a.first < b.first + b.count && b.first < a.first + a.count;
}

std::string said(const OwnRows& rows) {
  return std::to_string(rows.count) + " rows from row " + std::to_string(rows.first) + " of ";
}

}  // namespace

RowPort& Engine::row_port() {
  throw Error(Errc::unsupported, std::string("engine ") + name() + " sends rows in recordings only");
}

u64 Rank::begin_transfer(const RowTransfer& transfer) {
  const OwnRows& rows = transfer.rows;
  const std::string what = transfer.receives ? "rows are received" : "rows are sent";
  check_idle(what.c_str());
  if (is_inside_replay()) bad_argument(what + " by a host task, which has the vectors that it says it uses");
  if (recording_) bad_argument(what + " while commands are recorded: do so before or after the replay");
  if (rows.v.id < 0 || rows.v.id >= int(vectors_.size())) bad_argument(what + " of a vector that this rank does not have");
  const VectorInfo& info = vectors_[std::size_t(rows.v.id)];
  const std::string name = "'" + info.name + "'";
  const i32 there = spaces_[std::size_t(info.space)].rows;
  if (rows.first < 0 || rows.count < 0 || rows.first > there - rows.count)
    bad_argument(what + ": " + said(rows) + name + ", which has " + std::to_string(there));
  if (info.permission == (transfer.receives ? Permission::read_only : Permission::write_only))
    bad_argument(name + (transfer.receives ? " may only be read, and receives rows" : " may only be written, and sends rows"));
  require_not_copied(rows.v, (what + " of a vector").c_str());
  for (auto& [number, other] : transfers_)
    if ((transfer.receives || other.receives) && meet(rows, other.rows))
      bad_argument(what + ": " + said(rows) + name + ", while " + said(other.rows) + "it are still " +
                   (other.receives ? "received" : "sent"));
  transfers_.emplace(++transfers_begun_, transfer);
  return transfers_begun_;
}

}  // namespace sordino
