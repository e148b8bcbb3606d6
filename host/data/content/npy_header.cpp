#include "host/data/content/npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace actorhost {

namespace {

class HeaderParser {
 public:
  HeaderParser(std::string_view text, NpyHeader& header, NpyHeaderFault& fault)
      : text_(text), header_(header), fault_(fault) {}

  bool parse() {
    if (!expect('{')) return false;
    while (!accept('}')) {
      if (!entry()) return false;
      if (!accept(',') && !peek('}')) return fail("',' or '}' expected");
    }
    skip_space();
    if (at_ != text_.size()) return fail("nothing may follow the dictionary");
    if (!has_descr_) return fail("key 'descr' is missing");
    if (!has_order_) return fail("key 'fortran_order' is missing");
    if (!has_shape_) return fail("key 'shape' is missing");
    return true;
  }

 private:
  bool entry() {
    std::string_view key;
    if (!quoted(key) || !expect(':')) return false;
    if (key == "descr") return once(has_descr_, key) && descr();
    if (key == "fortran_order") return once(has_order_, key) && order();
    if (key == "shape") return once(has_shape_, key) && shape();
    return fail("unknown key '" + std::string(key) + "'");
  }

  bool once(bool& seen, std::string_view key) {
    if (seen) return fail("key '" + std::string(key) + "' is given twice");
    return seen = true;
  }

  bool descr() {
    if (!peek('\'') && !peek('"')) return fail("structured types are not read");
    std::string_view name;
    if (!quoted(name)) return false;
    if (name.find('O') != std::string_view::npos) return fail("arrays of Python objects are not read");
    constexpr std::string_view kKnown[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"};
    const std::string_view type = name.substr(std::min<size_t>(name.size(), 1));
    if (name.find_first_of("<>|=") == 0 && std::find(std::begin(kKnown), std::end(kKnown), type) != std::end(kKnown)) {
      header_.stored = {type[0], static_cast<uint8_t>(type[1] - '0'), name[0] == '>'};
      return true;
    }
    return fail("element type '" + std::string(name) +
                "' is not read; bool, int8 to int64, uint8 to uint64 and float16 to "
                "float64 are");
  }

  bool order() {
    skip_space();
    if (word("False")) return true;
    header_.fortran = word("True");
    return header_.fortran || fail("True or False expected");
  }

  bool shape() {
    if (!expect('(')) return false;
    std::vector<int64_t> sizes;
    while (!accept(')')) {
      int64_t size = 0;
      if (!number(size)) return false;
      sizes.push_back(size);
      if (!accept(',') && !peek(')')) return fail("',' or ')' expected in the shape");
    }
    auto shape = Shape::of(sizes);
    if (!shape) return fail(shape.error().message);
    header_.shape = *shape;
    return true;
  }

  bool number(int64_t& value) {
    skip_space();
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) return fail("dimension is too large");
    if (error != std::errc() || value < 0) return fail("a dimension (digits) expected");
    at_ += static_cast<size_t>(end - first);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
    return true;
  }

  bool quoted(std::string_view& out) {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return fail("a quoted string expected");
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return fail("the quote does not end");
    out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }

  bool word(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  bool peek(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool accept(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  bool expect(char c) { return accept(c) || fail(std::string("'") + c + "' expected"); }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool fail(std::string message) {
    fault_ = {at_, std::move(message)};
    return false;
  }

  std::string_view text_;
  NpyHeader& header_;
  NpyHeaderFault& fault_;
  size_t at_ = 0;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

}  // namespace

bool parse_npy_header(std::string_view text, NpyHeader& header, NpyHeaderFault& fault) {
  return HeaderParser(text, header, fault).parse();
}

}  // namespace actorhost
