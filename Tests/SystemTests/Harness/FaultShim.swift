// A library that stands between a process and its disk and clock, compiled from `Chaos/fault.c` when first needed.

import Foundation

@testable import Operator

struct FaultShim {
    private static let library: URL? = {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../Chaos/fault.c").path
        let library = FileManager.default.temporaryDirectory.appendingPathComponent("tm-fault-\(getpid()).so")
        for compiler in ["cc", "clang", "gcc"] {
            guard (try? Tool.run(compiler, ["-shared", "-fPIC", "-O2", "-o", library.path, source, "-ldl"])) != nil else { continue }
            return library
        }
        return nil
    }()
    static var isThere: Bool { library != nil }

    private let file: URL

    init(in folder: URL) {
        file = folder.appendingPathComponent("fault")
        say("none")
    }

    /// What a process needs to be under it.
    var environment: [String: String] {
        ["LD_PRELOAD": FaultShim.library?.path ?? "", "TM_FAULT": file.path]
    }

    /// `none`, `eio N`, `slow MILLISECONDS` or `clock MILLISECONDS`; in force within a few tens of milliseconds.
    func say(_ fault: String) {
        try? Data((fault + "\n").utf8).write(to: file, options: .atomic)
    }
}
