#include "gateway/quota/running_threads.hpp"

#include <mutex>
#include <utility>

namespace agui::gateway {

class running_threads::held_place {
public:
    held_place(
        std::shared_ptr<running_threads> owner, std::vector<claim> claims, std::string thread
    )
        : owner_(std::move(owner)), claims_(std::move(claims)), thread_(std::move(thread)) {}
    ~held_place() { owner_->leave(claims_, thread_); }
    held_place(const held_place&) = delete;
    held_place& operator=(const held_place&) = delete;

private:
    const std::shared_ptr<running_threads> owner_;
    const std::vector<claim> claims_;
    const std::string thread_;
};

running_threads::entered
running_threads::enter(std::vector<claim> claims, const std::string& thread) {
    {
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < claims.size(); ++i) {
            const auto known = subjects_.find(claims[i].subject);
            const bool is_full = claims[i].limit > 0 && known != subjects_.end() &&
                                 known->second.size() >= claims[i].limit &&
                                 !known->second.contains(thread);
            if (is_full) {
                return {nullptr, i};
            }
        }
        for (const claim& each : claims) {
            ++subjects_[each.subject][thread];
        }
    }
    return {
        std::make_shared<const held_place>(shared_from_this(), std::move(claims), thread),
        std::nullopt
    };
}

void running_threads::leave(const std::vector<claim>& claims, const std::string& thread) noexcept {
    const std::lock_guard lock(mutex_);
    for (const claim& each : claims) {
        const auto subject = subjects_.find(each.subject);
        const auto count = subject->second.find(thread);
        if (--count->second == 0) {
            subject->second.erase(count);
        }
        if (subject->second.empty()) {
            subjects_.erase(subject);
        }
    }
}

std::size_t running_threads::count(const std::string& subject) const {
    const std::lock_guard lock(mutex_);
    const auto known = subjects_.find(subject);
    return known == subjects_.end() ? 0 : known->second.size();
}

} // namespace agui::gateway
