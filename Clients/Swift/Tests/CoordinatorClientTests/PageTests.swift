import Foundation
import Testing

/// README.md, whose code is compiled: each block is in `PageExamples.swift`, or in the SwiftUI host.
@Suite struct PageTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    /// Without indentation and empty lines.
    private static func lines(_ text: some StringProtocol) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            .joined(separator: "\n")
    }

    @Test func `every block of the page is compiled`() throws {
        let page = try String(contentsOf: PageTests.folder.appending(path: "../../README.md"), encoding: .utf8)
        let host = PageTests.folder.appending(path: "../../../../Examples/SwiftUI/ShopApp.swift")
        var compiled = try String(contentsOf: PageTests.folder.appending(path: "PageExamples.swift"), encoding: .utf8)
        // A copy of the package has no examples.
        compiled += (try? String(contentsOf: host, encoding: .utf8)) ?? page
        compiled = PageTests.lines(compiled)

        let blocks = page.matches(of: /(?ms)^```swift\n(.*?)^```/).map { PageTests.lines($0.output.1) }

        #expect(blocks.count > 10)
        for block in blocks { #expect(compiled.contains(block), "\(block)") }
    }
}
