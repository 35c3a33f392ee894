package detect

// isMacOS says whether the file tree is a Mac's, which has neither /sys nor /proc: what is not there is no failure then,
// but is asked of tools.
func isMacOS(files Files) bool {
	return exists(files, macOSVersion)
}

// macOSVersion is on every Mac, readable for all.
const macOSVersion = "/System/Library/CoreServices/SystemVersion.plist"
