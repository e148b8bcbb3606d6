#include "host/base/distribution.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>

#include "host/base/number.hpp"

namespace actorhost {

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<double> number(std::string_view text) { return finite_number(trim(text)); }

Error wrong(std::string_view text, const std::string& reason) {
  return {Code::bad_argument, "bad distribution '" + std::string(text) + "': " + reason};
}

// Reads a number of seconds from each line, or the `compute` column of the `step` rows of a recorded trace.
Result<std::vector<double>> read_seconds(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{Code::bad_argument, "trace(" + path + ") cannot be read: " + std::strerror(errno)};
  std::vector<double> out;
  std::string line;
  bool recorded = false;
  for (size_t at = 1; std::getline(file, line); ++at) {
    if (line.starts_with("# actorhost trace")) recorded = true;
    std::string_view text = trim(std::string_view(line).substr(0, line.find('#')));
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty() || (recorded && !text.starts_with("step,"))) continue;
    if (recorded) text.remove_prefix(std::min(text.rfind(',') + 1, text.size()));
    const auto value = number(text);
    if (!value || *value < 0) {
      return Error{Code::bad_argument, path + ":" + std::to_string(at) +
                                           ": expected a number of seconds, 0 or more, got '" + std::string(text) +
                                           "'"};
    }
    out.push_back(*value);
  }
  if (out.empty()) return Error{Code::bad_argument, "trace(" + path + ") holds no number of seconds"};
  return out;
}

constexpr const char* kFormNames = "const exp gamma uniform pareto lognormal trace";

}  // namespace

Result<Distribution> Distribution::parse(std::string_view whole) {
  Distribution out;
  out.text_ = std::string(trim(whole));
  std::string_view rest = trim(whole);
  const size_t plus = rest.substr(0, rest.find('(')).find('+');
  if (plus != std::string_view::npos) {
    const auto offset = number(rest.substr(0, plus));
    if (!offset || *offset < 0) return wrong(whole, "the part before '+' must be a number of seconds, 0 or more");
    out.offset_ = *offset;
    rest = trim(rest.substr(plus + 1));
  }
  const size_t bracket = rest.find('(');
  if (bracket == std::string_view::npos) {
    const auto value = number(rest);
    if (!value || *value < 0) return wrong(whole, std::string("expected a number of seconds or one of ") + kFormNames);
    out.a_ = *value;
    return out;
  }
  if (rest.back() != ')') return wrong(whole, "the closing bracket is missing");
  const std::string_view inner = rest.substr(bracket + 1, rest.size() - bracket - 2);
  AH_TRY(out.take_arguments(whole, trim(rest.substr(0, bracket)), inner));
  return out;
}

Status Distribution::take_arguments(std::string_view whole, std::string_view name, std::string_view inner) {
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
  if (name == "trace") {
    kind_ = Kind::trace;
    AH_LET(auto values, read_seconds(std::string(trim(inner))));
    values_ = std::make_shared<const std::vector<double>>(std::move(values));
    return {};
  }
  const Form* form = std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& f) { return name == f.name; });
  if (form == std::end(kForms)) return wrong(whole, "'" + std::string(name) + "' is none of " + kFormNames);
  kind_ = form->kind;
  const size_t comma = inner.find(',');
  const auto a = number(inner.substr(0, comma));
  const auto b = comma == std::string_view::npos ? std::nullopt : number(inner.substr(comma + 1));
  const bool second = comma != std::string_view::npos;
  if (!a || (form->arguments == 2) != second || (second && !b)) return wrong(whole, std::string("use ") + form->usage);
  a_ = *a;
  b_ = b.value_or(0);
  const bool any_sign = kind_ == Kind::lognormal;
  const bool shaped = kind_ == Kind::gamma || kind_ == Kind::pareto;
  if (b_ < 0 || (!any_sign && a_ < 0) || (shaped && a_ == 0) || (kind_ == Kind::uniform && b_ < a_)) {
    return wrong(whole, std::string("arguments out of range in ") + form->usage);
  }
  return {};
}

double Distribution::mean() const {
  switch (kind_) {
    case Kind::constant: return offset_ + a_;
    case Kind::exponential: return offset_ + a_;
    case Kind::gamma: return offset_ + a_ * b_;
    case Kind::uniform: return offset_ + (a_ + b_) / 2;
    case Kind::pareto: return a_ > 1 ? offset_ + a_ * b_ / (a_ - 1) : std::numeric_limits<double>::infinity();
    case Kind::lognormal: return offset_ + exp_of(a_ + b_ * b_ / 2);
    case Kind::trace: {
      double sum = 0;
      for (const double value : *values_) sum += value;
      return offset_ + sum / static_cast<double>(values_->size());
    }
  }
  return offset_;
}

}  // namespace actorhost
