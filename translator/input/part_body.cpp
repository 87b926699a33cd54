#include "translator/input/part_body.hpp"

#include "session/conversation/media_part.hpp"
#include "session/history/part_reference.hpp"
#include "translator/agui/event_writer.hpp"
#include "translator/input/document_reader.hpp"

#include <utility>

namespace agui::translator {

namespace {

failure no_data_part() {
    return {
        errc::invalid_input,
        "must be a media part with the bytes: {\"type\",\"source\":{\"type\":\"data\",\"value\":"
        "base64,\"mimeType\"}}",
        "source",
        {}
    };
}

} // namespace

result<part_body> read_part_body(
    std::string_view body, std::size_t max_json_depth, const part_link& link, memory_budget* budget
) {
    document_rules rules;
    rules.max_depth = max_json_depth;
    rules.budget = budget;
    const auto read = read_document(body, rules);
    if (!read) {
        return read.error();
    }
    const auto data = session::data_part_of(read->value);
    auto bytes = data ? session::decode_base64(data->value) : std::nullopt;
    if (!bytes || bytes->empty() || data->mime_type.empty()) {
        return no_data_part();
    }
    const session::part_digest digest = session::digest_of_text(*bytes);
    part_body out;
    append_json(out.named, session::named(read->value, digest, link(digest.sha256)));
    out.file.sha256 = digest.sha256;
    out.file.mime_type = data->mime_type;
    out.file.bytes = std::move(*bytes);
    return out;
}

} // namespace agui::translator
