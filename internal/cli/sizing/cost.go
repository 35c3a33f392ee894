package sizing

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/price"
)

// maxPrices is the size in bytes of a file of prices.
const maxPrices = 16 << 20

// costFlags are the flags of cost.
type costFlags struct {
	servingFlags
	ttft, tpot       time.Duration
	provider, prices string
	sort             costOrder
}

// costOrder is the value of --sort.
type costOrder string

// The orders of offers: by the price of tokens and of an hour.
const (
	byToken costOrder = "token"
	byHour  costOrder = "hour"
)

// NewCost returns the command `kubectl rankwright cost`.
func NewCost(streams term.Streams) *cobra.Command {
	var options costFlags
	var output term.Format
	command := &cobra.Command{
		Use:   "cost --model MODEL [flags]",
		Short: "Find the cheapest cloud shapes for a model",
		Long: `Find the cloud shapes that serve a model, the cheapest for a million output tokens first, or with --sort hour the
cheapest by the hour. On each shape every legal way to spread the model is tried (tensor, pipeline, and for mixtures
attention data and expert parallelism, with copies on the rest), and the one with most tokens per second within the
limits is shown. Shapes that are left out are listed with the reason.

Prices are on-demand list prices with the source and day of each row; --prices takes a table of your own in the same
form.`,
		Example: `  kubectl rankwright cost --model Llama-3.3-70B-FP8 --isl 2000 --osl 500 --max-tpot 30ms
  kubectl rankwright cost --model deepseek-ai/DeepSeek-R1 --provider oci --sort hour -o wide
  kubectl rankwright cost --model Qwen3-32B --prices prices.yaml -o json`,
		Args: term.Arguments(0, "cost takes flags only"),
		RunE: func(*cobra.Command, []string) error {
			offers, err := options.offers(streams)
			if err != nil {
				return err
			}
			return streams.Write(output, offers, func(p *term.Page) { printOffers(p, offers, output.Wide()) })
		},
	}
	options.addModel(command, engine.Default)
	command.Flags().StringVar(&options.device.name, "device", "", "only shapes with this device")
	term.Complete(command, "device", accelerator.Names())
	options.addCache(command)
	options.addLoad(command)
	flags := command.Flags()
	flags.DurationVar(&options.ttft, "max-ttft", 0, "longest time to the first token (0: no limit)")
	flags.DurationVar(&options.tpot, "max-tpot", 0, "longest time per output token (0: no limit)")
	flags.StringVar(&options.provider, "provider", "", "only shapes of this provider, in any case")
	term.Choose(command, "sort", &options.sort, "order of the shapes: by the price of tokens or of an hour", byToken, byHour)
	flags.StringVar(&options.prices, "prices", "", "table of shapes and prices instead of the built-in one, as JSON or YAML; - for standard input")
	_ = command.MarkFlagFilename("prices", "json", "yaml", "yml")
	term.Complete(command, "provider", providers())
	term.AddOutput(command, &output, term.Formats...)
	return command
}

func (f *costFlags) offers(streams term.Streams) (*estimate.Offers, error) {
	d, err := f.find(streams, false)
	if err != nil {
		return nil, err
	}
	f.replicas = 1
	serving, err := f.on(streams, d)
	if err != nil {
		return nil, err
	}
	prices, err := loadPrices(f.prices, streams)
	if err != nil {
		return nil, err
	}
	found, err := estimate.Cheapest(estimate.Renting{
		Serving: serving, TTFTLimit: f.ttft.Seconds(), TPOTLimit: f.tpot.Seconds(), Provider: f.provider, Product: d.Product.Name,
	}, prices)
	if err == nil && f.sort == byHour {
		found.ByHour()
	}
	return found, err
}

// loadPrices reads a table of prices, the built-in one where no file is named.
func loadPrices(file string, streams term.Streams) (*price.Table, error) {
	if file == "" {
		return price.Load()
	}
	data, err := term.ReadInput(file, streams, maxPrices)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	return price.Parse(data)
}

// providers returns the providers of the built-in table of prices.
func providers() []string {
	prices, err := price.Load()
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range prices.Shapes() {
		names = append(names, s.Provider)
	}
	return slices.Compact(names) // the shapes are sorted by provider
}

func printOffers(p *term.Page, o *estimate.Offers, wide bool) {
	if len(o.Offers) == 0 {
		p.Line("No shape serves the model.")
	}
	header := []string{"INSTANCE", "DEVICES", "SPREAD", "TTFT", "TPOT", "TOKENS/S", "USD/HOUR", "USD/M TOKENS"}
	if wide {
		header = append(header, "RANGE", "REQUESTS", "BASIS", "VCPU", "MEMORY", "NETWORK", "PRICE OF", "REGION", "SOURCE")
	}
	p.Table(header, term.Rows(o.Offers, func(s *estimate.Offer) []any {
		a, each := s.Answer, s.USDPerMillionTokensRange
		digits := words.Digits(each.Low, each.High)
		row := []any{
			instanceText(&s.Rented), rentedText(&s.Rented), spreadText(a.Degrees, a.Replicas),
			figureOf(*a.TTFTMillis, a.Ranges.TTFTMillis) + " ms", figureOf(*a.TPOTMillis, a.Ranges.TPOTMillis) + " ms",
			figureOf(*a.OutputTokensPerSecond, a.Ranges.OutputTokensPerSecond), fmt.Sprintf("%.2f", s.USDPerHour),
			figureOf(s.USDPerMillionTokens, each),
		}
		if wide {
			row = append(row, words.Figure(each.Low, digits)+"-"+words.Figure(each.High, digits), a.Concurrency.Running, a.Basis,
				known(int64(s.VCPUs)), amount(s.MemoryGiB, "GiB"), amount(s.NetworkGbps, "Gbit/s"), s.Date, s.Region, s.Source)
		}
		return row
	}))
	if len(o.LeftOut) == 0 {
		return
	}
	p.Paragraph()
	p.Line("Left out:")
	p.Table([]string{"INSTANCE", "DEVICES", "REASON"}, term.Rows(o.LeftOut, func(l *estimate.LeftOut) []any {
		reason := l.Reason
		if !wide {
			reason = address.ReplaceAllString(reason, "")
		}
		return []any{instanceText(&l.Rented), rentedText(&l.Rented), reason}
	}))
}

// address is where a reason is documented, which is wider than a column.
var address = regexp.MustCompile(` \(https?://[^)]*\)`)

// amount is a quantity in its unit; nothing where it is not known.
func amount(v float64, unit string) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%g %s", v, unit)
}

func instanceText(r *estimate.Rented) string { return r.Provider + " " + r.Instance }

func rentedText(r *estimate.Rented) string { return fmt.Sprintf("%d × %s", r.Count, r.Product) }
