// Stand in for the readers of forms and keys, of which faults name a limit, where a decoder is compiled without them.

enum FormFields {
    static let most = 100
}

enum IdempotencyRule {
    static let longestKey = 255
}
