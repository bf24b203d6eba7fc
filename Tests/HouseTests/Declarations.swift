// Finding functions and types in a file's code without a parser: good enough for rules about length, names and comments.

/// A function, initialiser or test with its first and last line, counted from 1.
struct FunctionExtent: Equatable {
    var name: String
    var first: Int
    var last: Int
    var length: Int { last - first + 1 }
}

/// A declaration of a type, or of a function at the top of a file.
struct Declaration: Equatable {
    var kind: String
    var name: String
    /// Counted from 1.
    var line: Int
    var isPackage: Bool
    var indentation: Int
}

extension SwiftSource {
    /// Types anywhere, and functions that belong to no type.
    var declarations: [Declaration] {
        let pattern =
            "^( *)(?:@[\\w()., :]+ )*((?:(?:package|private|fileprivate|final|indirect|nonisolated|distributed) )*)"
            + "(struct|class|enum|protocol|actor|func|typealias) ([A-Za-z_]\\w*)"
        return code.enumerated().compactMap { index, line in
            guard let match = line.matches(of: pattern).first else { return nil }
            return Declaration(
                kind: match[3], name: match[4], line: index + 1, isPackage: match[2].contains("package"), indentation: match[1].count)
        }
    }

    /// Whether a `///` comment stands directly above, attributes in between not counted; the file's first line speaks for the
    /// type that the file is named after.
    func isDocumented(_ declaration: Declaration) -> Bool {
        if declaration.indentation == 0, name == declaration.name + ".swift" { return true }
        var index = declaration.line - 2
        while index >= 0 {
            let line = lines[index].drop { $0 == " " }
            if line.hasPrefix("///") { return true }
            guard line.hasPrefix("@") || line.hasPrefix("// swift-format-ignore") else { return false }
            index -= 1
        }
        return false
    }

    /// Every function and initialiser that has a body.
    var functions: [FunctionExtent] {
        var found: [FunctionExtent] = []
        for (index, line) in code.enumerated() {
            guard let match = line.matches(of: "(?:^|[ \\t])(?:func +([^\\s(<]+)|(init)[?]?[(<]|(deinit) )").first,
                !line.matches(
                    of:
                        "^\\s*(?:(?:package|private|fileprivate|override|required|convenience|static|final|mutating|nonisolated|@\\w+(?:\\([^)]*\\))?) )*(?:func|init|deinit)"
                ).isEmpty,
                let last = endOfBody(from: index)
            else { continue }
            found.append(FunctionExtent(name: match[1].isEmpty ? match[2] + match[3] : match[1], first: index + 1, last: last + 1))
        }
        return found
    }

    /// The line of the brace that closes the body which begins at or after the line `start`; nil where there is no body.
    private func endOfBody(from start: Int) -> Int? {
        var (parentheses, braces, entered) = (0, 0, false)
        for index in start..<code.count {
            if index > start, !entered, parentheses == 0, code[index].trimmingPrefix(while: { $0 == " " }).isEmpty { return nil }
            for character in code[index] {
                switch character {
                case "(": parentheses += 1
                case ")": parentheses -= 1
                case "{" where entered || parentheses == 0:
                    (entered, braces) = (true, braces + 1)
                case "}" where entered:
                    braces -= 1
                    if braces == 0 { return index }
                case "}" where parentheses == 0: return nil
                default: break
                }
            }
        }
        return nil
    }
}
