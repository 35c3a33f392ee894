package sizing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/estimate"
)

// NewTrain returns the command `kubectl rankwright train`.
func NewTrain(streams term.Streams) *cobra.Command {
	var options trainingFlags
	var output term.Format
	command := &cobra.Command{
		Use:   "train --model MODEL --device PRODUCT [flags]",
		Short: "Estimate whether a training job fits devices, and how fast it is",
		Long: `Estimate what training a model needs and delivers in given degrees on devices of one kind: whether it fits, bytes for
each device by component, the time of an optimizer step, tokens per second, and the operations that a device does per
second, with the range that a measurement is expected in.

TFLOPS count operations that are computed again for checkpointed activations; those of the model do not.`,
		Example: `  kubectl rankwright train --model Llama-3.1-8B --device H100 --data 8 --sharding FSDP --sequence 8192 \
    --global-batch 64 --checkpointing
  kubectl rankwright train --model Llama-3.1-70B --device H200 --tp 8 --data 2 --method LoRA --global-batch 32 -o json`,
		Args: term.Arguments(0, "train takes flags only"),
		RunE: func(*cobra.Command, []string) error {
			job, err := options.job(streams)
			if err != nil {
				return err
			}
			got, err := estimate.Train(job)
			if err != nil {
				return err
			}
			return answer(streams, output, got, got.Warnings, func(p *term.Page) { printTrained(p, got, output) })
		},
	}
	options.addModel(command, engine.DefaultTraining)
	command.Flags().Lookup("weights").Usage = "precision that the weights are stored in (default: BF16; 4 bits for QLoRA)"
	options.addDegrees(command)
	options.addJob(command)
	term.AddOutput(command, &output, term.AnswerFormats...)
	return command
}

// trainingFlags are the flags of a training job.
type trainingFlags struct {
	deploymentFlags
	data, context                          int
	method, optimizer, sharding, recompute string
	sequence, batch, micro, virtual        int32
	checkpointing, shareTokens, fp8        bool
}

// Values of flags that the API's enumerations have.
var (
	trainingMethods = []string{"Full", "LoRA", "QLoRA", "Prefix", "DPO", "RLHF", "Distillation"}
	optimizers      = []string{"AdamW", "AdamW8bit", "Adafactor", "SGD", "SGDMomentum"}
	shardings       = []string{"None", "ZeRO1", "ZeRO2", "ZeRO3", "FSDP"}
	recomputes      = []string{"None", "Selective", "Full"}
)

func (f *trainingFlags) addJob(command *cobra.Command) {
	flags := command.Flags()
	flags.IntVar(&f.data, "data", 1, "data-parallel ranks: copies of the model that see other sequences")
	flags.StringVar(&f.method, "method", "Full", "what is trained")
	flags.StringVar(&f.optimizer, "optimizer", "AdamW", "optimizer, whose state is kept for each trained parameter")
	flags.StringVar(&f.sharding, "sharding", "None", "what data-parallel ranks share out")
	flags.Int32Var(&f.sequence, "sequence", 4096, "tokens of a sequence")
	flags.Int32Var(&f.batch, "global-batch", 8, "sequences of an optimizer step over all devices")
	flags.Int32Var(&f.micro, "micro-batch", 1, "sequences that a device works on at once")
	flags.IntVar(&f.context, "cp", 1, "context-parallel ranks, which share out the tokens of a sequence")
	flags.BoolVar(&f.checkpointing, "checkpointing", false, "compute activations again in the backward pass instead of keeping them: --recompute Full")
	flags.StringVar(&f.recompute, "recompute", "", "what of the activations is computed again: nothing, the feed-forward blocks, or all (default: None, and Full with --checkpointing)")
	flags.BoolVar(&f.shareTokens, "sequence-parallel", false, "tensor ranks share out the tokens between their matrices")
	flags.BoolVar(&f.fp8, "fp8", false, "multiply matrices in FP8, where the devices do")
	flags.Int32Var(&f.virtual, "virtual-stages", 1, "runs of layers of each pipeline stage, which micro-batches visit in turn")
	term.Complete(command, "method", trainingMethods)
	term.Complete(command, "optimizer", optimizers)
	term.Complete(command, "sharding", shardings)
	term.Complete(command, "recompute", recomputes)
}

