// Gzip: the only Swift wrapper of zlib, no larger than needed: bytes in the format gzip (RFC 1952). It knows neither HTTP
// nor what the bytes mean.

internal import CZlib

public enum Gzip {
    /// The same bytes always give the same result: it names no time and no file.
    ///
    /// - Returns: `nil` if the system has no memory for it (about 256 KiB), or if there are 4 GiB or more.
    public static func compress(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard let size = uInt(exactly: bytes.count), CZlib_begin_gzip(&stream) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        // With so much room one call does it.
        let room = deflateBound(&stream, uLong(size))
        guard let outputSize = uInt(exactly: room) else { return nil }
        let result = [UInt8](unsafeUninitializedCapacity: Int(room)) { output, count in
            bytes.withUnsafeBufferPointer { input in
                // zlib only reads the input: `next_in` is not const because its header is older than that.
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = size
                stream.next_out = output.baseAddress
                stream.avail_out = outputSize
                let hasEnded = deflate(&stream, Z_FINISH) == Z_STREAM_END
                count = hasEnded ? Int(stream.total_out) : 0
            }
        }
        return result.isEmpty ? nil : result
    }
}
