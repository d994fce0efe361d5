// The names a program uses for distributed vectors and device scalars, and the typed fields a command's functor is made of.
//
// A functor is a plain aggregate. The types of its fields say how it touches memory, so reads, writes, bytes, hazards and
// halos are never stated twice:
//
//   struct Update {
//     Get rz, pq;  In p, q;  InOut x, r;           // scalars read, vectors read, vectors updated
//     double alpha = 0;                            // computed once, in the head
//     SORDINO_HD void head() { alpha = rz / pq; }
//     SORDINO_HD Sums<1> row(i32 i) { x[i] += alpha * p[i]; double ri = r[i] - alpha * q[i]; r[i] = ri; return {ri * ri}; }
//   };
#pragma once
#include "sordino/base/complex.hpp"

namespace sordino {

/// A distributed vector, by its logical name on this rank; where it lives, and which buffer it means after a rotation, is
/// the engine's business.
struct Vec {
  int id = -1;
};

/// A scalar that lives where the commands run. It has no conversion to a number inside a recorded body.
struct Scal {
  int id = -1;
};

/// "The reduction into `scalar` ends here, in the head of this command."
struct Finish {
  Scal scalar;
};
inline Finish finish(Scal s) { return {s}; }

/// "The value of `scalar` that was finished last", while the next reduction into it may be under way.
struct Last {
  Scal scalar;
};
inline Last last(Scal s) { return {s}; }

/// What commands may do with a vector.
enum class Permission { read_write, read_only, write_only };

/// How a command touches a vector.
enum class Access {
  read,     // own rows
  ghost,    // own rows and those that other ranks send; the command waits for them before the rows that need them
  arrived,  // only what other ranks send, for commands that write their own rows meanwhile (Sent)
  whole,    // all rows of the space: as `ghost` where ranks compute slices of a vector and gather it, else as `read`
  write,    // every own row; the old content is not read
  update,   // own rows, read and written
};

/// A vector as a field of a functor. Vectors are stored in words of 8 bytes, seen here as T: a double, or two floats.
template <class T, Access how>
struct Field {
  static constexpr Access access = how;
  T* p = nullptr;
  int id = -1;
  Field() = default;
  Field(Vec v) : id(v.id) {}
  SORDINO_HD T& operator[](i32 i) const { return p[i]; }
};

using In = Field<const double, Access::read>;
using Ghost = Field<const double, Access::ghost>;
using Whole = Field<const double, Access::whole>;
using Out = Field<double, Access::write>;
using InOut = Field<double, Access::update>;

/// Read own rows, or 1 everywhere if left unset: a diagonal that may be absent.
struct Scaling : In {
  using In::In;
  SORDINO_HD double operator[](i32 i) const { return p ? p[i] : 1.0; }
};

/// A vector of complex numbers, as a field of a functor whose rows are the numbers: element i is words 2 i and 2 i + 1 of a
/// vector on a space with Space::numbers. So are the columns of interleaved vectors (columns.hpp), as many words. All vectors
/// of such a functor are fields of numbers, but foreign ones, and real ones on the space of the numbers.
template <class T, Access how>
struct NumberField : Field<T, how> {
  static constexpr bool numbers = true;
  using Field<T, how>::Field;
};
using InNumber = NumberField<const Complex<double>, Access::read>;
using OutNumber = NumberField<Complex<double>, Access::write>;
using InOutNumber = NumberField<Complex<double>, Access::update>;

/// As Scaling, of numbers.
struct NumberScaling : InNumber {
  using InNumber::InNumber;
  SORDINO_HD Complex<double> operator[](i32 i) const { return p ? p[i] : Complex<double>{1, 0}; }
};

/// A vector of another space than the one whose rows the command runs over: the functor knows which of its rows belong to which
/// row of the command, and declares the bytes in its cost().
template <class T, Access how>
struct Foreign : Field<T, how> {
  static constexpr bool foreign = true;
  using Field<T, how>::Field;
};

/// Word i of a vector, if it is one of `count` from `first`, goes to to[i].
struct Segment {
  double* to;
  i32 first, count;
};

/// A foreign vector that the command computes and pushes, without an epilogue that says so. A GPU that reaches its peers'
/// memory sends each word as it is stored; elsewhere they are sent when the rows are done that compute them (Split::ahead).
/// What a rank stores here is for its peers: other rows of the same command cannot read it.
template <class T>
struct Sent : Foreign<T, Access::write> {
  static_assert(sizeof(T) % 8 == 0, "vectors are sent in words of 8 bytes");
  static constexpr int words = sizeof(T) / 8;
  using Foreign<T, Access::write>::Foreign;
  const Segment* segments = nullptr;
  i32 n_segments = 0;

  SORDINO_HD void store(i64 k, const T& value) const {
    this->p[k] = value;
    i64 word = k * words;
    for (i32 s = 0; s < n_segments; s++) {
      Segment g = segments[s];
      if (u64(word - g.first) < u64(g.count)) *reinterpret_cast<T*>(g.to + word) = value;
    }
  }
};

/// Read a scalar in the head; `Get(finish(s))` first ends the reduction into it, `Get(last(s))` takes what the last one left.
struct Get {
  double v = 0;
  int id = -1;
  bool finishes = false, last = false;
  Get() = default;
  Get(Scal s) : id(s.id) {}
  Get(Finish f) : id(f.scalar.id), finishes(true) {}
  Get(Last l) : id(l.scalar.id), last(true) {}
  SORDINO_HD operator double() const { return v; }
};

/// Write a scalar in the head.
struct Put {
  double v = 0;
  int id = -1;
  Put() = default;
  Put(Scal s) : id(s.id) {}
  SORDINO_HD void operator=(double a) { v = a; }
  SORDINO_HD operator double() const { return v; }
};

/// What a row adds to the K sums that its command reduces. Returned from registers: no operand is read back from memory.
template <int K>
struct Sums {
  double v[K > 0 ? K : 1];
};

// --- epilogues -------------------------------------------------------------------------------------------------------

/// What is taken of b in a sum over the words of two complex vectors, so that it is a part of a complex product:
/// dot(a, b) is Re b^H a, and by_i makes it Im b^H a, conjugate Re b^T a, conjugate_by_i Im b^T a.
enum class Turn { none, by_i, conjugate, conjugate_by_i };

struct Dot {
  Vec a, b;
  Turn turn = Turn::none;
};
struct DotTo {
  Vec a, b;
  Scal to;
  Turn turn = Turn::none;
};
/// In the epilogue of an operator, where a `b` that is turned is not its result, or in dots().
inline Dot dot(Vec a, Vec b, Turn turn = Turn::none) { return {a, b, turn}; }
inline DotTo operator>>(Dot d, Scal s) { return {d.a, d.b, s, d.turn}; }

/// "Send the rows of v that other ranks need, as soon as this command has them."
struct Push {
  Vec v;
};
inline Push push(Vec v) { return {v}; }

}  // namespace sordino
