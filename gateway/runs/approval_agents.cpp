#include "gateway/runs/approval_agents.hpp"

#include "session/history/approval.hpp"

#include <functional>
#include <map>
#include <utility>

namespace agui::gateway {

boost::asio::awaitable<result<std::vector<std::string>>> find_agents_that_asked(
    std::shared_ptr<run_core> core, conversation_key conversation, std::vector<std::string> ids
) {
    session::store& store = core->store_of(conversation);
    const auto thread = co_await store.load(conversation.thread);
    if (!thread) {
        co_return thread.error();
    }
    std::vector<std::string> agents;
    std::map<std::string, std::string, std::less<>> agent_of_run;
    for (const std::string& id : ids) {
        const session::call_record* const call =
            thread->has_value() ? (*thread)->find_call(session::call_of_approval(id)) : nullptr;
        if (call == nullptr) {
            agents.emplace_back();
            continue;
        }
        auto known = agent_of_run.find(call->run_id);
        if (known == agent_of_run.end()) {
            const auto run = co_await store.find_run(conversation.thread, call->run_id);
            if (!run) {
                co_return run.error();
            }
            std::string agent = run->has_value() ? (*run)->agent_id : std::string();
            known = agent_of_run.emplace(call->run_id, std::move(agent)).first;
        }
        agents.push_back(known->second);
    }
    co_return agents;
}

} // namespace agui::gateway
