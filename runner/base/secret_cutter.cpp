#include "runner/base/secret_cutter.hpp"

#include "runner/base/utf8.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/string_view.hpp>

#include <algorithm>

namespace agui::runner {

namespace {

constexpr std::size_t secret_bytes_min = 4;
constexpr std::string_view mark = "[secret]";

} // namespace

secret_cutter::secret_cutter(const std::vector<std::string>& secrets) {
    for (const std::string& each : secrets) {
        const std::size_t space = each.rfind(' ');
        for (const std::string& form :
             {each, space == std::string::npos ? std::string() : each.substr(space + 1)}) {
            if (form.size() < secret_bytes_min) {
                continue;
            }
            secrets_.push_back(form);
            // Within a JSON string, quotes and backslashes are escaped.
            const std::string quoted = boost::json::serialize(boost::json::string_view(form));
            if (quoted.size() > form.size() + 2) {
                secrets_.push_back(quoted.substr(1, quoted.size() - 2));
            }
        }
    }
    std::ranges::sort(secrets_, [](const std::string& left, const std::string& right) {
        return left.size() > right.size();
    });
}

std::string secret_cutter::cut(std::string_view text, std::size_t bytes_max) const {
    std::string result(text);
    for (const std::string& secret : secrets_) {
        for (std::size_t at = result.find(secret); at != std::string::npos;
             at = result.find(secret, at + mark.size())) {
            result.replace(at, secret.size(), mark);
        }
    }
    for (const std::string& secret :
         text.size() > bytes_max ? secrets_ : std::vector<std::string>()) {
        for (std::size_t length = std::min(secret.size() - 1, result.size()); length > 0;
             --length) {
            if (result.ends_with(std::string_view(secret).substr(0, length))) {
                result.resize(result.size() - length);
                break;
            }
        }
    }
    result = to_utf8(result);
    result.resize(utf8_head(result, bytes_max).size());
    return result;
}

} // namespace agui::runner
