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
    leave();
    if (client_ != owner_.clients_.end() && --client_->second.places == 0) {
        owner_.clients_.erase(client_);
    }
}

// Removes the place from all counts and from the eviction lists.
void connection_places::place::leave() noexcept {
    unlist();
    if (exempt_) {
        return;
    }
    if (evicted_) {
        --(is_reserve() ? owner_.evicted_reserved_ : owner_.evicted_);
    } else {
        count(false);
    }
}

void connection_places::place::exempt() noexcept {
    const std::lock_guard lock(owner_.mutex_);
    leave();
    exempt_ = true;
    evicted_ = false;
    why_ = shortage::none;
}

void connection_places::place::count(bool more) noexcept {
    const auto change = [more](std::size_t& number) {
        number = more ? number + 1 : number - 1;
    };
    change(is_reserve() ? owner_.reserved_ : owner_.held_);
    if (client_ != owner_.clients_.end()) {
        change(is_reserve() ? client_->second.reserved : client_->second.held);
    }
}

void connection_places::place::on_evict(std::function<void()> ask) {
    const std::lock_guard lock(owner_.mutex_);
    ask_ = std::move(ask);
    if (is_reserve()) {
        owner_.in_reserve_.push_back(*this);
    }
}

void connection_places::place::mark_idle(time_point since) noexcept {
    const std::lock_guard lock(owner_.mutex_);
    if (is_reserve() || evicted_ || exempt_) {
        return;
    }
    unlist();
    since_ = since;
    owner_.idle_.push_back(*this);
    if (client_ != owner_.clients_.end()) {
        client_->second.idle.push_back(*this);
    }
}

void connection_places::place::mark_busy() noexcept {
    const std::lock_guard lock(owner_.mutex_);
    if (is_reserve()) {
        return;
    }
    unlist();
    if (evicted_) {
        // The request arrived first and is served, so the place is in use again.
        evicted_ = false;
        --owner_.evicted_;
        count(true);
    }
}

void connection_places::place::unlist() noexcept {
    if (in_all_.is_linked()) {
        age_list& all = is_reserve() ? owner_.in_reserve_ : owner_.idle_;
        all.erase(all.iterator_to(*this));
    }
    if (in_client_.is_linked()) {
        client_age_list& own = client_->second.idle;
        own.erase(own.iterator_to(*this));
    }
}

void connection_places::place::evict() {
    unlist();
    count(false);
    evicted_ = true;
    ++(is_reserve() ? owner_.evicted_reserved_ : owner_.evicted_);
    ask_();
}

connection_places::admission connection_places::admit(const std::string& name, time_point now) {
    const std::lock_guard lock(mutex_);
    const auto client = name.empty() ? clients_.end() : clients_.try_emplace(name).first;
    const shortage why = find_room(client, now);
    if (why == shortage::none || find_reserve(client, why)) {
        return {std::make_unique<place>(*this, client, why), why};
    }
    if (client != clients_.end() && client->second.places == 0) {
        clients_.erase(client);
    }
    return {nullptr, why};
}

// The limits are checked again after an eviction, because evicted connections whose request arrived
// first count again and may exceed them.
connection_places::shortage
connection_places::find_room(client_map::iterator client, time_point now) {
    const time_point idle_since = now - limits_.idle;
    if (client != clients_.end()) {
        struct client& own = client->second;
        if (own.held >= limits_.per_client &&
            !(evict_oldest(own.idle, idle_since) && own.held < limits_.per_client)) {
            return shortage::of_clients;
        }
    }
    const bool has_room =
        held_ < limits_.all || (evict_oldest(idle_, idle_since) && held_ < limits_.all);
    return has_room ? shortage::none : shortage::of_all;
}

bool connection_places::find_reserve(client_map::iterator client, shortage why) {
    if (client != clients_.end() && client->second.reserved >= limits_.reserve_per_client) {
        return false;
    }
    return reserved_ < limits_.reserve ||
           (why == shortage::of_all && evict_oldest(in_reserve_, time_point::max()));
}

// Evicted connections end a little later. Their number is bounded, so that a thread that ends them
// slowly does not hold ever more descriptors.
template <class List>
bool connection_places::evict_oldest(List& among, time_point idle_since) {
    if (among.empty() || among.front().since_ > idle_since) {
        return false;
    }
    place& oldest = among.front();
    if ((oldest.is_reserve() ? evicted_reserved_ : evicted_) >= limits_.reserve) {
        return false;
    }
    oldest.evict();
    return true;
}

std::pair<http_errc, std::string_view> refusal_of(connection_places::shortage why) noexcept {
    if (why == connection_places::shortage::of_clients) {
        return {
            http_errc::rate_limited,
            "Too many connections from one address (server.max_connections_per_address)."
        };
    }
    return {http_errc::overloaded, "Too many connections."};
}

} // namespace agui::gateway
