#pragma once

namespace agui::session::pg_type {

// The numbers of PostgreSQL's built-in types (pg_type.dat); they never change.
inline constexpr unsigned boolean = 16;
inline constexpr unsigned bytea = 17;
inline constexpr unsigned int8 = 20;
inline constexpr unsigned text = 25;
inline constexpr unsigned bytea_array = 1001;
inline constexpr unsigned text_array = 1009;
inline constexpr unsigned int8_array = 1016;
inline constexpr unsigned record = 2249;
inline constexpr unsigned record_array = 2287;

} // namespace agui::session::pg_type
