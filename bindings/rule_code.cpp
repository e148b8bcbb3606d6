#include "bindings/rule_code.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <lua.hpp>

namespace actorhost {

namespace {

const char kPureMath = 0;  // registry key, by address: {[function] = true, [the table math] = true}

// Not random and randomseed, which keep a state, nor frexp and modf, which return two values.
constexpr std::string_view kMathFields[] = {
    "abs",   "acos", "asin",  "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp",  "floor", "fmod", "huge",
    "ldexp", "log",  "log10", "max",  "min",   "pi",   "pow", "rad",  "sin", "sinh", "sqrt",  "tan",  "tanh",
};

// Of a view (stdlib/actor/barrier/view.lua): the worker's step, and what is the same for everybody who is asked about
// in one go. Not id, waited, duration, average, memory, rng and shared.
constexpr std::string_view kViewFields[] = {
    "step",   "n",       "population", "now",      "buffered", "steps", "ids",    "busy",   "alive",
    "pulled", "started", "durations",  "averages", "min",      "max",   "passed", "behind", "quantile",
};

template <size_t N>
bool contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// --- compiled code, as lua_dump writes it (LuaJIT 2.1, lj_bcdump.h and lj_bc.h: format 2) ---

constexpr uint8_t kFormat = 2;
enum : uint8_t { kStripped = 1, kBigEndian = 2, kFfi = 4 };         // flags of a dump
enum : uint8_t { kChild = 1, kVararg = 2, kFfiCode = 4 };           // of a function
constexpr uint16_t kNeverAssigned = 0x4000, kOfEnclosing = 0x8000;  // of a captured variable
constexpr uint64_t kText = 5;                                       // least type of a constant that is one

enum Opcode : uint8_t {
  kISNEV = 5,  // ISLT ISGE ISLE ISGT ISEQV ISNEV; not ISEQS ISNES, which compare texts
  kISEQN = 8,  // ISEQN ISNEN ISEQP ISNEP ISTC ISFC IST ISF
  kISF = 15,
  kMOV = 18,  // MOV NOT UNM LEN and the arithmetic, up to POW
  kPOW = 37,
  kKSHORT = 41,  // KSHORT KNUM KPRI KNIL UGET
  kUGET = 45,
  kGGET = 54,
  kTGETV = 56,
  kTGETS = 57,
  kTGETB = 58,
  kCALLM = 65,  // CALLM CALL CALLMT CALLT
  kCALLT = 68,
  kRET0 = 75,
  kRET1 = 76,
  kFORI = 77,
  kFORL = 79,
  kIFORL = 80,
  kLOOP = 85,
  kILOOP = 86,
  kJMP = 88,
};

bool harmless(uint8_t op) {
  return op <= kISNEV || (op >= kISEQN && op <= kISF) || (op >= kMOV && op <= kPOW) || (op >= kKSHORT && op <= kUGET) ||
         op == kGGET || (op >= kTGETV && op <= kTGETB) || (op >= kCALLM && op <= kCALLT) || op == kRET0 ||
         op == kRET1 || op == kFORI || op == kFORL || op == kIFORL || op == kLOOP || op == kILOOP || op == kJMP;
}

struct Bytes {
  std::string_view left;
  bool short_of = false;

