// What libFuzzer calls: all targets are in one program, and the name by which it was started says which of them is fed.

import Foundation

private let target: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt = {
    let name = URL(fileURLWithPath: CommandLine.arguments[0]).lastPathComponent
    // nil is the program itself.
    guard let found = dlsym(nil, "fuzz\(name)") else { preconditionFailure("no target is called \(name)") }
    return unsafeBitCast(found, to: (@convention(c) (UnsafePointer<UInt8>?, Int) -> CInt).self)
}()

@_cdecl("LLVMFuzzerTestOneInput")
func feed(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target(start, count)
}
