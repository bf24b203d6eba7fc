// What uploads may look like and what is said about those that may not.

import Contracts
import Testing

@testable import Ingest

/// Reads uploads as if it were 2026-11-21 noon.
enum Scan {
    static let now = Timestamp(milliseconds: 1_795_262_400_000)
    static let scanner = EntryScanner(rules: EntryRules(now: now, clockSkew: .seconds(60)))

    static func document(_ text: String) throws(UploadFault) -> ScannedUpload {
        try Array(text.utf8).withUnsafeBufferPointer { (bytes) throws(UploadFault) in
            try scanner.scan(document: UnsafeRawBufferPointer(bytes))
        }
    }

    static func lines(_ text: String) -> ScannedUpload {
        Array(text.utf8).withUnsafeBytes { scanner.scan(lines: $0) }
    }

    /// Why the one entry is refused; nil where it is taken.
    static func fault(of entry: String) throws -> EntryFault? {
        try document(entry).refused.first?.fault
    }
}

/// Bad input and what is said about it.
enum BadInput {
    static let refusals: [(entry: String, fault: EntryFault)] = [
        ("{}", .missing(.type)),
        ("{\"type\":\"heart-rate\",\"value\":60}", .missing(.at)),
        ("{\"type\":\"heart-rate\",\"at\":1}", .missing(.value)),
        ("{\"type\":\"heart-rate\",\"at\":1,\"value\":null}", .missing(.value)),
        ("{\"type\":7,\"at\":1,\"value\":60}", .wrongKind(.type)),
        ("{\"type\":\"heart-rate\",\"at\":{},\"value\":60}", .wrongKind(.at)),
        ("{\"type\":\"heart-rate\",\"at\":true,\"value\":60}", .wrongKind(.at)),
        ("{\"type\":\"heart-rate\",\"at\":1,\"value\":\"60\"}", .wrongKind(.value)),
        ("{\"type\":\"heart-rate\",\"at\":1,\"value\":60,\"unit\":1}", .wrongKind(.unit)),
        ("{\"type\":\"heart-rate\",\"at\":1,\"value\":60,\"position\":[1,2]}", .wrongKind(.position)),
        ("{\"type\":\"heart-rate\",\"at\":1,\"value\":60,\"value\":60}", .twice(.value)),
        ("{\"type\":\"heart-rate\",\"type\":\"heart-rate\",\"at\":1,\"value\":60}", .twice(.type)),
        ("{\"type\":\"heart-rate\",\"at\":\"yesterday\",\"value\":60}", .unreadableTime),
        ("{\"type\":\"heart-rate\",\"at\":\"2026-02-30T00:00:00Z\",\"value\":60}", .unreadableTime),
        ("{\"type\":\"heart-rate\",\"at\":\"2026-01-10T00:31:00\",\"value\":60}", .unreadableTime),
        ("{\"type\":\"heart-rate\",\"at\":1.5,\"value\":60}", .unreadableTime),
        ("{\"type\":\"heart-rate\",\"at\":1e300,\"value\":60}", .unreadableTime),
        ("{\"type\":\"heart-rate\",\"at\":0,\"value\":60}", .timeNotPositive),
        ("{\"type\":\"heart-rate\",\"at\":-5,\"value\":60}", .timeNotPositive),
        ("{\"type\":\"heart-rate\",\"at\":1795262460001,\"value\":60}", .timeInFuture),
        ("{\"type\":\"heart-beat\",\"at\":1,\"value\":60}", .unknownMetric(named: "heart-beat")),
        ("{\"type\":\"Heart-Rate\",\"at\":1,\"value\":60}", .unknownMetric(named: "Heart-Rate")),
        ("{\"type\":\"45.4642137\",\"at\":1,\"value\":60}", .unknownMetric(named: nil)),
        ("{\"type\":\"\",\"at\":1,\"value\":60}", .unknownMetric(named: nil)),
        ("{\"type\":\"heart-rate\",\"at\":1,\"value\":60,\"unit\":\"Hz\"}", .wrongUnit(.heartRate)),
        ("{\"unit\":\"mmHg\",\"type\":\"heart-rate\",\"at\":1,\"value\":60}", .wrongUnit(.heartRate)),
        ("{\"type\":\"heart-rate\",\"at\":1,\"value\":0}", .impossibleValue(.heartRate)),
        ("{\"type\":\"heart-rate\",\"at\":1,\"value\":350.0001}", .impossibleValue(.heartRate)),
        ("{\"type\":\"heart-rate\",\"at\":1,\"value\":1e999}", .impossibleValue(.heartRate)),
        ("{\"type\":\"position\",\"at\":1}", .missing(.latitude)),
        ("{\"type\":\"position\",\"at\":1,\"position\":{}}", .missing(.latitude)),
        ("{\"type\":\"position\",\"at\":1,\"latitude\":3}", .missing(.longitude)),
        ("{\"type\":\"position\",\"at\":1,\"latitude\":3,\"longitude\":4,\"value\":1}", .valueOfPosition),
        ("{\"type\":\"position\",\"at\":1,\"latitude\":90.00001,\"longitude\":4}", .offEarth),
        ("{\"type\":\"position\",\"at\":1,\"latitude\":3,\"longitude\":-180.1}", .offEarth),
        ("{\"type\":\"position\",\"at\":1,\"latitude\":3,\"longitude\":4,\"accuracy\":-1}", .offEarth),
        (
            "{\"type\":\"position\",\"at\":1,\"latitude\":3,\"longitude\":4,\"position\":{\"latitude\":3,\"longitude\":4}}",
            .twice(.latitude)
        ),
    ]

