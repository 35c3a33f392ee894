package planning

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

// NewRecommend returns the command `kubectl rankwright recommend`.
func NewRecommend(streams term.Streams) *cobra.Command {
	var asked askFlags
	var on HostFlags
	var measured sizing.CalibrationFlags
	var live liveFlags
	var next bool
	var output term.Format
	command := &cobra.Command{
		Use:   "recommend --model MODEL [--device PRODUCT] [flags]",
		Short: "Recommend how to run a model on the cluster, or on devices that somebody has or thinks of",
		Long: `Recommend how to run a model: in which precision, in which degrees, on how many of the devices, and how fast that is.
The planner of the operator is asked, so that what is recommended is what a cluster with these devices would get; the
other shapes that it looked at are listed below it.

The devices are those that are free in the cluster. With --device they are imagined, and no cluster is asked: --nodes
hosts with --devices of one product each, or of what --memory, --bandwidth and --tflops describe. With -f they are those
of saved inventories, as detect or kubectl print them. No more devices are taken than the objective needs; --replicas
asks for more copies, --total-sequences for as many as a load needs.

--concurrency is another word for --max-sequences, and --weights for --quantization.`,
		Example: `  # What the cluster has free
  kubectl rankwright recommend --model Llama-3.3-70B

  # Devices that one thinks of
  kubectl rankwright recommend --model Llama-3.3-70B --device H100 --devices 8
  kubectl rankwright recommend --model 32B --device L40S --devices 4 --max-tpot 40ms --concurrency 32
  kubectl rankwright recommend --model DeepSeek-V3 --device H200 --nodes 2 --objective Latency -o explain

  # A device that the catalogue lacks
  kubectl rankwright recommend --model Qwen3-32B --memory 80Gi --bandwidth 3350 --tflops 989 --devices 4

  # The devices of this host
  kubectl rankwright detect -o yaml | kubectl rankwright recommend --model Llama-3.1-8B -f -`,
		Args: term.Arguments(0, "recommend takes flags only"),
		RunE: func(command *cobra.Command, _ []string) error {
			if asked.model == "" {
				return term.Usagef("no model: name one with --model")
			}
			want, err := asked.manifests(streams, command.Flags().Changed)
			if err != nil {
				return err
			}
			if err := recommendOn(command.Context(), streams, want, &on, &live); err != nil {
				return err
			}
			if err := want.calibrate(&measured, streams); err != nil {
				return err
			}
			decisions, err := planAll(want, streams, true)
			if err != nil {
				return err
			}
			return writeDecisions(streams, decisions, output, withNext((*decision).recommend, next))
		},
	}
	asked.add(command, "")
	asked.addLoad(command)
	asked.lengths.Add(command)
	on.Add(command)
	measured.Add(command)
	addNext(command, &next)
	live.add(command)
	synonyms(command, map[string]string{"concurrency": "max-sequences", "weights": "quantization"})
	term.AddOutput(command, &output, term.PlanFormats...)
	return command
}

// synonyms are flags that a command knows under the names that other commands have for them.
func synonyms(command *cobra.Command, names map[string]string) {
	command.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if other, ok := names[name]; ok {
			name = other
		}
		return pflag.NormalizedName(name)
	})
}

// HostFlags say on which devices: imagined ones, or those of saved inventories.
type HostFlags struct {
	device         sizing.DeviceFlags
	devices, nodes int
	files          []string
}

// Add adds the flags to a command.
func (f *HostFlags) Add(command *cobra.Command) {
	f.device.Add(command, "device as its driver reports it (`PRODUCT`), or in short: H100, MI300X")
	flags := command.Flags()
	flags.IntVar(&f.devices, "devices", 0, "devices of each host (0: as many as are usual for the device)")
	flags.IntVar(&f.nodes, "nodes", 1, "hosts with these devices")
	AddFiles(command, &f.files, "file or folder with saved inventories in place of --device, - for standard input; may be repeated")
}

// Given says whether any of the flags is.
func (f *HostFlags) Given() bool { return f.device.Given() || len(f.files) > 0 || f.devices != 0 }

// Manifests are the inventories that the flags mean.
func (f *HostFlags) Manifests(streams term.Streams) (*Manifests, error) {
	switch {
	case len(f.files) > 0 && (f.device.Given() || f.devices != 0 || f.nodes != 1):
		return nil, term.Usagef("-f gives the devices: give no --device, --devices and --nodes beside it")
	case len(f.files) == 0 && !f.device.Given():
		return nil, term.Usagef("no device: name one with --device, describe one with --memory, --bandwidth and --tflops, or give inventories with -f")
	case len(f.files) == 0:
		return f.imagined()
	}
	m, err := ReadManifests(f.files, streams)
	if err != nil {
		return nil, err
	}
	m.WarnOfIgnored(streams)
	if len(m.Inventories) == 0 {
		return nil, errors.New("no AcceleratorInventory in the files: add one, as detect -o yaml prints it")
	}
	return m, nil
}

// imagined are hosts that do not exist.
func (f *HostFlags) imagined() (*Manifests, error) {
	product, err := f.device.Find()
	if err != nil {
		return nil, err
	}
	devices := f.devices
	if devices == 0 {
		devices = product.DevicesPerNode
	}
	hosts, err := synthetic.Imagined(product, devices, f.nodes)
	if err != nil {
		return nil, term.Usagef("--devices and --nodes: %w", err)
	}
	m := &Manifests{}
	for i := range hosts {
		m.Inventories = append(m.Inventories, *hosts[i].Inventory)
	}
	return m, nil
}

// recommendOn adds to what is wanted the devices that the flags mean: those of the cluster where they name none.
func recommendOn(ctx context.Context, streams term.Streams, want *Manifests, on *HostFlags, live *liveFlags) error {
	if !on.Given() && on.nodes == 1 && !live.offline {
		return live.join(ctx, streams, want)
	}
	m, err := on.Manifests(streams)
	if err != nil {
		return err
	}
	if len(m.Placements) > 0 {
		return errors.New("a ModelPlacement in the files beside --model: plan it with plan -f, or leave it out")
	}
	m.Placements, m.model = want.Placements, want.model
	*want = *m
	return nil
}

// recommend writes a plan for somebody who has no cluster: what it takes and delivers, and the other shapes.
func (d *decision) recommend(p *term.Page, output term.Format) {
	if d.plan == nil || output != term.FormatTable {
		d.show(p, output)
		return
	}
	load := d.placement.Spec.Workload.Inference
	rows := d.summary()
	if !d.byCost() {
		rows = append(rows, d.unpriced())
	}
	p.Sheet(append(rows, [2]string{"Asked", askedIn(load)}, [2]string{"Leaves", d.leftText()}))
	p.Paragraph()
	d.printStages(p)
	p.Paragraph()
	p.Line("Shapes that fit, the best first:")
	considered := d.why.Considered
	printConsidered(p, &d.why.Goal, considered[:min(len(considered), mostRecommended)])
}

// mostRecommended is how many shapes are listed.
const mostRecommended = 6

// leftText counts the devices that the plan does not take.
func (d *decision) leftText() string {
	left := d.free - int(d.plan.Spec.Totals.Devices)
	if left == 0 {
		return "no device"
	}
	return fmt.Sprintf("%d of the devices: --replicas makes use of them", left)
}
