#include "gateway/control/control_door.hpp"

#include "gateway/control/thread_lines.hpp"

#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

/// The program makes one connection at a time. Each may have a body of thread_bytes_max.
constexpr std::size_t connections_max = 8;
/// A reader of an export may be a person with a pager.
constexpr std::chrono::hours patience_with_readers{1};
constexpr std::string_view user_prefix = "uid:";

/// Accepts every request of one user of this machine.
class local_user final : public authenticator {
public:
    explicit local_user(::uid_t user) {
        caller made;
        made.user = std::string(user_prefix) + std::to_string(user);
        made.principal = principal_of({}, made.user);
        made.scopes = scope_set::everything();
        who_ = std::make_shared<const caller>(std::move(made));
    }
    asio::awaitable<auth_result> authenticate(const presented_head&) override { co_return who_; }
    bool reads(std::string_view) const noexcept override { return false; }

private:
    std::shared_ptr<const caller> who_;
};

connection_limits control_limits() {
    connection_limits limits;
    limits.max_body_bytes = thread_bytes_max;
    limits.stall = limits.reply = patience_with_readers;
    limits.min_reply_rate = 0;
    return limits;
}

} // namespace

/// The services that the connections of one user share.
struct control_door::guest {
    guest(control_door& of, ::uid_t user)
        : auth(std::make_shared<local_user>(user)),
          wrong(of.log_),
          refused(of.log_),
          no_room(of.log_),
          services{of.routes_,
                   {},
                   auth,
                   wrong,
                   control_limits(),
                   of.log_,
                   of.memory_,
                   of.large_bodies_,
                   unfinished,
                   large_replies,
                   no_room,
                   refused,
                   {},
                   {}},
          connections(of.executor_, services) {}

    current_authenticator auth;
    wrong_tokens wrong;
    address_shares unfinished{thread_bytes_max};
    bulkhead large_replies{1, connections_max};
    refused_origins refused;
    room_log no_room;
    connection_services services;
    connection_group connections;
};

control_door::control_door(
    const asio::any_io_executor& executor, const std::string& path, control_parts parts,
    logger& log, memory_budget& memory, memory_queue& large_bodies
)
    : executor_(executor),
      log_(log),
      memory_(memory),
      large_bodies_(large_bodies),
      routes_({}, make_control_routes(std::move(parts))),
      places_({.all = connections_max, .reserve = 0}),
      socket_(
          executor, path,
          [this](asio::ip::tcp::socket socket, ::uid_t user) { add(std::move(socket), user); }, log
      ) {}

control_door::~control_door() = default;

control_door::guest& control_door::guest_of(::uid_t user) {
    std::unique_ptr<guest>& found = guests_[user];
    if (!found) {
        found = std::make_unique<guest>(*this, user);
    }
    return *found;
}

void control_door::add(asio::ip::tcp::socket socket, ::uid_t user) {
    connection_places::admission admitted = places_.admit({}, std::chrono::steady_clock::now());
    if (admitted.place) {
        guest_of(user).connections.add(std::move(socket), std::move(admitted.place));
    }
}

void control_door::shut_down(std::chrono::steady_clock::time_point deadline) {
    for (const auto& [user, one] : guests_) {
        one->connections.shut_down(deadline);
    }
}

} // namespace agui::gateway