    static let malformed: [(text: String, kind: JSONFault.Kind, offset: Int)] = [
        ("", .unexpectedEnd, 0), ("   ", .unexpectedEnd, 3), ("[", .unexpectedEnd, 1), ("[}", .unexpectedByte, 1),
        ("{", .unexpectedEnd, 1), ("{\"a\"", .unexpectedEnd, 4), ("{\"a\":", .unexpectedEnd, 5), ("{\"a\":1", .unexpectedEnd, 6),
        ("{\"a\":1,}", .unexpectedByte, 7), ("[{},]", .unexpectedByte, 4), ("[{}] x", .trailingBytes, 5), ("{}{}", .trailingBytes, 2),
        ("{\"a\":01}", .badNumber, 5), ("{\"a\":+1}", .unexpectedByte, 5), ("{\"a\":1.}", .badNumber, 7),
        ("{\"a\":.5}", .unexpectedByte, 5),
        ("{\"value\":1e}", .badNumber, 11), ("{\"value\":-}", .badNumber, 10), ("{\"value\":-", .unexpectedEnd, 10),
        ("{\"a\":NaN}", .unexpectedByte, 5), ("{\"a\":tru", .unexpectedEnd, 8), ("{\"a\":tru}", .badLiteral, 5),
        ("{\"a\":trux}", .badLiteral, 5), ("{'a':1}", .unexpectedByte, 1),
        ("{\"a\":\"\u{1}\"}", .controlCharacter, 6), ("{\"a\":\"\\x\"}", .badEscape, 6), ("{\"a\":\"\\u12g4\"}", .badEscape, 10),
        ("{\"a\":\"\\ud800\"}", .badEscape, 6), ("{\"a\":\"\\udc00\"}", .badEscape, 6), ("{\"a\":\"x", .unexpectedEnd, 7),
        ("{\"entries\":7}", .unexpectedByte, 11), ("{\"entries\":[],\"entries\":[]}", .unexpectedByte, 24),
        ("{\"sentAt\":1,\"sentAt\":1}", .unexpectedByte, 21), ("{\"firstTriedAt\":1,\"firstTriedAt\":1}", .unexpectedByte, 33),
        ("{\"a\":" + String(repeating: "[", count: 32) + String(repeating: "]", count: 32) + "}", .tooDeep, 36),
    ]
}

@Suite struct EntryScannerTests {
    static let pulse = Sample(type: .heartRate, at: Timestamp(milliseconds: 1_768_005_060_000), value: 72.5)

    @Test(
        "One entry, an array, an object with entries and lines hold the same",
        arguments: [
            "{E}", "[{E}]", "{\"entries\":[{E}]}", "{\"note\":{\"a\":[1,null]},\"entries\":[{E}],\"z\":0}", " \n[ {E} ]\r\n\t",
        ])
    func forms(_ form: String) throws {
        let entry = "\"type\":\"heart-rate\",\"at\":\"2026-01-10T00:31:00Z\",\"value\":72.5,\"unit\":\"/min\""
        let upload = try Scan.document(form.replacing("E", with: entry))
        #expect(upload.samples == [Self.pulse])
        #expect(upload.count == 1 && upload.refused.isEmpty)
        #expect(upload.isSingle == form.hasPrefix("{E"))
        #expect(Scan.lines("\n{\(entry)}\r\n  \n").samples == [Self.pulse])
    }

