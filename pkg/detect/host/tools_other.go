//go:build !windows

package host

import "io/fs"

const toolSuffix = ""

// systemEnvironment is what every program of the system needs beside its arguments.
var systemEnvironment []string

func systemFolders() []string { return toolFolders }

func isExecutable(mode fs.FileMode) bool { return mode.IsRegular() && mode&0o111 != 0 }
