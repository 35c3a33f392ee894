package verification

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/strict"
	"github.com/rankwright/rankwright/internal/words"
)

// maxMessage is how much of a container's termination message the kubelet keeps (k8s.io/kubernetes, pkg/kubelet/container,
// MaxContainerTerminationMessageLength).
const maxMessage = 4096

// Outcome is how a pod's verification ended.
type Outcome string

// The outcomes.
const (
	// Verified says that nothing is wrong with the copy.
	Verified Outcome = "Verified"
	// Failed says that something is wrong with the copy. The findings say what, as far as this pod has seen it.
	Failed Outcome = "Failed"
	// Concluded says that the mesh was verified before this pod came.
	Concluded Outcome = "Concluded"
)

// Report is what one pod has seen. It speaks of nobody but itself and its links.
type Report struct {
	Version int     `json:"v"`
	Plan    string  `json:"plan"`
	Copy    int32   `json:"copy"`
	Pod     int32   `json:"pod"`
	Outcome Outcome `json:"outcome"`
	// Library is the name of the library that was used between devices; empty where none was used.
	Library string `json:"lib,omitempty"`
	// Kinds are the groups that the pod has ranks in.
	Kinds []Measured `json:"groups,omitempty"`
	// Findings are what is wrong, worst first; More is how many did not fit.
	Findings []Finding `json:"findings,omitempty"`
	More     int       `json:"more,omitempty"`
}

// Measured is what a pod measured of its groups of a kind.
type Measured struct {
	Kind string `json:"kind"`
	// Groups counts the pod's groups with ranks in other pods too, and Inside its groups without.
	Groups int `json:"n,omitempty"`
	Inside int `json:"inside,omitempty"`
	// MBps is the bus bandwidth of the slowest group in MB/s, and Micros the time of the smallest all-reduce.
	MBps   int64 `json:"mbps,omitempty"`
	Micros int64 `json:"us,omitempty"`
	// Planned is what the plan assumes of the slowest pod in MB/s; 0 where that cannot be compared.
	Planned int64 `json:"planned,omitempty"`
	// DeviceMBps is the bus bandwidth of the slowest group between devices in MB/s; 0 where that was not measured.
	DeviceMBps int64 `json:"dev,omitempty"`
}

// Finding is something wrong that a pod has seen.
type Finding struct {
	Reason v1alpha1.FindingReason `json:"reason"`
	// Peer is the index of the pod at the other end of a link; absent where no link is to blame.
	Peer *int32 `json:"peer,omitempty"`
	// Ranks are the two ranks whose devices the link joins, the sender first; absent where the pods' network is meant.
	Ranks []int32 `json:"ranks,omitempty"`
	// Kind names the kind of groups in which it showed.
	Kind string `json:"kind,omitempty"`
	// MBps is the rate that was measured, and Expected the rate that was expected, in MB/s.
	MBps     int64 `json:"mbps,omitempty"`
	Expected int64 `json:"expected,omitempty"`
	// Text is what else there is to say.
	Text string `json:"text,omitempty"`
}

// severity orders findings, worst first.
var severity = []v1alpha1.FindingReason{
	v1alpha1.FindingPodMissing, v1alpha1.FindingPodUnreachable, v1alpha1.FindingReportInvalid, v1alpha1.FindingResultWrong,
	v1alpha1.FindingLinkBroken, v1alpha1.FindingLinkSlow, v1alpha1.FindingGroupFailed,
}

// reportable are the reasons that a pod may give; the other reasons follow from the reports of all pods.
var reportable = severity[3:]

// maxText bounds the text of a finding in bytes.
const maxText = 200

