#include "runner/openai/openai_media.hpp"

#include "runner/base/json_text.hpp"
#include "runner/provider/media_url.hpp"
#include "session/conversation/media_part.hpp"

#include <string>
#include <string_view>

namespace agui::runner {

namespace {

using session::media_part;
using kind = media_part::kind;
using source = media_part::source;

/// `format` of input_audio, which allows only these two values.
std::string_view audio_format(std::string_view mime_type) noexcept {
    return mime_type == "audio/wav" ? "wav" : mime_type == "audio/mpeg" ? "mp3" : "";
}

} // namespace

bool append_media_part(
    std::string& out, const boost::json::object& part, std::string_view separator,
    const openai_settings& settings
) {
    const media_part given = session::read_media_part(part);
    if (!may_pass(given, settings)) {
        return false;
    }
    const bool data = given.from == source::data;
    const bool is_file = given.from == source::file;
    if (given.what == kind::image && !is_file) {
        out.append(separator);
        out.append(R"({"type":"image_url","image_url":{"url":)");
        if (data) {
            append_data_url(out, given);
        } else {
            append_json_string(out, given.value);
        }
        out.append("}}");
        return true;
    }
    if (given.what == kind::audio && data && !audio_format(given.mime_type).empty()) {
        out.append(separator);
        out.append(R"({"type":"input_audio","input_audio":{"data":)");
        append_json_string(out, given.value);
        out.append(R"(,"format":")").append(audio_format(given.mime_type)).append(R"("}})");
        return true;
    }
    if (given.what != kind::document || (!data && !is_file)) {
        return false;
    }
    out.append(separator);
    out.append(R"({"type":"file","file":{)");
    if (is_file) {
        out.append(R"("file_id":)");
        append_json_string(out, given.value);
    } else {
        out.append(R"("filename":)");
        append_json_string(out, given.filename.empty() ? "document" : given.filename);
        out.append(R"(,"file_data":)");
        append_data_url(out, given);
    }
    out.append("}}");
    return true;
}

} // namespace agui::runner
