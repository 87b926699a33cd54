#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace agui::session {

/// A value of type text, which the program itself chooses. It must be UTF-8 without NUL.
struct pg_text {
    std::string_view value;
};

/// Parameters of a statement in PostgreSQL's binary format, each with its type. Strings become
/// bytea: texts from outside need not be UTF-8 and may hold NUL.
class pg_params {
public:
    void add(std::int64_t value);
    void add(bool value);
    void add(pg_text value);
    void add(std::string_view value);
    void add(const std::string& value) { add(std::string_view(value)); }
    void add(const char* value) = delete; ///< Text or bytea? Say pg_text or string_view.

    // Arrays with one dimension.
    void add(std::span<const std::int64_t> values);
    void add(std::span<const std::string_view> values);
    void add(std::span<const std::string> values);
    void add(std::span<const pg_text> values);
    template <class T>
    void add(const std::vector<T>& values) {
        add(std::span<const T>(values));
    }

    template <class T>
        requires std::is_integral_v<T>
    void add(T value) {
        add(static_cast<std::int64_t>(value));
    }
    template <class T>
    void add(const std::optional<T>& value) {
        if (value) {
            add(*value);
        } else {
            T none{};
            add(none);
            lengths_.back() = -1;
        }
    }

    [[nodiscard]] int count() const noexcept { return static_cast<int>(types_.size()); }
    [[nodiscard]] const std::vector<unsigned>& types() const noexcept { return types_; }

    /// The arguments of libpq; valid until this is changed or moved.
    struct view {
        std::vector<const char*> values; ///< Null for NULL.
        std::vector<int> lengths;
        std::vector<int> formats; ///< 1 for binary.
    };
    [[nodiscard]] view as_arguments() const;
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }

private:
    template <class T>
    void add_array(unsigned array_type, unsigned element_type, std::span<const T> values);
    void begin(unsigned type);
    void end() { lengths_.back() = static_cast<int>(bytes_.size() - offsets_.back()); }
    void put32(std::uint32_t value);
    void put64(std::uint64_t value);
    void put(std::int64_t value);
    void put(std::string_view value);
    void put(const pg_text& value) { put(value.value); }

    std::string bytes_;
    std::vector<unsigned> types_;
    std::vector<std::size_t> offsets_;
    std::vector<int> lengths_; ///< -1 for NULL.
};

/// A statement with its parameters.
struct pg_statement {
    /// `text` must live as long as the program: a connection knows a prepared statement by its
    /// address. Each statement has its parameters as $1, $2, ...
    template <class... Args>
    explicit pg_statement(const char* text, const Args&... args) : sql(text) {
        (params.add(args), ...);
    }
    /// A statement whose text is made for one use, and is not prepared. The text holds nothing from
    /// outside.
    static pg_statement once(std::string text) {
        pg_statement made(nullptr);
        made.own_sql = std::move(text);
        return made;
    }

    [[nodiscard]] const char* text() const noexcept { return sql ? sql : own_sql.c_str(); }

    const char* sql;
    std::string own_sql; ///< Used if sql is null.
    pg_params params;
};

} // namespace agui::session
