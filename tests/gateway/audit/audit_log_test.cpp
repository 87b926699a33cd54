#include "gateway/audit/access_log.hpp"
#include "gateway/audit/audit_log.hpp"
#include "gateway/audit/auth_failures.hpp"
#include "session/base/clock.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace agui::test {
namespace {

using gateway::access_entry;
using gateway::audit_entry;
using gateway::audit_event;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string whole_file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Keeps "event address outcome count".
class kept_audit final : public gateway::audit_log {
public:
    void write(const audit_entry& entry) override {
        lines.push_back(
            std::string(to_string(entry.what)) + " " + std::string(entry.address) + " " +
            std::string(entry.outcome) + " " + std::to_string(entry.count)
        );
    }
    std::vector<std::string> lines;
};

TEST(AuditLog, WritesOneObjectALine) {
    const temporary_folder folder;
    const manual_clock time(1'800'000'000'123);
    gateway::audit_file audit(folder.file("audit"), time, null_logger());

    audit.write(
        {.what = audit_event::run_ended,
         .principal = "ac%2Fme/a%25da",
         .address = "192.0.2.1",
         .thread = "t\n\"1\"",
         .run = "r",
         .agent = "default",
         .outcome = "completed",
         .route = "POST /agui"}
    );
    audit.write({.what = audit_event::auth_failed, .count = 7});

    EXPECT_EQ(
        whole_file(folder.file("audit")),
        R"({"time":"2027-01-15T08:00:00.123Z","event":"run_ended","tenant":"ac/me","user":"a%da",)"
        R"("address":"192.0.2.1","thread":"t\n\"1\"","run":"r","agent":"default",)"
        R"("outcome":"completed","route":"POST /agui"})"
        "\n"
        R"({"time":"2027-01-15T08:00:00.123Z","event":"auth_failed","count":7})"
        "\n"
    );
}

TEST(AuthFailures, AreBoundedForEachClient) {
    kept_audit audit;
    gateway::auth_failures failures(audit);
    for (int i = 0; i < 100; ++i) {
        failures.add({.address = "192.0.2.1", .outcome = "invalid"}, "192.0.2.1");
    }
    failures.add({.address = "192.0.2.2", .outcome = "missing"}, "192.0.2.2");

    EXPECT_THAT(audit.lines, SizeIs(6));
    EXPECT_EQ(audit.lines.back(), "auth_failed 192.0.2.2 missing 1");
    failures.sweep();
    EXPECT_THAT(audit.lines, SizeIs(7));
    EXPECT_EQ(audit.lines.back(), "auth_failed 192.0.2.1 repeated 95");
    failures.sweep();
    EXPECT_THAT(audit.lines, SizeIs(7)) << "nothing has happened since";
    failures.add({.address = "192.0.2.1", .outcome = "invalid"}, "192.0.2.1");
    EXPECT_THAT(audit.lines, SizeIs(8));
}

TEST(AuthFailures, AreBoundedForAllClients) {
    kept_audit audit;
    gateway::auth_failures failures(audit);
    for (int i = 0; i < 10'000; ++i) {
        const std::string address =
            "10.0." + std::to_string(i / 200) + "." + std::to_string(i % 200);
        failures.add({.address = address, .outcome = "invalid"}, address);
    }

    EXPECT_LE(
        audit.lines.size(), gateway::auth_failures::clients_max + gateway::auth_failures::lines_max
    );
    failures.sweep();
    EXPECT_THAT(audit.lines.back(), HasSubstr("auth_failed others repeated"));
}

access_entry some_access() {
    access_entry entry;
    entry.address = "192.0.2.1";
    entry.user = "acme/ada";
    entry.method = "POST";
    entry.path = "/agui";
    entry.protocol = "HTTP/1.1";
    entry.referer = "https://app.example/";
    entry.user_agent = "curl/8.0";
    entry.status = 200;
    entry.bytes = 1234;
    entry.duration = std::chrono::milliseconds(56);
    return entry;
}

TEST(AccessLogLine, HasTheCombinedForm) {
    access_entry unread; // Its head could not be parsed.
    unread.status = 400;
    unread.bytes = 9;

    EXPECT_EQ(
        gateway::combined_line(some_access(), 1'800'000'000'123),
        R"(192.0.2.1 - acme/ada [15/Jan/2027:08:00:00 +0000] "POST /agui HTTP/1.1" 200 1234 )"
        R"("https://app.example/" "curl/8.0")"
    );
    EXPECT_EQ(
        gateway::combined_line(unread, 0), R"(- - - [01/Jan/1970:00:00:00 +0000] "-" 400 9 "-" "-")"
    );
}

TEST(AccessLogLine, HasAFormInJson) {
    EXPECT_EQ(
        gateway::json_line(some_access(), 1'800'000'000'123),
        R"({"time":"2027-01-15T08:00:00.123Z","address":"192.0.2.1","tenant":"acme","user":"ada",)"
        R"("method":"POST","path":"/agui","protocol":"HTTP/1.1","status":200,"bytes":1234,)"
        R"("durationMs":56,"referer":"https://app.example/","userAgent":"curl/8.0"})"
    );
}

TEST(AccessLogLine, KeepsWhatAClientSendsWithinItsField) {
    access_entry entry = some_access();
    entry.user_agent = "x\" \"\\\r\n\x7F\xC3\xA4";
    entry.user = "a da";
    entry.referer = std::string(5000, 'r');

    const std::string line = gateway::combined_line(entry, 0);
    EXPECT_THAT(line, HasSubstr(R"(x\x22 \x22\x5C\x0D\x0A\x7F\xC3\xA4")"));
    EXPECT_THAT(line, HasSubstr(R"( a\x20da )"));
    EXPECT_LT(line.size(), 1400U);
    entry.user_agent = "\xFF\n\"";
    const std::string object = gateway::json_line(entry, 0);
    EXPECT_THAT(object, Not(HasSubstr("\n")));
    EXPECT_EQ(boost::json::parse(object).at("userAgent"), "\xEF\xBF\xBD\n\"");
}

} // namespace
} // namespace agui::test