    @Test(
        "ING-03: an entry carries type, time, value, unit and, where known, its position",
        arguments: [
            "{\"value\":72.5,\"unit\":\"/min\",\"at\":1768005060000,\"type\":\"heart-rate\"}",
            "{\"t\\u0079pe\":\"heart\\u002drate\",\"at\":\"2026-01-10T01:31:00.000999+01:00\",\"value\":725e-1,\"unit\":\"\\/min\"}",
            "{\"type\":\"heart-rate\",\"at\":1.76800506E12,\"value\":72.50,\"unit\":null,\"position\":null,\"extra\":[{\"deep\":\"\\ud83d\\ude00\"}]}",
        ])
    func writings(_ entry: String) throws {
        #expect(try Scan.document(entry).samples == [Self.pulse])
    }

    @Test("ING-07: positions stand in the entry or under `position`, with altitude and accuracy where known")
    func positions() throws {
        let place = Position(latitude: -45.5, longitude: 9.25, altitude: 12, accuracy: nil)
        let upload = try Scan.document(
            """
            [{"type":"position","at":5,"latitude":-45.5,"longitude":9.25,"altitude":12},
             {"type":"position","at":6,"position":{"longitude":9.25,"latitude":-45.5,"altitude":12,"speed":3}},
             {"type":"heart-rate","at":7,"value":60,"position":{"latitude":-45.5,"longitude":9.25,"altitude":12,"accuracy":null}}]
            """)
        #expect(upload.samples.map(\.position) == [place, place, place])
        #expect(upload.samples.map(\.value) == [nil, nil, 60])
    }

    @Test("ING-08: an impossible entry is refused by name and place, the rest goes on")
    func restGoesOn() throws {
        let upload = try Scan.document(
            """
            {"entries":[{"type":"heart-rate","at":1,"value":60}, 7, {"type":"heart-rate","at":2,"value":0},
            {"type":"heart-rate","at":3,"value":61}]}
            """)
        #expect(upload.samples.map(\.at.milliseconds) == [1, 3])
        #expect(upload.indexes == [0, 3])
        #expect(upload.refused.map(\.index) == [1, 2])
        #expect(upload.refused.map(\.fault) == [.notAnObject, .impossibleValue(.heartRate)])
        #expect(upload.count == 4)
    }

    @Test("SOS-09: what only its time refuses is kept for alarms, dated back from the newest; what is impossible besides is not")
    func ahead() throws {
        let upload = try Scan.document(
            """
            [{"type":"heart-rate","at":1795266000000,"value":30},{"type":"heart-rate","at":1795265998000,"value":31},
            {"type":"heart-rate","at":1795266000000,"value":0},{"type":"heart-rate","at":1795262400000,"value":64},
            {"type":"help","at":9223372036854775807,"value":1}]
            """)
        #expect(upload.samples.map(\.value) == [64])
        #expect(upload.refused.map(\.fault) == [.timeInFuture, .timeInFuture, .timeInFuture, .timeInFuture])
        #expect(upload.unstored.map(\.value) == [30, 31, 1])
        var withoutHelp = upload
        withoutHelp.unstored.removeLast()
        #expect(withoutHelp.unstored(at: Scan.now, latest: Scan.scanner.rules.latest).map(\.at) == [Scan.now, Scan.now - .seconds(2)])
        #expect(upload.unstored(at: Scan.now, latest: Scan.scanner.rules.latest).last?.at == Scan.now)
        var paused = withoutHelp
        paused.admit(by: Admission(tracked: nil, pauses: [Pause(from: 1)]))
        #expect(paused.unstored.isEmpty, "a pause holds against a clock that is wrong too")
    }

