package planning

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
)

// modelsFlags are the flags of models.
type modelsFlags struct {
	fit    bool
	on     HostFlags
	asked  askFlags
	output term.Format
}

// NewModels returns the command `kubectl rankwright models`.
func NewModels(streams term.Streams) *cobra.Command {
	var flags modelsFlags
	command := &cobra.Command{
		Use:   "models [--fit [flags]]",
		Short: "List the models of the catalogue, or those that fit devices",
		Long: `List the models of the catalogue: how large they are, how long their context is, and in which formats checkpoints of
them are published. 'kubectl rankwright model NAME' shows all that is known of one.

With --fit, say which of them run on the devices of this host, of imagined hosts (--device, --devices, --nodes, or
--memory, --bandwidth and --tflops), or of saved inventories (-f): in which precision, in which shape, and how fast, the
largest model first. The planner of the operator is asked for each of them, so it is what a cluster with these devices
would get. Tokens per second are those of the requests that run together, of which there is one unless --max-sequences
says otherwise. With -o wide the models that do not fit are listed with the reason.`,
		Example: `  kubectl rankwright models

  # What runs on this host?
  kubectl rankwright models --fit

  # What would run on two L40S, for 32 people at a time, at reading speed?
  kubectl rankwright models --fit --device L40S --devices 2 --max-sequences 32 --isl 1000 --osl 500 --max-tpot 50ms

  # What runs on the nodes of a cluster?
  kubectl get accinv -o yaml | kubectl rankwright models --fit -f - -o json`,
		Args: term.Arguments(0, "models takes flags only: use model for one of them"),
		RunE: func(command *cobra.Command, _ []string) error {
			changed := command.Flags().Changed
			if flags.fit {
				return runFit(command.Context(), streams, &flags, changed)
			}
			if flags.on.Given() {
				return term.Usagef("devices without --fit: add that to see which models run on them")
			}
			if err := flags.asked.without("fit", changed); err != nil {
				return err
			}
			return listCatalogue(streams, flags.output)
		},
	}
	command.Flags().BoolVar(&flags.fit, "fit", false, "say which models run on the devices, and how fast")
	flags.on.Add(command)
	flags.asked.addSize(command, 1)
	flags.asked.addLoad(command)
	synonyms(command, map[string]string{"concurrency": "max-sequences", "weights": "quantization"})
	term.AddOutput(command, &flags.output, term.Formats...)
	return command
}

// CataloguedModel is a model of the catalogue.
type CataloguedModel struct {
	Name             string `json:"name"`
	Parameters       int64  `json:"parameters"`
	ActiveParameters int64  `json:"activeParameters"`
	// MaxContext is the longest sequence in tokens that the model was made for; 0 where its configuration does not say.
	MaxContext int32 `json:"maxContext,omitempty"`
	// Native is the format of the model's own checkpoint, Published are the formats in which checkpoints of it are known, that one among them.
	Native    v1alpha1.Precision   `json:"native"`
	Published []v1alpha1.Precision `json:"published"`
}

func catalogued(m *model.Model) CataloguedModel {
	c := CataloguedModel{
		Name: m.Name, Parameters: m.Parameters(), ActiveParameters: m.ActiveParameters(), MaxContext: m.Architecture.MaxContext, Native: m.Native,
	}
	for _, p := range memory.Stored {
		if _, known := m.Stored(p); known {
			c.Published = append(c.Published, p)
		}
	}
	return c
}

// largestFirst are the models of the catalogue, the largest first, without those that are other checkpoints of one.
func largestFirst() ([]*model.Model, error) {
	var list []*model.Model
	for _, name := range model.Families() {
		m, err := model.Lookup(name)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b *model.Model) int { return cmp.Compare(b.Parameters(), a.Parameters()) })
	return list, nil
}

func listCatalogue(streams term.Streams, output term.Format) error {
	models, err := largestFirst()
	if err != nil {
		return err
	}
	list := make([]CataloguedModel, len(models))
	for i, m := range models {
		list[i] = catalogued(m)
	}
	return streams.Write(output, list, func(p *term.Page) {
		p.Table([]string{"NAME", "PARAMETERS", "ACTIVE", "CONTEXT", "PUBLISHED IN"}, term.Rows(list, func(c *CataloguedModel) []any {
			return []any{c.Name, term.Billions(c.Parameters), term.Billions(c.ActiveParameters), contextText(c.MaxContext), term.Joined(c.Published, ", ")}
		}))
	})
}

// contextText is a number of tokens; nothing where it is not known.
func contextText(tokens int32) string {
	if tokens == 0 {
		return ""
	}
	return term.Grouped(int64(tokens))
}

// basisOf is what an estimate rests on, without the load that stands behind it.
func basisOf(e *v1alpha1.Estimate) string {
	basis, _, _ := strings.Cut(e.Basis, ";")
	return basis
}
