#include "session/postgres/pg_params.hpp"

#include "session/postgres/pg_types.hpp"

namespace agui::session {

void pg_params::begin(unsigned type) {
    types_.push_back(type);
    offsets_.push_back(bytes_.size());
    lengths_.push_back(0);
}

void pg_params::put32(std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        bytes_ += static_cast<char>(value >> static_cast<unsigned>(shift) & 0xffU);
    }
}

void pg_params::put64(std::uint64_t value) {
    put32(static_cast<std::uint32_t>(value >> 32U));
    put32(static_cast<std::uint32_t>(value));
}

void pg_params::put(std::int64_t value) { put64(static_cast<std::uint64_t>(value)); }

void pg_params::put(std::string_view value) { bytes_ += value; }

void pg_params::add(std::int64_t value) {
    begin(pg_type::int8);
    put(value);
    end();
}

void pg_params::add(bool value) {
    begin(pg_type::boolean);
    bytes_ += value ? '\1' : '\0';
    end();
}

void pg_params::add(pg_text value) {
    begin(pg_type::text);
    put(value);
    end();
}

void pg_params::add(std::string_view value) {
    begin(pg_type::bytea);
    put(value);
    end();
}

// Dimensions, whether there are nulls, the type; then length and lower bound of the dimension; then
// each element with its length.
template <class T>
void pg_params::add_array(unsigned array_type, unsigned element_type, std::span<const T> values) {
    begin(array_type);
    put32(values.empty() ? 0 : 1);
    put32(0);
    put32(element_type);
    if (!values.empty()) {
        put32(static_cast<std::uint32_t>(values.size()));
        put32(1);
    }
    for (const T& value : values) {
        const std::size_t place = bytes_.size();
        put32(0);
        put(value);
        const auto length = static_cast<std::uint32_t>(bytes_.size() - place - 4);
        for (unsigned i = 0; i < 4; ++i) {
            bytes_[place + i] = static_cast<char>(length >> (24U - 8U * i) & 0xffU);
        }
    }
    end();
}

void pg_params::add(std::span<const std::int64_t> values) {
    add_array(pg_type::int8_array, pg_type::int8, values);
}

void pg_params::add(std::span<const std::string_view> values) {
    add_array(pg_type::bytea_array, pg_type::bytea, values);
}

void pg_params::add(std::span<const std::string> values) {
    add_array(pg_type::bytea_array, pg_type::bytea, values);
}

void pg_params::add(std::span<const pg_text> values) {
    add_array(pg_type::text_array, pg_type::text, values);
}

pg_params::view pg_params::as_arguments() const {
    view arguments;
    arguments.values.reserve(types_.size());
    for (std::size_t i = 0; i < types_.size(); ++i) {
        const bool is_null = lengths_[i] < 0;
        arguments.values.push_back(is_null ? nullptr : bytes_.data() + offsets_[i]);
        arguments.lengths.push_back(is_null ? 0 : lengths_[i]);
        arguments.formats.push_back(1);
    }
    return arguments;
}

} // namespace agui::session
