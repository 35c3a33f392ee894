package sizing

import (
	"fmt"
	"io"

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
	var output term.AnswerFormat
	command := &cobra.Command{
		Use:   "train --model MODEL --device PRODUCT [flags]",
		Short: "Estimate whether a training job fits devices, and how fast it is",
		Long: `Estimate what training a model needs and delivers in given degrees on devices of one kind: whether it fits, bytes for each
device by component, the time of an optimizer step, tokens per second, and the operations that a device does per second, with
the range that a measurement is expected in.

TFLOPS count operations that are computed again for checkpointed activations; those of the model do not.`,
		Example: `  kubectl rankwright train --model Llama-3.1-8B --device H100 --data 8 --sharding FSDP --sequence 8192 --global-batch 64 --checkpointing
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
			view := trainedView{got}
			a := term.Answer{Object: got, Table: view.table, Explain: view.explain, Warnings: got.Warnings}
			return a.Print(streams, output)
		},
	}
	options.addModel(command, engine.DefaultTraining)
	options.addDevice(command, "device as its driver reports it (`PRODUCT`), or in short: H100, MI300X")
	options.addDegrees(command)
	options.addJob(command)
	term.AddAnswerOutput(command, &output)
	return command
}

// trainingFlags are the flags of a training job.
type trainingFlags struct {
	deploymentFlags
	data                        int
	method, optimizer, sharding string
	sequence, batch, micro      int32
	checkpointing               bool
}

// Values of flags that the API's enumerations have.
var (
	trainingMethods = []string{"Full", "LoRA", "QLoRA", "Prefix", "DPO", "RLHF", "Distillation"}
	optimizers      = []string{"AdamW", "AdamW8bit", "Adafactor", "SGD", "SGDMomentum"}
	shardings       = []string{"None", "ZeRO1", "ZeRO2", "ZeRO3", "FSDP"}
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
	flags.BoolVar(&f.checkpointing, "checkpointing", false, "compute activations again in the backward pass instead of keeping them")
	term.Complete(command, "method", trainingMethods)
	term.Complete(command, "optimizer", optimizers)
	term.Complete(command, "sharding", shardings)
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
	return estimate.Training{Deployment: d, Workload: v1alpha1.TrainingWorkload{
		Method: v1alpha1.TrainingMethod(f.method), Optimizer: v1alpha1.Optimizer(f.optimizer), Sharding: v1alpha1.TrainingSharding(f.sharding),
		SequenceLength: f.sequence, GlobalBatch: f.batch, MicroBatch: f.micro, ActivationCheckpointing: f.checkpointing,
	}}, nil
}

// trainedView prints what a training job needs and delivers.
type trainedView struct{ *estimate.Trained }

func (v trainedView) table(w io.Writer, wide bool) error {
	return term.Paragraphs(w,
		func(w io.Writer) error { return term.Sheet(w, v.summary()) },
		func(w io.Writer) error { return printStages(w, v.Stages, true, wide) })
}

func (v trainedView) summary() [][2]string {
	job := &v.Workload
	rows := [][2]string{
		{"Model", fmt.Sprintf("%s, weights %s", v.Model, v.Weights)},
		{"Job", fmt.Sprintf("%s with %s, %d × %d tokens a step, micro-batch %d%s", job.Method, job.Optimizer, job.GlobalBatch, job.SequenceLength, job.MicroBatch,
			map[bool]string{true: ", activations computed again"}[job.ActivationCheckpointing])},
		{"Devices", fmt.Sprintf("%d × %s, %s, %s, sharding %s, %s", v.Devices, v.Device, degreesText(v.Degrees), words.Counted(v.Data, "data rank"), job.Sharding, v.Engine)},
		{"Link", linkText(v.Link)},
		{"Fits", fitsText(v.Fits, v.Reason)},
	}
	if !v.Fits {
		return rows
	}
	return append(rows, [][2]string{
		{"Step", expected(*v.StepSeconds, v.Ranges.StepSeconds, "s")},
		{"Throughput", expected(*v.TokensPerSecond, v.Ranges.TokensPerSecond, "tokens/s")},
		{"Each device", expected(*v.TFLOPSPerDevice, v.Ranges.TFLOPSPerDevice, "TFLOPS")},
		{"Of the model", expected(*v.ModelTFLOPSPerDevice, v.Ranges.ModelTFLOPSPerDevice, "TFLOPS")},
		{"Basis", string(v.Basis)},
	}...)
}

func (v trainedView) explain(w io.Writer) error {
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return explainMemory(w, v.Stages, v.Explain().Stages)
}
