#pragma once
// Random durations by name, as flags give them: "0.5", "const(0.02)", "exp(1)", "gamma(2,0.5)", "uniform(0,1)",
// "pareto(2,1)", "lognormal(0,1)", and a constant before any of them: "1+exp(1)". Seconds throughout. Plain values.

#include <string>
#include <string_view>

#include "host/base/random.hpp"
#include "host/base/result.hpp"

namespace actorhost {

class Distribution {
 public:
  /// Always zero.
  Distribution() = default;
  /// exp(mean) gamma(shape,scale) uniform(low,high) pareto(shape,min) lognormal(mu,sigma) const(c), each optionally
  /// behind "C+". Code::bad_argument names the part that is wrong.
  static Result<Distribution> parse(std::string_view text);

  double draw(Rng& rng) const;
  /// Infinite where the distribution has no mean (pareto with shape <= 1).
  double mean() const;
  bool zero() const { return kind_ == Kind::constant && offset_ == 0 && a_ == 0; }
  const std::string& text() const { return text_; }

 private:
  enum class Kind { constant, exponential, gamma, uniform, pareto, lognormal };
  Kind kind_ = Kind::constant;
  double offset_ = 0;
  double a_ = 0;
  double b_ = 0;
  std::string text_ = "0";
};

}  // namespace actorhost