  std::string_view take(uint64_t size) {
    if (size > left.size()) {
      short_of = true;
      left = {};
      return {};
    }
    const std::string_view out = left.substr(0, size);
    left.remove_prefix(size);
    return out;
  }
  uint8_t byte() {
    const std::string_view one = take(1);
    return one.empty() ? 0 : static_cast<uint8_t>(one[0]);
  }
  uint64_t number() {  // 7 bits a byte, the lowest first
    uint64_t out = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const uint8_t b = byte();
      out |= uint64_t{b & 0x7fU} << shift;
      if (b < 0x80) return out;
    }
    short_of = true;
    return 0;
  }
};

uint32_t little(std::string_view bytes) {
  uint32_t out = 0;
  for (size_t i = bytes.size(); i-- > 0;) out = out << 8 | static_cast<uint8_t>(bytes[i]);
  return out;
}

/// A function's code without functions in it.
struct Code {
  std::string_view instructions;
  std::string_view captured;
  std::vector<std::string_view> texts;  // its constants, all texts, the last one first
};

/// False where `dump` holds more than such a function, or is none that is understood.
bool read_code(std::string_view dump, Code& out) {
  Bytes in{dump};
  if (in.take(3) != "\x1bLJ" || in.byte() != kFormat) return false;
  const uint64_t flags = in.number();
  if ((flags & (kBigEndian | kFfi)) != 0) return false;
  const bool stripped = (flags & kStripped) != 0;
  if (!stripped) in.take(in.number());  // where it is from
  const uint64_t size = in.number();
  Bytes code{in.take(size)};
  if (in.short_of || in.left != std::string_view("\0", 1)) return false;
  if ((code.byte() & (kChild | kVararg | kFfiCode)) != 0) return false;
  code.take(2);  // parameters, registers
  const uint8_t captured = code.byte();
  const uint64_t texts = code.number();
  code.number();  // constants that are numbers
  const uint64_t instructions = code.number();
  if (!stripped && code.number() > 0) {  // lines
    code.number();
    code.number();
  }
  out.instructions = code.take(4 * instructions);
  out.captured = code.take(2 * size_t{captured});
  for (uint64_t i = 0; i < texts && !code.short_of; ++i) {
    const uint64_t type = code.number();
    if (type < kText) return false;
    out.texts.push_back(code.take(type - kText));
  }
  return !code.short_of;
}

int append(lua_State* /*L*/, const void* bytes, size_t size, void* to) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
  return 0;
}

// --- what it touches ---

/// Walks a function and those that it captures. No value that they can get hold of is a text, so none but the names
/// that stand in their code can be looked up; and they can change nothing.
class Reader {
 public:
  explicit Reader(lua_State* L) : L_(L) {
    lua_pushlightuserdata(L_, const_cast<char*>(&kPureMath));
    lua_rawget(L_, LUA_REGISTRYINDEX);
    pure_ = lua_gettop(L_);
  }

  bool plain(int function) {
    if (seen(lua_topointer(L_, function))) return true;
    if (lua_checkstack(L_, 8) == 0) return false;
    std::string dump;
    Code code;
    if (lua_dump(L_, append, &dump) != 0 || !read_code(dump, code)) return false;
    return plain_instructions(function, code) && plain_captured(function, code);
  }

 private:
  bool seen(const void* function) {
    if (std::find(seen_.begin(), seen_.end(), function) != seen_.end()) return true;
    seen_.push_back(function);
    return false;
  }

  bool pure(int value) {
    lua_pushvalue(L_, value);
    lua_rawget(L_, pure_);
    const bool out = lua_isboolean(L_, -1) && lua_toboolean(L_, -1) != 0;
    lua_pop(L_, 1);
    return out;
  }

  bool plain_instructions(int function, const Code& code) {
    for (size_t at = 0; at < code.instructions.size(); at += 4) {
      const uint32_t word = little(code.instructions.substr(at, 4));
      const auto op = static_cast<uint8_t>(word);
      if (!harmless(op)) return false;
      if (op == kGGET && (text(code, word >> 16) != "math" || !has_math(function))) return false;
      if (op == kTGETS && !plain_field(text(code, word >> 16 & 0xff))) return false;
    }
    return true;
  }

  static std::string_view text(const Code& code, size_t index) {
    return index < code.texts.size() ? code.texts[code.texts.size() - 1 - index] : std::string_view();
  }

  /// Whether the global `math` of the function is the one that was there at first.
  bool has_math(int function) {
    lua_getfenv(L_, function);
    lua_pushliteral(L_, "math");
    lua_rawget(L_, -2);
    const bool same = lua_istable(L_, -1) && pure(lua_gettop(L_));
    lua_pop(L_, 2);
    return same;
  }

