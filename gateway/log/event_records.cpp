#include "gateway/log/event_records.hpp"

#include <cstring>

namespace agui::gateway {

namespace {

/// Header before each event's JSON in a record.
struct record_head {
    std::uint64_t sequence = 0;
    std::uint64_t size = 0;
};

} // namespace

void event_records::begin_event(std::uint64_t sequence, std::string& out) const {
    const record_head head{sequence, 0};
    out.append(reinterpret_cast<const char*>(&head), sizeof(head));
}

void event_records::end_event(std::size_t json_at, std::string& out) const {
    const std::uint64_t size = out.size() - json_at;
    std::memcpy(out.data() + json_at - sizeof(size), &size, sizeof(size));
}

event_records::record event_records::take_first(std::string_view& records) noexcept {
    record_head head;
    std::memcpy(&head, records.data(), sizeof(head));
    records.remove_prefix(sizeof(head));
    const record first{head.sequence, records.substr(0, head.size)};
    records.remove_prefix(head.size);
    return first;
}

} // namespace agui::gateway
