#include "session/history/model_history.hpp"

#include "session/history/history_repair.hpp"
#include "session/history/history_selection.hpp"
#include "session/history/prompt_fold.hpp"

#include <utility>

namespace agui::session {

std::vector<message> model_history(
    const thread_record& thread, node_index tip, const history_window& window,
    const foreign_tool_check& is_foreign
) {
    std::vector<message> messages =
        within_window(repair_history(select_history(thread, tip)), window);
    if (is_foreign) {
        delimit_results(messages, is_foreign);
    }
    tell_prompts(messages);
    return messages;
}

} // namespace agui::session
