#pragma once

#include "session/base/mutex.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace agui::gateway {

/// The streams that other gateways read here, each named by the gateway's number and a number that
/// it has chosen. Safe to call from any thread; must outlive its members.
class peer_streams {
public:
    using name = std::pair<std::int64_t, std::int64_t>;

    peer_streams() = default;
    peer_streams(const peer_streams&) = delete;
    peer_streams& operator=(const peer_streams&) = delete;

    /// Registers a stream while it exists. Of two with the same name only the later one is found.
    class member {
    public:
        /// `on_left` is called on any thread, not during or after the destructor, and must not
        /// block.
        member(peer_streams& of, name own, std::function<void()> on_left);
        ~member();
        member(const member&) = delete;
        member& operator=(const member&) = delete;

    private:
        friend class peer_streams;
        peer_streams& of_;
        const name own_;
        const std::function<void()> on_left_;
    };

    /// The stream's reader has left by itself. Returns false if there is no such stream.
    bool leave(const name& which);

private:
    mutex mutex_; ///< Also held during on_left_.
    std::map<name, const member*> members_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
