#include "host/mapreduce/row_key.hpp"

#include <cstdio>

namespace actorhost {

std::string describe(const RowValue& value) {
  switch (value.kind()) {
    case RowTag::nil: return "nil";
    case RowTag::no: return "false";
    case RowTag::yes: return "true";
    case RowTag::number: {
      char text[40];
      std::snprintf(text, sizeof text, "number %.14g", value.number);
      return text;
    }
    case RowTag::text: {
      constexpr size_t kShown = 40;
      std::string text = "text '";
      for (const char c : value.text().substr(0, kShown)) {
        text += static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c;
      }
      return text + (value.size > kShown ? "'..." : "'");
    }
    case RowTag::value: return "a table";
  }
  return "a broken row";
}

Error not_a_key(const RowValue& value) {
  return {Code::bad_argument, "a key must be a text, a number or a boolean, not " + describe(value)};
}

}  // namespace actorhost
