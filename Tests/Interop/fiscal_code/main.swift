// Shows a peer what our code makes of fiscal codes: one question a line, one answer a line. Compiled beside Contracts' FiscalCode.swift.

while let line = readLine() {
    let parts = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let text = parts.count == 2 ? parts[1] : ""
    switch parts[0] {
    case "surname": print(FiscalCode.code(surname: text))
    case "name": print(FiscalCode.code(name: text))
    default:
        do {
            let code = try FiscalCode(checking: text)
            let words = [
                code.text, String(code.yearOfCentury), String(code.month), String(code.day), code.sex.rawValue, code.place,
                code.isOmocodic ? "omocodic" : "plain", code.variants.sorted().joined(separator: ","),
            ]
            print("valid", words.joined(separator: " "))
        } catch {
            print("fault", error)
        }
    }
}
