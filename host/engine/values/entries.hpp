#pragma once
// Messages of entries (keys with values) or of keys: their layout, packing and reading. The parameter server and the
// peers use them behind their own heads. Numbers and texts are written by Packer. Reading checks every length against
// the received bytes; a malformed frame is Code::bad_data.
//
//   meta    = head count:u32 entry*            body = the payloads in order, each from the next multiple of 64
//   entry   = key:text step:u64? value         with steps: the completed steps of the last writer
//   value   = 0                                nil
//           | 1 layout                         a whole tensor; payload: its elements
//           | 2 layout first:u64 count:u64     one chunk of a tensor; payload: these elements
//           | 3 bytes:u64 n:u32 layout*n       a Lua value; payloads: its encoding, then each tensor's elements
//           | 4                                fetch: the receiver gets the value from the shards
//           | 5 layout first:u64 count:u64 bytes:u64   one chunk of a tensor; payload: filtered (filter.hpp)
//   layout  = dtype:u8 rank:u8 dim:i64*rank (host/base/tensor.hpp)
//
// A tensor of more than kChunkBytes is sent as several values 2, in order. A message may have several frames; the last
// frame has kLastFrame in its flags. MessageAssembler (message_assembler.hpp) collects its entries.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/engine/filter/filter.hpp"
#include "host/engine/values/value.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

/// In Frame.flags: the last frame of a message.
inline constexpr uint8_t kLastFrame = 1;

/// The number of a run of param.run or peer.run within the job. Frames of another run are ignored.
using RunId = uint32_t;

/// Packs entries into frames: small entries together (copied), a chunk of a large tensor in a frame of its own (by
/// reference).
class EntryPacker {
 public:
  /// `head` is written first into every frame. `with_steps` writes the step of each entry.
  EntryPacker(Kind kind, Address dst, uint32_t tag, std::string_view head, bool with_steps = false);

  EntryPacker& flags(uint8_t flags) {
    flags_ = flags;
    return *this;
  }
  void add(const ParamEntry& entry) { add(entry.key, entry.value, entry.step); }
  void add(const ParamKey& key, const ParamValue& value, uint64_t step = 0);
  /// Adds a tensor or a part of a tensor, cut into chunks.
  void add_tensor(const ParamKey& key, const ParamTensor& tensor, uint64_t step = 0);
  /// Adds one chunk in its filtered form. The chunk's own bytes are not read.
  void add_filtered(const ParamKey& key, const ParamTensor& chunk, const Blob& filtered, uint64_t step = 0);

  /// Appends the frames to `out`: at least one. The last frame has kLastFrame.
  void finish(std::vector<Frame>& out);

 private:
  void begin_entry(const ParamKey& key, uint64_t step);
  void put_layout(const TensorLayout& tensor);
  void put_chunk(const ParamKey& key, const ParamTensor& chunk, uint64_t step);
  void put_lua(const LuaValue& lua);
  void add_payload(const Blob& bytes);
  void close_frame();

  Kind kind_;
  Address dst_;
  uint32_t tag_;
  uint8_t flags_ = 0;
  bool with_steps_;
  std::string head_;
  Packer entries_;
  uint32_t count_ = 0;
  std::vector<Blob> payloads_;
  size_t body_bytes_ = 0;
  size_t decoded_bytes_ = 0;  // of filtered chunks
  std::vector<Frame> frames_;
};

/// Reads `count entry*` after a head. Tensors share `body`; filtered tensors are decoded. Adds the sizes of the values,
/// decoded and as received, to `bytes`.
Status read_entries(Unpacker& in, const Blob& body, bool with_steps, std::vector<ParamEntry>& out,
                    FilterBytes* bytes = nullptr);
/// Reads `count key*`.
Status read_keys(Unpacker& in, std::vector<ParamKey>& out);

/// Packs a message of keys. Splits long key lists to keep each frame's meta within its limit.
void pack_keys(Kind kind, Address dst, uint32_t tag, std::string_view head, std::span<const ParamKey> keys,
               std::vector<Frame>& out);

}  // namespace actorhost
