#include "proto-fixtures/replay/stage.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace agui::replay {

namespace asio = boost::asio;

temporary_folder::temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "agui-replay-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::system_error(errno, std::generic_category(), "a temporary folder");
    }
    path_ = name;
}

temporary_folder::~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void scripted_model::expect(const std::vector<model_turn>& turns) {
    const std::lock_guard lock(mutex_);
    answers_.clear();
    asked_.clear();
    for (const model_turn& turn : turns) {
        answers_.push_back(turn.answer);
    }
}

std::vector<std::string> scripted_model::asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
}

std::optional<runner::scripted_answer>
scripted_model::answer(const runner::transport_request& request) {
    const std::lock_guard lock(mutex_);
    const std::size_t index = asked_.size();
    asked_.push_back(request.body);
    return index < answers_.size() ? std::optional(answers_[index]) : std::nullopt;
}

runner::tool_registry make_canned_tools(const std::vector<canned_tool>& tools) {
    runner::tool_registry registry;
    for (const canned_tool& tool : tools) {
        registry.add(
            tool.definition,
            [tool](runner::tool_invocation call) -> asio::awaitable<runner::tool_outcome> {
                if (call.inputs.size() < tool.questions.size()) {
                    co_return runner::tool_outcome::ask(tool.questions[call.inputs.size()]);
                }
                if (!tool.step.empty()) {
                    call.run->start_step(tool.step);
                }
                if (!tool.raw.is_null()) {
                    call.run->send_raw(tool.raw, "fixture");
                }
                if (tool.delay.count() > 0) {
                    asio::steady_timer timer(co_await asio::this_coro::executor, tool.delay);
                    co_await timer.async_wait(asio::use_awaitable);
                }
                if (!tool.step.empty()) {
                    call.run->finish_step(tool.step);
                }
                co_return tool.outcome;
            }
        );
    }
    return registry;
}

stage::stage(const fixture_settings& settings)
    : config_(settings.config), tools_(make_canned_tools(settings.server_tools)) {
    config_.session.sqlite_path = (folder_.path() / "agui.db").string();
    gateway::server_options options;
    options.script_of = [this](const gateway::model_config&) -> runner::script {
        return [this](const runner::transport_request& request) {
            return script_.answer(request);
        };
    };
    providers_ = gateway::make_providers(config_, options, log_);
}

stage::~stage() = default;

asio::awaitable<void> stage::open() {
    store_ = gateway::make_store(config_.session, log_);
    service_ = std::make_unique<gateway::run_service>(
        gateway::process_services{*store_, tools_, ids_, time_, log_},
        gateway::make_run_settings(config_, providers_)
    );
    co_await service_->recover();
}

asio::awaitable<void> stage::close() {
    if (service_ != nullptr) {
        service_->begin_drain();
        co_await service_->drain(std::chrono::steady_clock::now());
        service_.reset();
    }
    if (store_ != nullptr) {
        store_->close();
        store_.reset();
    }
}

} // namespace agui::replay
