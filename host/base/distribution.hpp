#pragma once
// Random durations by name, as in flags: "0.5", "const(0.02)", "exp(1)", "gamma(2,0.5)", "uniform(0,1)", "pareto(2,1)",
// "lognormal(0,1)", "trace(FILE)", each optionally behind a constant: "1+exp(1)". All durations are in seconds, finite
// and at least 0. Plain values; draws are the same on every machine.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/random.hpp"
#include "host/base/result.hpp"

namespace actorhost {

class Distribution {
 public:
  /// Always zero.
  Distribution() = default;
  /// exp(mean) gamma(shape,scale) uniform(low,high) pareto(shape,min) lognormal(mu,sigma) const(c), each optionally
  /// behind "C+". trace(FILE) draws from the numbers of a text file, one a line ('#' starts a comment), or from the
  /// `compute` column of a trace of --record. Code::bad_argument names the wrong part, for a file with its line.
  static Result<Distribution> parse(std::string_view text);

  /// `Source` is Rng or StepRng.
  template <class Source>
  double draw(Source& source) const {
    switch (kind_) {
      case Kind::constant: return offset_ + a_;
      case Kind::exponential: return offset_ + source.exponential(a_);
      case Kind::gamma: return offset_ + source.gamma(a_, b_);
      case Kind::uniform: return offset_ + a_ + (b_ - a_) * source.uniform();
      case Kind::pareto: return offset_ + finite(b_ * pow_of(1 - source.uniform(), -1 / a_));
      case Kind::lognormal: return offset_ + finite(exp_of(a_ + b_ * source.normal()));
      case Kind::trace: return offset_ + (*values_)[source.below(values_->size())];
    }
    return offset_;
  }
  /// Infinite where the distribution has no mean (pareto with shape <= 1).
  double mean() const;
  bool zero() const { return kind_ == Kind::constant && offset_ == 0 && a_ == 0; }
  const std::string& text() const { return text_; }

 private:
  enum class Kind { constant, exponential, gamma, uniform, pareto, lognormal, trace };

  static constexpr double kLongest = 1e300;  // the upper bound of draws from heavy tails
  static double finite(double seconds) { return seconds < kLongest ? seconds : kLongest; }
  Status take_arguments(std::string_view whole, std::string_view name, std::string_view inner);

  Kind kind_ = Kind::constant;
  double offset_ = 0;
  double a_ = 0;
  double b_ = 0;
  std::shared_ptr<const std::vector<double>> values_;  // of a trace; shared by copies, since a trace may be large
  std::string text_ = "0";
};

}  // namespace actorhost
