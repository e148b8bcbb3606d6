#include "host/mapreduce/rows/spill_file.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include "host/base/fd.hpp"
#include "host/data/file/disk.hpp"
#include "host/data/file/files.hpp"
#include "host/mapreduce/rows/block_packing.hpp"

namespace actorhost {

namespace {

/// Calls pread or pwrite from `offset` on; returns 0 or the error.
template <typename Byte, typename Io>
int transfer_at(int file, Byte* bytes, size_t size, uint64_t offset, const Io& io) {
  const Byte* const begin = bytes;
  return transfer(bytes, size,
                  [&](Byte* at, size_t left) { return io(file, at, left, static_cast<off_t>(offset) + (at - begin)); });
}

}  // namespace

SpillFile::SpillFile(std::string folder) : folder_(folder.empty() ? tmpdir() : std::move(folder)) {}

SpillFile::~SpillFile() {
  const int file = file_.load();
  if (file >= 0) ::close(file);
}

Error SpillFile::failed(const std::string& what, int error) const {
  const char* advice = "set TMPDIR to a folder that can be written";
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    advice = "free some room there, set TMPDIR to a folder with more, or allow more with --memory";
  } else if (error == EMFILE || error == ENFILE) {
    advice = "too many files are open: raise ulimit -n";
  }
  return {Code::full, what + " the temporary folder " + folder_ + ": " + std::generic_category().message(error) +
                          "; rows that do not fit in memory go there: " + advice};
}

Result<int> SpillFile::opened() {
  int file = file_.load(std::memory_order_acquire);
  if (file >= 0) return file;
  const std::lock_guard lock(opening_);
  file = file_.load(std::memory_order_acquire);
  if (file >= 0) return file;
  file = unnamed_file(folder_).release();
  if (file < 0) return failed("cannot make a file in", errno);
  file_.store(file, std::memory_order_release);
  return file;
}

Result<SpillRef> SpillFile::append(const RowBlock& block) {
  AH_LET(const auto file, opened());
  const Blob stored = pack_block(block.bytes);
  SpillRef ref;
  ref.stored_bytes = stored.size();
  ref.raw_bytes = block.bytes.size();
  ref.rows = block.rows;
  ref.checksum = XXH3_64bits(stored.data(), stored.size());
  ref.offset = end_.fetch_add(ref.stored_bytes, std::memory_order_relaxed);
  if (const int error = transfer_at(file, stored.chars(), stored.size(), ref.offset, disk::write_at); error != 0) {
    return failed("cannot write to", error);
  }
  raw_bytes_.fetch_add(ref.raw_bytes, std::memory_order_relaxed);
  return ref;
}

Result<RowBlock> SpillFile::read(const SpillRef& ref) const {
  Blob stored = Blob::allocate(ref.stored_bytes);
  if (const int error =
          transfer_at(file_.load(std::memory_order_acquire), stored.chars(), stored.size(), ref.offset, ::pread);
      error != 0) {
    return Error{Code::io, failed("cannot read back from", error).message};
  }
  const Error damaged{Code::bad_data, "spilled rows in the temporary folder " + folder_ +
                                          " differ from the written rows: is its disk failing?"};
  if (XXH3_64bits(stored.data(), stored.size()) != ref.checksum) return damaged;
  auto raw = unpack_block(stored, ref.raw_bytes);
  if (!raw) return damaged;
  return RowBlock{*std::move(raw), ref.rows};
}

void SpillFile::drop(const SpillRef& ref) noexcept {
  // Frees whole pages only. If the file system cannot do this, the pages are freed with the file.
  if (ref.stored_bytes == 0) return;
  (void)::fallocate(file_.load(std::memory_order_acquire), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(ref.offset), static_cast<off_t>(ref.stored_bytes));
}

}  // namespace actorhost
