package calibrate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/site"
)

// flags are the flags of calibrate.
type flags struct {
	subject
	manifests           []string
	plan, name          string
	metrics, prometheus string
	window              time.Duration
}

// New returns the command `kubectl rankwright calibrate`.
func New(streams term.Streams) *cobra.Command {
	var options flags
	var output term.Format
	command := &cobra.Command{
		Use:   "calibrate FILE... [--device PRODUCT | -f FILE...] [flags]",
		Short: "Move estimates towards what was measured here",
		Long: `Read what was measured at a site, compare it with what is estimated, and keep it: -o yaml prints a SiteCalibration,
which plan, recommend, estimate and cost take with --calibration, and which moves the operator's plans once it is in
the cluster.

Files are results of vllm bench serve (--save-result), SGLang's bench_serving (--output-file) and AIPerf
(profile_export_aiperf.json), and vLLM's start-up log, whose size of the KV cache is compared with the planned one. With
--metrics the metrics of an engine are read twice, --window apart, and with --prometheus those that a Prometheus has of
all engines.

What a file does not say is taken from flags, or with -f from the ShardingPlan that was measured: the model, its
precision, the engine with its degrees, limits and options, the copies, and the devices by the inventories of their
nodes. A flag or a file that says otherwise than the plan is refused. Of several plans that one counts which nothing
contradicts and which is in force; --plan names it where that leaves more than one.

A SiteCalibration in the files of -f is added to. A measurement that it has of the same run is replaced.`,
		Example: `  # A benchmark against the service of a plan
  vllm bench serve --model Qwen/Qwen3-14B --random-input-len 1024 --random-output-len 512 \
    --max-concurrency 32 --num-prompts 320 --save-result --result-filename c32.json
  kubectl rankwright calibrate c32.json --device H100 -o yaml > site.yaml

  # The same of a placement in a cluster, whose plan and devices tell the rest
  kubectl get shardingplans,accinv -o yaml | kubectl rankwright calibrate c32.json -f - -o yaml > site.yaml

  # Ten minutes of what the service does
  kubectl rankwright calibrate --metrics http://localhost:8000/metrics --window 10m --device H100 -f site.yaml -o yaml

  # Estimates that know it
  kubectl rankwright estimate --model Qwen3-14B --device H100 --calibration site.yaml`,
		RunE: func(command *cobra.Command, files []string) error {
			return options.run(command.Context(), streams, files, output)
		},
	}
	options.add(command)
	f := command.Flags()
	planning.AddFiles(command, &options.manifests, "file or folder with the ShardingPlan that was measured, its ModelPlacement and inventories, and with a SiteCalibration to add to, - for standard input; may be repeated")
	f.StringVar(&options.plan, "plan", "", "name of the ShardingPlan that was measured, where the files of -f have several")
	f.StringVar(&options.name, "name", "site", "name of a new SiteCalibration")
	f.StringVar(&options.metrics, "metrics", "", "`URL` of an engine's metrics")
	f.StringVar(&options.prometheus, "prometheus", "", "`URL` of a Prometheus that has metrics of engines")
	f.DurationVar(&options.window, "window", time.Minute, "time over which metrics are looked at")
	term.AddOutput(command, &output, term.NamedFormats...)
	return command
}

func (f *flags) run(ctx context.Context, streams term.Streams, files []string, output term.Format) error {
	if len(files) == 0 && f.metrics == "" && f.prometheus == "" {
		return term.Usagef("nothing to read: give results of benchmarks, or --metrics or --prometheus")
	}
	known, err := f.known(streams)
	if err != nil {
		return err
	}
	kept, err := f.kept(known.Calibrations)
	if err != nil {
		return err
	}
	read, err := f.read(ctx, streams, files)
	if err != nil {
		return err
	}
	for i := range read {
		if err := known.complete(&read[i]); err != nil {
			return fmt.Errorf("%s: %w", read[i].Source.File, err)
		}
		if read[i].Source.Time.IsZero() {
			read[i].Source.Time.Time = streams.Clock()().UTC().Truncate(time.Second)
		}
	}
	if err := merge(kept, read); err != nil {
		return err
	}
	rows, err := compare(kept.Spec.Measurements, streams.Clock()())
	if err != nil {
		return err
	}
	return streams.Write(output, kept, func(p *term.Page) { show(p, rows, output.Wide()) })
}

// known is what flags and the files of -f say.
func (f *flags) known(streams term.Streams) (*known, error) {
	said, err := f.said()
	if err != nil {
		return nil, err
	}
	m, err := planning.ReadManifests(f.manifests, streams)
	if err != nil {
		return nil, err
	}
	m.WarnOfIgnored(streams)
	if len(f.manifests) > 0 && len(m.Plans)+len(m.Calibrations) == 0 {
		return nil, term.Usagef("-f: no ShardingPlan and no SiteCalibration in the files: give one as plan -o yaml, calibrate -o yaml or kubectl prints it")
	}
	return &known{plans: plans{Manifests: m, name: f.plan}, flags: said}, nil
}

// kept is the calibration that is added to, or a new one.
func (f *flags) kept(of []v1alpha1.SiteCalibration) (*v1alpha1.SiteCalibration, error) {
	switch len(of) {
	case 0:
		kept := &v1alpha1.SiteCalibration{}
		kept.APIVersion, kept.Kind, kept.Name = v1alpha1.GroupVersion.String(), "SiteCalibration", f.name
		return kept, nil
	case 1:
		return &of[0], nil
	}
	return nil, term.Usagef("-f: %d SiteCalibrations in the files: give the one to add to", len(of))
}

// mostResult is the size in bytes of a result; those with the times of each token are long.
const mostResult = 256 << 20

// read reads files and addresses.
func (f *flags) read(ctx context.Context, streams term.Streams, files []string) ([]v1alpha1.Measurement, error) {
	var list []v1alpha1.Measurement
	for _, file := range files {
		content, err := term.ReadInput(file, streams, mostResult)
		if err != nil {
			return nil, err
		}
		read, err := site.Read(file, content)
		if err != nil {
			return nil, err
		}
		list = append(list, read...)
	}
	live, err := f.observe(ctx, streams)
	return append(list, live...), err
}

// merge replaces measurements of the same runs by those that were read, and counts all.
func merge(kept *v1alpha1.SiteCalibration, read []v1alpha1.Measurement) error {
	list := kept.Spec.Measurements
	for _, m := range read {
		list = slices.DeleteFunc(list, func(old v1alpha1.Measurement) bool { return sameRun(&old, &m) })
		list = append(list, m)
	}
	if most := 256; len(list) > most {
		return fmt.Errorf("%d measurements: a SiteCalibration holds %d: leave out -f and give the new one another --name", len(list), most)
	}
	kept.Spec.Measurements = list
	kept.Spec.Summary = site.Summary(list)
	return nil
}

// sameRun says whether two measurements are of one run of a service.
func sameRun(a, b *v1alpha1.Measurement) bool {
	return a.Source.Tool == b.Source.Tool && a.Source.File == b.Source.File && a.Source.Time.Equal(&b.Source.Time) && modelOf(a) == modelOf(b) && a.Device == b.Device && a.Engine == b.Engine && a.InputTokens == b.InputTokens &&
		a.OutputTokens == b.OutputTokens && a.Concurrency == b.Concurrency && a.Requests == b.Requests
}
