package host

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// alert is a comparison that must not hold.
type alert struct {
	term   inventory.Term
	field  alertField
	wanted float64
	unit   string
}

// alertField is what an alert can be about: a reading of each device, or a count of all of them.
type alertField struct {
	units map[string]float64
	// value returns the value of a device in the measure of the unit; false where nothing reports it.
	value func(d *v1alpha1.Device, r backend.Reading, unit string) (float64, bool)
	show  func(value float64, unit string) string
	// count is of all devices together, instead of a value of each; counted are the words for it.
	count   func([]v1alpha1.Device) int
	counted string
}

const percent = "%"

var alertFields = map[string]alertField{
	"memoryUsed":  {units: withPercent(inventory.MemoryUnits), value: memoryUsed, show: showMemory},
	"temperature": {units: map[string]float64{"": 1, "C": 1}, value: temperature, show: showAs("%.1f C")},
	"power":       {units: map[string]float64{"": 1, "W": 1}, value: power, show: showAs("%.1f W")},
	"utilization": {units: map[string]float64{"": 1, percent: 1}, value: utilization, show: showAs("%.0f%%")},
	"devices":     {units: map[string]float64{"": 1}, count: func(devices []v1alpha1.Device) int { return len(devices) }, counted: "there"},
	"healthy":     {units: map[string]float64{"": 1}, count: countHealthy, counted: "healthy"},
}

func alertFieldNames() []string { return slices.Sorted(maps.Keys(alertFields)) }

// alertStarts are how alerts begin.
func alertStarts() []string {
	names := alertFieldNames()
	for i := range names {
		names[i] += ">"
	}
	return names
}

func parseAlerts(texts []string) ([]alert, error) {
	alerts := make([]alert, len(texts))
	for i, text := range texts {
		parsed, err := parseAlert(text)
		if err != nil {
			return nil, term.Usagef("--alert %s: %w", text, err)
		}
		alerts[i] = parsed
	}
	return alerts, nil
}

// parseAlert reads a comparison such as memoryUsed>90% or healthy<8.
func parseAlert(text string) (alert, error) {
	word, err := inventory.ParseTerm(text)
	if err != nil {
		return alert{}, err
	}
	a := alert{term: word}
	for name, field := range alertFields {
		if strings.EqualFold(name, word.Field) {
			a.field, a.term.Field = field, name
		}
	}
	switch {
	case a.field.units == nil:
		return alert{}, word.BadField("use one of " + strings.Join(alertFieldNames(), ", "))
	case word.Operator == inventory.ContainsOne:
		return alert{}, word.BadOperator("use one of > >= < <= == !=")
	}
	if a.wanted, a.unit, err = word.Quantity(a.field.units); err != nil {
		return alert{}, err
	}
	return a, nil
}

// alertResult is how an alert stands.
type alertResult struct {
	// met says what meets the alert, a line each.
	met []string
	// known is the number of devices with a value; unknown are the devices without.
	known   int
	unknown []v1alpha1.DeviceID
}

func (a *alert) check(devices []v1alpha1.Device, readings backend.Readings) alertResult {
	if a.field.count != nil {
		return a.checkCount(devices)
	}
	var result alertResult
	for i := range devices {
		d := &devices[i]
		value, ok := a.field.value(d, readings[d.ID], a.unit)
		if !ok {
			result.unknown = append(result.unknown, d.ID)
			continue
		}
		result.known++
		if a.term.Operator.Holds(cmp.Compare(value, a.wanted)) {
			result.met = append(result.met, fmt.Sprintf("%s has %s", d.ID, a.field.show(value, a.unit)))
		}
	}
	return result
}

func (a *alert) checkCount(devices []v1alpha1.Device) alertResult {
	count := a.field.count(devices)
	if !a.term.Operator.Holds(cmp.Compare(float64(count), a.wanted)) {
		return alertResult{}
	}
	met := []string{fmt.Sprintf("%s %s", words.Counted(count, "device"), a.field.counted)}
	for _, d := range inventory.Pick(devices, inventory.Not(inventory.ByHealth(v1alpha1.Healthy))) {
		met = append(met, strings.TrimSpace(fmt.Sprintf("%s is %s %s", d.ID, d.Health.State, d.Health.Reason)))
	}
	return alertResult{met: met}
}

func countHealthy(devices []v1alpha1.Device) int {
	return len(inventory.Pick(devices, inventory.ByHealth(v1alpha1.Healthy)))
}

func memoryUsed(d *v1alpha1.Device, r backend.Reading, unit string) (float64, bool) {
	if r.MemoryUsedMiB == nil {
		return 0, false
	}
	used := float64(*r.MemoryUsedMiB)
	if unit != percent {
		return used * (1 << 20), true
	}
	if d.Memory == nil || d.Memory.TotalMiB <= 0 {
		return 0, false
	}
	return used * 100 / float64(d.Memory.TotalMiB), true
}

func temperature(_ *v1alpha1.Device, r backend.Reading, _ string) (float64, bool) {
	return thousandths(r.TemperatureMilliC)
}

func power(_ *v1alpha1.Device, r backend.Reading, _ string) (float64, bool) {
	return thousandths(r.PowerMilliW)
}

func utilization(_ *v1alpha1.Device, r backend.Reading, _ string) (float64, bool) {
	if r.UtilizationPercent == nil {
		return 0, false
	}
	return float64(*r.UtilizationPercent), true
}

func thousandths(n *int64) (float64, bool) {
	if n == nil {
		return 0, false
	}
	return float64(*n) / 1000, true
}

func showMemory(value float64, unit string) string {
	if unit == percent {
		return fmt.Sprintf("%.1f%%", value)
	}
	return words.HumanBytes(int64(value))
}

func showAs(layout string) func(float64, string) string {
	return func(value float64, _ string) string { return fmt.Sprintf(layout, value) }
}

func withPercent(units map[string]float64) map[string]float64 {
	all := maps.Clone(units)
	all[percent] = 1
	return all
}
