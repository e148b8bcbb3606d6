#include "host/wire/address.hpp"

namespace actorhost {

std::string address_name(Address address) {
  if (address == kNoAddress) return "nobody";
  const std::string index = std::to_string(address_index(address));
  if (is_service(address)) return "host " + index;
  if (is_data(address)) return "data " + index;
  return (is_server(address) ? "server " : "worker ") + index;
}

}  // namespace actorhost
