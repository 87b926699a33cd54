#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::translator {

/// Appends a JSON value in one line. Integers stay integers. Infinity and NaN, which JSON cannot
/// express, become null.
void append_json(std::string& out, const boost::json::value& value);

/// Writes one event object at a time into a reused buffer: `{"type":…`, then the members in the
/// order of the calls. Allocates nothing once the buffer has grown.
class event_writer {
public:
    /// Starts over: `{"type":"<type>"`.
    void begin(std::string_view type);
    void member(std::string_view key, std::string_view text);
    void member(std::string_view key, std::int64_t number);
    void member(std::string_view key, const boost::json::value& value);
    /// `json` must be one JSON value; it is not checked.
    void raw_member(std::string_view key, std::string_view json);
    /// Closes the object; the view is valid until the next begin() or delta().
    [[nodiscard]] std::string_view end();

    /// A whole event `{"type":…,"<id_key>":…,"delta":…}`; the view is valid until the next begin()
    /// or delta(). After a delta of the same type and id, only its text is rewritten. A type always
    /// has the same id_key.
    [[nodiscard]] std::string_view delta(
        std::string_view type, std::string_view id_key, std::string_view id, std::string_view text
    );

private:
    void append_key(std::string_view key);
    void begin_delta(std::string_view type, std::string_view id_key, std::string_view id);

    std::string buffer_;
    /// Offset of the value of `delta` in the buffer; 0 if there is no reusable delta.
    std::size_t delta_begin_ = 0;
    std::size_t delta_id_ = 0; ///< Offset of its id.
};

} // namespace agui::translator
