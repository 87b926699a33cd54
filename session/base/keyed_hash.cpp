#include "session/base/keyed_hash.hpp"

#include "session/base/id.hpp"

#include <cstring>
#include <string>

namespace agui {

namespace {

// Throws, and so ends the process, if the system has no random bytes: a table without a secret key
// must not be used.
hash_key draw_key() {
    const std::string bytes = random_bytes(sizeof(hash_key));
    hash_key key;
    std::memcpy(&key, bytes.data(), sizeof(key));
    return key;
}

} // namespace

const hash_key& process_hash_key() noexcept {
    static const hash_key key = draw_key();
    return key;
}

std::uint64_t keyed_hash(std::string_view text) noexcept {
    return keyed_hash(process_hash_key(), text);
}

} // namespace agui
