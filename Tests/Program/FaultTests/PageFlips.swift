import Foundation
import Glibc
import TestSupport

/// Flips bytes of a database's file, one at a time: the next one when the damage is gone, because the
/// page was put back, or the server has rewritten the whole file.
struct PageFlips {
    private struct Flip {
        /// The file's number in the file system.
        let file: Int?
        let page: Int
        let content: [UInt8]
        let damaged: [UInt8]
    }

    private static let pageSize = 8192
    /// How many sessions a damaged page may cost that names none: a part of a long text.
    private static let mostUnnamed = 64

    let path: String
    private(set) var count = 0
    /// How many sessions all flips together may have cost.
    private(set) var mostDamaged = 0
    private var last: Flip?

    init(_ path: String) {
        self.path = path
    }

    /// Whether the last damage is still there.
    var isOutstanding: Bool {
        guard let last else { return false }
        return Faults.StoreAttackTests.number(of: path) == last.file && read(last.page) == last.damaged
    }

    /// Flips a byte of any page but the first, on which the whole file depends, and those that lead to others. Does
    /// nothing while it is damaged.
    mutating func flip() throws {
        guard !isOutstanding else { return }
        let pages = ((try FileManager.default.attributesOfItem(atPath: path))[.size] as? Int ?? 0) / PageFlips.pageSize
        guard pages > 1 else { return }
        let page = Int.random(in: 1..<pages)
        guard let content = read(page), !PageFlips.leadsToOthers(content[0]) else { return }
        var damaged = content
        let position = Int.random(in: damaged.indices)
        damaged[position] ^= UInt8.random(in: 1...255)
        let number = Faults.StoreAttackTests.number(of: path)
        // Writes that byte alone: the server may be writing the others.
        try write(damaged[position...position], at: page * PageFlips.pageSize + position)
        last = Flip(file: number, page: page, content: content, damaged: damaged)
        count += 1
        let ids = Set(String(decoding: content, as: UTF8.self).matches(of: /s_[0-9A-Za-z_-]{13}/).map(\.output))
        mostDamaged += ids.isEmpty ? PageFlips.mostUnnamed : ids.count
    }

    /// Whether a page that begins so is an interior one of an index or of a table (fileformat2.html, section 1.6).
    static func leadsToOthers(_ first: UInt8) -> Bool { first == 2 || first == 5 }

    /// Undoes the damage that is still there. Call while the server is not running.
    ///
    /// - Returns: whether there was any
    func putBack() throws -> Bool {
        guard let last, isOutstanding else { return false }
        try write(last.content[...], at: last.page * PageFlips.pageSize)
        return true
    }

    private func read(_ page: Int) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        var content = [UInt8](repeating: 0, count: PageFlips.pageSize)
        let count = pread(file, &content, content.count, page * content.count)
        return count == content.count ? content : nil
    }

    private func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws {
        let file = open(path, O_WRONLY | O_CLOEXEC)
        defer { close(file) }
        let count = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, offset) }
        guard count == bytes.count else { throw TestFailure("cannot write \(path)") }
    }
}
