// Where the process `notifier` begins.

import ServiceKit

@main
struct App {
    static func main() async {
        await ServiceCommand<NotifierAssembly>.start()
    }
}
