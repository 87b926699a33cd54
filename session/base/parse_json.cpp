#include "session/base/keyed_hash.hpp"

#include <cstddef>
#include <string>
#include <string_view>

// Boost.JSON is compiled here instead of being linked, because the objects of the library hash
// names with FNV-1a and the low byte of an address: anyone can choose names that all share a
// bucket, or even a hash, and an object of n such names takes n * n / 2 comparisons. The two lines
// that follow take the place of <boost/json/detail/digest.hpp>.
//
// The parser is in the same file on purpose: each program that parses links this object file, and
// with it these objects, even if it names Boost's library too.
#ifdef BOOST_JSON_DETAIL_DIGEST_HPP
#error "This file must be compiled without a precompiled header."
#endif
#define BOOST_JSON_DETAIL_DIGEST_HPP

namespace boost::json::detail {

// Other files have the digest of Boost: this one needs a name of its own, or the linker would keep
// one of the two for all.
inline namespace keyed {

inline std::size_t digest(const char* begin, const char* end, std::size_t salt) noexcept {
    agui::hash_key key = agui::process_hash_key();
    key.first ^= salt;
    return agui::keyed_hash(key, {begin, static_cast<std::size_t>(end - begin)});
}

// Hashes a name in a JSON pointer, whose escapes are resolved by the iterator.
template <class Iterator>
std::size_t digest(Iterator begin, Iterator end, std::size_t salt) noexcept {
    std::string name;
    for (; begin != end; ++begin) {
        name.push_back(*begin);
    }
    const std::string_view text = name; // Otherwise this would be the function that takes it.
    return digest(text.data(), text.data() + text.size(), salt);
}

} // namespace keyed
} // namespace boost::json::detail

#include <boost/json/src.hpp>

#include "session/base/json_memory.hpp"
#include "session/base/parse_json.hpp"

#include <array>
#include <utility>

namespace agui {

namespace json = boost::json;

namespace {

result<json::value> parse_with(json::parser& parser, std::string_view text) {
    try {
        boost::system::error_code ec;
        parser.write(text.data(), text.size(), ec);
        if (ec) {
            return failure{errc::invalid_json, ec.message()};
        }
        return parser.release();
    } catch (const memory_refused&) {
        return failure{errc::overloaded, "the server does not have enough memory for this JSON"};
    }
}

} // namespace

json::parse_options parse_options_of(const json_limits& limits) noexcept {
    json::parse_options options;
    options.max_depth = limits.max_depth;
    options.allow_invalid_utf8 = limits.any_bytes;
    return options;
}

result<json::value> parse_json(std::string_view text, const json_limits& limits) {
    const json::storage_ptr memory = limits.budget == nullptr
                                         ? json::storage_ptr()
                                         : make_json_storage(limits.budget, limits.use);
    std::array<unsigned char, BOOST_JSON_STACK_BUFFER_SIZE> stack; // Memory for small texts.
    json::parser parser(memory, parse_options_of(limits), stack.data(), stack.size());
    parser.reset(memory);
    return parse_with(parser, text);
}

std::optional<std::string> parse_json_string(std::string_view quoted) {
    const result<json::value> value = parse_json(quoted);
    if (!value || !value->is_string()) {
        return std::nullopt;
    }
    return std::string(value->get_string());
}

json_parser::json_parser(const json_limits& limits)
    : parser_(json::storage_ptr(), parse_options_of(limits)) {}

result<json::value> json_parser::parse(std::string_view text, json::storage_ptr memory) {
    parser_.reset(std::move(memory));
    return parse_with(parser_, text);
}

} // namespace agui
