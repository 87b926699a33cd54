#include "runner/chat/run_chat.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace agui::runner {

chat_result run_chat(
    owned_model model, std::vector<session::message> messages, std::vector<server_tool> tools,
    chat_with_tools config
) {
    std::optional<chat_result> ended;
    std::exception_ptr thrown;
    boost::asio::io_context context(1);
    boost::asio::co_spawn(
        context,
        chat_loop_with_tools(
            std::move(model), std::move(messages), std::move(tools), std::move(config)
        ),
        [&ended, &thrown](std::exception_ptr failed, chat_result result) {
            thrown = std::move(failed);
            ended.emplace(std::move(result));
        }
    );
    while (!ended) { // Not run(), which would also wait for a tool without an end.
        context.run_one();
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    return *std::move(ended);
}

chat_result run_chat(
    owned_model model, std::string question, std::vector<server_tool> tools, chat_with_tools config
) {
    std::vector<session::message> messages;
    messages.push_back(user(std::move(question)));
    return run_chat(std::move(model), std::move(messages), std::move(tools), std::move(config));
}

} // namespace agui::runner
