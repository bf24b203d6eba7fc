// What HTTPKit finds wrong with parameters, headers and bodies by itself.

package import Contracts

extension FieldFault {
    /// A body of one language of the wire only: what is wrong at which byte is said in English, for whoever wrote the program.
    static func notJSON(_ fault: JSONFault) -> FieldFault {
        FieldFault(
            "not-json", english: "is not JSON that is read here. \(fault.detail)",
            italian: "non è JSON che si possa leggere qui. \(fault.detail)")
    }

    static let notAForm = FieldFault(
        "not-a-form", english: "is not a form of at most \(FormFields.most) fields",
        italian: "non è un modulo di al massimo \(FormFields.most) campi")
    static let brokenEscape = FieldFault(
        "broken-escape", english: "has a broken percent escape", italian: "ha una sequenza percentuale non valida")
    static let notACursor = FieldFault(
        "not-a-cursor", english: "must be the `next` of a page", italian: "deve essere il `next` di una pagina")
    static let notAnIdempotencyKey = FieldFault(
        "not-an-idempotency-key", english: "must have 1 to \(IdempotencyRule.longestKey) printable ASCII characters",
        italian: "deve avere da 1 a \(IdempotencyRule.longestKey) caratteri ASCII stampabili")
    static let keyUsedAgain = FieldFault(
        "key-used-again", english: "was used within 24 hours with another body",
        italian: "è stata usata nelle ultime 24 ore con un altro contenuto")
    static let foreignOrigin = FieldFault(
        "foreign-origin", english: "is not the suite's own address", italian: "non è l'indirizzo di questa suite")
    static let mediaTypeNotRead = FieldFault(
        "media-type-not-read", english: "is not one of those that this operation reads",
        italian: "non è tra quelli che questa operazione legge")
    static let encodingNotRead = FieldFault(
        "encoding-not-read", english: "is not gzip, deflate or identity", italian: "non è gzip, deflate o identity")
    /// For an event stream that is taken up again.
    package static let notAnEventID = FieldFault(
        "not-an-event-id", english: "must be the id of an event of this stream", italian: "deve essere l'id di un evento di questo flusso")
}
