package compose

import (
	"io/fs"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Broken is Files in which reading the named file fails with Err.
type Broken struct {
	host.Files
	Name string
	Err  error
}

// ReadFile returns the error for the named file, and what Files has of every other.
func (b Broken) ReadFile(name string) ([]byte, error) {
	if name == b.Name {
		return nil, &fs.PathError{Op: "read", Path: name, Err: b.Err}
	}
	return b.Files.ReadFile(name)
}
