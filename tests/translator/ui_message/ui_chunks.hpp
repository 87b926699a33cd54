#pragma once

#include "translator/ui_message/ui_stream.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace agui::translator::test {

/// The chunks in the bytes of a stream, as compact JSON; `[DONE]` as it is.
inline std::vector<std::string> chunks_in(std::string_view bytes) {
    constexpr std::string_view begin = "data: ";
    std::vector<std::string> chunks;
    while (!bytes.empty()) {
        const std::size_t end = bytes.find("\n\n");
        if (end == std::string_view::npos || !bytes.starts_with(begin)) {
            ADD_FAILURE() << "not an event: " << bytes;
            return chunks;
        }
        const std::string_view data = bytes.substr(begin.size(), end - begin.size());
        EXPECT_EQ(data.find_first_of("\r\n"), std::string_view::npos) << data;
        chunks.push_back(
            data == "[DONE]" ? std::string(data) : boost::json::serialize(boost::json::parse(data))
        );
        bytes.remove_prefix(end + 2);
    }
    return chunks;
}

/// The chunks for these events, read at once.
inline std::vector<std::string>
ui_chunks(const std::vector<std::string>& events, ui_stream_start start = {"a", {}, {}, false}) {
    ui_stream stream(std::move(start));
    std::string out;
    for (const std::string& event : events) {
        stream.take(event, out);
    }
    stream.write_changes(out);
    return chunks_in(out);
}

} // namespace agui::translator::test
