#pragma once

#include "runner/base/tool_names.hpp"
#include "runner/hooks/request_draft.hpp"
#include "runner/loop/model_turn.hpp"
#include "runner/loop/reply_reader.hpp"
#include "runner/loop/run_parts.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// Asks a run's model, and says what its answer means for the run. For one run, on its executor.
class model_round {
public:
    explicit model_round(const run_parts& run) noexcept : run_(run) {}
    model_round(const model_round&) = delete;
    model_round& operator=(const model_round&) = delete;

    /// Asks until one of the run's models has answered or none is left; `first`: this is the run's
    /// first model call. Another model is asked only while nothing of the answer was shown. Returns
    /// nullopt if there are calls to execute or to hand over. In any case, what the model has said
    /// so far is in turn().
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>> ask(bool first);

    /// The next request, for plugins: without messages and context.
    [[nodiscard]] request_draft draft(bool first) const;

    /// The model of that name is asked first, if the run may ask it.
    void prefer(std::string_view provider) noexcept;

    /// What the model has said and nobody has stored; whoever stores it resets it.
    [[nodiscard]] std::optional<model_turn>& turn() noexcept { return turn_; }
    /// Tokens of all answers of this run.
    [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_; }
    /// True if the last model tried has refused what the request holds (refusal.hpp).
    [[nodiscard]] bool refused() const noexcept { return refused_; }
    [[nodiscard]] std::vector<token_usage> take_usage() noexcept { return std::move(usage_); }
    /// The last answer was not stored: what it cost is stored with the next one.
    void carry_tokens() noexcept { carried_tokens_ += std::exchange(answer_tokens_, 0); }
    /// Name of the model that answered last. Empty if it has none.
    [[nodiscard]] std::string_view last_provider() const noexcept {
        return provider(preferred_).name();
    }
    /// The failure that ended the run; null: none did.
    [[nodiscard]] const model_failure* failure() const noexcept { return failed_.get(); }

private:
    /// An index among the run's models; `place`: 0 is the one that is asked first.
    [[nodiscard]] std::size_t model_at(std::size_t place) const noexcept;
    [[nodiscard]] boost::asio::awaitable<std::vector<session::message>> make_history();
    [[nodiscard]] model_request
    make_request(std::size_t index, bool first, std::vector<session::message>& history) const;
    [[nodiscard]] model_request plain_request(std::size_t index, bool first) const;
    void begin_turn(std::size_t index, const model_request& request);
    [[nodiscard]] model_sink& sink() noexcept;
    [[nodiscard]] model_provider& provider(std::size_t index) const noexcept;
    [[nodiscard]] const model_parameters& parameters(std::size_t index) const noexcept;
    void on_failure(std::size_t index, model_failure error);
    void keep_attempt(std::size_t index, const model_failure& failed);
    void log_failure(std::size_t index, const model_failure& failed);
    [[nodiscard]] stop_reason reason_of(const model_failure& failed) const;
    std::optional<stop_reason> on_answer(const model_answer& answer);
    void show_reply();
    void resolve_tool_choice(model_request& request) const;
    void count_tokens(const model_answer& answer);
    void log_upstream(std::string_view said);
    [[nodiscard]] model_turn::call name_call(std::string_view id, std::string_view name);

    const run_parts run_;
    std::optional<tool_names> names_; ///< Of the tools that turn_ is offered.
    std::optional<model_turn> turn_;
    std::unique_ptr<reply_reader> reply_; ///< In front of turn_; null: text is shown as it comes.
    std::vector<token_usage> usage_;
    std::uint64_t tokens_ = 0;
    std::uint64_t answer_tokens_ = 0;  ///< Of the last answer, with what it has carried.
    std::uint64_t carried_tokens_ = 0; ///< Of answers that were not stored.
    std::unique_ptr<model_failure> failed_;
    bool refused_ = false;
    std::size_t preferred_ = 0; ///< Among the run's models; 0: the agent's first.
};

} // namespace agui::runner
