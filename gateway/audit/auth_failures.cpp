#include "gateway/audit/auth_failures.hpp"

#include <mutex>
#include <utility>

namespace agui::gateway {
namespace {

constexpr const char* further_clients = "others";

} // namespace

void auth_failures::add(const audit_entry& failure, const std::string& client) {
    {
        const std::lock_guard lock(mutex_);
        auto place = clients_.find(client);
        if (place == clients_.end()) {
            place =
                clients_.try_emplace(clients_.size() < clients_max ? client : further_clients, 0)
                    .first;
        }
        if (++place->second > lines_max) {
            return;
        }
    }
    audit_.write(failure);
}

void auth_failures::sweep() {
    std::map<std::string, std::size_t> counted;
    {
        const std::lock_guard lock(mutex_);
        counted.swap(clients_);
    }
    for (const auto& [client, count] : counted) {
        if (count > lines_max) {
            audit_.write(
                {.what = audit_event::auth_failed,
                 .address = client,
                 .outcome = "repeated",
                 .count = count - lines_max}
            );
        }
    }
}

} // namespace agui::gateway
