#include <cmath>

#include <lua.hpp>
#include <nlohmann/json.hpp>

#include "bindings/commands/lua_command.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/outside_json.hpp"
#include "host/cluster/look/control_client.hpp"
#include "host/cluster/look/run_files.hpp"
#include "host/cluster/place/endpoint.hpp"
#include "host/net/handshake.hpp"
#include "host/net/token_file.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

constexpr const char* kConnection = "actor.control.connection";
constexpr double kReplySeconds = 5;
constexpr int kMostDepth = 100;

// ---- JSON and Lua values ----

void push_json(lua_State* L, const json& value) {
  luaL_checkstack(L, 4, "JSON that is nested too deeply");
  if (value.is_boolean()) {
    push(L, value.get<bool>());
  } else if (value.is_number()) {
    push(L, value.get<double>());
  } else if (value.is_string()) {
    push(L, value.get_ref<const std::string&>());
  } else if (value.is_array()) {
    push_list(L, value, [L](const json& item) { push_json(L, item); });
  } else if (value.is_object()) {
    lua_createtable(L, 0, static_cast<int>(value.size()));
    for (const auto& [name, item] : value.items()) {
      lua_pushlstring(L, name.data(), name.size());
      push_json(L, item);
      lua_rawset(L, -3);
    }
  } else {
    lua_pushnil(L);
  }
}

/// A table with a first element becomes an array.
json json_at(lua_State* L, int index, int depth = 0) {
  luaL_checkstack(L, 4, "a table that is nested too deeply");
  if (depth > kMostDepth) raise_at_user(L, "bad argument 'command': a table that is nested too deeply");
  const int type = lua_type(L, index);
  if (type == LUA_TBOOLEAN) return lua_toboolean(L, index) != 0;
  if (type == LUA_TNUMBER) {
    const double number = lua_tonumber(L, index);
    if (number == std::floor(number) && std::abs(number) < 9e15) return static_cast<int64_t>(number);
    return number;
  }
  if (type == LUA_TSTRING) {
    size_t size = 0;
    const char* text = lua_tolstring(L, index, &size);
    return std::string(text, size);
  }
  if (type != LUA_TTABLE) return nullptr;
  const int table = index < 0 ? lua_gettop(L) + index + 1 : index;
  json out = lua_objlen(L, table) > 0 ? json::array() : json::object();
  each_item(L, table, [&](int /*i*/) { out.push_back(json_at(L, -1, depth + 1)); });
  if (out.is_array()) return out;
  lua_pushnil(L);
  while (lua_next(L, table) != 0) {
    if (lua_type(L, -2) == LUA_TSTRING) out[lua_tostring(L, -2)] = json_at(L, -1, depth + 1);
    lua_pop(L, 1);
  }
  return out;
}

int push_text_as_value(lua_State* L, const std::string& text) {
  const json value = parse_outside_json(text);
  if (value.is_discarded()) return push_failure(L, {Code::bad_data, "the run has replied with invalid JSON"});
  push_json(L, value);
  return 1;
}

// ---- connections ----

struct Connection {
  SteadyClock clock;
  Log log{LogLevel::off};
  std::unique_ptr<ControlClient> client;
};

ControlClient& client_at(lua_State* L) {
  const auto& connection = object_at<Connection>(L, 1, kConnection);
  if (!connection) raise_at_user(L, "this connection has been closed");
  return *connection->client;
}

int close_connection(lua_State* L) {
  object_at<Connection>(L, 1, kConnection).reset();
  return 0;
}

/// The secret for the run's handshake. A read-only client uses the reading token, so the run itself refuses commands.
Result<std::string> token_of(const std::string& file, bool insecure, bool read_only) {
  if (insecure) return read_only ? reading_token("") : std::string();
  const auto read = read_only ? read_reading_token : read_token;
  if (!file.empty()) return read(file);
  AH_LET(auto path, own_token_path());
  return read(path);
}

/// Accepts "host:17871" and urls; a text with a slash and without a scheme is a socket's path.
Result<std::string> url_of(const std::string& text) {
  if (text.find("://") == std::string::npos && text.find('/') != std::string::npos) return "ipc://" + text;
  AH_LET(auto endpoint, parse_endpoint(text));
  AH_TRY(check_scope(endpoint));
  return endpoint_url(endpoint);
}

