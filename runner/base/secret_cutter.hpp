#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// Takes secrets out of a text that a server wrote, which may repeat what it was sent.
class secret_cutter {
public:
    /// Values of headers and the like: of `Bearer KEY` the key alone is one, too. Ones of less than
    /// four bytes are no secrets.
    explicit secret_cutter(const std::vector<std::string>& secrets);

    /// At most `bytes_max` bytes of `text`, valid UTF-8, with "[secret]" in place of each secret.
    /// Of a text that is longer the end may be the start of one: that goes too.
    [[nodiscard]] std::string cut(std::string_view text, std::size_t bytes_max) const;

private:
    std::vector<std::string> secrets_; ///< The longest first: one may hold another.
};

} // namespace agui::runner
