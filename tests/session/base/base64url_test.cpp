#include "session/base/base64url.hpp"

#include <gtest/gtest.h>

#include <string>

namespace agui {
namespace {

TEST(Base64Url, HasOneTextForEveryBytes) {
    for (const std::string& bytes :
         {std::string(), std::string("a"), std::string("ab"), std::string("abc"),
          std::string("\xFF\xFE\0", 3)}) {
        EXPECT_EQ(decode_base64url(encode_base64url(bytes)), bytes);
    }
    EXPECT_EQ(encode_base64url("\xFB\xFF"), "-_8");
    for (const char* wrong : {"YQ==", "YQ=", "Y", "YR", "YWJ", "Y W", "-+8", "-/8", "YQ\n"}) {
        EXPECT_FALSE(decode_base64url(wrong)) << wrong;
    }
}

} // namespace
} // namespace agui
