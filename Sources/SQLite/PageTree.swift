internal import Glibc

/// The interior pages of a guarded file, which lead to other pages, found without reading them.
///
/// The rows of a table are in the leaves of its B-tree, and the interior pages only say where: a damaged one hides
/// everything below it. But a file with `auto_vacuum` has a pointer map that names the parent of every page
/// (sqlite.org/fileformat2.html, sections 1.6 and 1.8). It shows which pages are interior, and with the keys in the
/// leaves a table's interior page can be rewritten. An interior page of an index, or of a table without row ids, has
/// rows of its own, which cannot be recovered.
public struct PageTree {
    private let file: CInt
    /// The children of each interior page.
    private let children: [Int: [Int]]

    /// Reads the pointer map. The log must contain nothing that is not in the file.
    ///
    /// - Parameter file: a writable descriptor.
    /// - Returns: `nil` if the file is not guarded or has no pointer map, or if its first page or the map is damaged.
    public init?(_ file: CInt) {
        guard let header = Page(file, 1), PageChecksum.isGuarded(header: header.bytes),
            let count = header.integer(at: 28, size: 4), let largestRoot = header.integer(at: 52, size: 4),
            largestRoot > 0
        else { return nil }
        let entries = Page.usableSize / 5
        var children: [Int: [Int]] = [:]
        var first = 2
        while first < count {
            // SQLite never uses the page that contains the bytes it locks.
            let number = first == Page.lockPage ? first + 1 : first
            guard let map = Page(file, number) else { return nil }
            for entry in 0..<entries where number + 1 + entry <= count {
                // Type 5: a B-tree page that is not the root.
                guard map.integer(at: entry * 5, size: 1) == 5, let parent = map.integer(at: entry * 5 + 1, size: 4)
                else { continue }
                children[parent, default: []].append(number + 1 + entry)
            }
            first += entries + 1
        }
        self.file = file
        self.children = children
    }

    /// The interior pages that are not what was written.
    public var damaged: [Int] { children.keys.filter { Page(file, $0) == nil }.sorted() }

    /// Rewrites those damaged pages for which this is possible: a table's, if the pages on the way to
    /// the last key below each child are sound.
    public func repair() {
        var damaged = damaged
        // A page may need another below it to be rewritten first.
        while let index = damaged.firstIndex(where: repair) { damaged.remove(at: index) }
    }

    private func repair(_ number: Int) -> Bool {
        var below: [(key: Int, page: Int)] = []
        for page in children[number] ?? [] {
            guard let key = lastKey(below: page) else { return false }
            below.append((key, page))
        }
        below.sort { $0.key < $1.key }
        guard let page = Page(leadingTo: below) else { return false }
        return page.write(to: file, number)
    }

    /// - Returns: `nil` if a page is damaged, or is not a table's.
    private func lastKey(below number: Int, depth: Int = 0) -> Int? {
        // No B-tree is that deep.
        guard depth < 20, let page = Page(file, number), let count = page.integer(at: 3, size: 2) else { return nil }
        switch page.bytes[0] {
        case Page.tableInterior:
            return page.integer(at: 8, size: 4).flatMap { lastKey(below: $0, depth: depth + 1) }
        case Page.tableLeaf:
            guard count > 0, let cell = page.integer(at: 8 + 2 * (count - 1), size: 2),
                let payload = page.varint(at: cell)
            else { return nil }
            return page.varint(at: payload.end)?.value
        default: return nil
        }
    }
}

/// A page that is what was written.
private struct Page {
    static let tableInterior: UInt8 = 5
    static let tableLeaf: UInt8 = 13
    static let usableSize = PageChecksum.pageSize - PageChecksum.size
    /// The page with the byte at 1 GiB, which SQLite locks.
    static let lockPage = 0x4000_0000 / PageChecksum.pageSize + 1

    private(set) var bytes = [UInt8](repeating: 0, count: PageChecksum.pageSize)

    init?(_ file: CInt, _ number: Int) {
        let offset = (number - 1) * PageChecksum.pageSize
        guard number > 0, pread(file, &bytes, bytes.count, offset) == bytes.count,
            PageChecksum.isRight(bytes, at: Int64(offset))
        else { return nil }
    }

    /// An interior page of a table.
    ///
    /// - Parameter below: its children, with the last key of each, in the order of these keys.
    /// - Returns: `nil` if they do not fit in.
    init?(leadingTo below: [(key: Int, page: Int)]) {
        guard let last = below.last else { return nil }
        bytes[0] = Page.tableInterior
        var end = Page.usableSize
        for (index, child) in below.dropLast().enumerated() {
            let cell = Page.bigEndian(child.page, size: 4) + Page.varint(child.key)
            end -= cell.count
            // No table of ours has keys that are negative, or that need the ninth byte.
            guard child.key >= 0, child.key >> 56 == 0, end >= 12 + 2 * below.count else { return nil }
            bytes.replaceSubrange(end..<end + cell.count, with: cell)
            set(end, at: 12 + 2 * index, size: 2)
        }
        set(below.count - 1, at: 3, size: 2)
        set(end, at: 5, size: 2)
        set(last.page, at: 8, size: 4)
    }

    consuming func write(to file: CInt, _ number: Int) -> Bool {
        let offset = (number - 1) * PageChecksum.pageSize
        PageChecksum.fill(&bytes, at: Int64(offset))
        return pwrite(file, bytes, bytes.count, offset) == bytes.count
    }

    /// - Returns: `nil` if the integer is not within the page.
    func integer(at offset: Int, size: Int) -> Int? {
        guard offset >= 0, offset + size <= bytes.count else { return nil }
        return bytes[offset..<offset + size].reduce(0) { $0 << 8 | Int($1) }
    }

    /// An integer in seven bits of each byte, and eight of the ninth (section 1.6).
    func varint(at offset: Int) -> (value: Int, end: Int)? {
        var value = 0
        for index in 0..<9 {
            guard let byte = integer(at: offset + index, size: 1) else { return nil }
            if index == 8 { return (value << 8 | byte, offset + 9) }
            value = value << 7 | byte & 0x7F
            if byte < 0x80 { return (value, offset + index + 1) }
        }
        return nil
    }

    private static func varint(_ value: Int) -> [UInt8] {
        var bytes = [UInt8(value & 0x7F)]
        var rest = value >> 7
        while rest > 0 {
            bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
            rest >>= 7
        }
        return bytes
    }

    private static func bigEndian(_ value: Int, size: Int) -> [UInt8] {
        (1...size).map { UInt8(truncatingIfNeeded: value >> (8 * (size - $0))) }
    }

    private mutating func set(_ value: Int, at offset: Int, size: Int) {
        bytes.replaceSubrange(offset..<offset + size, with: Page.bigEndian(value, size: size))
    }
}
