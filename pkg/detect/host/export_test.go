//go:build unix

package host

import "testing"

// Helpers of this package's tests that tests of whole detections need, too.
var (
	Tree       = tree
	Archive    = archive
	File       = file
	Pack       = pack
	Secretive  = secretive
	Anonymized = anonymized
	Everything = everything
)

// SecretiveCalled is a host full of identifiers of the name.
func SecretiveCalled(t testing.TB, name string) *Recording {
	r := secretive(t)
	r.entries["/proc/sys/kernel/hostname"].data = []byte(name + "\n")
	return r
}
