// Where the process `consent` begins.

import ServiceKit

@main
struct App {
    static func main() async {
        await ServiceCommand<ConsentAssembly>.start()
    }
}