func (f *trainingFlags) job(streams term.Streams) (estimate.Training, error) {
	d, err := f.find(streams, true)
	if err != nil {
		return estimate.Training{}, err
	}
	if f.weights == "" {
		d.Weights = "" // training has a default of its own
	}
	d.Replicas = f.data
	var compute v1alpha1.Precision
	if f.fp8 {
		compute = v1alpha1.FP8
	}
	return estimate.Training{Deployment: d, Context: f.context, Workload: v1alpha1.TrainingWorkload{
		Method: v1alpha1.TrainingMethod(inCase(f.method, trainingMethods)), Optimizer: v1alpha1.Optimizer(inCase(f.optimizer, optimizers)),
		Sharding:       v1alpha1.TrainingSharding(inCase(f.sharding, shardings)),
		SequenceLength: f.sequence, GlobalBatch: f.batch, MicroBatch: f.micro, ActivationCheckpointing: f.checkpointing,
		Recompute: v1alpha1.Recompute(inCase(f.recompute, recomputes)), SequenceParallel: f.shareTokens, Compute: compute, VirtualStages: f.virtual,
	}}, nil
}

// inCase returns a value as the API spells it, whatever the case that it is given in.
func inCase(given string, values []string) string {
	if at := slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(v, given) }); at >= 0 {
		return values[at]
	}
	return given
}

// printTrained writes what a training job needs and delivers.
func printTrained(p *term.Page, a *estimate.Trained, output term.Format) {
	job := &a.Workload
	rows := [][2]string{
		{"Model", fmt.Sprintf("%s, weights %s", a.Model, a.Weights)},
		{"Job", fmt.Sprintf("%s with %s, %d × %d tokens a step, micro-batch %d%s", job.Method, job.Optimizer, job.GlobalBatch, job.SequenceLength, job.MicroBatch, jobText(job))},
		{"Devices", fmt.Sprintf("%d × %s, %s, %s, sharding %s, %s", a.Devices, a.Device, trainingDegrees(a), words.Counted(a.Data, "data rank"), job.Sharding, a.Engine)},
		{"Link", linkText(a.Link)},
	}
	rows = append(rows, fitsRows(a.Fits, a.Reason)...)
	if a.Fits {
		rows = append(rows, [][2]string{
			{"Step", expected(*a.StepSeconds, a.Ranges.StepSeconds, "s")},
			{"Throughput", expected(*a.TokensPerSecond, a.Ranges.TokensPerSecond, "tokens/s")},
			{"Each device", expected(*a.TFLOPSPerDevice, a.Ranges.TFLOPSPerDevice, "TFLOPS")},
			{"Of the model", expected(*a.ModelTFLOPSPerDevice, a.Ranges.ModelTFLOPSPerDevice, "TFLOPS")},
			{"Basis", a.Basis.String()},
		}...)
	}
	p.Sheet(rows)
	printStages(p, a.Stages, true, output)
	if output == term.FormatExplain {
		explainMemory(p, a.Stages, a.Explain().Stages)
	}
}

// jobText says what a job does otherwise than by default.
func jobText(job *v1alpha1.TrainingWorkload) string {
	text := map[v1alpha1.Recompute]string{
		v1alpha1.RecomputeFull: ", activations computed again", v1alpha1.RecomputeSelective: ", feed-forward blocks computed again",
	}[job.Recomputes()]
	if job.SequenceParallel {
		text += ", tokens shared out among tensor ranks"
	}
	if job.Compute != "" {
		text += fmt.Sprintf(", matrices in %s", job.Compute)
	}
	return text
}

// trainingDegrees writes the degrees of a job.
func trainingDegrees(a *estimate.Trained) string {
	text := degreesText(a.Degrees)
	if a.Context > 1 {
		text += fmt.Sprintf(", cp %d", a.Context)
	}
	if runs := a.Workload.Virtual(); runs > 1 {
		text += fmt.Sprintf(", %d runs of layers a stage", runs)
	}
	return text
}