    /// Refused entries, and what is heard of them: value and time, or nil.
    private static let heard: [(entry: String, value: Double??, at: Int64)] = [
        ("{\"type\":\"heart-rate\",\"at\":1000,\"value\":30,\"latitude\":45,\"longitude\":9,\"accuracy\":-1}", 30, 1000),
        ("{\"type\":\"heart-rate\",\"at\":1000,\"value\":30,\"position\":{}}", 30, 1000),
        ("{\"position\":\"here\",\"type\":\"heart-rate\",\"at\":1000,\"value\":30}", 30, 1000),
        ("{\"type\":\"heart-rate\",\"at\":1000,\"value\":30,\"latitude\":45}", 30, 1000),
        ("{\"type\":\"help\",\"at\":1000}", .some(nil), 1000),
        ("{\"type\":\"help\",\"value\":true}", .some(nil), 1_795_262_400_000),
        ("{\"type\":\"fall\",\"at\":\"now\",\"value\":1,\"altitude\":1e9}", .some(nil), 1_795_262_400_000),
        ("{\"type\":\"help\",\"at\":1000,\"value\":-1}", .some(nil), 1000),
        ("{\"type\":\"fall\",\"at\":1000,\"value\":5000}", .some(nil), 1000),
        ("{\"type\":\"fall\",\"at\":1000,\"value\":2,\"accuracy\":-1,\"latitude\":45,\"longitude\":9}", 2, 1000),
        // In doubt is what was measured, or when.
        ("{\"type\":\"heart-rate\",\"at\":1000,\"value\":30,\"unit\":\"Hz\",\"position\":{}}", nil, 0),
        ("{\"type\":\"heart-rate\",\"value\":30}", nil, 0),
        ("{\"type\":\"heart-rate\",\"at\":1000,\"value\":0}", nil, 0),
        ("{\"type\":\"position\",\"at\":1000,\"latitude\":91,\"longitude\":9}", nil, 0),
    ]

    @Test("SOS-09, SOS-35, SOS-36: a place that is none, or a button that gives no value, threw away a heart rate, a fall, a call for help")
    func unstored() throws {
        for (entry, value, at) in Self.heard {
            let upload = try Scan.document(entry)
            #expect(upload.samples.isEmpty && upload.refused.count == 1)
            #expect(upload.unstored.map(\.value) == (value.map { [$0] } ?? []), "\(entry)")
            #expect(upload.unstored.map(\.at.milliseconds) == (value == nil ? [] : [at]), "\(entry)")
            #expect(upload.unstored.allSatisfy { $0.position == nil })
        }
    }

    @Test("ING-08, ING-05, INV-19: every kind of bad entry has its own refusal", arguments: BadInput.refusals)
    func refusal(_ entry: String, _ fault: EntryFault) throws {
        #expect(try Scan.fault(of: entry) == fault)
        let upload = try Scan.document("[\(entry),{\"type\":\"heart-rate\",\"at\":1,\"value\":60}]")
        #expect(upload.refused.map(\.index) == [0] && upload.samples.count == 1, "a unit or type does not leak into the next entry")
        let lines = Scan.lines("\(entry)\n{\"type\":\"heart-rate\",\"at\":1,\"value\":60}")
        #expect(lines.refused.map(\.fault) == [fault] && lines.indexes == [1])
    }

    @Test(
        "The limits themselves are allowed: 60 s ahead, both ends of a range",
        arguments: [
            "{\"type\":\"heart-rate\",\"at\":1795262460000,\"value\":350}", "{\"type\":\"heart-rate\",\"at\":1,\"value\":1}",
            "{\"type\":\"position\",\"at\":1,\"latitude\":-90,\"longitude\":180}",
        ])
    func limits(_ entry: String) throws {
        #expect(try Scan.fault(of: entry) == nil)
    }

    @Test("A malformed text is refused whole, naming the byte", arguments: BadInput.malformed)
    func malformed(_ text: String, _ kind: JSONFault.Kind, _ offset: Int) {
        #expect(throws: UploadFault.malformedJSON(JSONFault(kind: kind, offset: offset))) { try Scan.document(text) }
    }

    @Test("Depth 32 is allowed")
    func depth() throws {
        let text = "{\"a\":" + String(repeating: "[", count: 31) + String(repeating: "]", count: 31) + "}"
        #expect(try Scan.fault(of: text) == .missing(.type))
    }

    @Test("A JSON text that is neither object nor array is no upload", arguments: ["7", "\"x\"", "null", "true"])
    func notEntries(_ text: String) {
        #expect(throws: UploadFault.notEntries) { try Scan.document(text) }
    }

