#include "session/history/model_history.hpp"

#include "session/history/history_repair.hpp"
#include "session/history/history_selection.hpp"

#include <utility>

namespace agui::session {

std::vector<message>
model_history(const thread_record& thread, node_index tip, const history_window& window) {
    history_selection selected = select_history(thread, tip);
    selected.messages = within_window(std::move(selected.messages), window);
    return repair_history(std::move(selected));
}

} // namespace agui::session
