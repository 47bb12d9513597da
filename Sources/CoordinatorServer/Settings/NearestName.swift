extension Sequence<String> {
    /// The name that was probably meant, if one is near enough.
    func nearest(to name: String) -> String? {
        let near = map { (name: $0, distance: $0.distance(to: name)) }.min { $0.distance < $1.distance }
        guard let near, near.distance <= Swift.max(2, name.count / 4) else { return nil }
        return near.name
    }

    /// The end of an error: “; did you mean …?”, or nothing.
    func suggestion(for name: String) -> String {
        nearest(to: name).map { "; did you mean \($0)?" } ?? "."
    }
}

extension String {
    /// How many characters have to be inserted, removed or replaced (Levenshtein).
    fileprivate func distance(to other: String) -> Int {
        // What is longer than any name is near to none.
        let (here, there) = (Array(lowercased().prefix(80)), Array(other.lowercased().prefix(80)))
        var row = Array(0...there.count)
        for (index, character) in here.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in there.indices {
                let replaced = diagonal + (there[column] == character ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = Swift.min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[there.count]
    }
}
