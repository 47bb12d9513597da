/// What sessions take in memory, in bytes, told from what they take when they are saved.
enum MemoryEstimate {
    /// Screens and coordinators are kept as values, and as the text that they are sent and saved as. Measured, one saved
    /// byte takes 4 bytes in long texts, 5 to 9 in screens with some parameters, and 16 in long arrays of small numbers: what
    /// is bounded by this takes at most twice as much.
    static let bytesPerSavedByte = 8
    /// A session without its state: the queue, the keys that were answered, the tables that it is in.
    static let session = 2048
    /// A version without its state, as the store in memory keeps it.
    static let version = 768
    /// An answer without its body.
    static let answer = 256
}
