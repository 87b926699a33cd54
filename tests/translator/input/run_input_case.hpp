#pragma once

#include "translator/input/run_input.hpp"

#include "translator/input/document_reader.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::translator::run_input_case {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A request with `members` (JSON, without braces) besides the required ones.
inline std::string request(std::string_view members = "") {
    std::string body = "{\"runId\":\"r\"";
    if (members.find("\"threadId\"") == std::string_view::npos) {
        body += R"(,"threadId":"t")";
    }
    if (members.find("\"messages\"") == std::string_view::npos) {
        body += R"(,"messages":[])";
    }
    if (!members.empty()) {
        body += ",";
    }
    return body + std::string(members) + "}";
}

inline run_input read(std::string_view body) {
    auto input = read_run_input(body, {});
    if (!input) {
        ADD_FAILURE() << input.error().detail;
        return {};
    }
    return std::move(*input);
}

inline run_input read_with(std::string_view members) { return read(request(members)); }

/// A request with only this message.
inline session::message message(std::string_view json) {
    run_input input = read_with(R"("messages":[)" + std::string(json) + "]");
    if (input.messages.size() != 1) {
        ADD_FAILURE() << input.messages.size() << " messages";
        return {};
    }
    return input.messages.front();
}

inline std::string content_of(const session::message& from) {
    if (const auto* text = std::get_if<std::string>(&from.content)) {
        return *text;
    }
    return boost::json::serialize(std::get<boost::json::array>(from.content));
}

} // namespace agui::translator::run_input_case
