#include "session/history/model_history.hpp"

#include "session/history/history_repair.hpp"
#include "session/history/history_selection.hpp"

namespace agui::session {

std::vector<message> model_history(const thread_record& thread, node_index tip) {
    return repair_history(select_history(thread, tip));
}

} // namespace agui::session
