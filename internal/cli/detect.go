package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
)

// detectOptions are the flags of detect.
type detectOptions struct {
	replay, record, root, name string
	noExec                     bool
}

func newDetect(streams Streams) *cobra.Command {
	var options detectOptions
	var output format
	command := &cobra.Command{
		Use:   "detect [--replay FILE | --root FOLDER] [--record FILE] [--no-exec]",
		Short: "Show the accelerators of this host, or of a recorded one",
		Long: `Show the accelerators of this host as the node agent would publish them. With --record, also write what was read to a
recording (a tar.gz of files and of what tools printed); with --replay, look at a recording instead of this host. JSON and
YAML print an AcceleratorInventory.`,
		Example: `  kubectl rankwright detect
  kubectl rankwright detect --record host.tar.gz
  kubectl rankwright detect --replay host.tar.gz -o yaml > inventory.yaml`,
		Args: arguments(0, "detect takes flags only"),
		RunE: func(c *cobra.Command, _ []string) error {
			inventory, err := options.inventory(c.Context())
			if err != nil {
				return err
			}
			for _, b := range inventory.Status.Backends {
				if b.State == v1alpha1.BackendFailed || b.State == v1alpha1.BackendDegraded {
					_, _ = fmt.Fprintf(streams.Err, "warning: backend %s: %s\n", b.Name, b.Message)
				}
			}
			return write(streams.Out, output, inventory, func(w io.Writer) error { return printInventory(w, inventory, output.wide()) })
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.replay, "replay", "", "recording to look at instead of this host")
	flags.StringVar(&options.record, "record", "", "file to write a recording to (tar.gz)")
	flags.StringVar(&options.root, "root", "", "folder where the file tree of the host is mounted (default /)")
	flags.StringVar(&options.name, "name", "", "name of the inventory (default: the host's or the recording's)")
	flags.BoolVar(&options.noExec, "no-exec", false, "run no vendor tool, only read files")
	_ = command.MarkFlagDirname("root")
	addOutput(command, &output)
	return command
}

// inventory detects and returns what the node agent would publish, without what only a cluster knows.
func (o *detectOptions) inventory(ctx context.Context) (*v1alpha1.AcceleratorInventory, error) {
	host, name, err := o.host()
	if err != nil {
		return nil, err
	}
	var recording *detect.Recording
	if o.record != "" {
		host, recording = detect.Record(host)
	}
	inventory := &v1alpha1.AcceleratorInventory{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AcceleratorInventory"},
		ObjectMeta: metav1.ObjectMeta{Name: cmp.Or(o.name, kernelName(host), name)},
		Status:     detect.Detect(ctx, host, detect.Options{}).Status,
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("detect: %w", err)
	}
	inventory.Status.Summary = inventory.Status.Summarize(inventory.Spec)
	if recording != nil {
		if err := writeRecording(o.record, recording); err != nil {
			return nil, err
		}
	}
	return inventory, nil
}

// kernelName is the name that a Linux kernel has for its host, or nothing; read from the host, it is recorded with it.
func kernelName(host *detect.Host) string {
	text, err := host.Files.ReadFile("/proc/sys/kernel/hostname")
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(string(text)))
}

// host returns the host to look at, and what to call it where its kernel does not say.
func (o *detectOptions) host() (host *detect.Host, name string, err error) {
	if o.replay != "" {
		if o.root != "" {
			return nil, "", usagef("--root %s and --replay %s: give one of them", o.root, o.replay)
		}
		return o.recorded()
	}
	if host, err = detect.LiveHost(cmp.Or(o.root, "/"), !o.noExec); err != nil {
		return nil, "", err
	}
	if name, err = os.Hostname(); err != nil {
		return nil, "", fmt.Errorf("name of this host: %w: give it with --name", err)
	}
	return host, strings.ToLower(name), nil
}

func (o *detectOptions) recorded() (*detect.Host, string, error) {
	file, err := os.Open(o.replay)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = file.Close() }()
	recording, err := detect.ReadRecording(file)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", o.replay, err)
	}
	host := recording.Host()
	if o.noExec {
		host.Commands = nil
	}
	name := filepath.Base(o.replay)
	for _, ending := range []string{".gz", ".tgz", ".tar"} {
		name = strings.TrimSuffix(name, ending)
	}
	return host, name, nil
}

