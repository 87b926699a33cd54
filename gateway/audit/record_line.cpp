#include "gateway/audit/record_line.hpp"

#include "runner/base/json_text.hpp"

#include <utility>

namespace agui::gateway {

record_line::record_line(unix_ms now) : text_(R"({"time":)") {
    runner::append_json_string(text_, iso_time(now));
}

void record_line::add(std::string_view name, std::string_view value) {
    if (!value.empty()) {
        runner::append_text_member(text_, name, value);
    }
}

void record_line::add(std::string_view name, std::int64_t value) {
    text_.append(R"(,")").append(name).append(R"(":)").append(std::to_string(value));
}

std::string record_line::end() {
    text_.push_back('}');
    return std::move(text_);
}

} // namespace agui::gateway
