//go:build !linux

package host

import "os"

func openKernelTree(*os.Root) (systemCalls, bool) { return nil, false }
