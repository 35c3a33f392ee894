package host

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// hostOptions say which host to look at, and by which backends.
type hostOptions struct {
	replay, view, record, root, name string
	file                             string
	noExec, keepIdentifiers          bool
	backends, without                []string
}

func (o *hostOptions) addFlags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "file with a saved inventory to look at instead of this host, - for standard input")
	_ = command.MarkFlagFilename("filename", "yaml", "yml", "json")
	flags.StringVar(&o.replay, "replay", "", "recording to look at instead of this host")
	flags.StringVar(&o.view, "view", "", "view of the recording to look at, such as in-pod, in place of the recording itself")
	flags.StringVar(&o.record, "record", "", "file to write a recording to (tar.gz)")
	flags.BoolVar(&o.keepIdentifiers, "keep-identifiers", false, "leave serial numbers, UUIDs, addresses and names in the recording as they are")
	flags.StringVar(&o.root, "root", "", "folder where the file tree of the host is mounted (default /)")
	flags.StringVar(&o.name, "name", "", "name of the inventory (default: the host's or the recording's); with -f, of the one to look at")
	flags.BoolVar(&o.noExec, "no-exec", false, "run no vendor tool, only read files")
	_ = command.MarkFlagDirname("root")
	flags.StringSliceVar(&o.backends, "backend", nil, "backends to look by, divided by commas (default all)")
	flags.StringSliceVar(&o.without, "without", nil, "backends to leave out, divided by commas")
	completeList(command, "backend", backendNames())
	completeList(command, "without", backendNames())
}

// check finds mistakes in the flags.
func (o *hostOptions) check() error {
	if o.replay != "" && o.root != "" {
		return term.Usagef("--root %s and --replay %s: give one of them", o.root, o.replay)
	}
	if o.file != "" && (o.replay != "" || o.root != "" || o.record != "" || len(o.backends)+len(o.without) > 0) {
		return term.Usagef("-f %s is an inventory, at which no backend looks: give no --replay, --root, --record, --backend and --without", o.file)
	}
	if o.view != "" && o.replay == "" {
		return term.Usagef("--view %s is one of a recording: add --replay FILE", o.view)
	}
	if o.keepIdentifiers && o.record == "" {
		return term.Usagef("--keep-identifiers is about a recording: add --record FILE")
	}
	_, err := o.chosen()
	return err
}

// look detects once and returns what the node agent would publish, without what only a cluster knows.
func (o *hostOptions) look(ctx context.Context, log *slog.Logger) (scan, error) {
	backends, err := o.chosen()
	if err != nil {
		return scan{}, err
	}
	h, name, err := o.host()
	if err != nil {
		return scan{}, err
	}
	var recording *host.Recording
	if o.record != "" {
		h, recording = host.Record(h)
	}
	found := scanOf(ctx, host.Told(h, log), name, detect.Options{Backends: backends})
	tellBackends(log, found)
	if o.name != "" {
		found.inventory.Name = o.name
	}
	if err := ctx.Err(); err != nil {
		return scan{}, fmt.Errorf("detect: %w", err)
	}
	if recording != nil {
		return found, o.writeRecording(recording)
	}
	return found, nil
}

// kernelName is the name that a Linux kernel has for its host, or nothing; read from the host, it is recorded with it.
func kernelName(h *host.Host) string {
	text, err := h.Files.ReadFile("/proc/sys/kernel/hostname")
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(string(text)))
}

// host returns the host to look at, and what to call it where its kernel does not say.
func (o *hostOptions) host() (h *host.Host, name string, err error) {
	if o.replay != "" {
		return o.recorded()
	}
	root := cmp.Or(o.root, "/")
	var commands host.Commands
	if !o.noExec && filepath.Clean(root) == "/" { // the tools of another tree need not work outside of it
		commands = host.LiveCommands()
	}
	if h, err = host.LiveHost(root, commands); err != nil {
		return nil, "", err
	}
	if name, err = os.Hostname(); err != nil {
		return nil, "", fmt.Errorf("name of this host: %w: give it with --name", err)
	}
	return h, strings.ToLower(name), nil
}

func (o *hostOptions) recorded() (*host.Host, string, error) {
	file, err := os.Open(o.replay)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = file.Close() }()
	recording, err := host.ReadRecording(file)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", o.replay, err)
	}
	if o.view != "" {
		view, ok := recording.View(o.view)
		if !ok {
			return nil, "", term.Usagef("--view %s: %s has %s", o.view, o.replay, cmp.Or(strings.Join(recording.Views(), ", "), "no views"))
		}
		recording = view
	}
	h := recording.Host()
	if o.noExec {
		h.Commands = nil
	}
	name := filepath.Base(o.replay)
	for _, ending := range []string{".gz", ".tgz", ".tar"} {
		name = strings.TrimSuffix(name, ending)
	}
	return h, name, nil
}

// writeRecording writes what was read, without what tells this host from others unless that is wanted.
func (o *hostOptions) writeRecording(recording *host.Recording) error {
	if !o.keepIdentifiers {
		anonymous, _, err := detect.Anonymize(recording)
		if err != nil {
			return fmt.Errorf("%w; --keep-identifiers writes them as they are", err)
		}
		recording = anonymous
	}
	file, err := os.Create(o.record)
	if err != nil {
		return err
	}
	if _, err := recording.WriteTo(file); err != nil {
		_ = file.Close()
		return fmt.Errorf("write %s: %w", o.record, err)
	}
	return file.Close()
}

// chosen are the backends to look by.
func (o *hostOptions) chosen() ([]backend.Backend, error) {
	for flag, names := range map[string][]string{"--backend": o.backends, "--without": o.without} {
		for i, name := range names {
			name = accelerator.Backend(name)
			names[i] = name
			if known := backendNames(); !slices.Contains(known, name) {
				return nil, term.Usagef("%s %s: no such backend: did you mean %s? There are %s",
					flag, name, words.Nearest(name, known, 1)[0], strings.Join(known, ", "))
			}
		}
	}
	var chosen []backend.Backend
	for _, backend := range detect.Backends() {
		name := backend.Name()
		if (len(o.backends) == 0 || slices.Contains(o.backends, name)) && !slices.Contains(o.without, name) {
			chosen = append(chosen, backend)
		}
	}
	if len(chosen) == 0 {
		return nil, term.Usagef("--backend %s and --without %s leave no backend to look by: name fewer in --without",
			strings.Join(o.backends, ","), strings.Join(o.without, ","))
	}
	return chosen, nil
}

func backendNames() []string {
	var names []string
	for _, backend := range detect.Backends() {
		names = append(names, backend.Name())
	}
	return names
}
