#pragma once
// Where the functions of actor.c.data find files: the shared data sets, the folders of MNIST, and remote files. On the
// Vm's thread.

#include "bindings/vm/lua_support.hpp"
#include "host/data/content/data_cache.hpp"
#include "host/data/file/http_source.hpp"

namespace actorhost {

/// The cache that share_data has given to this Vm.
DataCache& cache_of(lua_State* L);

/// Raises the error of a file. An unreadable file is the script's error, not the node's.
[[noreturn]] void raise_file_error(lua_State* L, Error error);

/// Options for remote files: a wait ends after a stop request.
HttpOptions options_until_stop(lua_State* L);

// Functions of actor.c.data.
int find_mnist(lua_State* L);
int fetch_file(lua_State* L);

}  // namespace actorhost
