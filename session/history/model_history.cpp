#include "session/history/model_history.hpp"

#include "session/history/history_repair.hpp"
#include "session/history/history_selection.hpp"

#include <utility>

namespace agui::session {

std::vector<message>
model_history(const thread_record& thread, node_index tip, const history_window& window) {
    return within_window(repair_history(select_history(thread, tip)), window);
}

} // namespace agui::session
