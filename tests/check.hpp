// The test runner: a test is a sentence, and a check prints the values it failed with.
//
//   TEST("a range of ranks is cut into equal parts") {
//     for (int parts : {1, 2, 3, 7}) {
//       NOTE("parts = ", parts);                                   // printed with any failure in this scope
//       CHECK(cut(7, parts).size() == parts);                      // the test goes on when it fails
//       REQUIRE(!cut(7, parts).empty());                           // the test ends here when it fails
//     }
//     CHECK_NEAR(norm(x), 1.0, 1e-14);                             // |value - expected| <= tolerance
//     CHECK_THROWS(cut(7, 0), sordino::Error, "at least one part");  // type, and a fragment of what()
//     if (!have_gpu()) SKIP("no GPU here");
//   }
//
// Checks may be made from any thread. Tests that depend on parameters can be made in a loop with
// check::add(). The command line is explained in check_main.cpp.
#pragma once

#include <cmath>
#include <functional>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__clang__)
#pragma clang diagnostic ignored "-Woverloaded-shift-op-parentheses"  // meant so, see Take
#endif

namespace check {

struct Test {
  std::string name;
  std::string file;
  std::function<void()> body;
};

// Thrown by REQUIRE. The failure is recorded by then; this only ends the test, through an engine's threads
// too.
struct Stop : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Thrown by SKIP.
struct Skip {
  std::string reason;
};

// Implemented in check_main.cpp.
int add(std::string name, std::string file, std::function<void()> body);
void fail(const char* file, int line, const std::string& what);
void push_note(std::string note);
void pop_note();

// A value as text: numbers with all their digits, ranges element by element.
template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  out.precision(17);
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (requires { out << value; }) {
    out << value;
  } else if constexpr (std::is_enum_v<T>) {
    out << "enumerator " << +static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (std::ranges::input_range<const T>) {
    std::size_t shown = 0;
    for (const auto& element : value) {
      if (shown == 16) return out.str() + ", ...]";
      out << (shown++ ? ", " : "[") << text(element);
    }
    out << (shown ? "]" : "[]");
  } else {
    out << "(no text)";
  }
  return out.str();
}

template <class... Parts>
std::string join(const Parts&... parts) {
  return (std::string() + ... + text(parts));
}

struct Outcome {
  bool holds;
  std::string values;
};

// CHECK(a == b) becomes `Take() << a == b`: << catches the left side, and these operators the comparison.
template <class L>
struct Left {
  const L& left;

  explicit operator bool() const { return static_cast<bool>(left); }

  template <class R>
  static constexpr bool integers = std::is_integral_v<L> && std::is_integral_v<R> && !std::is_same_v<L, bool> &&
                                   !std::is_same_v<R, bool> && !std::is_same_v<L, char> && !std::is_same_v<R, char>;

// Integers are compared by value, whatever their signs.
#define CHECK_COMPARISON(op, compare_integers)                                      \
  template <class R>                                                                \
  Outcome operator op(const R& right) const {                                       \
    bool holds;                                                                     \
    if constexpr (integers<R>) {                                                    \
      holds = std::compare_integers(left, right);                                   \
    } else {                                                                        \
      holds = static_cast<bool>(left op right);                                     \
    }                                                                               \
    return {holds, holds ? std::string() : text(left) + " " #op " " + text(right)}; \
  }
  CHECK_COMPARISON(==, cmp_equal)
  CHECK_COMPARISON(!=, cmp_not_equal)
  CHECK_COMPARISON(<, cmp_less)
  CHECK_COMPARISON(<=, cmp_less_equal)
  CHECK_COMPARISON(>, cmp_greater)
  CHECK_COMPARISON(>=, cmp_greater_equal)
#undef CHECK_COMPARISON
};

struct Take {
  template <class L>
  Left<L> operator<<(const L& left) const {
    return {left};
  }
};

inline Outcome outcome(Outcome of_comparison) { return of_comparison; }
inline Outcome outcome(bool of_condition) { return {of_condition, "false"}; }
template <class L>
Outcome outcome(const Left<L>& alone) {
  const bool holds = static_cast<bool>(alone);
  return {holds, holds ? std::string() : text(alone.left)};
}

template <class Value, class Expected, class Tolerance>
void near(const char* file, int line, const char* what, Value value, Expected expected, Tolerance tolerance) {
  const auto off = std::abs(value - expected);
  if (!(off <= tolerance)) fail(file, line, join(what, ", with ", value, " and ", expected, ", off by ", off));
}

// One note for as long as its scope lasts.
class Note {
 public:
  explicit Note(std::string note) { push_note(std::move(note)); }
  ~Note() { pop_note(); }
  Note(const Note&) = delete;
  Note& operator=(const Note&) = delete;
};

}  // namespace check

#define CHECK_JOIN_(a, b) a##b
#define CHECK_JOIN(a, b) CHECK_JOIN_(a, b)

#define TEST(name) CHECK_TEST(name, CHECK_JOIN(check_test_, __COUNTER__))
#define CHECK_TEST(name, function)                                                                       \
  static void function();                                                                                \
  [[maybe_unused]] static const int CHECK_JOIN(function, _added) = check::add(name, __FILE__, function); \
  static void function()

#define CHECK_THAT(what, then, ...)                                                                                \
  do {                                                                                                             \
    if (const check::Outcome check_outcome = check::outcome(check::Take() << __VA_ARGS__); !check_outcome.holds) { \
      check::fail(__FILE__, __LINE__, what "(" #__VA_ARGS__ "), with " + check_outcome.values);                    \
      then;                                                                                                        \
    }                                                                                                              \
  } while (false)
#define CHECK(...) CHECK_THAT("CHECK", static_cast<void>(0), __VA_ARGS__)
#define REQUIRE(...) CHECK_THAT("REQUIRE", throw check::Stop("REQUIRE(" #__VA_ARGS__ ") failed"), __VA_ARGS__)

#define CHECK_NEAR(value, expected, tolerance) \
  check::near(__FILE__, __LINE__, "CHECK_NEAR(" #value ", " #expected ", " #tolerance ")", value, expected, tolerance)

#define CHECK_THROWS(statement, Exception, fragment)                                                           \
  do {                                                                                                         \
    bool check_threw = false;                                                                                  \
    try {                                                                                                      \
      static_cast<void>(statement);                                                                            \
    } catch (const Exception& check_error) {                                                                   \
      check_threw = true;                                                                                      \
      if (std::string_view(check_error.what()).find(fragment) == std::string_view::npos)                       \
        check::fail(__FILE__, __LINE__,                                                                        \
                    check::join(#statement " says \"", check_error.what(), "\", without \"", fragment, "\"")); \
    }                                                                                                          \
    if (!check_threw) check::fail(__FILE__, __LINE__, #statement " does not throw " #Exception);               \
  } while (false)

#define NOTE(...) const check::Note CHECK_JOIN(check_note_, __COUNTER__)(check::join(__VA_ARGS__))
#define SKIP(...) \
  throw check::Skip { check::join(__VA_ARGS__) }
