#include "translator/agui/protocol_version.hpp"

#include <gtest/gtest.h>

namespace agui::translator {
namespace {

TEST(ProtocolVersion, TakesSilenceForAPeerBeforeOneZero) {
    EXPECT_EQ(choose_projection(std::nullopt).value(), projection::undeclared);
}

TEST(ProtocolVersion, TreatsMajorZeroLikeSilence) {
    EXPECT_EQ(choose_projection("0.9").value(), projection::undeclared);
    EXPECT_EQ(choose_projection("0.0").value(), projection::undeclared);
}

TEST(ProtocolVersion, DowngradesForOneZeroOnly) {
    EXPECT_EQ(choose_projection("1.0").value(), projection::v1_0);
    EXPECT_EQ(choose_projection("1.00").value(), projection::v1_0);
    EXPECT_EQ(choose_projection("1.1").value(), projection::v1_1);
}

TEST(ProtocolVersion, ServesNewerMinors) {
    EXPECT_EQ(choose_projection("1.2").value(), projection::v1_1);
    EXPECT_EQ(choose_projection("1.10").value(), projection::v1_1);
    EXPECT_EQ(choose_projection("1.99999999999999999999999").value(), projection::v1_1);
}

TEST(ProtocolVersion, RefusesOtherMajors) {
    for (const std::string_view declared : {"2.0", "10.0", "11.5", "99999999999999999999.0"}) {
        SCOPED_TRACE(declared);
        const auto chosen = choose_projection(declared);

        ASSERT_FALSE(chosen.has_value());
        EXPECT_EQ(chosen.error().code, errc::unsupported_protocol_version);
        EXPECT_EQ(chosen.error().path, "protocolVersion");
    }
}

TEST(ProtocolVersion, TreatsUnparsableVersionsAsNewer) {
    for (const std::string_view declared :
         {"", "1", "1.", ".1", "1.0.0", "v1.0", " 1.0", "1.0 ", "2.x", "-1.0", "one.zero"}) {
        SCOPED_TRACE(declared);
        EXPECT_EQ(choose_projection(declared).value(), projection::v1_1);
    }
}

} // namespace
} // namespace agui::translator
