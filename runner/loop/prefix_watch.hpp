#pragma once

#include "runner/base/model_provider.hpp"
#include "session/base/mutex.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// A model request by the hashes of its parts (P13).
struct request_parts {
    std::uint64_t agent = 0;                    ///< Of the agent's id.
    std::uint64_t model = 0;                    ///< Of the provider's name and the model's.
    session::node_index tip = session::no_node; ///< The last message of the branch.
    std::uint64_t instructions = 0;
    std::vector<std::uint64_t> tools; ///< First the list, then the tools that messages add.
    std::size_t listed_tools = 0;     ///< Number of those in the list.
    std::vector<std::uint64_t> messages;
    /// The place of the last answer, if data that its model wants back may not be sent.
    std::optional<std::size_t> left_out;
};

/// Hashes what a dialect writes of a request: instructions, each tool, and of each message role,
/// content, calls, error and the tools that it adds. Takes time proportional to their bytes.
[[nodiscard]] request_parts parts_of(const model_request& request);

/// What may be the reason for a break.
struct break_causes {
    bool other_branch = false;    ///< The last request's tip is not on this one's branch.
    bool plugin = false;          ///< A plugin may have changed the messages.
    bool plugin_settings = false; ///< A plugin has changed instructions or tools.
    bool window = false;          ///< A window may leave messages out.
    bool refused = false;         ///< The thread's last request was refused for its content.
};

/// Where a request does not begin with the one before.
struct prefix_break {
    /// "model", "agent", "edit", "refused", "plugin", "instructions", "tools", "window", or
    /// "unknown", which is a defect.
    std::string_view reason;
    std::string element; ///< "model", "system", "tools[2]", "messages[7]": the first that differs.
};

/// Nullopt if `now` begins with `before`: the same model, equal instructions, and each tool and
/// message of `before` at its place. Pure.
[[nodiscard]] std::optional<prefix_break>
find_break(const request_parts& before, const request_parts& now, const break_causes& causes);

/// The last requests of the threads that this process serves, as hashes. Bounded: the threads that
/// asked no model for the longest time are forgotten first, and their next request is compared with
/// nothing. Safe to use from any thread.
class prefix_watch {
public:
    static constexpr std::size_t most_hashes = 500'000; ///< Of all threads, 8 bytes each.

    explicit prefix_watch(std::size_t most = most_hashes) : most_(most) {}

    /// The tip of the thread's last request; nullopt if there is none.
    [[nodiscard]] std::optional<session::node_index> last_tip(const session::thread_key& thread
    ) const;
    /// Keeps a request that is about to be sent. Returns the break, if it is one. The watch itself
    /// knows break_causes::refused.
    [[nodiscard]] std::optional<prefix_break>
    add(const session::thread_key& thread, request_parts now, break_causes causes);
    /// The request kept last was refused for its content, which later requests leave out. The one
    /// before it counts again.
    void refused(const session::thread_key& thread);

private:
    struct entry {
        const session::thread_key* thread = nullptr; ///< The key in places_.
        std::optional<request_parts> last;
        std::optional<request_parts> before; ///< Until another one is added.
        bool refused = false;                ///< The last request was refused.
    };
    [[nodiscard]] static std::size_t hashes_of(const entry& of) noexcept;
    void shrink() AGUI_REQUIRES(mutex_);

    const std::size_t most_;
    mutable mutex mutex_;
    std::list<entry> entries_ AGUI_GUARDED_BY(mutex_); ///< The latest first.
    std::map<session::thread_key, std::list<entry>::iterator> places_ AGUI_GUARDED_BY(mutex_);
    std::size_t hashes_ AGUI_GUARDED_BY(mutex_) = 0;
};

} // namespace agui::runner
