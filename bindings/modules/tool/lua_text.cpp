// UTF-8 texts (host/data/content/unicode_text.hpp): words and lengths through FFI, case and normal form through C
// functions.

#include <string>
#include <string_view>

#include "bindings/modules/array/lua_data.hpp"
#include "bindings/modules/tool/ffi_text.h"
#include "bindings/vm/lua_support.hpp"
#include "bindings/vm/vm.hpp"
#include "host/data/content/unicode_text.hpp"

namespace actorhost {

namespace {

int32_t text_words(const char* text, size_t size, ah_text_words* out) noexcept {
  UnicodeWords words({text, size}, out->at);
  std::string_view word;
  int32_t count = 0;
  while (count < AH_TEXT_WORDS && words.next(word)) {
    const auto first = static_cast<int32_t>(word.data() - text);
    out->first[count] = first + 1;
    out->last[count] = first + static_cast<int32_t>(word.size());
    ++count;
  }
  out->at = words.at();
  return count;
}

int32_t text_is_ascii(const char* text, size_t size) noexcept { return is_ascii({text, size}) ? 1 : 0; }

double text_characters(const char* text, size_t size) noexcept {
  return static_cast<double>(count_characters({text, size}));
}

double text_graphemes(const char* text, size_t size) noexcept {
  return static_cast<double>(count_graphemes({text, size}));
}

constexpr ah_text_api kTextApi = {text_words, text_is_ascii, text_characters, text_graphemes};

template <std::string (*kChange)(std::string_view)>
int changed_text(lua_State* L) {
  const std::string changed = kChange(check_text(L, 1, "text", "text"));
  return push(L, changed);
}

}  // namespace

void open_text(Vm& vm) {
  vm.register_ffi("text", &kTextApi);
  static constexpr luaL_Reg kFunctions[] = {
      {"lower", guarded<changed_text<lower_text>>},
      {"fold", guarded<changed_text<folded_text>>},
      {"nfc", guarded<changed_text<composed_text>>},
  };
  vm.register_module("actor.c.text", open_functions<kFunctions>);
}

}  // namespace actorhost
