#pragma once

#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/base/mutex.hpp"
#include "session/conversation/attachment.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// The attachments of the memory store. Safe to use from any thread.
class memory_attachments {
public:
    /// store::keep_attachment().
    [[nodiscard]] result<void>
    keep(const thread_key& key, attachment what, std::uint64_t bytes_max);
    /// store::find_attachment().
    [[nodiscard]] std::optional<attachment>
    find(const thread_key& key, const std::string& sha256) const;
    /// The sizes of all attachments for threads of the principal.
    [[nodiscard]] std::uint64_t bytes_of(const std::string& principal) const;
    /// Erases all attachments of a thread.
    void erase(const thread_key& key);
    /// store::attachment_digests().
    [[nodiscard]] std::vector<std::string> digests(const thread_key& key) const;
    /// Erases all attachments of a principal and returns their number.
    std::size_t erase_of(const std::string& principal);
    /// Erases all that were kept before that time.
    void drop_before(unix_ms time);

private:
    mutable mutex mutex_;
    std::map<thread_key, std::map<std::string, attachment>> kept_ AGUI_GUARDED_BY(mutex_
    ); ///< Attachments by digest.
};

} // namespace agui::session
