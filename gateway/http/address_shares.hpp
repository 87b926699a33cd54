#pragma once

#include "session/base/mutex.hpp"
#include "session/base/text_map.hpp"

#include <cstddef>
#include <string>

namespace agui::gateway {

/// Counts the bytes of unfinished request bodies per client (client_of()), so that one client
/// cannot take the memory that others need. Safe to call from any thread; must outlive its shares.
class address_shares {
public:
    explicit address_shares(std::size_t most) noexcept : most_(most) {}
    address_shares(const address_shares&) = delete;
    address_shares& operator=(const address_shares&) = delete;

    /// The bytes of one body; the destructor returns them. Used by one thread at a time.
    class share {
    public:
        /// Counts nothing if `client` is empty.
        share(address_shares& owner, std::string client)
            : owner_(owner), client_(std::move(client)) {}
        ~share() { release(); }
        share(const share&) = delete;
        share& operator=(const share&) = delete;

        /// Makes the share at least `bytes`; never shrinks it. Returns false and changes nothing if
        /// the client's bodies would exceed the limit.
        [[nodiscard]] bool grow_to(std::size_t bytes);
        void release() noexcept;

    private:
        address_shares& owner_;
        std::string client_;
        std::size_t held_ = 0;
    };

private:
    const std::size_t most_;
    mutex mutex_;
    text_map<std::size_t> held_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
