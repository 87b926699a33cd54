#include "session/conversation/node_list.hpp"

#include <boost/json/array.hpp>

#include <optional>
#include <string_view>
#include <variant>

namespace agui::session {

namespace {

namespace json = boost::json;

std::vector<placed_digest> hash_data(const content& of) {
    std::vector<placed_digest> found;
    const auto* const parts = std::get_if<json::array>(&of);
    for (std::size_t i = 0; parts != nullptr && i < parts->size(); ++i) {
        if (const std::optional<data_part> data = data_part_of((*parts)[i])) {
            found.push_back({.part = i, .digest = digest_of(*data)});
        }
    }
    return found;
}

std::vector<placed_digest> hash_texts(const content& of) {
    std::vector<placed_digest> found;
    if (const auto* const text = std::get_if<std::string>(&of)) {
        found.push_back({.part = 0, .digest = digest_of_text(*text)});
        return found;
    }
    const json::array& parts = std::get<json::array>(of);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (const std::string_view text = text_of_part(parts[i]); !text.empty()) {
            found.push_back({.part = i, .digest = digest_of_text(text)});
        }
    }
    return found;
}

} // namespace

const std::vector<placed_digest>& node_list::data_digests(std::size_t number) const {
    const held& of = *nodes_.at(number);
    std::call_once(of.data_hashed, [&of] { of.data = hash_data(of.node.message.content); });
    return of.data;
}

const std::vector<placed_digest>& node_list::text_digests(std::size_t number) const {
    const held& of = *nodes_.at(number);
    std::call_once(of.texts_hashed, [&of] { of.texts = hash_texts(of.node.message.content); });
    return of.texts;
}

} // namespace agui::session
