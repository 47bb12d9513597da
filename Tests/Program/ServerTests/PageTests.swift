import Foundation
import TestSupport
import Testing

/// The pages for people: what they link to is there, and the README stays short.
@Suite struct PageTests {
    @Test func `links lead to files and headings that exist`() throws {
        let pages = try PageTests.pages()
        #expect(pages.count > 15)

        for page in pages {
            for link in try PageTests.links(in: PageTests.prose(of: page)) {
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let target =
                    parts[0].isEmpty ? page : page.deletingLastPathComponent().appending(path: parts[0]).standardized
                let exists = FileManager.default.fileExists(atPath: target.path)
                #expect(exists, "\(page.lastPathComponent) links to \(link)")
                guard exists, parts.count == 2 else { continue }
                #expect(
                    try PageTests.anchors(in: PageTests.prose(of: target)).contains(String(parts[1])),
                    "\(page.lastPathComponent) links to \(link)")
            }
        }
    }

    @Test func `pages that are named in the text exist`() throws {
        for page in try PageTests.pages() {
            for name in try PageTests.prose(of: page).matches(of: /`(docs\/[\w.\/-]+)`/).map(\.output.1) {
                #expect(
                    FileManager.default.fileExists(atPath: repository.appending(path: name).path),
                    "\(page.lastPathComponent) names \(name)")
            }
        }
    }

    @Test func `a link to a missing heading is found`() {
        let page = "## Back up\n\n[one](#back-up) [two](#restore)\n\n### What a 2xx `promises`, and not\n"

        #expect(PageTests.links(in: page) == ["#back-up", "#restore"])
        #expect(PageTests.anchors(in: page) == ["back-up", "what-a-2xx-promises-and-not"])
    }

    @Test func `the README is read in five minutes`() throws {
        let readme = try String(contentsOf: repository.appending(path: "README.md"), encoding: .utf8)

        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 150)
    }

    private static func pages() throws -> [URL] {
        let docs = try FileManager.default.contentsOfDirectory(
            at: repository.appending(path: "docs"), includingPropertiesForKeys: nil)
        let others = [
            "README.md", "CONTRIBUTING.md", "SECURITY.md", "Benchmarks/README.md", "Examples/cinema/README.md",
        ]
        return docs.filter { $0.pathExtension == "md" } + others.map { repository.appending(path: $0) }
    }

    /// A page without its blocks of code, in which nothing is a link or a heading.
    private static func prose(of page: URL) throws -> String {
        var isCode = false
        return try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n").filter { line in
            guard line.drop(while: { $0 == " " }).hasPrefix("```") else { return !isCode }
            isCode.toggle()
            return false
        }.joined(separator: "\n")
    }

    /// The targets of the links and pictures that are part of the repository.
    private static func links(in prose: String) -> [String] {
        prose.matches(of: /\]\(([^()\s]+)\)/).map { String($0.output.1) }.filter { !$0.contains("://") }
    }

    /// The names that GitHub gives to headings: in lower case, without punctuation, with hyphens for spaces. A heading
    /// that occurs twice on a page cannot be linked to.
    private static func anchors(in prose: String) -> Set<String> {
        Set(
            prose.matches(of: /(?m)^#+ +(.+)$/).map { heading in
                String(
                    heading.output.1.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
                        .map { $0 == " " ? "-" : $0 })
            })
    }
}
