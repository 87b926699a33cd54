#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// What a stream that was broken off has started and not ended: texts, calls, reasoning. Reads the
/// events in order; text that is not an event is skipped.
class open_brackets {
public:
    struct bracket {
        std::string_view end_type; ///< Of the event that ends it.
        std::string_view id_key;
        std::string id;
    };

    void read(const boost::json::object& event);

    /// Outermost first.
    [[nodiscard]] const std::vector<bracket>& open() const noexcept { return open_; }

private:
    std::vector<bracket> open_;
};

} // namespace agui::translator
