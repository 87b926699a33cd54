#include "session/base/sound_text.hpp"

#include "session/base/id.hpp"

#include <cstddef>

namespace agui {

std::string sound_text(std::string_view text, std::string_view kept) {
    std::string sound;
    sound.reserve(text.size());
    while (!text.empty()) {
        const std::size_t unsound = unsound_character(text);
        if (unsound == 0 || kept.find(text.front()) != std::string_view::npos) {
            sound.push_back(text.front());
            text.remove_prefix(1);
        } else {
            text.remove_prefix(unsound);
        }
    }
    return sound;
}

} // namespace agui
