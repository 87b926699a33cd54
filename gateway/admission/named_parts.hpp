#pragma once

#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"
#include "session/history/part_reference.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace agui::gateway {

/// The parts that the messages of a request name by links and notes: those of its thread, and the
/// thread's attachments. Counts the memory of attachments and of restored parts as long as it
/// exists.
class named_parts {
public:
    explicit named_parts(run_core& core);

    /// Reads the attachments that the messages name, each once. `work_bytes` are the bytes to go
    /// through; the references must outlive the await. errc::overloaded: there is not enough
    /// memory. Otherwise fails as the store does.
    [[nodiscard]] boost::asio::awaitable<result<void>> read_attachments(
        session::store& store, const std::vector<session::message>& messages,
        const session::thread_record& thread, std::size_t work_bytes
    );
    /// Calls session::restore_parts().
    [[nodiscard]] result<void> restore(
        std::vector<session::message>& messages, const session::thread_record& thread,
        std::vector<std::string>& warnings
    );

private:
    run_core& core_;
    session::parts_by_digest attached_;
    std::set<std::string> asked_for_; ///< Digests requested from the store.
    memory_share attached_memory_;
    memory_share restored_memory_;
};

} // namespace agui::gateway
