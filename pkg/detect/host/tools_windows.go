package host

import "io/fs"

const toolSuffix = ".exe"

// systemEnvironment is what every program of the system needs beside its arguments: PowerShell does not start without.
var systemEnvironment = []string{`SystemRoot=C:\Windows`}

// systemFolders are fixed, as elsewhere: a host that has Windows in another place has no tools here.
func systemFolders() []string {
	return []string{`C:\Windows\System32\WindowsPowerShell\v1.0`, `C:\Windows\System32`}
}

// isExecutable asks for no bits: Windows has none.
func isExecutable(mode fs.FileMode) bool { return mode.IsRegular() }
