// What is wrong with a file, in words for people: Foundation's own name its domains and codes.

import Foundation

package enum FileTrouble {
    /// File, cause and mend; nil where the error is none of Foundation's about files.
    package static func text(_ error: any Error) -> String? {
        switch error {
        case let error as CocoaError:
            let file = error.filePath ?? error.url?.path ?? "a file"
            return "\(file): \(cause(error)); see that it is there and that this user may read and write it"
        case let error as POSIXError:
            return "\(words(error)); see that the file or address is there and that this user may use it"
        default: return nil
        }
    }

    private static func cause(_ error: CocoaError) -> String {
        if let system = error.underlying as? POSIXError { return words(system) }
        return switch error.code {
        case .fileNoSuchFile, .fileReadNoSuchFile: "No such file or directory"
        case .fileReadNoPermission, .fileWriteNoPermission: "Permission denied"
        case .fileWriteOutOfSpace: "No space left on device"
        case .fileWriteFileExists: "File exists"
        case .fileWriteVolumeReadOnly: "Read-only file system"
        default: "it cannot be read or written"
        }
    }

    private static func words(_ error: POSIXError) -> String { String(cString: strerror(error.code.rawValue)) }
}
