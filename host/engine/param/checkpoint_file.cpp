#include "host/engine/param/checkpoint_file.hpp"

#include <algorithm>
#include <unordered_map>

#include <nlohmann/json.hpp>
#include <sodium.h>

#include "host/base/outside_json.hpp"
#include "host/data/content/npz.hpp"
#include "host/data/file/files.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr const char* kStateFile = "state.json";
constexpr const char* kValuesFile = "values.npz";
constexpr const char* kTasks = "tasks";
constexpr const char* kTasksArray = "@tasks";  // no key has this name

std::string hex_of(std::string_view bytes) {
  std::string out(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(out.data(), out.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  out.pop_back();
  return out;
}

Result<ParamKey> key_from_hex(const std::string& hex) {
  std::string bytes(hex.size() / 2, '\0');
  auto* at = reinterpret_cast<unsigned char*>(bytes.data());
  if (sodium_hex2bin(at, bytes.size(), hex.data(), hex.size(), nullptr, nullptr, nullptr) != 0) {
    return Error{Code::bad_data, "a key that is not hexadecimal"};
  }
  return ParamKey::from_canonical(bytes);
}

std::string array_name(const ParamKey& key, size_t number) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  const std::string_view text = key.is_number() ? std::string_view() : key.text();
  const bool fits = !text.empty() && text.size() <= 200 && std::all_of(text.begin(), text.end(), plain);
  return fits ? std::string(text) : "@" + std::to_string(number);
}

json to_json(const ParamSummary& s) {
  json out = {{"steps", s.steps},     {"updates", s.updates}, {"seconds", s.seconds},       {"reason", s.reason},
              {"dropped", s.dropped}, {"lost", s.lost},       {"non_finite", s.non_finite}, {"in_flight", s.in_flight}};
  if (s.traffic) {
    const auto bytes = [](const FilterBytes& b) { return json{{"before", b.before}, {"after", b.after}}; };
    out["traffic"] = {{"pushed", bytes(s.traffic->pushed)}, {"pulled", bytes(s.traffic->pulled)}};
  }
  return out;
}

ParamSummary summary_of(const json& j) {
  ParamSummary s;
  s.steps = j.at("steps");
  s.updates = j.at("updates");
  s.seconds = j.at("seconds");
  s.reason = j.at("reason");
  s.dropped = j.at("dropped");
  s.lost = j.at("lost");
  s.non_finite = j.at("non_finite");
  s.in_flight = j.at("in_flight");
  if (j.contains("traffic")) {
    const auto bytes = [](const json& b) { return FilterBytes{b.at("before"), b.at("after")}; };
    s.traffic = ParamTraffic{bytes(j.at("traffic").at("pushed")), bytes(j.at("traffic").at("pulled"))};
  }
  return s;
}

// Writes one value's arrays and returns its record.
Result<json> write_value(NpzWriter& arrays, const ParamCheckpoint::Value& value, const std::string& name) {
  json record = {{"key", value.key.print()},
                 {"canonical", hex_of(value.key.canonical())},
                 {"array", "value." + name},
                 {"step", value.step},
                 {"version", value.version}};
  if (const auto* lua = std::get_if<LuaValue>(&value.value)) {
    record["kind"] = "lua";
    record["tensors"] = json::array();
    AH_TRY(arrays.add("value." + name, Tensor{{Dtype::u8, {static_cast<int64_t>(lua->encoded.size())}}, lua->encoded}));
    for (size_t i = 0; i < lua->tensors.size(); ++i) {
      const std::string part = "tensor" + std::to_string(i) + "." + name;
      record["tensors"].push_back(part);
      AH_TRY(arrays.add(part, lua->tensors[i]));
    }
    return record;
  }
  record["kind"] = "tensor";
  AH_TRY(arrays.add("value." + name, std::get<Tensor>(value.value)));
  if (!value.state_of) return record;
  record["made"] = value.made;
  record["state"] = json::array();
  record["optimiser"] = kernel::name_of(*value.state_of);
  for (size_t i = 0; i < value.state.size(); ++i) {
    const std::string part = "state" + std::to_string(i) + "." + name;
    record["state"].push_back(part);
    AH_TRY(arrays.add(part, value.state[i]));
  }
  return record;
}

class Reader {
 public:
  Status open(const std::filesystem::path& path) {
    AH_LET(auto arrays, read_npz(path));
    for (NamedArray& named : arrays) arrays_[named.name] = std::move(named.array);
    return {};
  }

  Result<ParamCheckpoint::Value> value(const json& record) {
    ParamCheckpoint::Value value;
    AH_LET(value.key, key_from_hex(record.at("canonical")));
    value.step = record.at("step");
    value.version = record.at("version");
    const bool lua = record.at("kind") == "lua";
    auto array = take(record.at("array"));
    if (!array) return array.error();
    if (lua) {
      if (array->dtype != Dtype::u8) return Error{Code::bad_data, "a Lua value whose array does not hold bytes"};
      LuaValue out{std::move(array->data), {}};
      AH_TRY(take_tensors(record.at("tensors"), out.tensors));
      value.value = std::move(out);
      return value;
    }
    value.value = *std::move(array);
    if (!record.contains("optimiser")) return value;
    value.made = record.at("made");
    value.state_of = kernel::optimiser_named(record.at("optimiser").get<std::string>());
    AH_TRY(take_tensors(record.at("state"), value.state));
    return value;
  }

 private:
  Result<Tensor> take(const std::string& name) {
    auto node = arrays_.extract(name);
    if (node.empty()) return Error{Code::bad_data, "array '" + name + "' is missing in " + kValuesFile};
    return std::move(node.mapped());
  }
  Status take_tensors(const json& names, std::vector<Tensor>& out) {
    for (const json& name : names) {
      AH_LET(auto array, take(name));
      out.push_back(std::move(array));
    }
    return {};
  }
  std::unordered_map<std::string, Tensor> arrays_;
};

Result<std::string> read_text(const std::filesystem::path& path) {
  AH_LET(auto file, open_for_reading(path));
  std::string text(file.size, '\0');
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t got = ::read(file.fd.get(), text.data() + at, text.size() - at);
    if (got < 0) return file_error(path, "reading", errno);
    if (got == 0) break;
    at += static_cast<size_t>(got);
  }
  text.resize(at);
  return text;
}

