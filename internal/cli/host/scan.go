package host

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// scan is one look at the host.
type scan struct {
	inventory *v1alpha1.AcceleratorInventory
	readings  backend.Readings
	times     []detect.BackendTime
	elapsed   time.Duration
}

// scanOf detects on a host that is called name where its kernel does not say.
func scanOf(ctx context.Context, h *host.Host, name string, options detect.Options) scan {
	name = cmp.Or(kernelName(h), name)
	start := time.Now()
	report := detect.Detect(ctx, h, options)
	found := &v1alpha1.AcceleratorInventory{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AcceleratorInventory"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     report.Status,
	}
	setUse(&found.Status, report.Readings)
	return scan{inventory: found, readings: report.Readings, times: report.Times, elapsed: time.Since(start)}
}

// setUse puts the driver's figure of memory in use in place of its steps: what is looked at now is not published, so it may
// change with every look.
func setUse(status *v1alpha1.AcceleratorInventoryStatus, readings backend.Readings) {
	for i := range status.Devices {
		d := &status.Devices[i]
		if used := readings[d.ID].MemoryUsedMiB; used != nil && d.Memory != nil {
			d.Memory.UsedByOthersMiB = min(max(*used, 0), d.Memory.TotalMiB)
		}
	}
	status.Summary = inventory.Summarize(v1alpha1.AcceleratorInventorySpec{}, status)
}

// inSteps is the status as the node agent would publish it: with memory in use in steps.
func inSteps(status *v1alpha1.AcceleratorInventoryStatus) *v1alpha1.AcceleratorInventoryStatus {
	published := status.DeepCopy()
	for i := range published.Devices {
		if m := published.Devices[i].Memory; m != nil {
			m.UsedByOthersMiB = backend.UsedInSteps(m.UsedByOthersMiB, m.TotalMiB)
		}
	}
	return published
}

// tellBackends logs what each backend came to.
func tellBackends(log *slog.Logger, found scan) {
	elapsed := map[string]time.Duration{}
	for _, t := range found.times {
		elapsed[t.Backend] = t.Elapsed
	}
	for _, b := range found.inventory.Status.Backends {
		log.Info("backend", "name", b.Name, "state", b.State, "devices", b.Devices, "errorKind", b.ErrorKind, "message", b.Message, "elapsed", elapsed[b.Name])
	}
}

// printTimings prints what each backend took, the slowest first, their sum, and how long it took altogether: they run at
// the same time.
func printTimings(w io.Writer, times []detect.BackendTime, elapsed time.Duration) {
	sorted := slices.SortedFunc(slices.Values(times), func(a, b detect.BackendTime) int {
		return cmp.Or(cmp.Compare(b.Elapsed, a.Elapsed), cmp.Compare(a.Backend, b.Backend))
	})
	var sum time.Duration
	for _, t := range times {
		sum += t.Elapsed
	}
	sorted = append(sorted, detect.BackendTime{Backend: "sum", Elapsed: sum}, detect.BackendTime{Backend: "elapsed", Elapsed: elapsed})
	var p term.Page
	p.Table([]string{"BACKEND", "TIME"}, term.Rows(sorted, func(t *detect.BackendTime) []any { return []any{t.Backend, term.Milliseconds(t.Elapsed)} }))
	_, _ = io.WriteString(w, p.String())
}

// environment returns the environment of this process where this host is looked at; nothing for another host.
func (o *hostOptions) environment() []string {
	if o.file != "" || o.replay != "" || o.root != "" && filepath.Clean(o.root) != "/" {
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
