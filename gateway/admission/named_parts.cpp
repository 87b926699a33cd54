#include "gateway/admission/named_parts.hpp"

#include "session/base/heavy_work.hpp"
#include "session/conversation/message_size.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace agui::gateway {

namespace {

// How many attachments a request may name: far more than people attach. Each is a read of the store
// while the run holds its thread. Further names count as unknown.
constexpr std::size_t attachments_read_max = 100;

} // namespace

named_parts::named_parts(run_core& core)
    : core_(core), attached_memory_(core.services.memory), restored_memory_(core.services.memory) {}

boost::asio::awaitable<result<void>> named_parts::read_attachments(
    session::store& store, const std::vector<session::message>& messages,
    const session::thread_record& thread, std::size_t work_bytes
) {
    auto looking = [&] {
        return session::missing_parts(messages, thread, attachments_read_max);
    };
    const std::set<std::string> missing =
        co_await run_heavy(core_.services.heavy, work_bytes, looking);
    for (const std::string& sha256 : missing) {
        if (asked_for_.size() == attachments_read_max || !asked_for_.insert(sha256).second) {
            continue;
        }
        const auto found = co_await store.find_attachment(thread.key, sha256);
        if (!found) {
            co_return found.error();
        }
        if (!found->has_value()) {
            continue;
        }
        boost::json::value part = session::part_of(**found);
        if (!attached_memory_.grow_to(attached_memory_.held() + session::stored_size(part))) {
            co_return failure{errc::overloaded, "there is not enough memory for this request"};
        }
        attached_.emplace(sha256, std::move(part));
    }
    co_return result<void>();
}

// A branch's content never exceeds the thread's size, however old its links are.
result<void> named_parts::restore(
    std::vector<session::message>& messages, const session::thread_record& thread,
    std::vector<std::string>& warnings
) {
    restored_memory_.shrink_to(0);
    const std::uint64_t most = std::max(core_.settings.max_thread_bytes, thread.bytes);
    return session::restore_parts(messages, thread, attached_, most, restored_memory_, warnings);
}

} // namespace agui::gateway
