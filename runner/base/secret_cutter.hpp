#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// Removes secrets from a server's text, which may repeat the request.
class secret_cutter {
public:
    /// `secrets` are values of headers and the like. The last word of a value with spaces (`Bearer
    /// KEY`) is also cut out alone, and so is a value as it stands in a JSON string. Values of less
    /// than four bytes are ignored.
    explicit secret_cutter(const std::vector<std::string>& secrets);

    /// Returns at most `bytes_max` bytes of `text` as valid UTF-8, with "[secret]" in place of each
    /// secret. If the text is cut, a partial secret at its end is removed too.
    [[nodiscard]] std::string cut(std::string_view text, std::size_t bytes_max) const;

private:
    std::vector<std::string> secrets_; ///< Longest first, since one may contain another.
};

} // namespace agui::runner
