// Decodes recorded answers with the client that OpenAPI Generator makes for Swift, and encodes them again: nothing may be
// lost.
//
//     decode ANSWERS
import Foundation
import OpenAPIClient

let types: [String: any Codable.Type] = [
    "NavigationState": NavigationState.self, "Problem": Problem.self, "SessionHistory": SessionHistory.self,
    "Coordinators": Coordinators.self, "Apps": Apps.self, "AppDescription": AppDescription.self,
    "StateTransition": StateTransition.self,
]
let helper = CodableHelper()
let file = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1]))
let answers = try JSONSerialization.jsonObject(with: file) as? [[String: Any]] ?? []

/// Times are encoded with fractions of a second, which the answers do not have.
func comparable(_ json: Any) throws -> String {
    let data = try JSONSerialization.data(withJSONObject: json, options: [.sortedKeys, .withoutEscapingSlashes])
    return String(decoding: data, as: UTF8.self).replacing(#/(\d\d:\d\d:\d\d)\.000Z"/#) { "\($0.1)Z\"" }
}

for answer in answers {
    guard let name = answer["schema"] as? String, let body = answer["body"], let type = types[name] else {
        fatalError("unknown schema: \(answer)")
    }
    let decoded = try helper.jsonDecoder.decode(type, from: JSONSerialization.data(withJSONObject: body))
    let encoded = try JSONSerialization.jsonObject(with: helper.jsonEncoder.encode(decoded))
    let (sent, read) = (try comparable(body), try comparable(encoded))
    guard sent == read else { fatalError("\(name): \(sent)\nwas decoded as \(read)") }
}
print("the Swift client decoded \(answers.count) answers")
