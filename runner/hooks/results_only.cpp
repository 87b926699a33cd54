#include "runner/hooks/results_only.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace agui::runner {

namespace {

using session::message;
using session::role;

class results_only final : public plugin {
public:
    boost::asio::awaitable<void>
    on_before_request(plugin_turn& /*turn*/, request_draft& request) override {
        request.messages = with_results_only(std::move(request.messages));
        co_return;
    }
};

// Gathers the answers and results of one user turn.
class gathered_turn {
public:
    void add(const message& each) {
        if (each.role == role::assistant) {
            if (!answer_) {
                answer_ = requestable(message());
                answer_->id = each.id;
                answer_->role = role::assistant;
            }
            for (const session::tool_call& call : each.tool_calls) {
                names_[call.id] = call.name;
                has_calls_ = true;
            }
            add_text(session::text_of(each.content));
        } else if (const auto name = names_.find(each.tool_call_id); name != names_.end()) {
            const std::string text = session::text_of(each.content);
            const bool failed = each.error.has_value();
            add_text(
                "[" + name->second + (failed ? " failed: " : ": ") +
                (failed && text.empty() ? *each.error : text) + "]"
            );
        }
    }

    [[nodiscard]] bool has_calls() const noexcept { return has_calls_; }

    [[nodiscard]] std::optional<message> take() {
        if (answer_) {
            answer_->content = std::move(text_);
        }
        return std::move(answer_);
    }

private:
    void add_text(const std::string& text) {
        if (!text.empty()) {
            text_ += (text_.empty() ? "" : "\n") + text;
        }
    }

    std::optional<message> answer_;
    std::string text_;
    std::map<std::string, std::string> names_; ///< Tool names by call id.
    bool has_calls_ = false;
};

// A turn without calls stays unchanged, including the data that its provider wants sent back.
void close_turn(std::vector<message>& turn, std::vector<message>& to) {
    gathered_turn gathered;
    for (const message& each : turn) {
        gathered.add(each);
    }
    if (gathered.has_calls()) {
        if (auto answer = gathered.take()) {
            to.push_back(*std::move(answer));
        }
    } else {
        to.insert(to.end(), turn.begin(), turn.end());
    }
    turn.clear();
}

} // namespace

std::vector<message> with_results_only(std::vector<message> all) {
    std::vector<message> kept;
    std::vector<message> turn; // Messages after the last user message.
    for (message& each : all) {
        const bool of_turn =
            each.role == role::assistant || each.role == role::tool || each.role == role::reasoning;
        if (of_turn) {
            turn.push_back(std::move(each));
        } else {
            close_turn(turn, kept);
            kept.push_back(std::move(each));
        }
    }
    kept.insert(kept.end(), turn.begin(), turn.end());
    return kept;
}

std::shared_ptr<plugin> make_results_only() { return std::make_shared<results_only>(); }

} // namespace agui::runner
