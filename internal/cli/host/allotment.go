package host

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// environment returns the environment of this process where this host is looked at; nothing for another host.
func (o *hostOptions) environment() []string {
	if o.replay != "" || o.root != "" && filepath.Clean(o.root) != "/" {
		return nil
	}
	return os.Environ()
}

// printAllotments says which devices the environment leaves this process, a line for each variable that says so.
func printAllotments(w io.Writer, devices []v1alpha1.Device, environ []string) {
	for _, a := range inventory.Allotments(devices, environ) {
		left := "no device"
		if len(a.Devices) > 0 {
			left = term.IDs(a.Devices)
		}
		text := fmt.Sprintf("%s=%s leaves this process %s", a.Variable, a.Value, left)
		if len(a.Unknown) > 0 {
			text += "; it is not certain what it means by " + strings.Join(a.Unknown, ", ")
		}
		_, _ = fmt.Fprintln(w, "note:", term.Printable(text))
	}
}
