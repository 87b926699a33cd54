#include "tests/gateway/input_pipeline.hpp"

#include "gateway/admission/run_setup.hpp"
#include "session/history/model_history.hpp"
#include "translator/input/run_input.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace agui::test {

namespace asio = boost::asio;

input_pipeline::input_pipeline(
    std::unique_ptr<session::store> store, session::history_policy policy
)
    : store_(std::move(store)) {
    settings_.history = policy;
}

bool input_pipeline::post(std::string_view body) {
    bool taken = false;
    std::exception_ptr failed;
    asio::co_spawn(context_, take(body), [&](std::exception_ptr thrown, bool result) {
        failed = thrown;
        taken = result;
    });
    context_.restart();
    context_.run();
    if (failed) {
        std::rethrow_exception(failed);
    }
    return taken;
}

asio::awaitable<bool> input_pipeline::take(std::string_view body) {
    const auto input = translator::read_run_input(body, {});
    if (!input) {
        co_return false;
    }
    const session::thread_key key{"", input->thread_id};
    const std::string run_id = input->run_id + "." + std::to_string(++requests_);
    const auto acquired = co_await store_->acquire(key, run_id);
    auto loaded = co_await store_->load(key);
    if (!acquired || !loaded) {
        throw std::runtime_error("the store failed");
    }
    session::thread_record thread;
    thread.key = key;
    if (loaded->has_value()) {
        thread = std::move(**loaded);
    }
    const auto is_server_tool = [this](std::string_view name) {
        return tools_.contains(name);
    };
    auto plan = session::plan_history(
        thread, gateway::history_of(settings_, is_server_tool, tools_, *input, 1), settings_.history
    );
    if (!plan) {
        store_->release(*acquired);
        co_return false;
    }
    gateway::complete_change(*plan, *input, thread, agent_, settings_.history, 1);
    const auto offered = gateway::external_tools(
        settings_, agent_, is_server_tool, *input,
        plan->change.offered_tools ? *plan->change.offered_tools : thread.offered_tools,
        null_logger()
    );
    if (!offered) {
        store_->release(*acquired);
        co_return false;
    }
    session::run_record run;
    run.run_id = run_id;
    run.started_at = 1;
    const auto begun = co_await store_->begin(key, run, plan->change);
    if (!begun) {
        throw std::runtime_error("the run could not be begun");
    }
    session::apply(thread, plan->change);
    if (thread.head < thread.branches.size()) {
        (void)session::model_history(thread, thread.branches[thread.head].tip);
    }
    session::changes end;
    end.at = 2;
    run.number = begun->number;
    run.status = session::run_status::finished;
    run.ended_at = 2;
    end.run = run;
    const auto ended =
        co_await store_->commit(key, std::move(end), std::nullopt, {*acquired, true});
    if (!ended) {
        throw std::runtime_error("the run could not be ended");
    }
    co_return true;
}

} // namespace agui::test
