@preconcurrency internal import Glibc

/// What commands print.
enum StandardOutput {
    /// From now on the process ends with an error if not everything that it has printed could be written: an export of
    /// which the end is missing must not look whole.
    static func reportFailure() {
        atexit {
            guard fflush(stdout) != 0 || ferror(stdout) != 0 else { return }
            StandardError.print("Error: standard output cannot be written: what was printed is not whole")
            _exit(EX_IOERR)
        }
    }
}
