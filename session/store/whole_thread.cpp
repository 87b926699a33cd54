#include "session/store/whole_thread.hpp"

#include <set>
#include <string_view>

namespace agui::session {

bool has_twins(const std::vector<run_record>& runs) {
    std::set<std::string_view> ids;
    std::set<std::string_view> keys;
    for (const run_record& each : runs) {
        const bool is_new_key =
            each.idempotency_key.empty() || keys.insert(each.idempotency_key).second;
        if (!ids.insert(each.run_id).second || !is_new_key) {
            return true;
        }
    }
    return false;
}

} // namespace agui::session
