#include "runner/openai/openai_media.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/json_text.hpp"
#include "session/base/ascii.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace agui::runner {

namespace {

namespace json = boost::json;

/// A content part in the terms of the dialect: its kind and its source.
struct media {
    enum class source { none, data, url, file };
    source from = source::none;
    std::string_view value;
    std::string mime_type;
    std::string_view provider;
    std::string_view filename;
};

media read_media(const json::object& part) {
    media result;
    const json::object* const source = object_in(part, "source");
    if (source == nullptr) {
        // A legacy `binary` part holds the members itself.
        result.mime_type = to_lower(string_in(part, "mimeType"));
        result.filename = string_in(part, "filename");
        for (const auto& [name, from] :
             {std::pair{"data", media::source::data}, std::pair{"url", media::source::url},
              std::pair{"id", media::source::file}}) {
            if (const std::string_view value = string_in(part, name); !value.empty()) {
                result.from = from;
                result.value = value;
                break;
            }
        }
        return result;
    }
    const std::string_view type = string_in(*source, "type");
    result.from = type == "data"   ? media::source::data
                  : type == "url"  ? media::source::url
                  : type == "file" ? media::source::file
                                   : media::source::none;
    result.value = string_in(*source, "value");
    result.mime_type = to_lower(string_in(*source, "mimeType"));
    result.provider = string_in(*source, "provider");
    if (const json::object* const metadata = object_in(part, "metadata")) {
        result.filename = string_in(*metadata, "filename");
    }
    if (result.value.empty()) {
        result.from = media::source::none;
    }
    return result;
}

/// The part's kind; for a legacy `binary` part, from its media type.
std::string_view kind_of(std::string_view type, std::string_view mime_type) noexcept {
    if (type != "binary") {
        return type;
    }
    for (const std::string_view kind : {"image", "audio", "video"}) {
        if (mime_type.starts_with(kind)) {
            return kind;
        }
    }
    return "document";
}

/// `format` of input_audio, which allows only these two.
std::string_view audio_format(std::string_view mime_type) noexcept {
    if (mime_type == "audio/wav" || mime_type == "audio/x-wav" || mime_type == "audio/wave" ||
        mime_type == "audio/vnd.wave") {
        return "wav";
    }
    if (mime_type == "audio/mpeg" || mime_type == "audio/mp3") {
        return "mp3";
    }
    return "";
}

/// `data:` carries its bytes, and nothing is fetched, so it needs no permission.
bool url_allowed(std::string_view url, const std::vector<std::string>& schemes) {
    const std::size_t colon = url.find(':');
    if (colon == std::string_view::npos) {
        return false;
    }
    const std::string scheme = to_lower(url.substr(0, colon));
    return scheme == "data" || std::ranges::find(schemes, scheme) != schemes.end();
}

void append_data_url(std::string& out, const media& from) {
    const std::string_view mime_type =
        from.mime_type.empty() ? std::string_view("application/octet-stream") : from.mime_type;
    std::string url;
    url.reserve(mime_type.size() + from.value.size() + 16);
    url.append("data:").append(mime_type).append(";base64,").append(from.value);
    append_json_string(out, url);
}

} // namespace

bool append_media_part(
    std::string& out, const json::object& part, std::string_view separator,
    const openai_settings& settings
) {
    const media from = read_media(part);
    const std::string_view kind = kind_of(string_in(part, "type"), from.mime_type);

    const bool data = from.from == media::source::data;
    if (kind == "image" && (data || (from.from == media::source::url &&
                                     url_allowed(from.value, settings.media_urls)))) {
        out.append(separator);
        out.append(R"({"type":"image_url","image_url":{"url":)");
        if (data) {
            append_data_url(out, from);
        } else {
            append_json_string(out, from.value);
        }
        out.append("}}");
        return true;
    }
    if (kind == "audio" && data && !audio_format(from.mime_type).empty()) {
        out.append(separator);
        out.append(R"({"type":"input_audio","input_audio":{"data":)");
        append_json_string(out, from.value);
        out.append(R"(,"format":")").append(audio_format(from.mime_type)).append(R"("}})");
        return true;
    }
    if (kind != "document") {
        return false;
    }
    if (data) {
        out.append(separator);
        out.append(R"({"type":"file","file":{"filename":)");
        append_json_string(out, from.filename.empty() ? "document" : from.filename);
        out.append(R"(,"file_data":)");
        append_data_url(out, from);
        out.append("}}");
        return true;
    }
    // A handle is valid only on the server that made it (specification S7).
    const bool ours = from.provider.empty() || from.provider == settings.provider_name;
    if (from.from == media::source::file && settings.file_sources && ours) {
        out.append(separator);
        out.append(R"({"type":"file","file":{"file_id":)");
        append_json_string(out, from.value);
        out.append("}}");
        return true;
    }
    return false;
}

} // namespace agui::runner
