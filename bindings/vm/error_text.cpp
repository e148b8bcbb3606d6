#include "bindings/vm/error_text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <lua.hpp>

namespace actorhost {

namespace {

constexpr int kMostFields = 20;
constexpr int kMostDepth = 3;

/// Formats the value on top of the stack without calling functions of the script; leaves the value there.
std::string shown(lua_State* L, int depth);

/// "{1, 2, code = 3}" for the table on top, without the field `left_out`.
std::string shown_table(lua_State* L, int depth, std::string_view left_out = {}) {
  if (depth > kMostDepth || lua_checkstack(L, 8) == 0) return "{...}";
  std::vector<std::pair<std::string, std::string>> fields;  // sorted by key, array elements first
  bool more = false;
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    std::string key, name;
    if (lua_type(L, -2) == LUA_TSTRING) {
      name = lua_tostring(L, -2);
      key = "k" + name;
      name += " = ";
    } else {
      lua_pushvalue(L, -2);
      name = shown(L, depth + 1);
      key = "i" + std::string(10 - std::min<size_t>(10, name.size()), ' ') + name;
      const bool element = lua_isnumber(L, -1) != 0 && lua_tonumber(L, -1) <= static_cast<double>(lua_objlen(L, -4));
      name = element ? "" : "[" + name + "] = ";
      lua_pop(L, 1);
    }
    more = fields.size() == kMostFields;
    if (more) {
      lua_pop(L, 2);
      break;
    }
    if (key.substr(1) != left_out) fields.emplace_back(key, name + shown(L, depth + 1));
    lua_pop(L, 1);
  }
  std::sort(fields.begin(), fields.end());
  std::string out;
  for (const auto& [key, text] : fields) out += (out.empty() ? "" : ", ") + text;
  return "{" + out + (more ? ", ..." : "") + "}";
}

std::string shown(lua_State* L, int depth) {
  switch (lua_type(L, -1)) {
    case LUA_TNIL: return "nil";
    case LUA_TBOOLEAN: return lua_toboolean(L, -1) != 0 ? "true" : "false";
    case LUA_TSTRING: return "\"" + std::string(lua_tostring(L, -1)) + "\"";
    case LUA_TTABLE: return shown_table(L, depth);
    case LUA_TNUMBER: {
      lua_pushvalue(L, -1);
      std::string text = lua_tostring(L, -1);
      lua_pop(L, 1);
      return text;
    }
    default: return std::string("a ") + luaL_typename(L, -1);
  }
}

}  // namespace

std::string error_text(lua_State* L) {
  if (lua_isstring(L, 1) != 0) return lua_tostring(L, 1);
  if (luaL_callmeta(L, 1, "__tostring") != 0 && lua_isstring(L, -1) != 0) return lua_tostring(L, -1);
  if (!lua_istable(L, 1)) return std::string("(error object is a ") + luaL_typename(L, 1) + " value)";
  lua_pushliteral(L, "message");
  lua_rawget(L, 1);
  const bool has_message = lua_type(L, -1) == LUA_TSTRING;
  const std::string message = has_message ? lua_tostring(L, -1) : "";
  lua_pushvalue(L, 1);
  const std::string rest = shown_table(L, 1, has_message ? "message" : "");
  if (!has_message) return rest == "{}" ? "(error object is an empty table)" : rest;
  return rest == "{}" ? message : message + " " + rest;
}

std::string user_traceback(const std::string& message, std::string_view ours) {
  constexpr std::string_view kHead = "\nstack traceback:";
  const auto left_out = [ours](std::string_view line) {
    if (!line.starts_with("\t")) return false;
    line.remove_prefix(1);
    return line.starts_with("[C]:") || line.starts_with("stdlib/") || (!ours.empty() && line.starts_with(ours));
  };
  const size_t head = message.find(kHead);
  if (head == std::string::npos) return message;
  std::string frames;
  for (size_t at = head + kHead.size() + 1; at < message.size();) {
    const size_t end = std::min(message.find('\n', at), message.size());
    const std::string line = message.substr(at, end - at);
    if (!left_out(line)) frames += "\n" + line;
    at = end + 1;
  }
  return message.substr(0, head) + (frames.empty() ? "" : std::string(kHead) + frames);
}

}  // namespace actorhost
