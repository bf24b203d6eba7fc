// What an operator can set about consent: each subject declares its own, names and bounds as in the requirements, section 5.

import ServiceKit

struct ConsentSettings: Sendable {
    let logIns: LogInSettings
    let accounts: AccountSettings
    let sharing: SharingSettings
    let erasure: ErasureSettings

    init(_ reader: inout SettingsReader) {
        logIns = LogInSettings(&reader)
        accounts = AccountSettings(&reader, temporaryPasswordTime: logIns.temporaryLife)
        sharing = SharingSettings(&reader)
        erasure = ErasureSettings(&reader)
    }
}
