#include "gateway/http/wrong_tokens.hpp"

#include <algorithm>
#include <utility>

namespace agui::gateway {
namespace {

/// Limited, because an attacker may use many addresses.
constexpr std::size_t clients_max = 64;
constexpr const char* other_clients = "others";

/// People mistype tokens, and open pages repeat requests when the token changes.
constexpr int at_once_max = 3;
constexpr std::chrono::milliseconds step{100};
/// Limited, because each delayed refusal holds a connection.
constexpr std::chrono::milliseconds longest_hold{2'000};

} // namespace

std::chrono::milliseconds wrong_tokens::add(const std::string& client, time_point now) {
    const std::lock_guard lock(mutex_);
    auto place = clients_.find(client);
    if (place == clients_.end()) {
        place = clients_.try_emplace(clients_.size() < clients_max ? client : other_clients).first;
    }
    client_count& count = place->second;
    ++count.unreported;
    ++count.recent;
    if (count.lines.due(now)) {
        report(place->first, count);
    }
    const int waiting = std::max(count.recent - at_once_max, 0);
    return std::min(waiting * step, longest_hold);
}

void wrong_tokens::sweep(time_point now) {
    const std::lock_guard lock(mutex_);
    for (auto each = clients_.begin(); each != clients_.end();) {
        client_count& count = each->second;
        count.recent = 0;
        if (!count.lines.due(now)) {
            ++each;
        } else if (count.unreported > 0) {
            report(each->first, count);
            ++each;
        } else {
            each = clients_.erase(each);
        }
    }
}

void wrong_tokens::report(const std::string& client, client_count& count) {
    const std::string number = std::to_string(std::exchange(count.unreported, 0));
    log_.log(
        log_level::warning, "requests with a wrong bearer token were refused",
        {{"address", client}, {"count", number}}
    );
}

} // namespace agui::gateway
