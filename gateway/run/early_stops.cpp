#include "gateway/run/early_stops.hpp"

#include <algorithm>

namespace agui::gateway {

void early_stops::add(
    const conversation_key& conversation, const std::string& run_id, time_point asked
) {
    const auto earlier = by_name_.find({conversation, run_id});
    if (earlier != by_name_.end()) {
        asked = std::max(asked, earlier->second.at);
    }
    forget(conversation, run_id); // Keeps the newest last in every order.
    const std::uint64_t number = ++last_number_;
    const auto added = by_name_.emplace(name{conversation, run_id}, entry{number, asked}).first;
    in_order_.emplace(number, added);
    std::set<std::uint64_t>& own = by_principal_[conversation.thread.principal];
    own.insert(number);
    if (own.size() > limits_.each_principal) {
        remove_number(*own.begin());
    } else if (in_order_.size() > limits_.in_all) {
        remove_number(in_order_.begin()->first);
    }
}

bool early_stops::take(
    const conversation_key& conversation, const std::string& run_id, time_point received,
    time_point now
) {
    while (!in_order_.empty() && in_order_.begin()->second->second.at + limits_.life <= now) {
        remove_number(in_order_.begin()->first);
    }
    const auto named = by_name_.find({conversation, run_id});
    const bool is_named = named != by_name_.end();
    if (is_named) {
        remove(named);
    }
    const auto of_thread = by_name_.find({conversation, std::string()});
    return is_named || (of_thread != by_name_.end() && received <= of_thread->second.at);
}

void early_stops::forget(const conversation_key& conversation, const std::string& run_id) {
    const auto found = by_name_.find({conversation, run_id});
    if (found != by_name_.end()) {
        remove(found);
    }
}

void early_stops::remove(std::map<name, entry>::iterator one) {
    const auto own = by_principal_.find(one->first.first.thread.principal);
    own->second.erase(one->second.number);
    if (own->second.empty()) {
        by_principal_.erase(own);
    }
    in_order_.erase(one->second.number);
    by_name_.erase(one);
}

void early_stops::remove_number(std::uint64_t number) { remove(in_order_.at(number)); }

} // namespace agui::gateway
