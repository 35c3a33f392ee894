package sizing

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/replay"
)

// servingFlags are the flags of a model that serves requests.
type servingFlags struct {
	deploymentFlags
	load              estimate.Load
	lengths           LengthsFlag
	trace             *replay.Trace // of lengths
	concurrency       string
	capacity          string
	tokens, sequences int64
	replicas          int
	limit             time.Duration
	serving           ServingFlags
}

// NewEstimate returns the command `kubectl rankwright estimate`.
func NewEstimate(streams term.Streams) *cobra.Command {
	var options servingFlags
	var output term.Format
	var replayed string
	command := &cobra.Command{
		Use:   "estimate --model MODEL --device PRODUCT [flags]",
		Short: "Estimate whether a model fits devices, and how fast it serves",
		Long: `Estimate what a model needs and delivers in given degrees on devices of one kind: whether it fits by the engine's own
rule, bytes for each device by component, how many requests run at a time, time to the first token (TTFT), time per
output token (TPOT) and output tokens per second, with the range that a measurement is expected in and what the range
rests on.

--dp is attention data parallelism inside one instance of a mixture of experts; --replicas are copies of the whole
instance. Concurrency, requests and tokens per second are of all replicas together. --concurrency max is the least of
what the KV cache holds, the engine's limit of sequences and the requests that are offered. Where --max-model-len leaves
room for longer requests than the mean, the cache holds them as they run (--capacity Typical), and those that find no
room are computed again.

--replay runs requests one by one through a simulated server, step by step, and prints what they saw beside the closed
form: those of --lengths, by their times of arrival where the trace has some and else all at once, or from --concurrency
clients. A trace is JSON lines or CSV with tokens of prompts and answers (Mooncake, Azure, BurstGPT, Vidur, or columns
input_tokens, output_tokens and arrival in seconds), a result of vllm bench serve --save-detailed, or ShareGPT's
conversations.`,
		Example: `  kubectl rankwright estimate --model Llama-3.3-70B-FP8 --device H100 --tp 2 --isl 1000 --osl 1000
  kubectl rankwright estimate --model deepseek-ai/DeepSeek-R1 --device "NVIDIA H200" --engine SGLang --tp 8 \
    --concurrency 64 -o json
  kubectl rankwright estimate --model Qwen3-14B --device H100 --replay trace.csv
  kubectl rankwright estimate --model Qwen3-14B --device H100 --lengths ShareGPT --concurrency 64 --replay
  kubectl rankwright estimate --model ./config.json --device MI300X --weights FP8 -o explain

  # The devices of this host
  kubectl rankwright detect -o yaml | kubectl rankwright estimate --model Llama-3.1-8B -f -`,
		Args: term.Arguments(1, "estimate takes flags only, but for the trace of --replay"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := options.lengths.replays(replayed, args); err != nil {
				return err
			}
			serving, err := options.deployed(streams)
			if err != nil {
				return err
			}
			if replayed != "" {
				return options.replay(streams, serving, output)
			}
			got, err := estimate.Serve(serving)
			if err != nil {
				return err
			}
			return answer(streams, output, got, got.Warnings, func(p *term.Page) { printServed(p, got, output) })
		},
	}
	options.addModel(command, engine.Default)
	options.addDegrees(command)
	options.addCache(command)
	options.addLoad(command)
	flags := command.Flags()
	flags.IntVar(&options.degrees.AttentionData, "dp", 1, "attention data parallel degree inside one instance of a mixture of experts")
	flags.IntVar(&options.replicas, "replicas", 1, "copies of the instance")
	flags.StringVar(&replayed, "replay", "", "replay the requests of a trace, `FILE`, on a simulated server; without a file those of --lengths, or as many as --requests says with --isl and --osl")
	flags.Lookup("replay").NoOptDefVal = ofLengths
	flags.DurationVar(&options.limit, "max-tpot", 0, "serve as many requests, arriving at random, as get a token in this time (0: as many as are asked)")
	term.AddOutput(command, &output, term.AnswerFormats...)
	return command
}

// addLoad adds the flags of requests and of an engine's limits.
func (f *servingFlags) addLoad(command *cobra.Command) {
	flags := command.Flags()
	flags.Int64Var(&f.load.Input, "isl", 1024, "input tokens of a request, in the mean")
	flags.Int64Var(&f.load.Output, "osl", 1024, "output tokens of a request, in the mean")
	f.lengths.Add(command)
	flags.Int64Var(&f.load.Longest, "max-model-len", 0, "tokens of the longest sequence (0: --isl and --osl)")
	flags.Int64Var(&f.load.Variation, "length-variation", 100, "standard deviation of --isl and --osl in percent")
	flags.StringVar(&f.capacity, "capacity", string(v1alpha1.CapacityTypical), "what the KV cache holds of running requests, `Typical|FullLength`")
	term.Complete(command, "capacity", []v1alpha1.Capacity{v1alpha1.CapacityTypical, v1alpha1.CapacityFullLength})
	flags.StringVar(&f.concurrency, "concurrency", most, "requests in flight, `N|max`")
	flags.Int64Var(&f.load.Requests, "requests", 0, "requests offered at once in all (0: there is always another one)")
	flags.Int64Var(&f.tokens, "max-batched-tokens", 0, "most tokens of a step (0: the engine's default)")
	flags.Int64Var(&f.sequences, "max-sequences", 0, "most sequences of a step (0: the engine's default)")
	term.Complete(command, "concurrency", []string{most})
	f.serving.Add(command)
	f.calibration.Add(command)
}

func (f *servingFlags) deployed(streams term.Streams) (estimate.Serving, error) {
	d, err := f.find(streams, true)
	if err != nil {
		return estimate.Serving{}, err
	}
	return f.on(streams, d)
}

// on is the load on a deployment.
func (f *servingFlags) on(streams term.Streams, d estimate.Deployment) (estimate.Serving, error) {
	var err error
	if f.trace, err = f.lengths.Trace(streams, f.load.Requests); err != nil {
		return estimate.Serving{}, err
	}
	if f.trace != nil {
		f.load = f.load.WithLengths(f.trace.Lengths())
	}
	if f.lengths.alike() {
		f.load.Variation = 0
	}
	if f.load.Concurrency, err = parseConcurrency(f.concurrency); err != nil {
		return estimate.Serving{}, err
	}
	f.load.MaxTPOT, f.load.Capacity = f.limit.Seconds(), v1alpha1.Capacity(f.capacity)
	d.Replicas = f.replicas
	options, err := f.serving.Options()
	if err != nil {
		return estimate.Serving{}, err
	}
	return estimate.Serving{Options: options, Deployment: d, Load: f.load, MaxBatchedTokens: f.tokens, MaxSequences: f.sequences}, nil
}
