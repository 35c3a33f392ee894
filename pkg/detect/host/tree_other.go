//go:build !linux

package host

import "os"

func openKernelTree(*os.Root) (fileTree, bool) { return nil, false }
