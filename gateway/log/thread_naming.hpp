#pragma once

#include "gateway/log/stream_form.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {

/// How the events of a run name their thread to a reader who is not its owner. The logs hold the
/// owner's id, and links that hold it and the owner.
struct thread_naming {
    std::string shown_id; ///< The thread's id for the reader. Needs no escapes in JSON.
    /// The path of the links to parts in the log, up to the digest. Their hosts differ: a log keeps
    /// those of the time and of the gateway that wrote it.
    std::string own_path;
    /// Makes the reader's link to the part with that digest; empty if this gateway makes none.
    std::function<std::string(std::string_view sha256)> link;
};

/// Puts the reader's id and links in place of the owner's, in an event's JSON from `json_at` to the
/// end of `out`.
void rename_thread(const thread_naming& naming, std::size_t json_at, std::string& out);

/// A form whose events name the thread as `naming` says, and are otherwise those of `inner`, which
/// must outlive it. An event that does not begin or end the run, and has no link, costs one search.
class renamed_form final : public stream_form {
public:
    renamed_form(const stream_form& inner, std::shared_ptr<const thread_naming> naming)
        : inner_(inner), naming_(std::move(naming)) {}

    [[nodiscard]] std::string_view content_type() const noexcept override {
        return inner_.content_type();
    }
    void begin_event(std::uint64_t sequence, std::string& out) const override {
        inner_.begin_event(sequence, out);
    }
    void end_event(std::size_t json_at, std::string& out) const override {
        rename_thread(*naming_, json_at, out);
        inner_.end_event(json_at, out);
    }
    [[nodiscard]] std::size_t bytes_around() const noexcept override {
        return inner_.bytes_around();
    }
    [[nodiscard]] std::string_view heartbeat() const noexcept override {
        return inner_.heartbeat();
    }
    [[nodiscard]] std::string_view cut_off_note() const noexcept override {
        return inner_.cut_off_note();
    }

private:
    const stream_form& inner_;
    const std::shared_ptr<const thread_naming> naming_;
};

} // namespace agui::gateway
