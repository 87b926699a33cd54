#include "gateway/http/refused_origins.hpp"

namespace agui::gateway {

void refused_origins::report(std::string_view origin) {
    if (origin.empty() || origin.size() > most_bytes_) {
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        if (told_.size() >= most_ || !told_.emplace(origin).second) {
            return;
        }
    }
    log_.log(
        log_level::warning,
        "a page was refused: to allow it, add its origin to server.cors_origins",
        {{"origin", origin}}
    );
}

} // namespace agui::gateway
