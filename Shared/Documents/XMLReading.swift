// Reading XML that anybody may have sent: no document types, no entities of its own, nothing fetched, everything bounded.

import Foundation
import FoundationXML

/// Why a text is not XML as it is taken here.
package enum XMLFault: Error, Hashable, Sendable {
    /// More bytes than the limit.
    case tooLarge(limit: Int)
    /// Not UTF-8, or declared to be something else.
    case notUTF8
    /// A `<!DOCTYPE …>`: it could define entities that grow, or name files to be fetched.
    case documentType
    /// A `<?…?>` other than the declaration at the beginning.
    case processingInstruction
    case tooDeep(line: Int)
    case tooManyAttributes(line: Int)
    case textTooLong(line: Int)
    case malformed(line: Int)
}

/// What one document may be.
package struct XMLLimits: Sendable {
    /// Of the whole document.
    package var bytes = 32 << 20
    /// Elements within each other, the root included.
    package var depth = 32
    /// Of one element.
    package var attributes = 64
    /// Characters between two tags, in bytes.
    package var text = 64 << 10

    package init() {}
}

/// An element as its start tag says it.
package struct XMLTag: Sendable {
    /// Without prefix.
    package let name: String
    /// Empty where there is none.
    package let namespace: String
    package let attributes: [String: String]
    /// Of the document, from 1.
    package let line: Int
}

/// Is told of a document's elements, in its order.
package protocol XMLHandler: AnyObject {
    func opened(_ tag: XMLTag)
    /// - Parameter text: what stood between the start tag (or the last child's end) and the end tag, entities resolved.
    func closed(_ name: String, text: String)
}

/// The one door through which XML comes in. Of entities only the five of XML itself and character references are known.
package enum XMLReading {
    /// Reads the whole document; the handler may have been told of its beginning when this throws.
    package static func read(_ bytes: [UInt8], limits: XMLLimits = XMLLimits(), into handler: any XMLHandler) throws(XMLFault) {
        guard bytes.count <= limits.bytes else { throw .tooLarge(limit: limits.bytes) }
        try XMLProlog.check(bytes)
        let parser = XMLParser(data: Data(bytes))
        parser.shouldProcessNamespaces = true
        parser.shouldResolveExternalEntities = false
        parser.externalEntityResolvingPolicy = .never
        let listener = XMLListener(limits: limits, handler: handler)
        parser.delegate = listener
        let isWhole = parser.parse()
        if let fault = listener.fault { throw fault }
        guard isWhole, listener.isComplete else { throw .malformed(line: max(1, parser.lineNumber)) }
    }
}

/// Stands between the library and the handler and keeps the limits.
private final class XMLListener: NSObject, XMLParserDelegate {
    private let limits: XMLLimits
    private let handler: any XMLHandler
    private var depth = 0
    private var text = ""
    private var hasRoot = false
    private(set) var fault: XMLFault?

    init(limits: XMLLimits, handler: any XMLHandler) {
        (self.limits, self.handler) = (limits, handler)
    }

    /// Whether a root element was opened and closed.
    var isComplete: Bool { hasRoot && depth == 0 }

    private func stop(_ parser: XMLParser, _ fault: XMLFault) {
        guard self.fault == nil else { return }
        self.fault = fault
        parser.abortParsing()
    }

    func parser(
        _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?, qualifiedName qName: String?,
        attributes attributeDict: [String: String]
    ) {
        guard fault == nil else { return }
        guard depth < limits.depth else { return stop(parser, .tooDeep(line: parser.lineNumber)) }
        guard attributeDict.count <= limits.attributes else { return stop(parser, .tooManyAttributes(line: parser.lineNumber)) }
        depth += 1
        hasRoot = true
        text = ""
        handler.opened(
            XMLTag(name: elementName, namespace: namespaceURI ?? "", attributes: attributeDict, line: parser.lineNumber))
    }

    func parser(_ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName qName: String?) {
        guard fault == nil else { return }
        depth -= 1
        handler.closed(elementName, text: text)
        text = ""
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        take(string, parser)
    }

    func parser(_ parser: XMLParser, foundCDATA CDATABlock: Data) {
        take(String(decoding: CDATABlock, as: UTF8.self), parser)
    }

    private func take(_ more: String, _ parser: XMLParser) {
        guard fault == nil else { return }
        guard text.utf8.count + more.utf8.count <= limits.text else { return stop(parser, .textTooLong(line: parser.lineNumber)) }
        text += more
    }

    func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
        stop(parser, .malformed(line: max(1, parser.lineNumber)))
    }
}
