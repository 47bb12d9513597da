/// What sessions take in memory, in bytes, estimated from what they take when they are saved.
enum MemoryEstimate {
    /// Screens and coordinators are kept as values, and as the text that they are sent and saved as. Measured, one
    /// saved byte takes 4 bytes in long texts, 5 to 9 in screens with some parameters, and 16 in long arrays of small
    /// numbers: so sessions take at most twice the estimate.
    static let bytesPerSavedByte = 8
    /// A session without its state: the queue, the keys that were answered, the tables that it is in.
    static let session = 2048
    /// A version without its text, as `MemoryStore` keeps it.
    static let version = 256
    /// An answer without its body.
    static let answer = 256
}
