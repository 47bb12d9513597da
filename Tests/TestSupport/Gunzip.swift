internal import CZlib
public import Foundation

extension Data {
    /// What the bytes are when they are decompressed: all of one gzip member, and nothing after it.
    public func gunzipped() throws -> Data {
        var stream = z_stream()
        let onlyGzip = MAX_WBITS + 16
        guard inflateInit2_(&stream, onlyGzip, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw TestFailure("no memory")
        }
        defer { inflateEnd(&stream) }
        var input = [UInt8](self)
        var output = [UInt8](repeating: 0, count: 1 << 20)
        let code = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = uInt(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = uInt(output.count)
                return inflate(&stream, Z_FINISH)
            }
        }
        guard code == Z_STREAM_END, stream.avail_in == 0 else { throw TestFailure("not gzip") }
        return Data(output.prefix(Int(stream.total_out)))
    }
}
