// Where the process `thirdparty-gateway` begins.

import ServiceKit

@main
struct App {
    static func main() async {
        await ServiceCommand<GatewayAssembly>.start()
    }
}
