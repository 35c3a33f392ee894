package planning

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/host"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Fit is which models run on devices.
type Fit struct {
	// Devices are the numbers of devices by product, Asked is what each model was asked for.
	Devices map[string]int             `json:"devices"`
	Asked   v1alpha1.InferenceWorkload `json:"asked"`
	// Models are those that run, the largest first, and then those that do not.
	Models []FittedModel `json:"models"`
}

// FittedModel is a model with the plan that it would get.
type FittedModel struct {
	CataloguedModel
	Fits bool `json:"fits"`
	// Reason says why the model does not fit.
	Reason string `json:"reason,omitempty"`
	// Quantization and KVCacheType are the formats of the plan, Strategy its shape, DeviceCount the devices that it takes.
	Quantization v1alpha1.Precision `json:"quantization,omitempty"`
	KVCacheType  v1alpha1.Precision `json:"kvCacheType,omitempty"`
	Strategy     string             `json:"strategy,omitempty"`
	DeviceCount  int32              `json:"deviceCount,omitempty"`
	Estimate     *v1alpha1.Estimate `json:"estimate,omitempty"`
}

func runFit(ctx context.Context, streams term.Streams, flags *modelsFlags, changed func(string) bool) error {
	m, err := flags.devices(ctx, streams)
	if err != nil {
		return err
	}
	models, err := largestFirst()
	if err != nil {
		return err
	}
	cluster, progress := m.Snapshot().Cluster("", nil, nil), streams.Progress()
	fit := Fit{Devices: devicesOf(m), Models: make([]FittedModel, len(models))}
	if len(fit.Devices) == 0 {
		return errors.New("no accelerators found: name some with --device, or give an inventory with -f")
	}
	for i, of := range models {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped after %s: %w", words.Counted(i, "model"), err)
		}
		if fit.Models[i], err = flags.fitted(ctx, cluster, of, changed, &fit.Asked); err != nil {
			return err
		}
		progress.Tell("%d of %d models planned", i+1, len(models))
	}
	slices.SortStableFunc(fit.Models, func(a, b FittedModel) int { return order(a.Fits, b.Fits) })
	return streams.Write(flags.output, &fit, func(p *term.Page) { fit.print(p, flags.output.Wide()) })
}

// order puts what is before what is not.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// devices are the inventories that the flags mean: this host's where they mean none.
func (f *modelsFlags) devices(ctx context.Context, streams term.Streams) (*Manifests, error) {
	if f.on.Given() {
		return f.on.Manifests(streams)
	}
	here, err := host.Here(ctx, streams)
	if err != nil {
		return nil, err
	}
	return &Manifests{Inventories: []v1alpha1.AcceleratorInventory{*here}}, nil
}

// devicesOf counts the accelerators of inventories by product.
func devicesOf(m *Manifests) map[string]int {
	counts := map[string]int{}
	for i := range m.Inventories {
		for j := range m.Inventories[i].Status.Devices {
			if d := &m.Inventories[i].Status.Devices[j]; d.Family != v1alpha1.FamilyCPU {
				counts[d.Product]++
			}
		}
	}
	return counts
}

// fitted plans a model. It writes down what was asked for, which is the same for all models that read as long sequences.
func (f *modelsFlags) fitted(ctx context.Context, cluster *fleet.Cluster, of *model.Model, changed func(string) bool, asked *v1alpha1.InferenceWorkload) (FittedModel, error) {
	f.asked.model = of.Name
	placement, err := f.asked.placement(of, changed)
	if err != nil {
		return FittedModel{}, err
	}
	setDefaults(placement)
	if load := placement.Spec.Workload.Inference; load.MaxModelLen > asked.MaxModelLen {
		*asked = *load
	}
	fitted := FittedModel{CataloguedModel: catalogued(of)}
	made, err := plan.Within(ctx, cluster, shape.Request{Placement: placement, Model: of})
	if err != nil {
		fitted.Reason = reasonOf(err)
		return fitted, ctx.Err()
	}
	fitted.Fits, fitted.Strategy, fitted.DeviceCount = true, made.Strategy.Summary, made.Totals.Devices
	fitted.Quantization, fitted.KVCacheType, fitted.Estimate = made.Quantization, made.KVCacheType, made.Estimate
	return fitted, nil
}

// reasonOf is why there is no plan, in a sentence.
func reasonOf(err error) string {
	var why *plan.Unplaceable
	if !errors.As(err, &why) {
		return err.Error()
	}
	first, rest, _ := strings.Cut(why.Message, ". ")
	if why.Reason == shape.ReasonUnsupported {
		second, _, _ := strings.Cut(rest, ". ")
		return first + ": " + strings.TrimSuffix(second, ".")
	}
	return strings.TrimSuffix(first, ".") + causeOf(why)
}

// print writes the models that run, and with wide those that do not.
func (f *Fit) print(p *term.Page, wide bool) {
	p.Line(f.title())
	p.Paragraph()
	none := slices.IndexFunc(f.Models, func(m FittedModel) bool { return !m.Fits })
	if none < 0 {
		none = len(f.Models)
	}
	p.Table([]string{"MODEL", "SIZE", "WEIGHTS", "SHAPE", "TOKENS/S", "TTFT", "BASIS"}, term.Rows(f.Models[:none], func(m *FittedModel) []any {
		strategy := m.Strategy
		if m.DeviceCount == 1 {
			strategy = "1 device"
		}
		return append([]any{m.Name, term.Billions(m.Parameters), m.Quantization, strategy}, speedCells(m.Estimate)...)
	}))
	rest := f.Models[none:]
	if len(rest) == 0 {
		return
	}
	p.Paragraph()
	if !wide {
		p.Linef("%s of %d %s not fit: -o wide says why.", words.Counted(len(rest), "model"), len(f.Models), map[bool]string{true: "does", false: "do"}[len(rest) == 1])
		return
	}
	p.Table([]string{"DOES NOT FIT", "SIZE", "REASON"}, term.Rows(rest, func(m *FittedModel) []any { return []any{m.Name, term.Billions(m.Parameters), m.Reason} }))
}

// title says on what and for what.
func (f *Fit) title() string {
	var on []string
	for _, product := range slices.Sorted(maps.Keys(f.Devices)) {
		on = append(on, fmt.Sprintf("%d × %s", f.Devices[product], product))
	}
	load := f.Asked
	text := fmt.Sprintf("%s; %s", strings.Join(on, ", "), askedIn(&load))
	if load.InputTokens != nil && load.OutputTokens != nil {
		text += fmt.Sprintf(", %d tokens in and %d out", *load.InputTokens, *load.OutputTokens)
	}
	return text
}

// speedCells are tokens per second and the time to the first one, each with its range, and what they rest on.
func speedCells(e *v1alpha1.Estimate) []any {
	if e == nil {
		return []any{"", "", "not known"}
	}
	return []any{inRange(e.TokensPerSecond, ""), inRange(e.TTFTMillis, " ms"), basisOf(e)}
}

// inRange is a number with its range in few columns: 650 (460-920).
func inRange(e v1alpha1.Expected, unit string) string {
	digits := words.Digits(float64(e.Low), float64(e.High))
	figure := func(v int64) string { return words.Figure(float64(v), digits) }
	return fmt.Sprintf("%s%s (%s-%s)", figure(e.Value), unit, figure(e.Low), figure(e.High))
}
