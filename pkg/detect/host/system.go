package host

// IsMacOS says whether the file tree is a Mac's, which has neither /sys nor /proc: what is not there is no failure then,
// but is asked of tools.
func IsMacOS(files Files) bool {
	return Exists(files, MacOSVersion)
}

// MacOSVersion is on every Mac, readable for all.
const MacOSVersion = "/System/Library/CoreServices/SystemVersion.plist"

// IsWindows says whether the file tree is the system drive of Windows, which has neither /sys nor /proc.
func IsWindows(files Files) bool {
	return Exists(files, WindowsFolder)
}

// WindowsFolder is on the system drive of every Windows but those that somebody installed elsewhere.
const WindowsFolder = "/Windows/System32"

// IsLinux says whether what a Linux kernel shows is expected to be there. It asks for the signs of the others only where
// there is no sysfs.
func IsLinux(files Files) bool {
	return Exists(files, "/sys/bus") || !IsMacOS(files) && !IsWindows(files)
}
