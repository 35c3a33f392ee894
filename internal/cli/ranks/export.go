package ranks

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/launch"
)

// exportFormat is the value of --output of export.
type exportFormat string

const (
	exportFiles exportFormat = "files"
	exportEnv   exportFormat = "env"
	exportJSON  exportFormat = "json"
)

// exportOptions are the flags of export.
type exportOptions struct {
	files                       []string
	output                      exportFormat
	launcher, namespace, folder string
	hosts                       string
	devicesPerPod               int32
	pod, copied, rank           int
	// given says whether a flag was set.
	given func(flag string) bool
}

// NewExport returns the command `kubectl rankwright export`.
func NewExport(streams term.Streams) *cobra.Command {
	var options exportOptions
	command := &cobra.Command{
		Use:   "export mesh/NAME -f FILE... [--for LAUNCHER] [-o files|env|json]",
		Short: "Write what a launcher needs to start a placement: files, variables, arguments",
		Long: `Write what a launcher needs to start the pods of a placement on the devices of its plan: host files, rank tables, and
the variables and arguments of each pod and each rank. The DeviceMesh and its ShardingPlan are read from the files; no
cluster is asked. Without --for it is what the operator writes into the ConfigMaps of the mesh: the files of the
placement's engine.

Pods are numbered from 0 through all copies. How they are reached and how many devices each has is told by spec.launch
of the ModelPlacement, where it is in the files, else by --hosts and --devices-per-pod.

  files   every file, one after the other; with --folder they are written there
  env     the variables of --pod, or of the process of --rank, as lines for a shell
  json    everything`,
		Example: `  # What vLLM needs on two nodes
  kubectl get dmesh,splan llm llm-1 -o yaml |
    kubectl rankwright export mesh/llm -f - --for vllm --hosts 'llm-{copy}{-worker}.llm'

  # The variables of rank 5, for torch.distributed
  kubectl rankwright export mesh/llm -f plan.yaml --for env -o env --rank 5

  # A plan that was made without a cluster
  kubectl rankwright plan -f inventories.yaml -f placement.yaml -o yaml |
    kubectl rankwright export mesh/llm -f - --folder ./llm`,
		Args: term.Arguments(1, "give one mesh, as mesh/NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			options.given = c.Flags().Changed
			name, err := options.check(args)
			if err != nil {
				return err
			}
			return options.export(streams, name)
		},
	}
	flags := command.Flags()
	planning.AddFiles(command, &options.files, "file or folder with the DeviceMesh and its ShardingPlan, - for standard input; may be repeated")
	flags.StringVar(&options.launcher, "for", "", "launcher: "+strings.Join(launch.Names(), ", ")+" (default: those of the engine)")
	term.Complete(command, "for", launch.Names())
	term.AddOutput(command, &options.output, exportFiles, exportEnv, exportJSON)
	flags.StringVarP(&options.namespace, "namespace", "n", "", "namespace of the mesh, where several in the files have its name")
	flags.StringVar(&options.hosts, "hosts", "", "pattern of the pods' hosts with {pod}, {copy}, {worker} or {-worker} (default: the nodes' addresses)")
	flags.Int32Var(&options.devicesPerPod, "devices-per-pod", 0, "devices of each pod (default: all that a copy has on a node)")
	flags.StringVar(&options.folder, "folder", "", "write the files into this folder")
	flags.IntVar(&options.pod, "pod", 0, "only this pod")
	flags.IntVar(&options.rank, "rank", 0, "only the process of this rank")
	flags.IntVar(&options.copied, "copy", 0, "copy of the rank")
	return command
}

// check returns the mesh's name, or what is wrong with the command line.
func (o *exportOptions) check(args []string) (string, error) {
	switch {
	case len(args) == 0:
		return "", term.Usagef("no mesh: give one, as mesh/NAME")
	case len(o.files) == 0:
		return "", term.Usagef("no file: give the DeviceMesh and its ShardingPlan with -f")
	case o.given("pod") && o.given("rank"):
		return "", term.Usagef("--pod and --rank: give one of them")
	case (o.given("pod") || o.given("rank")) && o.output == exportFiles:
		return "", term.Usagef("--pod and --rank choose an environment: add -o env or -o json")
	case o.given("devices-per-pod") && o.devicesPerPod < 1:
		return "", term.Usagef("--devices-per-pod %d: give at least 1, or leave it out for all that a copy has on a node", o.devicesPerPod)
	case o.folder != "" && o.output != exportFiles:
		return "", term.Usagef("--folder is for -o files")
	}
	kind, name, _ := strings.Cut(args[0], "/")
	if name == "" || !slices.Contains([]string{"mesh", "dmesh", "devicemesh", "devicemeshes"}, kind) {
		return "", term.Usagef("%q is no mesh: give mesh/NAME", args[0])
	}
	return name, nil
}

func (o *exportOptions) export(streams term.Streams, name string) error {
	read, err := planning.ReadManifests(o.files, streams)
	if err != nil {
		return err
	}
	bundle, err := o.bundle(read, name)
	if err != nil {
		return err
	}
	for _, skipped := range bundle.Skipped {
		_, _ = fmt.Fprintln(streams.Err, "warning: left out:", skipped)
	}
	switch {
	case o.given("pod") || o.given("rank"):
		return o.writeOne(streams.Out, bundle)
	case o.output == exportJSON:
		return streams.Write(term.FormatJSON, bundle, nil)
	case o.output == exportEnv:
		if len(bundle.Pods) != 1 {
			return term.Usagef("-o env of %d pods: choose one with --pod or a rank with --rank", len(bundle.Pods))
		}
		return o.writeOne(streams.Out, bundle)
	case o.folder != "":
		return writeFolder(o.folder, bundle.All())
	default:
		return printFiles(streams.Out, bundle.All())
	}
}

