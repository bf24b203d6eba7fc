// Where the process `anonymiser` begins.

import ServiceKit

@main
struct App {
    static func main() async {
        await ServiceCommand<AnonymiserAssembly>.start()
    }
}
