// Where the process `sos-dispatcher` begins.

import ServiceKit

@main
struct App {
    static func main() async {
        await ServiceCommand<SOSAssembly>.start()
    }
}
