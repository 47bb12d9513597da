extension String {
    /// The words of a name in camel case or with underscores, written like the beginning of a sentence: “Add to cart”
    /// for `addToCart`, “Button 01 tapped” for `button01Tapped`, “Open URL” for `openURL`.
    var sentence: String {
        let words = words.enumerated().map { index, word in
            if word.count > 1, word.allSatisfy({ $0.isUppercase || $0.isNumber }) { return word }
            return index == 0 ? word.prefix(1).uppercased() + word.dropFirst() : word.lowercased()
        }
        return words.joined(separator: " ")
    }

    private var words: [String] {
        var words: [String] = []
        var word = ""
        let characters = Array(self)
        for (index, character) in characters.enumerated() {
            let next = index + 1 < characters.count ? characters[index + 1] : nil
            if let last = word.last, character.beginsWord(after: last, before: next) {
                words.append(word)
                word = ""
            }
            if character != "_" { word.append(character) }
        }
        if !word.isEmpty { words.append(word) }
        return words
    }
}

extension Character {
    fileprivate func beginsWord(after last: Character, before next: Character?) -> Bool {
        if self == "_" || isNumber != last.isNumber { return true }
        guard isUppercase else { return false }
        // The last capital of several begins the next word: `HTTPServer`.
        return !last.isUppercase || next?.isLowercase == true
    }
}
