#pragma once

#include "runner/base/model_provider.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::runner {

/// Limit of the bytes of all media that the models of one run make; those beyond are not kept. An
/// image has some megabytes, a minute of uncompressed speech has three.
inline constexpr std::size_t generated_media_bytes_max = 16U << 20U;

/// The media type that the first bytes tell, one of the images and audios that browsers show
/// without executing anything. Empty for other bytes, and for SVG and HTML, which are documents
/// with scripts.
[[nodiscard]] std::string_view
media_type_of_bytes(generated_media::kind what, std::string_view bytes) noexcept;

/// The bytes of a medium whose base64 arrives in pieces: one text cut anywhere, or texts that are
/// complete and padded each by itself. Keeps at most generated_media_bytes_max.
class base64_pieces {
public:
    void add(std::string_view piece);
    /// Drops all bytes, and ignores later pieces. `problem` is a literal.
    void give_up(std::string_view problem);

    [[nodiscard]] bool any() const noexcept { return any_; }
    /// About the bytes held after a further piece of that size.
    [[nodiscard]] std::size_t bytes_with(std::size_t piece) const noexcept;
    /// Ends the text and returns its bytes; empty if there is a problem.
    [[nodiscard]] std::string take();
    /// See generated_media::problem.
    [[nodiscard]] std::string_view problem() const noexcept { return problem_; }

private:
    void decode(std::string_view text);

    std::string rest_; ///< The digits that make no whole byte yet.
    std::string bytes_;
    std::string_view problem_;
    bool any_ = false;
};

/// Tells the sink of a medium whose base64 is whole.
void pass_media(model_sink& sink, generated_media::kind what, std::string_view base64);

} // namespace agui::runner
