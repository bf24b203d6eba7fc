// What kind of source a device is, and which kinds a person trusts more (ACC-26, CON-12).

/// From the most to the least reliable unless the person says otherwise.
enum DeviceKind: String, Codable, CaseIterable, Sendable {
    case medical = "medical-device"
    case wearable
    case phone
    /// The person's own hand.
    case manual

    /// The kinds that a device can report of itself.
    static let devices: [DeviceKind] = [.medical, .wearable, .phone]

    /// Whether it measures nothing while it lies in its charger (ING-19); others go on.
    var stopsWhileCharging: Bool { self == .wearable }
}

/// How a device came to be one of the person's.
enum DeviceOrigin: String, CaseIterable, Sendable {
    /// Added by whoever runs the suite: delivers whatever nobody else was chosen for.
    case enrolled = "operator"
    /// Paired by the person with the number on its display.
    case paired
    /// No device: what the person types in.
    case manual
    /// No device: what the person brings along from elsewhere.
    case imported

    /// Whether there is something that one can hold in one's hand.
    var isDevice: Bool { self == .enrolled || self == .paired }
}

/// The order in which a person trusts kinds of sources; holds each kind once.
struct SourcePriority: Hashable, Sendable {
    let order: [DeviceKind]

    static let usual = SourcePriority(DeviceKind.allCases)

    private init(_ order: [DeviceKind]) {
        self.order = order
    }

    /// nil unless every kind is named once.
    init?(chosen order: [DeviceKind]) {
        guard order.count == DeviceKind.allCases.count, Set(order).count == order.count else { return nil }
        self.order = order
    }

    /// nil for what was not written by `text`.
    init?(text: String) {
        self.init(chosen: text.split(separator: ",").compactMap { DeviceKind(rawValue: String($0)) })
    }

    var text: String { order.map(\.rawValue).joined(separator: ",") }

    /// Whether `one` is trusted more than `other`; neither of two of a kind is.
    func trusts(_ one: DeviceKind, moreThan other: DeviceKind) -> Bool {
        place(of: one) < place(of: other)
    }

    func place(of kind: DeviceKind) -> Int {
        order.firstIndex(of: kind) ?? order.count
    }
}
