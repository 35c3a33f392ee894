package detect

// isMacOS says whether the file tree is a Mac's, which has neither /sys nor /proc: what is not there is no failure then,
// but is asked of tools.
func isMacOS(files Files) bool {
	return exists(files, macOSVersion)
}

// macOSVersion is on every Mac, readable for all.
const macOSVersion = "/System/Library/CoreServices/SystemVersion.plist"

// isWindows says whether the file tree is the system drive of Windows, which has neither /sys nor /proc.
func isWindows(files Files) bool {
	return exists(files, windowsFolder)
}

// windowsFolder is on the system drive of every Windows but those that somebody installed elsewhere.
const windowsFolder = "/Windows/System32"

// isLinux says whether what a Linux kernel shows is expected to be there. It asks for the signs of the others only where
// there is no sysfs.
func isLinux(files Files) bool {
	return exists(files, "/sys/bus") || !isMacOS(files) && !isWindows(files)
}
