#include "host/base/distribution.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace actorhost {

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<double> number(std::string_view text) {
  text = trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

Error wrong(std::string_view text, const std::string& why) {
  return {Code::bad_argument, "bad distribution '" + std::string(text) + "': " + why};
}

}  // namespace

Result<Distribution> Distribution::parse(std::string_view whole) {
  struct Form {
    const char* name;
    Kind kind;
    int arguments;
    const char* usage;
  };
  static constexpr Form kForms[] = {
      {"const", Kind::constant, 1, "const(seconds)"},   {"exp", Kind::exponential, 1, "exp(mean)"},
      {"gamma", Kind::gamma, 2, "gamma(shape,scale)"},  {"uniform", Kind::uniform, 2, "uniform(low,high)"},
      {"pareto", Kind::pareto, 2, "pareto(shape,min)"}, {"lognormal", Kind::lognormal, 2, "lognormal(mu,sigma)"},
  };
  Distribution out;
  out.text_ = std::string(trim(whole));
  std::string_view rest = trim(whole);
  const size_t open = rest.find('(');
  const size_t plus = rest.substr(0, open).find('+');
  if (plus != std::string_view::npos) {
    const auto offset = number(rest.substr(0, plus));
    if (!offset || *offset < 0) return wrong(whole, "what stands before '+' must be a number of seconds, 0 or more");
    out.offset_ = *offset;
    rest = trim(rest.substr(plus + 1));
  }
  const size_t bracket = rest.find('(');
  if (bracket == std::string_view::npos) {
    const auto value = number(rest);
    if (!value || *value < 0) {
      return wrong(whole, "expected a number of seconds or one of const exp gamma uniform pareto lognormal");
    }
    out.a_ = *value;
    return out;
  }
  const std::string_view name = trim(rest.substr(0, bracket));
  if (rest.back() != ')') return wrong(whole, "the closing bracket is missing");
  std::string_view inner = rest.substr(bracket + 1, rest.size() - bracket - 2);
  for (const Form& form : kForms) {
    if (name != form.name) continue;
    out.kind_ = form.kind;
    const size_t comma = inner.find(',');
    const auto a = number(inner.substr(0, comma));
    const auto b = comma == std::string_view::npos ? std::nullopt : number(inner.substr(comma + 1));
    if (!a || (form.arguments == 2) != b.has_value()) return wrong(whole, std::string("use ") + form.usage);
    out.a_ = *a;
    out.b_ = b.value_or(0);
    const bool any_sign = out.kind_ == Kind::lognormal;
    const bool shaped = out.kind_ == Kind::gamma || out.kind_ == Kind::pareto;
    if (out.b_ < 0 || (!any_sign && out.a_ < 0) || (shaped && out.a_ == 0) ||
        (out.kind_ == Kind::uniform && out.b_ < out.a_)) {
      return wrong(whole, std::string("arguments out of range in ") + form.usage);
    }
    return out;
  }
  return wrong(whole, "'" + std::string(name) + "' is none of const exp gamma uniform pareto lognormal");
}

double Distribution::draw(Rng& rng) const {
  switch (kind_) {
    case Kind::constant: return offset_ + a_;
    case Kind::exponential: return offset_ + rng.exponential(a_);
    case Kind::gamma: return offset_ + rng.gamma(a_, b_);
    case Kind::uniform: return offset_ + a_ + (b_ - a_) * rng.uniform();
    case Kind::pareto: return offset_ + b_ * std::pow(1 - rng.uniform(), -1 / a_);
    case Kind::lognormal: return offset_ + std::exp(a_ + b_ * rng.normal());
  }
  return offset_;
}

double Distribution::mean() const {
  switch (kind_) {
    case Kind::constant: return offset_ + a_;
    case Kind::exponential: return offset_ + a_;
    case Kind::gamma: return offset_ + a_ * b_;
    case Kind::uniform: return offset_ + (a_ + b_) / 2;
    case Kind::pareto: return a_ > 1 ? offset_ + a_ * b_ / (a_ - 1) : std::numeric_limits<double>::infinity();
    case Kind::lognormal: return offset_ + std::exp(a_ + b_ * b_ / 2);
  }
  return offset_;
}

}  // namespace actorhost
