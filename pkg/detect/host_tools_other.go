//go:build !windows

package detect

import "io/fs"

const toolSuffix = ""

// systemEnvironment is what every program of the system needs beside its arguments.
var systemEnvironment []string

func systemFolders() []string { return toolFolders }

func isExecutable(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&0o111 != 0 }
