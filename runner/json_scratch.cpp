#include "runner/json_scratch.hpp"

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/storage_ptr.hpp>

#include <array>
#include <cstddef>
#include <optional>

namespace agui::runner {

namespace {

// A chunk of a model server is a few hundred bytes and becomes about three times as much; what does
// not fit is allocated, and freed before the next parse.
constexpr std::size_t scratch_bytes = 16U << 10U;

// Deeper than any answer of any dialect, and shallow enough for the recursion of those who walk it.
constexpr std::size_t depth_max = 64;

struct scratch {
    std::array<unsigned char, scratch_bytes> buffer;
    // Made anew for each parse: release() would keep the doubled size of the next overflow block, so
    // that a row of large texts would ask for ever more.
    std::optional<boost::json::monotonic_resource> memory;
    // Keeps its own stack between parses.
    boost::json::parser parser{boost::json::storage_ptr(), options()};
    std::optional<boost::json::value> value;

    static boost::json::parse_options options() {
        boost::json::parse_options result;
        result.max_depth = depth_max;
        return result;
    }
};

} // namespace

const boost::json::value* parse_json_scratch(std::string_view text) {
    thread_local scratch here;
    here.value.reset();
    here.memory.emplace(here.buffer.data(), here.buffer.size());
    here.parser.reset(&*here.memory);
    boost::system::error_code ec;
    here.parser.write(text, ec);
    if (ec) {
        return nullptr;
    }
    here.value.emplace(here.parser.release());
    return &*here.value;
}

} // namespace agui::runner
