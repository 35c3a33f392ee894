//go:build !linux

package detect

import "os"

func openKernelTree(*os.Root) (fileTree, bool) { return nil, false }
