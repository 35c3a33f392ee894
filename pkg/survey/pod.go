package survey

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Pod is a pod that was to be given devices in one of the ways that a cluster has, and asked the vendor's own tool what it
// got.
type Pod struct {
	// Name says vendor and way, such as nvidia-plugin.
	Name string
	// Asked is what the pod asked for, such as `nvidia.com/gpu=1`; Expected is the number of devices that it should see, 0 for all of
	// the vendor that the host has.
	Asked    string
	Expected int
	// Phase is the phase of the pod, Reason why it did not come to its end.
	Phase, Reason string
	// Output is what the pod printed.
	Output string
}

// vendor returns the vendor whose devices the pod was to get.
func (p *Pod) vendor() string {
	vendor, _, _ := strings.Cut(p.Name, "-")
	return vendor
}

// The phases that decide something.
const (
	succeeded = "Succeeded"
	pending   = "Pending"
)

// maxOutput caps what is kept of a pod's output, in bytes.
const maxOutput = 64 << 10

// note writes the pod as lines of `key: value`, an empty line, and the output.
func (p *Pod) note() string {
	output := p.Output
	if len(output) > maxOutput {
		output = strings.ToValidUTF8(output[len(output)-maxOutput:], "")
	}
	return fmt.Sprintf("asked: %s\nexpected: %d\nphase: %s\nreason: %s\n\n%s", p.Asked, p.Expected, p.Phase, oneLine(p.Reason), output)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func parsePod(name, note string) (Pod, error) {
	head, output, _ := strings.Cut(note, "\n\n")
	pod := Pod{Name: name, Output: output}
	var expected string
	fields := map[string]*string{"asked": &pod.Asked, "expected": &expected, "phase": &pod.Phase, "reason": &pod.Reason}
	for key, value := range host.Pairs(head, ":") {
		if field, ok := fields[key]; ok {
			*field = value
		}
	}
	var err error
	if pod.Expected, err = strconv.Atoi(expected); err != nil {
		return Pod{}, fmt.Errorf("expected: %q is no number of devices", expected)
	}
	return pod, nil
}

// countLine is the line in which a pod says what it counted.
var countLine = regexp.MustCompile(`(?m)^devices=(\d+) memoryMiB=(\d+)\s*$`)

// count is how many devices the vendor's tool listed in the pod, and their memory together in MiB; ok is false where the
// pod did not say.
func (p *Pod) count() (devices int, memoryMiB int64, ok bool) {
	match := countLine.FindStringSubmatch(p.Output)
	if match == nil {
		return 0, 0, false
	}
	devices, deviceErr := strconv.Atoi(match[1])
	memoryMiB, memoryErr := strconv.ParseInt(match[2], 10, 64)
	return devices, memoryMiB, deviceErr == nil && memoryErr == nil
}