// Message returns the report in at most maxMessage bytes. What does not fit is left out from the end, and counted.
func (r *Report) Message() ([]byte, error) {
	m := *r
	m.Findings = slices.Clone(r.Findings)
	for i := range m.Findings {
		m.Findings[i].Text = words.Shorten(m.Findings[i].Text, maxText)
	}
	for {
		text, err := json.Marshal(&m)
		if err != nil {
			return nil, fmt.Errorf("write report: %w", err)
		}
		switch {
		case len(text) <= maxMessage:
			return text, nil
		case len(m.Findings) > 0:
			m.Findings = m.Findings[:len(m.Findings)-1]
			m.More++
		case len(m.Kinds) > 0:
			m.Kinds = m.Kinds[:len(m.Kinds)-1]
		default:
			return nil, fmt.Errorf("write report: the name of plan %q leaves no room for it", words.Echo(m.Plan))
		}
	}
}

// ParseReport reads the termination message of a pod, which anybody may have written who can write pods.
func ParseReport(message string) (*Report, error) {
	if len(message) > maxMessage {
		return nil, fmt.Errorf("report has %d bytes: at most %d are possible", len(message), maxMessage)
	}
	r, err := strict.JSON[Report]([]byte(message))
	if err != nil {
		return nil, fmt.Errorf("report: %s", words.Echo(err.Error()))
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return r, nil
}

func (r *Report) check() error {
	switch {
	case r.Version != version:
		return fmt.Errorf("version is %d: this operator reads %d", r.Version, version)
	case r.Outcome != Verified && r.Outcome != Failed && r.Outcome != Concluded:
		return fmt.Errorf("outcome %q is unknown", words.Echo(string(r.Outcome)))
	case r.Pod < 0 || r.Copy < 0 || r.More < 0:
		return errors.New("pod, copy and more must be 0 or more")
	case r.Library != "" && !isName(r.Library):
		return fmt.Errorf("library %q has more than %d bytes", words.Echo(r.Library), maxName)
	case r.Outcome != Failed && len(r.Findings) > 0:
		return fmt.Errorf("outcome is %s with findings", r.Outcome)
	}
	seen := map[string]bool{}
	for i := range r.Kinds {
		k := &r.Kinds[i]
		if !isName(k.Kind) || seen[k.Kind] || k.Groups < 0 || k.Inside < 0 || k.MBps < 0 || k.Micros < 0 || k.Planned < 0 || k.DeviceMBps < 0 {
			return fmt.Errorf("groups[%d] %q has an empty, long or repeated name, or a number below 0", i, words.Echo(k.Kind))
		}
		seen[k.Kind] = true
	}
	for i := range r.Findings {
		if err := r.Findings[i].check(r.Pod); err != nil {
			return fmt.Errorf("findings[%d]: %w", i, err)
		}
	}
	return nil
}

func (f *Finding) check(pod int32) error {
	switch {
	case !slices.Contains(reportable, f.Reason):
		return fmt.Errorf("reason %q is not one that a pod gives", words.Echo(string(f.Reason)))
	case f.Peer != nil && (*f.Peer < 0 || *f.Peer == pod):
		return fmt.Errorf("peer is %d: it must be another pod", *f.Peer)
	case len(f.Ranks) != 0 && (len(f.Ranks) != 2 || f.Ranks[0] < 0 || f.Ranks[1] < 0 || f.Ranks[0] == f.Ranks[1]):
		return fmt.Errorf("ranks are %v: give the two at the ends of a link", f.Ranks)
	case f.Kind != "" && !isName(f.Kind):
		return fmt.Errorf("kind %q has more than %d bytes", words.Echo(f.Kind), maxName)
	case f.MBps < 0 || f.Expected < 0:
		return errors.New("mbps and expected must be 0 or more")
	case len(f.Text) > maxText || !utf8.ValidString(f.Text):
		return fmt.Errorf("text has more than %d bytes, or is not UTF-8", maxText)
	}
	return nil
}

// maxName bounds the names of groups as the API does.
const maxName = 64

func isName(text string) bool { return text != "" && len(text) <= maxName && utf8.ValidString(text) }