  /// Of whatever can be indexed: a view, an array of it, or math, which has to have there what it had at first.
  bool plain_field(std::string_view name) {
    const bool of_math = contains(kMathFields, name);
    if (!of_math && !contains(kViewFields, name)) return false;
    lua_pushliteral(L_, "math");
    lua_rawget(L_, pure_);
    lua_pushlstring(L_, name.data(), name.size());
    lua_rawget(L_, -2);
    const int type = lua_type(L_, -1);
    const bool same = of_math ? type == LUA_TNUMBER || pure(lua_gettop(L_)) : type == LUA_TNIL;
    lua_pop(L_, 2);
    return same;
  }

  bool plain_captured(int function, const Code& code) {
    for (size_t i = 0; i < code.captured.size() / 2; ++i) {
      const uint32_t variable = little(code.captured.substr(2 * i, 2));
      if ((variable & kNeverAssigned) == 0 || (variable & kOfEnclosing) == 0) return false;
      if (lua_getupvalue(L_, function, static_cast<int>(i) + 1) == nullptr) return false;
      const bool fine = plain_value(lua_gettop(L_));
      lua_pop(L_, 1);
      if (!fine) return false;
    }
    return true;
  }

  bool plain_value(int value) {
    switch (lua_type(L_, value)) {
      case LUA_TNIL:
      case LUA_TBOOLEAN:
      case LUA_TNUMBER: return true;
      case LUA_TTABLE: return pure(value);
      case LUA_TFUNCTION: return pure(value) || (lua_iscfunction(L_, value) == 0 && plain(value));
      default: return false;
    }
  }

  lua_State* L_;
  int pure_;
  std::vector<const void*> seen_;
};

/// Whether somebody has given numbers and the like metatables, or math one.
bool metatables_changed(lua_State* L) {
  lua_pushnil(L);
  lua_pushboolean(L, 1);
  lua_pushnumber(L, 1);
  lua_pushcfunction(L, [](lua_State*) { return 0; });
  lua_pushlightuserdata(L, const_cast<char*>(&kPureMath));
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_pushliteral(L, "math");
  lua_rawget(L, -2);
  lua_remove(L, -2);
  bool changed = false;
  for (int i = 1; i <= 5; ++i) {
    if (lua_getmetatable(L, -i) != 0) {
      lua_pop(L, 1);
      changed = true;
    }
  }
  lua_pop(L, 5);
  return changed;
}

}  // namespace

void keep_pure_math(lua_State* L) {
  const int top = lua_gettop(L);
  lua_getglobal(L, "math");
  lua_newtable(L);
  const auto keep = [&] {  // [value on top] = true
    lua_pushboolean(L, 1);
    lua_rawset(L, top + 2);
  };
  lua_pushliteral(L, "math");
  lua_pushvalue(L, top + 1);
  lua_rawset(L, top + 2);
  lua_pushvalue(L, top + 1);
  keep();
  for (const std::string_view name : kMathFields) {
    lua_pushlstring(L, name.data(), name.size());
    lua_rawget(L, top + 1);
    if (lua_isfunction(L, -1)) {
      keep();
    } else {
      lua_pop(L, 1);
    }
  }
  lua_pushlightuserdata(L, const_cast<char*>(&kPureMath));
  lua_pushvalue(L, top + 2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_settop(L, top);
}

bool answers_by_step(lua_State* L, int index) {
  const int top = lua_gettop(L);
  if (index < 0) index += top + 1;
  if (lua_isfunction(L, index) == 0 || lua_iscfunction(L, index) != 0 || lua_checkstack(L, 20) == 0) return false;
  lua_pushlightuserdata(L, const_cast<char*>(&kPureMath));
  lua_rawget(L, LUA_REGISTRYINDEX);
  const bool ready = lua_istable(L, -1) && !metatables_changed(L);
  bool out = false;
  if (ready) {
    Reader reader(L);
    lua_pushvalue(L, index);
    out = reader.plain(lua_gettop(L));
  }
  lua_settop(L, top);
  return out;
}

}  // namespace actorhost
