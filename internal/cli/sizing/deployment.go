package sizing

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/model"
)

// deploymentFlags say which model runs on what, as words.
type deploymentFlags struct {
	model, engine, weights, kv string
	device                     DeviceFlags
	file                       string // with an inventory
	degrees                    estimate.Degrees
	perNode                    int
	network                    float64
	changed                    func(flag string) bool
	calibration                CalibrationFlags
}

func (f *deploymentFlags) addModel(command *cobra.Command, usual v1alpha1.Engine) {
	flags := command.Flags()
	flags.StringVar(&f.model, "model", "", "model by catalogue name, hub id, number of parameters (70B), or path of its config.json")
	flags.StringVar(&f.engine, "engine", string(usual), "engine that runs the model")
	flags.StringVar(&f.weights, "weights", "", "precision that the weights are stored in (default: the checkpoint's)")
	term.Complete(command, "engine", engine.Names())
	term.Complete(command, "weights", estimate.Precisions)
	_ = command.RegisterFlagCompletionFunc("model", cobra.FixedCompletions(model.Names(), cobra.ShellCompDirectiveDefault))
}

// addDegrees adds the flags of a deployment on one kind of device.
func (f *deploymentFlags) addDegrees(command *cobra.Command) {
	f.device.Add(command, "device as its driver reports it (`PRODUCT`), or in short: H100, MI300X")
	flags := command.Flags()
	f.changed = flags.Changed
	flags.StringVarP(&f.file, "filename", "f", "", "file with a saved inventory, whose devices are meant, as if they were empty; - for standard input")
	_ = command.MarkFlagFilename("filename", "json", "yaml", "yml")
	flags.IntVar(&f.degrees.Tensor, "tp", 1, "tensor-parallel degree: devices that share each layer")
	flags.IntVar(&f.degrees.Pipeline, "pp", 1, "pipeline-parallel degree: stages of layers")
	flags.IntVar(&f.degrees.Expert, "ep", 1, "expert-parallel degree: ranks that have whole experts")
	flags.IntVar(&f.perNode, "devices-per-node", 0, "devices of a node (default: what is usual for the device)")
	flags.Float64Var(&f.network, "network-gbps", estimate.DefaultNetworkGbps, "what a device sends beyond its node, in Gbit/s")
}

func (f *deploymentFlags) addCache(command *cobra.Command) {
	command.Flags().StringVar(&f.kv, "kv", "", "precision of the KV cache (default: that for which the checkpoint carries scales, else 16 bits)")
	term.Complete(command, "kv", []v1alpha1.Precision{v1alpha1.BF16, v1alpha1.FP16, v1alpha1.FP8, v1alpha1.INT8})
}

// find turns the words into a deployment. A word that is missing is a mistake in the command line; a word that
// names nothing known is a failure.
func (f *deploymentFlags) find(streams term.Streams, needsDevice bool) (estimate.Deployment, error) {
	d := estimate.Deployment{Degrees: f.degrees, DevicesPerNode: f.perNode, NetworkGbps: f.network}
	if f.model == "" {
		return d, term.Usagef("no model: name one with --model")
	}
	if !f.device.Given() && f.file == "" && needsDevice {
		return d, term.Usagef("no device: name one with --device, describe one with --memory, --bandwidth and --tflops, or give an inventory with -f")
	}
	var err error
	if d.Engine, err = estimate.FindEngine(f.engine); err != nil {
		return d, term.Usagef("%w", err)
	}
	if d.Model, d.Weights, err = findModel(f.model, streams, model.Find); err != nil {
		return d, err
	}
	if d.Weights == d.Model.Native { // what devices lack is then made up for
		d.Weights = ""
	}
	for _, p := range []struct {
		word string
		to   *v1alpha1.Precision
	}{{f.weights, &d.Weights}, {f.kv, &d.KV}} {
		if p.word == "" {
			continue
		}
		if *p.to, err = estimate.FindPrecision(p.word); err != nil {
			return d, term.Usagef("%w", err)
		}
	}
	switch {
	case f.file != "":
		err = f.found(&d, streams)
	case f.device.Given():
		d.Product, err = f.device.Find()
	}
	if err != nil {
		return d, err
	}
	d.Site, err = f.calibration.Site(streams)
	return d, err
}

// most is the word for as many requests as can run.
const most = "max"

// parseConcurrency reads how many requests are in flight; 0 for as many as can run.
func parseConcurrency(text string) (int64, error) {
	if text == most {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, term.Usagef("--concurrency %s: give a number of requests, or %s for as many as can run", text, most)
	}
	return n, nil
}

// furtherDegrees are the degrees beside the tensor-parallel one that are more than 1, with their short names.
func furtherDegrees(d estimate.Degrees) (names []string, degrees []int) {
	for _, more := range []struct {
		name   string
		degree int
	}{{"pp", d.Pipeline}, {"dp", d.AttentionData}, {"ep", d.Expert}} {
		if more.degree > 1 {
			names, degrees = append(names, more.name), append(degrees, more.degree)
		}
	}
	return names, degrees
}

// degreesText is degrees as the flags have them: tp 4, pp 2.
func degreesText(d estimate.Degrees) string {
	text := fmt.Sprintf("tp %d", d.Tensor)
	names, degrees := furtherDegrees(d)
	for i := range names {
		text += fmt.Sprintf(", %s %d", names[i], degrees[i])
	}
	return text
}

// spreadText is degrees and copies as plans have them: TP4 PP2 x2.
func spreadText(d estimate.Degrees, copies int) string {
	text := fmt.Sprintf("TP%d", d.Tensor)
	names, degrees := furtherDegrees(d)
	for i := range names {
		text += fmt.Sprintf(" %s%d", strings.ToUpper(names[i]), degrees[i])
	}
	if copies > 1 {
		text += fmt.Sprintf(" x%d", copies)
	}
	return text
}