    @Test(
        "Bytes that are not UTF-8 are refused with their offset",
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xC3], [0xE2, 0x82], [0xFF],
        ] as [[UInt8]])
    func notUTF8(_ wrong: [UInt8]) {
        let bytes = Array("{\"note\":\"Žluť".utf8) + wrong + Array("\"}".utf8)
        let offset = bytes.count - wrong.count - 2
        #expect(throws: UploadFault.malformedJSON(JSONFault(kind: .badUTF8, offset: offset))) {
            try bytes.withUnsafeBytes { _ = try Scan.scanner.scan(document: $0) }
        }
    }

    @Test("10,000 entries are taken, one more refuses the upload", arguments: [false, true])
    func tooMany(_ wrapped: Bool) throws {
        func text(_ count: Int) -> String {
            let list = "[" + Array(repeating: "{}", count: count).joined(separator: ",") + "]"
            return wrapped ? "{\"entries\":\(list)}" : list
        }
        #expect(try Scan.document(text(10_000)).refused.count == 10_000)
        #expect(throws: UploadFault.tooManyEntries) { try Scan.document(text(10_001)) }
    }

    @Test("What is wrong with one line is that line's own affair")
    func lines() {
        let good = "{\"type\":\"heart-rate\",\"at\":1,\"value\":60}"
        var bytes = Array("\(good)\n{\"type\":\nnot json\n[]\n\(good) x\n{\"a\":\"".utf8)
        bytes += [0xFF]
        bytes += Array("\"}\n\(good)\n\n{\"long\":\"\(String(repeating: "x", count: 65_536))\"}\n\(good)".utf8)
        let upload = bytes.withUnsafeBytes { Scan.scanner.scan(lines: $0, firstIndex: 100) }
        #expect(upload.indexes == [100, 106, 108])
        #expect(upload.refused.map(\.index) == [101, 102, 103, 104, 105, 107])
        #expect(
            upload.refused.map(\.fault.name) == [
                "malformed-json", "malformed-json", "malformed-entry", "malformed-json", "malformed-json", "malformed-entry",
            ])
        #expect(upload.refused.first?.fault == .malformedJSON(JSONFault(kind: .unexpectedEnd, offset: 8)), "offsets count within the line")
    }

    @Test(
        "R14: a unit in a usual spelling was refused with 422: it is the same unit",
        arguments: [
            ("heart-rate", "bpm"), ("heart-rate", "{beats}/min"), ("blood-pressure-max", "mmHg"), ("oxygen-saturation", "percent"),
            ("body-temperature", "\u{B0}C"), ("glucose", "mg/dl"), ("respiration-rate", "breaths/min"), ("cadence", "rpm"),
        ])
    func usualUnits(_ type: String, _ unit: String) throws {
        let entry = "{\"type\":\"\(type)\",\"at\":1,\"value\":37,\"unit\":\"\(unit)\"}"
        #expect(try Scan.document(entry).samples.map(\.value) == [37])
    }

    @Test("A spelling is of one unit only, and every unit of the registry is its own first spelling")
    func spellings() {
        let units = Set(Metric.all.map(\.definition.unit))
        let all = units.flatMap(UnitSpellings.of)
        #expect(Set(all).count == all.count)
        #expect(units.allSatisfy { UnitSpellings.of($0).first == $0 })
    }

    @Test("R14, ING-08: a heart rate of 0.9 was refused although it is greater than 0", arguments: [0.9, 0.01, 1e-9])
    func dyingHeart(_ rate: Double) throws {
        for type in ["heart-rate", "pulse-rate"] {
            #expect(try Scan.document("{\"type\":\"\(type)\",\"at\":1,\"value\":\(rate)}").samples.map(\.value) == [rate])
            #expect(try Scan.fault(of: "{\"type\":\"\(type)\",\"at\":1,\"value\":0}")?.detail.contains("greater than 0") == true)
        }
    }

    @Test(
        "SOS-41: an upload says when it was first tried; what cannot be is left out of account and never costs the upload",
        arguments: [
            ("\"2026-11-21T11:59:48.000Z\"", -12_000), ("1795262388000", -12_000), ("1795262400000", 0),
            ("\"2026-11-21T00:00:00Z\"", -43_200_000),
            ("\"2026-11-20T23:59:59.999Z\"", nil), ("\"2026-11-21T12:00:00.001Z\"", nil), ("\"yesterday\"", nil), ("null", nil),
            ("[{}]", nil),
            ("-9223372036854775808", nil), ("9223372036854775807", nil),
        ] as [(String, Int64?)])
    func firstTry(_ said: String, _ offset: Int64?) throws {
        let entry = "\"type\":\"heart-rate\",\"at\":1,\"value\":60"
        let expected = offset.map { Timestamp(milliseconds: Scan.now.milliseconds + $0) }
        for document in [
            "{\"firstTriedAt\":\(said),\"entries\":[{\(entry)}]}", "{\"entries\":[{\(entry)}],\"first\\u0054riedAt\":\(said)}",
            "{\"firstTriedAt\":\(said),\(entry)}", "{\"firstTriedAt\":null,\(entry),\"firstTriedAt\":\(said)}",
        ] {
            let upload = try Scan.document(document)
            #expect(upload.samples.count == 1 && upload.refused.isEmpty)
            #expect(upload.firstTriedAt(ofReceived: Scan.now) == expected, "\(document)")
        }
        #expect(
            try Scan.document("[{\(entry),\"firstTriedAt\":\(said)}]").firstTry == nil, "one entry of a list says nothing of the upload")
    }

    @Test(
        "SOS-09: an upload says when it was written; what cannot be is left out of account, named, and never costs the upload",
        arguments: [
            ("\"2026-11-21T11:58:00.000Z\"", -120_000, false), ("1795262400000", 0, false), ("\"2026-11-21T12:10:00Z\"", 600_000, false),
            ("null,\"sentAt\":1795262401000", 1000, false), ("null", nil, false),
            ("\"2026-11-21T12:10:00.001Z\"", nil, true), ("\"2026-11-21T11:39:59.999Z\"", nil, true), ("\"yesterday\"", nil, true),
            ("\"--11-21T12:00:00Z\"", nil, true), ("0", nil, true), ("[{}]", nil, true), ("-9223372036854775808", nil, true),
            ("9223372036854775807", nil, true),
        ] as [(String, Int64?, Bool)])
    func sending(_ said: String, _ offset: Int64?, _ isIgnored: Bool) throws {
        // Measured ten minutes before noon.
        let entry = "\"type\":\"heart-rate\",\"at\":1795261800000,\"value\":60"
        let uploads = [
            try Scan.document("{\"sentAt\":\(said),\"entries\":[{\(entry)}]}"),
            try Scan.document("{\"entries\":[{\(entry)}],\"s\\u0065ntAt\":\(said)}"), try Scan.document("{\(entry),\"sentAt\":\(said)}"),
            Scan.lines("{\(entry),\"sentAt\":\(said)}"),
        ]
        for var upload in uploads {
            upload.judgeSending(ofReceived: Scan.now)
            #expect(upload.samples.count == 1 && upload.refused.isEmpty)
            #expect(upload.sending.time == offset.map { Timestamp(milliseconds: Scan.now.milliseconds + $0) })
            #expect(upload.sending.isIgnored == isIgnored)
        }
        #expect(
            try Scan.document("[{\(entry),\"sentAt\":\(said)}]").sending == Sending(), "one entry of a list says nothing of the upload")
    }

    @Test("A line that says twice when it was written is refused, and no other line")
    func sendingTwice() {
        let entry = "\"type\":\"heart-rate\",\"at\":1795261800000,\"value\":60"
        let upload = Scan.lines("{\(entry),\"sentAt\":1,\"sentAt\":2}\n{\(entry)}")
        #expect(upload.samples.count == 1 && upload.refused.map(\.index) == [0])
    }

    @Test("SOS-34: places, refused and old values are no sign that a parameter is measured now")
    func measuredNow() throws {
        let now = Scan.now.milliseconds
        let upload = try Scan.document(
            """
            [{"type":"heart-rate","at":\(now - 61_000),"value":70},{"type":"pulse-rate","at":\(now),"value":0},
            {"type":"position","at":\(now),"latitude":45,"longitude":9},{"type":"oxygen-saturation","at":\(now - 60_000),"value":97}]
            """)
        #expect(upload.measuredNow(at: Scan.now) == [.oxygenSaturation])
    }

    @Test("SOS-09: what is not stored is dated by the clock by which its age is counted")
    func unstoredBySending() throws {
        let said = Scan.now.milliseconds + 300_000
        var upload = try Scan.document(
            "{\"sentAt\":\(said),\"entries\":[{\"type\":\"heart-rate\",\"at\":\(said),\"value\":30},{\"type\":\"help\"}]}")
        upload.judgeSending(ofReceived: Scan.now)
        let ages = upload.unstored(at: Scan.now, latest: Scan.scanner.rules.latest).map {
            $0.age(receivedAt: Scan.now, sentAt: upload.sending.time)
        }
        #expect(ages == [.zero, .zero])
    }

    @Test("No refusal repeats a value or a place that was sent")
    func refusalsAreDiscreet() throws {
        for (entry, _) in BadInput.refusals {
            let detail = try Scan.fault(of: entry)?.detail ?? ""
            #expect(!detail.isEmpty && !detail.contains("45.4642137") && !detail.contains("350.0001") && !detail.contains("90.00001"))
        }
    }
}