// Throws an nlohmann::json exception for JSON of another form.
Result<ParamCheckpoint> parse(const json& state, Reader& reader) {
  if (state.at("format") != kFormat)
    return Error{Code::bad_data, "format " + state.at("format").dump() + " is unknown"};
  ParamCheckpoint checkpoint;
  checkpoint.state.run = state.at("run");
  checkpoint.state.number = state.at("number");
  checkpoint.state.updates = state.at("updates");
  checkpoint.state.seconds = state.at("seconds");
  if (state.contains("seed")) checkpoint.state.seed = state.at("seed").get<uint64_t>();
  for (const auto& [id, clock] : state.at("clocks").items()) {
    checkpoint.state.clocks[static_cast<NodeId>(std::stoul(id))] = clock;
  }
  for (const auto& [run, summary] : state.at("finished").items()) {
    checkpoint.finished[static_cast<RunId>(std::stoul(run))] = summary_of(summary);
  }
  for (const json& record : state.at("values")) {
    AH_LET(auto value, reader.value(record));
    checkpoint.values.push_back(std::move(value));
  }
  if (state.contains(kTasks)) {
    AH_LET(auto tasks, reader.value(state.at(kTasks)));
    checkpoint.state.tasks = std::move(tasks.value);
  }
  return checkpoint;
}

}  // namespace

Status write_checkpoint(const std::filesystem::path& directory, const ParamCheckpoint& checkpoint) {
  AH_LET(auto arrays, NpzWriter::create(directory / kValuesFile));
  const RunState& state = checkpoint.state;
  json out = {{"format", kFormat},          {"run", state.run},         {"number", state.number},
              {"updates", state.updates},   {"seconds", state.seconds}, {"clocks", json::object()},
              {"finished", json::object()}, {"values", json::array()}};
  if (state.seed) out["seed"] = *state.seed;
  for (const auto& [id, clock] : state.clocks) out["clocks"][std::to_string(id)] = clock;
  for (const auto& [run, summary] : checkpoint.finished) out["finished"][std::to_string(run)] = to_json(summary);
  for (size_t i = 0; i < checkpoint.values.size(); ++i) {
    const ParamCheckpoint::Value& value = checkpoint.values[i];
    AH_LET(auto record, write_value(arrays, value, array_name(value.key, i)));
    out["values"].push_back(std::move(record));
  }
  if (!std::holds_alternative<std::monostate>(state.tasks)) {
    ParamCheckpoint::Value tasks;
    tasks.key = ParamKey::of(kTasks).value();
    tasks.value = state.tasks;
    AH_LET(out[kTasks], write_value(arrays, tasks, kTasksArray));
  }
  AH_TRY(arrays.close());
  const std::filesystem::path path = directory / kStateFile;
  AH_LET(auto file, open_for_writing(path));
  const std::string text = json_text(out, 1) + "\n";
  AH_TRY(write_all(file.get(), std::as_bytes(std::span(text)), path));
  return file.close(path);
}

Result<ParamCheckpoint> read_checkpoint(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kStateFile;
  AH_LET(auto text, read_text(path));
  Reader reader;
  AH_TRY(reader.open(directory / kValuesFile));
  try {
    auto checkpoint = parse(json::parse(text), reader);
    if (!checkpoint) return Error{checkpoint.error().code, path.string() + ": " + checkpoint.error().message};
    return checkpoint;
  } catch (const std::exception& e) {  // thrown by json, or for an unreadable number
    return Error{Code::bad_data, path.string() + ": " + e.what()};
  }
}

}  // namespace actorhost
