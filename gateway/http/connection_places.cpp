#include "gateway/http/connection_places.hpp"

#include <utility>

namespace agui::gateway {

connection_places::place::place(connection_places& owner, client_map::iterator client, shortage why)
    : owner_(owner), client_(client), why_(why) {
    if (client_ != owner_.clients_.end()) {
        ++client_->second.places;
    }
    count(true);
}

connection_places::place::~place() {
    const std::lock_guard lock(owner_.mutex_);
    stop_waiting();
    if (leaving_) {
        --owner_.leaving_;
    } else {
        count(false);
    }
    if (client_ != owner_.clients_.end() && --client_->second.places == 0) {
        owner_.clients_.erase(client_);
    }
}

void connection_places::place::count(bool more) noexcept {
    const auto change = [more](std::size_t& number) {
        number = more ? number + 1 : number - 1;
    };
    change(is_reserve() ? owner_.reserved_ : owner_.held_);
    if (!is_reserve() && client_ != owner_.clients_.end()) {
        change(client_->second.held);
    }
}

void connection_places::place::on_needed(std::function<void()> ask) {
    const std::lock_guard lock(owner_.mutex_);
    ask_ = std::move(ask);
    if (is_reserve()) {
        in_all_ = owner_.in_reserve_.insert(owner_.in_reserve_.end(), this);
        listed_ = true;
    }
}

void connection_places::place::rest(time_point since) {
    const std::lock_guard lock(owner_.mutex_);
    if (is_reserve() || listed_ || leaving_) {
        return;
    }
    since_ = since;
    in_all_ = owner_.resting_.insert(owner_.resting_.end(), this);
    if (client_ != owner_.clients_.end()) {
        auto& of_client = client_->second.resting;
        in_client_ = of_client.insert(of_client.end(), this);
    }
    listed_ = true;
}

void connection_places::place::wake() {
    const std::lock_guard lock(owner_.mutex_);
    if (is_reserve()) {
        return;
    }
    stop_waiting();
    if (leaving_) {
        // The request came first and is served, so the place is in use again.
        leaving_ = false;
        --owner_.leaving_;
        count(true);
    }
}

void connection_places::place::stop_waiting() {
    if (!listed_) {
        return;
    }
    listed_ = false;
    (is_reserve() ? owner_.in_reserve_ : owner_.resting_).erase(in_all_);
    if (!is_reserve() && client_ != owner_.clients_.end()) {
        client_->second.resting.erase(in_client_);
    }
}

void connection_places::place::give_way() {
    stop_waiting();
    count(false);
    leaving_ = true;
    ++owner_.leaving_;
    ask_();
}

std::unique_ptr<connection_places::place>
connection_places::enter(const std::string& name, time_point now) {
    const std::lock_guard lock(mutex_);
    const auto client = name.empty() ? clients_.end() : clients_.try_emplace(name).first;
    const shortage why = find_room(client, now);
    if (why == shortage::none || find_reserve()) {
        return std::make_unique<place>(*this, client, why);
    }
    if (client != clients_.end() && client->second.places == 0) {
        clients_.erase(client);
    }
    return nullptr;
}

connection_places::shortage
connection_places::find_room(client_map::iterator client, time_point now) {
    const time_point idle_since = now - limits_.idle;
    if (client != clients_.end() && client->second.held >= limits_.per_client &&
        !one_gives_way(client->second.resting, idle_since)) {
        return shortage::of_clients;
    }
    return held_ < limits_.all || one_gives_way(resting_, idle_since) ? shortage::none
                                                                      : shortage::of_all;
}

bool connection_places::find_reserve() {
    return reserved_ < limits_.reserve || one_gives_way(in_reserve_, time_point::max());
}

// A connection that gives way ends a little later. The bound on their number keeps a thread that is
// slow to end them from being owed ever more descriptors.
bool connection_places::one_gives_way(const std::list<place*>& among, time_point idle_since) {
    if (leaving_ >= limits_.reserve || among.empty() || among.front()->since_ > idle_since) {
        return false;
    }
    among.front()->give_way();
    return true;
}

} // namespace agui::gateway