// bundle is what the launchers of the mesh of a name need.
func (o *exportOptions) bundle(read *planning.Manifests, name string) (*launch.Bundle, error) {
	mesh, plan, err := meshAndPlan(read, o.namespace, name)
	if err != nil {
		return nil, err
	}
	asked := launchOf(read, mesh)
	if o.given("hosts") {
		asked.Hosts = o.hosts
	}
	if o.given("devices-per-pod") {
		asked.DevicesPerPod = &o.devicesPerPod
	}
	options, err := launch.OptionsOf(&asked)
	if err != nil {
		return nil, err
	}
	if options.NPUs, err = npusOf(read); err != nil {
		return nil, err
	}
	options.Launcher = cmp.Or(o.launcher, options.Launcher)
	options.Device = deviceOf(read)
	job, err := launch.NewJob(&plan.Spec, &mesh.Spec, options)
	if err != nil {
		return nil, fmt.Errorf("mesh %s: %w", name, err)
	}
	return job.Write(options.Launcher)
}

// writeOne writes the environment of the pod or the rank that is asked for.
func (o *exportOptions) writeOne(w io.Writer, bundle *launch.Bundle) error {
	environment, err := bundle.OfPod(o.pod)
	if o.given("rank") {
		environment, err = bundle.OfRank(o.copied, o.rank)
	}
	if err != nil {
		return err
	}
	if o.output == exportJSON {
		return term.Write(w, term.FormatJSON, environment, nil)
	}
	_, err = io.WriteString(w, environment.Shell())
	return err
}

// printFiles prints files one after the other, each under its name.
func printFiles(w io.Writer, files []launch.File) error {
	for i, f := range files {
		gap := "\n"
		if i == 0 {
			gap = ""
		}
		if _, err := fmt.Fprintf(w, "%s==> %s <==\n%s", gap, f.Name, f.Content); err != nil {
			return fmt.Errorf("print the files: %w", err)
		}
	}
	return nil
}

func writeFolder(folder string, files []launch.File) error {
	const folderMode, fileMode = 0o755, 0o644
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(folder, f.Name), []byte(f.Content), fileMode); err != nil {
			return err
		}
	}
	return nil
}

// meshAndPlan returns the mesh of a name and the plan that it was made from.
func meshAndPlan(m *planning.Manifests, namespace, name string) (*v1alpha1.DeviceMesh, *v1alpha1.ShardingPlan, error) {
	var mesh *v1alpha1.DeviceMesh
	for i := range m.Meshes {
		found := &m.Meshes[i]
		if found.Name != name || namespace != "" && planning.NamespaceOf(found) != namespace {
			continue
		}
		if mesh != nil {
			return nil, nil, fmt.Errorf("DeviceMesh %s is in the files more than once: choose one with -n", name)
		}
		mesh = found
	}
	if mesh == nil {
		return nil, nil, fmt.Errorf("no DeviceMesh %s in the files: add it", name)
	}
	for i := range m.Plans {
		if m.Plans[i].Name == mesh.Spec.Plan && planning.NamespaceOf(&m.Plans[i]) == planning.NamespaceOf(mesh) {
			return mesh, &m.Plans[i], nil
		}
	}
	return nil, nil, fmt.Errorf("no ShardingPlan %s in the files, of which DeviceMesh %s was made: add it", mesh.Spec.Plan, name)
}

// launchOf returns what a mesh's placement says of its pods; nothing where the placement is not in the files.
func launchOf(m *planning.Manifests, mesh *v1alpha1.DeviceMesh) v1alpha1.Launch {
	for i := range m.Placements {
		p := &m.Placements[i]
		if p.Name == mesh.Spec.Placement.Name && planning.NamespaceOf(p) == planning.NamespaceOf(mesh) && p.Spec.Launch != nil {
			return *p.Spec.Launch
		}
	}
	return v1alpha1.Launch{}
}

// npusOf are the Ascend devices of all nodes.
func npusOf(m *planning.Manifests) (map[string]map[v1alpha1.DeviceID]launch.NPU, error) {
	annotations := map[string]map[string]string{}
	for i := range m.Nodes {
		annotations[m.Nodes[i].Name] = m.Nodes[i].Annotations
	}
	all := map[string]map[v1alpha1.DeviceID]launch.NPU{}
	for i := range m.Inventories {
		npus, err := launch.NPUs(m.Inventories[i].Name, &m.Inventories[i].Status, annotations[m.Inventories[i].Name])
		if err != nil {
			return nil, err
		}
		all[m.Inventories[i].Name] = npus
	}
	return all, nil
}

// deviceOf looks devices up in the inventories that were read.
func deviceOf(m *planning.Manifests) func(string, v1alpha1.DeviceID) *v1alpha1.Device {
	return func(node string, id v1alpha1.DeviceID) *v1alpha1.Device {
		for i := range m.Inventories {
			if m.Inventories[i].Name == node {
				return m.Inventories[i].Status.Device(id)
			}
		}
		return nil
	}
}
