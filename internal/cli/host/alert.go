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
	value func(d liveDevice, unit string) (float64, bool)
	show  func(value float64, unit string) string
	// count is of all devices together, instead of a value of each; counted are the words for it.
	count   func([]liveDevice) int
	counted string
}

const percent = "%"

var alertFields = map[string]alertField{
	"memoryUsed": {units: withPercent(inventory.MemoryUnits), value: memoryUsed, show: showMemory},
	"temperature": {
		units: map[string]float64{"": 1, "C": 1}, show: showAs("%.1f C"),
		value: measured(1e3, func(r *backend.Reading) *int64 { return r.TemperatureMilliC }),
	},
	"power": {
		units: map[string]float64{"": 1, "W": 1}, show: showAs("%.1f W"),
		value: measured(1e3, func(r *backend.Reading) *int64 { return r.PowerMilliW }),
	},
	"utilization": {
		units: map[string]float64{"": 1, percent: 1}, show: showAs("%.0f%%"),
		value: measured(1, func(r *backend.Reading) *int64 { return r.UtilizationPercent }),
	},
	"devices": {units: map[string]float64{"": 1}, count: func(devices []liveDevice) int { return len(devices) }, counted: "there"},
	"healthy": {units: map[string]float64{"": 1}, count: countHealthy, counted: "healthy"},
}

func alertFieldNames() []string { return slices.Sorted(maps.Keys(alertFields)) }

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

func (a *alert) check(devices []liveDevice) alertResult {
	if a.field.count != nil {
		return a.checkCount(devices)
	}
	var result alertResult
	for _, d := range devices {
		value, ok := a.field.value(d, a.unit)
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

func (a *alert) checkCount(devices []liveDevice) alertResult {
	count := a.field.count(devices)
	if !a.term.Operator.Holds(cmp.Compare(float64(count), a.wanted)) {
		return alertResult{}
	}
	met := []string{fmt.Sprintf("%s %s", words.Counted(count, "device"), a.field.counted)}
	for _, d := range devices {
		if d.Health.State != v1alpha1.Healthy {
			met = append(met, strings.TrimSpace(fmt.Sprintf("%s is %s %s", d.ID, d.Health.State, d.Health.Reason)))
		}
	}
	return alertResult{met: met}
}

func countHealthy(devices []liveDevice) int {
	healthy := 0
	for _, d := range devices {
		if d.Health.State == v1alpha1.Healthy {
			healthy++
		}
	}
	return healthy
}

func memoryUsed(d liveDevice, unit string) (float64, bool) {
	switch used := d.Readings.MemoryUsedMiB; {
	case used == nil, unit == percent && (d.Memory == nil || d.Memory.TotalMiB <= 0):
		return 0, false
	case unit == percent:
		return float64(*used) * 100 / float64(d.Memory.TotalMiB), true
	default:
		return float64(*used) * (1 << 20), true
	}
}

// measured is the value of a reading in the unit that so many of the reading's make.
func measured(perUnit float64, reading func(*backend.Reading) *int64) func(liveDevice, string) (float64, bool) {
	return func(d liveDevice, _ string) (float64, bool) {
		n := reading(&d.Readings)
		if n == nil {
			return 0, false
		}
		return float64(*n) / perUnit, true
	}
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