func writeRecording(name string, recording *detect.Recording) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err := recording.WriteTo(file); err != nil {
		_ = file.Close()
		return fmt.Errorf("write %s: %w", name, err)
	}
	return file.Close()
}

func printInventory(w io.Writer, inventory *v1alpha1.AcceleratorInventory, wide bool) error {
	status := &inventory.Status
	if err := sheet(w, hostRows(inventory.Name, status, wide)); err != nil {
		return err
	}
	if len(status.Devices) == 0 {
		_, err := fmt.Fprintln(w, "\nNo accelerators found.")
		return err
	}
	header := []string{"ID", "PRODUCT", "MEMORY", "FREE", "NUMA", "DRIVER", "HEALTH"}
	if wide {
		header = append(header, "FAMILY", "ARCHITECTURE", "BANDWIDTH", "PARTITION", "UUID")
	}
	rows := make([][]string, 0, len(status.Devices))
	for i := range status.Devices {
		rows = append(rows, deviceRow(&status.Devices[i], wide))
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := table(w, header, rows); err != nil {
		return err
	}
	return printLinks(w, &status.Links)
}

func hostRows(name string, status *v1alpha1.AcceleratorInventoryStatus, wide bool) [][2]string {
	host := &status.Host
	rows := [][2]string{{"Host", name}, {"CPU", cpuText(&host.CPU)}}
	if host.Memory.TotalMiB > 0 {
		rows = append(rows, [2]string{"Memory", v1alpha1.HumanMiB(host.Memory.TotalMiB)})
	}
	if s := status.Summary; s.Devices > 0 {
		rows = append(rows, [2]string{"Devices", fmt.Sprintf("%d, %d healthy, %s of %s free", s.Devices, s.Healthy, s.Free, s.Memory)})
	}
	if wide {
		rows = append(rows,
			[2]string{"System", strings.TrimSpace(host.OS + " " + host.Kernel)},
			[2]string{"Backends", backendsText(status.Backends)})
	}
	return rows
}

func cpuText(c *v1alpha1.CPU) string {
	if c.Threads == 0 {
		return c.Model
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%d threads)", c.Model, c.Threads))
}

func backendsText(backends []v1alpha1.BackendStatus) string {
	parts := make([]string, len(backends))
	for i, b := range backends {
		parts[i] = fmt.Sprintf("%s %s", b.Name, b.State)
	}
	return strings.Join(parts, ", ")
}

func deviceRow(d *v1alpha1.Device, wide bool) []string {
	row := []string{string(d.ID), d.Product, "", "", "", strings.TrimSpace(d.Driver + " " + d.DriverVersion), string(d.Health.State)}
	if d.Memory != nil {
		row[2], row[3] = v1alpha1.HumanMiB(d.Memory.TotalMiB), v1alpha1.HumanMiB(d.FreeMiB())
	}
	if d.NUMANode != nil {
		row[4] = strconv.Itoa(int(*d.NUMANode))
	}
	if !wide {
		return row
	}
	extra := []string{string(d.Family), d.Architecture, "", "", d.UUID}
	if d.Performance != nil && d.Performance.MemoryBandwidthMBps > 0 {
		extra[2] = gbps(d.Performance.MemoryBandwidthMBps)
	}
	if d.Partition != nil {
		extra[3] = strings.TrimSpace(d.Partition.Kind + " " + d.Partition.Profile)
	}
	return append(row, extra...)
}

// gbps prints MB/s as GB/s.
func gbps(mbps int64) string { return fmt.Sprintf("%d GB/s", mbps/1000) }

func printLinks(w io.Writer, links *v1alpha1.Links) error {
	var rows [][]string
	for _, d := range links.Domains {
		rows = append(rows, []string{d.Kind, strings.ToLower(string(d.Topology)), gbps(d.DeviceMBps), ids(d.Members)})
	}
	for _, p := range links.Pairs {
		rows = append(rows, []string{p.Kind, fmt.Sprintf("pair, %d links", p.Count), gbps(p.MBps), ids([]v1alpha1.DeviceID{p.A, p.B})})
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return table(w, []string{"LINK", "TOPOLOGY", "PER DEVICE", "MEMBERS"}, rows)
}
