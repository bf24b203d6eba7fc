// Disks that lose power and disks that fill up, made of what a plain Linux gives root: a loop mount and a tmpfs.

import Foundation

/// Where it may not be mounted (another user than root, a container without the right), the tests that need it are skipped and say so.
enum FaultyDisks {
    /// Tried once: being root is not enough in a container.
    static let canMountMemory: Bool = {
        guard geteuid() == 0 else { return false }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tm-trial-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        guard let disk = try? SmallDisk(in: folder, megabytes: 1) else { return false }
        disk.dispose()
        return true
    }()

    static let canMount =
        canMountMemory && access("/dev/loop-control", R_OK | W_OK) == 0 && Tool.file("mkfs.ext4") != nil && Tool.file("e2fsck") != nil
        && (try? Tool.run("losetup", ["-f"])) != nil
}

/// An ext4 file system in a file, mounted, whose power can be cut.
struct LoopDisk {
    let image: URL
    let mount: URL

    /// `FS_IOC_SHUTDOWN` with "no log flush": what was not forced to the disk is gone, like at a power cut.
    private static let shutdownRequest: UInt = 0x8004_587D
    private static let withoutLogFlush: UInt32 = 2

    init(in folder: URL, megabytes: Int = 64) throws {
        image = folder.appendingPathComponent("disk.image")
        mount = folder.appendingPathComponent("disk")
        try FileManager.default.createDirectory(at: mount, withIntermediateDirectories: true)
        try Tool.run("truncate", ["-s", "\(megabytes)M", image.path])
        try Tool.run("mkfs.ext4", ["-q", "-F", image.path])
        try attach()
    }

    func attach() throws {
        try Tool.run("mount", ["-o", "loop", image.path, mount.path])
    }

    func detach() throws {
        try Tool.run("umount", [mount.path])
    }

    /// From here on every read and write of the disk fails, until it was detached and attached again.
    func cutPower() throws {
        let descriptor = open(mount.path, O_RDONLY)
        guard descriptor >= 0 else { throw Tool.Fault(description: "the mount cannot be opened") }
        defer { close(descriptor) }
        var flags = LoopDisk.withoutLogFlush
        guard ioctl(descriptor, LoopDisk.shutdownRequest, &flags) == 0 else {
            throw Tool.Fault(description: "FS_IOC_SHUTDOWN: \(String(cString: strerror(errno)))")
        }
    }

    /// The journal is replayed, as at a start after a power cut. `e2fsck` says 1 where it mended something.
    func restorePower() throws {
        try detach()
        try Tool.run("e2fsck", ["-p", image.path], allowed: [0, 1])
        try attach()
    }

    /// For the end of a test, in whatever state it is.
    func dispose() {
        _ = try? Tool.run("umount", ["-l", mount.path])
    }
}

/// A file system in memory, of limited size.
struct SmallDisk {
    let mount: URL
    private var ballast: URL { mount.appendingPathComponent("ballast") }

    init(in folder: URL, megabytes: Int) throws {
        mount = folder.appendingPathComponent("small")
        try FileManager.default.createDirectory(at: mount, withIntermediateDirectories: true)
        try Tool.run("mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m,mode=700", "tmpfs", mount.path])
    }

    /// Takes all the room there is.
    func fill() {
        let descriptor = open(ballast.path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        defer { close(descriptor) }
        for size in [65_536, 4096, 1] {
            let bytes = [UInt8](repeating: 0, count: size)
            while write(descriptor, bytes, size) == size {}
        }
    }

    /// As an operator does who enlarges the volume; nothing is deleted.
    func enlarge(toMegabytes megabytes: Int) throws {
        try Tool.run("mount", ["-o", "remount,size=\(megabytes)m", mount.path])
    }

    func dispose() {
        _ = try? Tool.run("umount", ["-l", mount.path])
    }
}
