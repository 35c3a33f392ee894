package planning

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// NewPlan returns the command `kubectl rankwright plan`.
func NewPlan(streams term.Streams) *cobra.Command {
	var options planFlags
	var output term.Format
	command := &cobra.Command{
		Use:   "plan -f FILE... [--model MODEL]",
		Short: "Plan placements on the cluster, or on inventories in files",
		Long: `Plan ModelPlacements and print what the operator would decide: which layers on which device with how many bytes, and
which rank in which process group; or why a model does not fit, with the exit code 1. Nothing is written.

Placements are planned on the cluster, beside what other plans and pods hold there. A placement that the cluster knows
is planned as the operator would after its spec became that of the file: where the plan in force answers it, that one
stays. With --offline, or with inventories among the files, no cluster is asked: the files say all.

Files may hold several documents and Lists. Beside inventories and placements, Nodes (labels, addresses, cordons),
ConfigMaps (models of a placement) and ShardingPlans (devices that are taken) are read; other kinds are ignored.
Placements are planned in the order given, and each sees the devices that the ones before it took.

With -o explain the arithmetic behind each plan is printed: which devices and shapes were looked at and why this one was
taken, every byte on a device, every part of a token's time, and why these nodes.

With --model and the flags beside it no ModelPlacement needs to be written. With --model-file the one placement's model
is read from the headers of a local file or folder, whatever its spec.model says.`,
		Example: `  # On the cluster
  kubectl rankwright plan -f placement.yaml

  # In one line, without a ModelPlacement
  kubectl rankwright plan --model Llama-3.3-70B --max-model-len 8192 --max-sequences 16

  # On the inventories of a cluster, saved
  kubectl get accinv,nodes,splan -A -o yaml > cluster.yaml
  kubectl rankwright plan -f cluster.yaml -f placement.yaml

  # On a recorded host
  kubectl rankwright detect --replay host.tar.gz -o yaml | kubectl rankwright plan -f - -f placement.yaml -o json

  # Why this plan and no other?
  kubectl rankwright plan -f inventories.yaml -f placement.yaml -o explain

  # With a model that lies here as safetensors, GGUF, ONNX or PyTorch
  kubectl rankwright plan -f inventories.yaml -f placement.yaml --model-file ./Llama-3.1-8B`,
		Args: term.Arguments(0, "name files with -f"),
		RunE: func(command *cobra.Command, _ []string) error {
			if len(options.files) == 0 && options.asked.model == "" {
				return term.Usagef("nothing to plan: give placements with -f, or a model with --model")
			}
			return runPlan(command.Context(), streams, &options, output, command.Flags().Changed)
		},
	}
	AddFiles(command, &options.files, "file or folder with manifests, - for standard input; may be repeated")
	options.asked.add(command, ", instead of a ModelPlacement")
	options.asked.addLoad(command)
	options.asked.lengths.Add(command)
	command.Flags().StringVar(&options.modelFile, "model-file", "", "file or folder with the model of the one placement: safetensors, its index, GGUF, ONNX, PyTorch or config.json")
	options.measured.Add(command)
	addNext(command, &options.next)
	options.live.add(command)
	term.AddOutput(command, &output, term.PlanFormats...)
	return command
}

// planFlags are the flags of plan.
type planFlags struct {
	files     []string
	asked     askFlags
	modelFile string
	measured  sizing.CalibrationFlags
	live      liveFlags
	next      bool
}

// list is a v1 List of the objects that planning made.
type list struct {
	metav1.TypeMeta `json:",inline"`
	Items           []any `json:"items"`
}

func runPlan(ctx context.Context, streams term.Streams, options *planFlags, output term.Format, changed func(string) bool) error {
	read, err := ReadManifests(options.files, streams)
	if err != nil {
		return err
	}
	if err := options.ask(read, streams, changed); err != nil {
		return err
	}
	if err := read.readModel(options.modelFile); err != nil {
		return err
	}
	if err := read.calibrate(&options.measured, streams); err != nil {
		return err
	}
	read.WarnOfIgnored(streams)
	if len(read.Placements) == 0 {
		return errors.New("no ModelPlacement in the files: add one, or ask for a model with --model")
	}
	if options.live.asks(read) {
		if err := options.live.join(ctx, streams, read); err != nil {
			return err
		}
	}
	decisions, err := planAll(read, streams, output == term.FormatExplain || options.next)
	if err != nil {
		return err
	}
	return writeDecisions(streams, decisions, output, withNext((*decision).show, options.next))
}

// ask adds the placement of --model to what was read.
func (o *planFlags) ask(read *Manifests, streams term.Streams, changed func(string) bool) error {
	switch {
	case o.asked.model == "":
		return o.asked.alone(changed)
	case o.modelFile != "":
		return term.Usagef("--model %s and --model-file: give one of them", o.asked.model)
	case len(read.Placements) > 0:
		return term.Usagef("--model %s and a ModelPlacement in the files: give one of them", o.asked.model)
	}
	want, err := o.asked.manifests(streams, changed)
	if err != nil {
		return err
	}
	read.Placements, read.model, read.anonymous = want.Placements, want.model, true
	return nil
}

// writeDecisions writes plans to the output, and why there are none to the errors.
func writeDecisions(streams term.Streams, decisions []decision, output term.Format, show func(*decision, *term.Page, term.Format)) error {
	err := streams.Write(output, listOf(decisions), func(p *term.Page) {
		for i := range decisions {
			p.Paragraph()
			show(&decisions[i], p, output)
		}
	})
	if err != nil {
		return err
	}
	return reportFailures(streams, decisions, output.Wide())
}

func listOf(decisions []decision) list {
	l := list{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []any{}}
	for i := range decisions {
		d := &decisions[i]
		switch refused := d.refused(); {
		case d.plan != nil:
			l.Items = append(l.Items, d.plan, d.mesh)
		case refused != nil:
			l.Items = append(l.Items, refused)
		}
	}
	return l
}
