// Rows of vectors between two ranks, outside of recordings. The sender's letter says where they are, or brings them. A
// receiver that copies them itself answers with the mark behind its copy.
#include <cstring>

#include "sordino/comm/communicator.hpp"
#include "sordino/runtime/row_port.hpp"

namespace sordino {
namespace {

struct RowsLetter {
  i64 count = 0;
  const double* words = nullptr;  // null: they follow
  RowMark complete = nullptr;     // the sender's
};

template <class T>
Bytes bytes_with(const T& first, std::size_t more = 0) {
  Bytes bytes(sizeof first + more);
  std::memcpy(bytes.data(), &first, sizeof first);
  return bytes;
}

template <class T>
T first_of(const Bytes& bytes) {
  T first;
  std::memcpy(&first, bytes.data(), sizeof first);
  return first;
}

double* behind_letter(Bytes& bytes) { return reinterpret_cast<double*>(bytes.data() + sizeof(RowsLetter)); }

bool is_here(const Parcel& parcel) { return parcel.here.load(std::memory_order_acquire); }

/// One end of a transfer.
struct End {
  Rank& rank;
  int other, channel;
  OwnRows rows;
  u64 transfer;
  RowsOf where{rank.vector_map()[std::size_t(rows.v.id)], rows.first, rows.count};
  RowPort& port = rank.engine().row_port();
  Desk& desk = Desk::of(rank);

  bool reached() const { return port.reaches(rank.id(), other); }
  std::string place() const {
    return "'" + rank.vectors()[std::size_t(rows.v.id)].name + "' (channel " + std::to_string(channel) + ")";
  }
  std::string size() const { return std::to_string(rows.count) + " rows"; }
  void post(int tag, Bytes data) const { rank.engine().post(rank, other, tag, std::move(data)); }
  void finish() const { rank.end_transfer(transfer); }
};

// Where the receiver copies: until then the rows belong to it, too.
Pending<void> offer(const End& end) {
  RowMark complete = end.port.mark(end.rank, 1);
  end.post(Desk::tag_of_rows(end.channel),
           bytes_with(RowsLetter{end.rows.count, end.port.address(end.rank, end.where), complete}));
  auto answer = end.desk.expect(end.other, Desk::tag_of_answers(end.channel));
  auto what = [end] { return "rank " + std::to_string(end.other) + " to receive " + end.size() + " of " + end.place(); };
  return Pending<void>(
      [=] {
        end.desk.wait(*answer, what);
        RowMark copied = first_of<RowMark>(answer->data);
        end.port.wait(end.rank, copied, what);
        for (RowMark mark : {complete, copied}) end.port.drop(mark);
        end.finish();
      },
      [=] {
        end.desk.look();
        return is_here(*answer) && end.port.is_passed(first_of<RowMark>(answer->data));
      });
}

Pending<void> mail(const End& end) {
  Bytes letter = bytes_with(RowsLetter{.count = end.rows.count}, std::size_t(end.rows.count) * sizeof(double));
  end.port.load(end.rank, end.where, behind_letter(letter));
  end.post(Desk::tag_of_rows(end.channel), std::move(letter));
  return Pending<void>([end] { end.finish(); });
}

RowsLetter checked(const End& end, const Bytes& data) {
  auto letter = first_of<RowsLetter>(data);
  if (letter.count != end.rows.count)
    bad_argument("rank " + std::to_string(end.rank.id()) + " receives " + end.size() + " into " + end.place() + ", and rank " +
                 std::to_string(end.other) + " sends " + std::to_string(letter.count));
  return letter;
}

std::string awaited(const End& end) { return end.size() + " of rank " + std::to_string(end.other) + " for " + end.place(); }

Pending<void> copy(const End& end) {
  RowMark mark = end.port.mark(end.rank, 2);
  double* to = end.port.address(end.rank, end.where);
  auto parcel = end.desk.expect(end.other, Desk::tag_of_rows(end.channel), [=](const Bytes& data) {
    RowsLetter letter = checked(end, data);
    end.port.copy(end.rank, to, letter.words, letter.count, mark, letter.complete);
    end.post(Desk::tag_of_answers(end.channel), bytes_with(mark));
  });
  return Pending<void>(
      [=] {
        auto what = [&] { return awaited(end); };
        end.desk.wait(*parcel, what);
        end.port.wait(end.rank, mark, what);
        end.port.drop(mark);
        end.finish();
      },
      [=] {
        end.desk.look();
        return is_here(*parcel) && (parcel->error || end.port.is_passed(mark));
      });
}

Pending<void> unpack(const End& end) {
  RowMark mark = end.port.mark(end.rank, 1);
  auto parcel = end.desk.expect(end.other, Desk::tag_of_rows(end.channel), [end](const Bytes& data) { checked(end, data); });
  return Pending<void>(
      [=] {
        end.desk.wait(*parcel, [&] { return awaited(end); });
        end.port.store(end.rank, end.where, behind_letter(parcel->data), mark);
        end.port.drop(mark);
        end.finish();
      },
      [=] {
        end.desk.look();
        return is_here(*parcel);
      });
}

}  // namespace

Pending<void> Communicator::start_send(int to, OwnRows rows) {
  check_rank(to);
  End end{rank_, to, channel_, rows, rank_.begin_transfer({rows, false})};
  rank_.ledger.book_message(end.port.carrier(rank_.id(), to), i64(rows.count) * i64(sizeof(double)));
  return end.reached() ? offer(end) : mail(end);
}

Pending<void> Communicator::start_receive(int from, OwnRows rows) {
  check_rank(from);
  End end{rank_, from, channel_, rows, rank_.begin_transfer({rows, true})};
  return end.reached() ? copy(end) : unpack(end);
}

}  // namespace sordino
