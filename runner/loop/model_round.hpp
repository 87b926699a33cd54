#pragma once

#include "runner/base/tool_names.hpp"
#include "runner/hooks/request_draft.hpp"
#include "runner/loop/hosted_tools.hpp"
#include "runner/loop/model_order.hpp"
#include "runner/loop/model_turn.hpp"
#include "runner/loop/prefix_watch.hpp"
#include "runner/loop/reply_reader.hpp"
#include "runner/loop/round_requests.hpp"
#include "runner/loop/run_parts.hpp"
#include "session/base/memory_budget.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// Asks the model of one run and decides what its answer means for the run. Lives on the run's
/// executor.
class model_round {
public:
    explicit model_round(const run_parts& run) noexcept
        : run_(run),
          models_(run.services.model, run.request),
          requests_(run_, models_),
          hosted_tools_(run.context) {}
    model_round(const model_round&) = delete;
    model_round& operator=(const model_round&) = delete;

    /// Asks until one of the run's models has answered or none is left. `first` marks the run's
    /// first model call. Another model is asked only while nothing of the answer was shown. Returns
    /// nullopt if there are calls to execute or to hand over, or if the model is to be asked again
    /// because it paused. In any case turn() holds the answer so far. Models whose circuit is open
    /// are asked last.
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>> ask(bool first);

    /// The next request, for plugins, without messages and context.
    [[nodiscard]] request_draft draft(bool first) const { return requests_.draft(first); }

    /// Makes the model of that name the first to be asked, if the run may ask it.
    void prefer(std::string_view provider) noexcept { models_.prefer(provider); }

    /// The model's answer until it is stored; the code that stores it resets it.
    [[nodiscard]] std::optional<model_turn>& turn() noexcept { return turn_; }
    /// Tokens of all answers of this run.
    [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_; }
    /// True if the last model asked refused the content of the request: at once (refusal.hpp), or
    /// while it answered (finish_reason::refusal). Outages of models with an open circuit, which
    /// are asked after it, do not count.
    [[nodiscard]] bool refused() const noexcept { return refused_; }
    /// True if the last answer is a pause (finish_reason::pause).
    [[nodiscard]] bool paused() const noexcept { return paused_; }
    [[nodiscard]] std::vector<token_usage> take_usage() noexcept { return std::move(usage_); }
    /// Ends what a pause left open. Call it at the end of the run.
    void stop_hosted_tools() { hosted_tools_.stop(); }
    /// Adds the tokens of the last answer, which was not stored, to the next answer.
    void carry_tokens() noexcept { carried_tokens_ += std::exchange(answer_tokens_, 0); }
    /// Name of the model that answered last; empty if it has none.
    [[nodiscard]] std::string_view last_provider() const noexcept {
        return models_.provider(models_.preferred()).name();
    }
    /// The failure that ended the run, or null.
    [[nodiscard]] const model_failure* failure() const noexcept { return failed_.get(); }

private:
    [[nodiscard]] boost::asio::awaitable<std::vector<session::message>> make_history(bool& on_branch
    );
    [[nodiscard]] boost::asio::awaitable<std::string>
    bind(const model_request& request, std::size_t index, bool on_branch);
    void log_left_out(std::size_t answer) const;
    void check_prefix(const model_request& request, request_parts parts, bool on_branch);
    [[nodiscard]] bool is_on_branch() const;
    void begin_turn(std::size_t index, const model_request& request, std::string prefix);
    void show_media(const generated_media& made);
    [[nodiscard]] std::string_view count_arriving(std::size_t bytes);
    [[nodiscard]] model_sink& sink() noexcept;
    /// Result of judge(). If is_over, no other attempt follows, and ask() returns `reason`.
    struct verdict {
        bool is_over = true;
        std::optional<stop_reason> reason;
    };
    [[nodiscard]] verdict judge(std::size_t index, const model_outcome* outcome);
    [[nodiscard]] stop_reason on_own_refusal(const model_failure& refused);
    void on_failure(std::size_t index, model_failure error);
    [[nodiscard]] stop_reason give_up();
    void keep_attempt(std::size_t index, const model_failure& failed);
    void log_failure(std::size_t index, const model_failure& failed);
    [[nodiscard]] stop_reason reason_of(const model_failure& failed) const;
    std::optional<stop_reason> on_answer(const model_answer& answer);
    void show_reply();
    void count_tokens(const model_answer& answer);
    void log_upstream(std::string_view said);
    [[nodiscard]] model_turn::call name_call(std::string_view id, std::string_view name);

    const run_parts run_;
    model_order models_;
    const round_requests requests_;
    std::optional<tool_names> names_; ///< Names of the tools that turn_ is offered.
    std::optional<model_turn> turn_;
    memory_share arriving_; ///< Of a medium of the answer that is not whole yet.
    /// In front of turn_; null if text is shown as it arrives.
    std::unique_ptr<reply_reader> reply_;
    hosted_tools hosted_tools_;
    std::vector<token_usage> usage_;
    std::uint64_t tokens_ = 0;
    std::uint64_t answer_tokens_ = 0;  ///< Tokens of the last answer, including carried ones.
    std::uint64_t carried_tokens_ = 0; ///< Tokens of answers that were not stored.
    std::unique_ptr<model_failure> failed_;
    /// The last failure of this question but outages of models with an open circuit, if it is a
    /// refusal of the content; otherwise null.
    std::unique_ptr<model_failure> refusal_;
    bool refused_ = false;
    bool paused_ = false;
};

} // namespace agui::runner
