#pragma once
// Byte streams over tcp, ipc and tls+tcp. Wraps NNG; no other file uses NNG. Unlike NNG's protocol sockets its streams
// close safely under traffic.

#include "host/net/byte_stream.hpp"

namespace actorhost {

StreamNetwork& nng_network();

}  // namespace actorhost