Result<std::string> state_at(lua_State* L) {
  ControlClient& client = client_at(L);
  std::vector<std::string> sections;
  if (!lua_isnoneornil(L, 2)) sections = check_texts(L, 2, "sections", "connection:state");
  return client.state(sections, lua_isnumber(L, 3) != 0 ? lua_tonumber(L, 3) : kReplySeconds);
}

/// connection:state(sections, seconds) -> table; or nil, message, code
int connection_state(lua_State* L) {
  const auto state = state_at(L);
  return state ? push_text_as_value(L, *state) : push_failure(L, state.error());
}

/// connection:state_text(sections, seconds) -> JSON; or nil, message, code
int connection_state_text(lua_State* L) {
  const auto state = state_at(L);
  if (!state) return push_failure(L, state.error());
  return push(L, *state);
}

/// connection:control(command, seconds) -> table; or nil, message, code
int connection_control(lua_State* L) {
  ControlClient& client = client_at(L);
  check_table(L, 2, "command", "connection:control");
  const std::string command = json_text(json_at(L, 2));
  const auto reply = client.control(command, lua_isnumber(L, 3) != 0 ? lua_tonumber(L, 3) : kReplySeconds);
  return reply ? push_text_as_value(L, *reply) : push_failure(L, reply.error());
}

/// connection:next(seconds) -> table, or nil when nothing arrives; or nil, message, code
int connection_next(lua_State* L) {
  const auto event = client_at(L).next(check_number(L, 2, "seconds", "connection:next"));
  if (!event) return push_failure(L, event.error());
  return *event ? push_text_as_value(L, **event) : 0;
}

constexpr luaL_Reg kConnectionMethods[] = {
    {"state", guarded<connection_state>},     {"state_text", guarded<connection_state_text>},
    {"control", guarded<connection_control>}, {"next", guarded<connection_next>},
    {"close", guarded<close_connection>},
};

/// attach(url, {token_file=, insecure=, tls_ca=, read_only=, timeout=}) -> connection; or nil, message, code
int attach(lua_State* L) {
  const std::string where(check_text(L, 1, "url", "control.attach"));
  const bool options = lua_istable(L, 2);
  const std::string token_file = options ? text_field(L, 2, "token_file") : "";
  auto url = url_of(where);
  if (!url) return push_failure(L, url.error());
  auto token =
      token_of(token_file, options && boolean_field(L, 2, "insecure"), options && boolean_field(L, 2, "read_only"));
  if (!token) return push_failure(L, token.error());
  StreamOptions stream;
  stream.token = std::move(*token);
  if (options) stream.tls.ca = text_field(L, 2, "tls_ca");
  if (!stream.tls.ca.empty() && url->starts_with("tcp://")) *url = "tls+" + *url;
  auto connection = std::make_unique<Connection>();
  Vm& vm = Vm::from(L);
  connection->client = std::make_unique<ControlClient>(std::move(stream), connection->clock, connection->log, [&vm] {
    return vm.stop_requested() ? Status(Error{Code::interrupted, "interrupted"}) : Status();
  });
  const Status attached =
      connection->client->attach(*url, options ? number_field(L, 2, "timeout", kReplySeconds) : kReplySeconds);
  if (!attached) return push_failure(L, attached.error());
  push_object<Connection>(L, kConnection, kConnectionMethods) = std::move(connection);
  return 1;
}

/// find() -> {{url=, job=, id=, pid=, started=, token_file=, insecure=}, ...}, the newest first; or nil, message, code
int find(lua_State* L) {
  const auto runs = find_runs();
  if (!runs) return push_failure(L, runs.error());
  json list = json::array();
  for (const RunFile& run : *runs) {
    list.push_back({{"url", run.url},
                    {"job", run.job},
                    {"id", run.id},
                    {"pid", run.pid},
                    {"started", run.started},
                    {"insecure", run.insecure}});
    if (!run.token_file.empty()) list.back()["token_file"] = run.token_file;
  }
  push_json(L, list);
  return 1;
}

}  // namespace

void open_control(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {{"attach", guarded<attach>}, {"find", guarded<find>}};
  vm.register_module("actor.c.control", open_functions<kFunctions>);
}

}  // namespace actorhost
