#include "runner/base/stop_reason.hpp"

namespace agui::runner {

stop_class class_of(stop_reason reason) noexcept {
    switch (reason) {
    case stop_reason::completed:
    case stop_reason::external_tool:
    case stop_reason::partial_answers:
    case stop_reason::nothing_new:
    case stop_reason::approval_needed:
        return stop_class::success;
    case stop_reason::cancelled:
    case stop_reason::aborted:
    case stop_reason::superseded:
    case stop_reason::run_timeout:
    case stop_reason::max_rounds:
    case stop_reason::tool_loop:
    case stop_reason::token_limit:
    case stop_reason::quota_exceeded:
    case stop_reason::max_output_tokens:
        return stop_class::stopped;
    case stop_reason::resume_rejected:
    case stop_reason::truncated:
    case stop_reason::content_filtered:
    case stop_reason::model_unavailable:
    case stop_reason::model_rejected:
    case stop_reason::model_timeout:
    case stop_reason::store_unavailable:
    case stop_reason::overloaded:
    case stop_reason::shutdown:
    case stop_reason::error:
        return stop_class::failed;
    }
    return stop_class::failed;
}

std::string_view error_code(stop_reason reason) noexcept {
    switch (reason) {
    case stop_reason::completed:
    case stop_reason::external_tool:
    case stop_reason::partial_answers:
    case stop_reason::nothing_new:
    case stop_reason::approval_needed:
        return "";
    case stop_reason::cancelled:
        return "user_stop";
    case stop_reason::aborted:
        return "plugin_stop";
    case stop_reason::superseded:
        return "superseded";
    case stop_reason::run_timeout:
        return "run_timeout";
    case stop_reason::max_rounds:
        return "max_rounds_exceeded";
    case stop_reason::tool_loop:
        return "tool_loop_detected";
    case stop_reason::token_limit:
        return "token_limit";
    case stop_reason::quota_exceeded:
        return "quota_exceeded";
    case stop_reason::max_output_tokens:
        return "max_output_tokens";
    case stop_reason::resume_rejected:
        return "resume_rejected";
    case stop_reason::truncated:
        return "model_output_truncated";
    case stop_reason::content_filtered:
        return "content_filtered";
    case stop_reason::model_unavailable:
        return "model_unavailable";
    case stop_reason::model_rejected:
        return "model_rejected";
    case stop_reason::model_timeout:
        return "model_timeout";
    case stop_reason::store_unavailable:
        return "store_unavailable";
    case stop_reason::overloaded:
        return "overloaded";
    case stop_reason::shutdown:
        return "shutdown";
    case stop_reason::error:
        return "internal";
    }
    return "internal";
}

stop_reason stop_reason_of(std::string_view code) noexcept {
    for (int value = 0; value <= static_cast<int>(stop_reason::error); ++value) {
        if (error_code(static_cast<stop_reason>(value)) == code) {
            return static_cast<stop_reason>(value);
        }
    }
    return stop_reason::error;
}

std::string_view describe(stop_reason reason) noexcept {
    switch (reason) {
    case stop_reason::completed:
        return "The run is complete.";
    case stop_reason::external_tool:
        return "The run waits for tool results from the application.";
    case stop_reason::partial_answers:
        return "The run waits for the remaining tool results from the application.";
    case stop_reason::nothing_new:
        return "The request held nothing new.";
    case stop_reason::approval_needed:
        return "The run waits for a person's approval.";
    case stop_reason::cancelled:
        return "The run was stopped by its user.";
    case stop_reason::aborted:
        return "The run was stopped by a plugin.";
    case stop_reason::superseded:
        return "The run gave way to a newer message.";
    case stop_reason::run_timeout:
        return "The run took longer than allowed.";
    case stop_reason::max_rounds:
        return "The run needed more rounds of tool calls than allowed.";
    case stop_reason::tool_loop:
        return "The model kept repeating the same tool call.";
    case stop_reason::token_limit:
        return "The run reached a limit of tokens or of size.";
    case stop_reason::quota_exceeded:
        return "The quota of tokens or of money is used up.";
    case stop_reason::max_output_tokens:
        return "The answer reached its maximum length.";
    case stop_reason::resume_rejected:
        return "The answers to the interrupts were refused.";
    case stop_reason::truncated:
        return "The model's answer was cut off inside a tool call.";
    case stop_reason::content_filtered:
        return "The answer was withheld by the model server's content filter.";
    case stop_reason::model_unavailable:
        return "The model server could not be reached or failed.";
    case stop_reason::model_rejected:
        return "The model server refused the request.";
    case stop_reason::model_timeout:
        return "The model server did not answer in time.";
    case stop_reason::store_unavailable:
        return "The conversation could not be stored.";
    case stop_reason::overloaded:
        return "The server has not enough memory for the run at the moment.";
    case stop_reason::shutdown:
        return "The server is shutting down.";
    case stop_reason::error:
        return "An internal error ended the run.";
    }
    return "An internal error ended the run.";
}

} // namespace agui::runner
