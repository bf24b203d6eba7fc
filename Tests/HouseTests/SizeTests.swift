// The smoke alarm: length is not a fault, but somebody looks.

import Testing

@Suite("Sizes")
struct SizeTests {
    @Test("a file has at most 400 lines, or the exception is written down")
    func files() {
        for file in SourceTree.swift where file.lines.count - 1 > Limits.linesOfFile {
            #expect(Exceptions.longFiles[file.path] != nil, "\(file.path) has \(file.lines.count - 1) lines: split it by idea")
        }
    }

    @Test("a function has at most 70 lines, or the exception is written down")
    func functions() {
        for file in SourceTree.swift {
            for function in file.functions where function.length > Limits.linesOfFunction {
                #expect(
                    Exceptions.longFunctions["\(file.path) \(function.name)"] != nil,
                    "\(file.path):\(function.first) \(function.name) has \(function.length) lines")
            }
        }
    }

    @Test("no exception outlives its need")
    func stale() {
        let lengths = Dictionary(uniqueKeysWithValues: SourceTree.swift.map { ($0.path, $0.lines.count - 1) })
        for path in Exceptions.longFiles.keys { #expect(lengths[path, default: 0] > Limits.linesOfFile, "\(path) needs no exception") }
        let long = SourceTree.swift.flatMap { file in
            file.functions.filter { $0.length > Limits.linesOfFunction }.map { "\(file.path) \($0.name)" }
        }
        for name in Exceptions.longFunctions.keys { #expect(long.contains(name), "\(name) needs no exception") }
    }

    @Test("the measure is right: a body ends at its own brace")
    func measure() {
        let text = """
            // Planted.
            struct Thing {
                func short(of words: [String] = [], then: () -> Void = { }) -> Int {
                    let text = "}"  // }
                    return words.count
                }

                init(_ text: String) {
                }
            }

            protocol Promise {
                func kept() async throws

                func broken()
            }
            """
        let functions = SwiftSource(path: "Planted.swift", text: text).functions
        #expect(functions == [FunctionExtent(name: "short", first: 3, last: 6), FunctionExtent(name: "init", first: 8, last: 9)])
    }
}
