package verification

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// Reasons of the condition Verified, beside the reasons of findings.
const (
	ReasonAllGroupsVerified = "AllGroupsVerified"
	ReasonPending           = "Pending"
	ReasonPodsMissing       = "PodsMissing"
)

// maxFindings bounds the findings in the status of a mesh; the message has their number.
const maxFindings = 32

// State is what is known of the verification of one pod of a mesh.
type State struct {
	// Copy of the pod, and its place in the mesh.
	Copy int32
	End  v1alpha1.MeshEnd
	// Report is what the pod said; nil where it said nothing, or nothing that can be read.
	Report *Report
	// Invalid is why the message of the pod cannot be read; empty where it can, or there is none.
	Invalid string
	// Waits is why a pod said nothing, for people.
	Waits string
}

// Verdict is what all pods together say of a mesh.
type Verdict struct {
	Status   metav1.ConditionStatus
	Reason   string
	Message  string
	Findings []v1alpha1.VerificationFinding
	Verified []v1alpha1.VerifiedBandwidth
}

// Judge joins what the pods of a mesh, in order of index, have said. With expired there is no more time: pods that said
// nothing are missing. A pod is believed what it says of itself and of its own links, and no more.
func Judge(pods []State, expired bool) Verdict {
	c := &court{pods: map[int32]*State{}}
	var silent []*State
	for i := range pods {
		p := &pods[i]
		c.pods[p.End.Index] = p
		if p.Report == nil && p.Invalid == "" {
			silent = append(silent, p)
		}
	}
	if len(silent) > 0 && !expired {
		return pending(pods, silent)
	}
	c.missing(silent)
	c.lonely(pods)
	for i := range pods {
		c.hear(&pods[i])
	}
	c.findings = slices.DeleteFunc(slices.Clone(c.findings), c.explained)
	slices.SortStableFunc(c.findings, func(a, b v1alpha1.VerificationFinding) int {
		return cmp.Compare(slices.Index(severity, a.Reason), slices.Index(severity, b.Reason))
	})
	return c.verdict(pods)
}

func pending(pods []State, silent []*State) Verdict {
	text := fmt.Sprintf("%d of %d pods have verified their part; waiting for %s", len(pods)-len(silent), len(pods), describe(&silent[0].End))
	if silent[0].Waits != "" {
		text += " (" + silent[0].Waits + ")"
	}
	if others := len(silent) - 1; others > 0 {
		text += fmt.Sprintf(" and %s more", words.Counted(others, "pod"))
	}
	return Verdict{Status: metav1.ConditionUnknown, Reason: ReasonPending, Message: text + "."}
}

// court joins the findings.
type court struct {
	pods     map[int32]*State
	findings []v1alpha1.VerificationFinding
	// gone are pods that are missing or that nobody reaches: they explain what others say of links to them.
	gone map[int32]bool
}

func (c *court) missing(silent []*State) {
	c.gone = map[int32]bool{}
	for _, p := range silent {
		c.gone[p.End.Index] = true
		c.find(v1alpha1.FindingPodMissing, p, nil, &Finding{Text: "it said nothing until the deadline" + prefixed(p.Waits)})
	}
}

// lonely finds the pods that no other pod of the copy reaches, by the reports of all others that were heard.
func (c *court) lonely(pods []State) {
	witnesses, heard := map[int32]int{}, map[int32]int{}
	for i := range pods {
		r := pods[i].Report
		if r == nil || r.Outcome == Concluded {
			continue
		}
		heard[pods[i].Copy]++
		said := map[int32]bool{}
		for k := range r.Findings {
			if peer := c.peer(&pods[i], &r.Findings[k]); peer != nil && r.Findings[k].Reason == v1alpha1.FindingLinkBroken && len(r.Findings[k].Ranks) == 0 && !said[peer.End.Index] {
				said[peer.End.Index] = true
				witnesses[peer.End.Index]++
			}
		}
	}
	for i := range pods {
		p := &pods[i]
		others := heard[p.Copy]
		if p.Report != nil && p.Report.Outcome != Concluded {
			others--
		}
		const fewest = 2
		if n := witnesses[p.End.Index]; n >= fewest && n == others && !c.gone[p.End.Index] {
			c.gone[p.End.Index] = true
			c.find(v1alpha1.FindingPodUnreachable, p, nil, &Finding{Text: fmt.Sprintf("none of %d other pods reaches it", n)})
		}
	}
}

// peer is the pod at the other end of a link that a finding names; nil where it names none of the copy's.
func (c *court) peer(p *State, f *Finding) *State {
	if f.Peer == nil {
		return nil
	}
	if peer := c.pods[*f.Peer]; peer != nil && peer.Copy == p.Copy {
		return peer
	}
	return nil
}

// hear takes what one pod says.
func (c *court) hear(p *State) {
	if p.Invalid != "" {
		c.find(v1alpha1.FindingReportInvalid, p, nil, &Finding{Text: p.Invalid})
		return
	}
	if p.Report == nil {
		return
	}
	for i := range p.Report.Findings {
		f := &p.Report.Findings[i]
		peer := c.peer(p, f)
		switch {
		case f.Peer != nil && peer == nil:
			c.find(v1alpha1.FindingReportInvalid, p, nil, &Finding{Text: fmt.Sprintf("it speaks of a link to pod %d, which its copy does not have", *f.Peer)})
		case peer != nil && (c.gone[peer.End.Index] || c.gone[p.End.Index]) && f.Reason == v1alpha1.FindingLinkBroken:
		case peer != nil && f.Reason == v1alpha1.FindingResultWrong:
			c.find(f.Reason, peer, p, f) // the pod that reports wrong bytes is their receiver
		default:
			c.find(f.Reason, p, peer, f)
		}
	}
}

// explained says whether a finding of a group is nothing but what follows from another one of its copy: groups fail where a
// pod or a link does, and have wrong results where a link delivers them.
func (c *court) explained(f v1alpha1.VerificationFinding) bool {
	if f.Peer != nil || f.Reason != v1alpha1.FindingGroupFailed && f.Reason != v1alpha1.FindingResultWrong {
		return false
	}
	return slices.ContainsFunc(c.findings, func(o v1alpha1.VerificationFinding) bool {
		if o.Replica != f.Replica || f.Reason == v1alpha1.FindingResultWrong && o.Peer == nil {
			return false
		}
		return o.Reason != v1alpha1.FindingGroupFailed && (f.Reason == v1alpha1.FindingGroupFailed || o.Reason == f.Reason)
	})
}

// find notes a finding: of a broken link once for both ends, of other links once for each direction.
func (c *court) find(reason v1alpha1.FindingReason, p, peer *State, f *Finding) {
	more := f.Text
	if len(f.Ranks) > 0 {
		more = betweenDevices(p, peer, f)
	}
	made := v1alpha1.VerificationFinding{Reason: reason, Replica: p.Copy, Pod: p.End, Group: f.Kind, MBps: f.MBps, ExpectedMBps: f.Expected}
	if peer != nil {
		made.Peer = new(peer.End)
	}
	const most = 512
	made.Message = words.Shorten(sentence(&made, more), most)
	same := func(o v1alpha1.VerificationFinding) bool {
		switch {
		case len(f.Ranks) > 0:
			return o.Message == made.Message
		case o.Reason != reason || (o.Peer == nil) != (peer == nil):
			return false
		case peer == nil:
			return o.Pod.Index == p.End.Index || reason == v1alpha1.FindingGroupFailed && o.Group == f.Kind && o.Replica == p.Copy
		case reason == v1alpha1.FindingLinkBroken:
			return pairOf(int(o.Pod.Index), int(o.Peer.Index)) == pairOf(int(p.End.Index), int(peer.End.Index))
		default:
			return o.Pod.Index == p.End.Index && o.Peer.Index == peer.End.Index
		}
	}
	if slices.ContainsFunc(c.findings, same) {
		return
	}
	c.findings = append(c.findings, made)
}

// sentences say what a reason means: of a pod alone, and of a link.
var sentences = map[v1alpha1.FindingReason][2]string{
	v1alpha1.FindingPodMissing:     {"%s is missing", ""},
	v1alpha1.FindingPodUnreachable: {"%s is not reached", ""},
	v1alpha1.FindingReportInvalid:  {"%s gives no report that can be read", ""},
	v1alpha1.FindingResultWrong:    {"%s has a wrong result", "%s sends and %s receives other bytes"},
	v1alpha1.FindingLinkBroken:     {"%s has a broken link", "the link of %s and %s is broken"},
	v1alpha1.FindingLinkSlow:       {"%s has a slow link", "the link from %s to %s is slow"},
	v1alpha1.FindingGroupFailed:    {"a group of %s failed", ""},
}

func sentence(f *v1alpha1.VerificationFinding, more string) string {
	forms := sentences[f.Reason]
	text := fmt.Sprintf(forms[0], describe(&f.Pod))
	if f.Peer != nil && forms[1] != "" {
		text = fmt.Sprintf(forms[1], describe(&f.Pod), describe(f.Peer))
	}
	return text + detail(f.Group, f.MBps, f.ExpectedMBps, strings.Map(printable, more))
}

// printable replaces what would spoil a terminal.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// describe names a pod's place.
func describe(e *v1alpha1.MeshEnd) string {
	name := e.Name
	if name == "" {
		name = fmt.Sprintf("%d", e.Index)
	}
	text := fmt.Sprintf("pod %s (node %s, ", name, e.Node)
	if len(e.Devices) < 2 {
		text += fmt.Sprintf("rank %d", e.FirstRank)
	} else {
		text += fmt.Sprintf("%d ranks from %d", len(e.Devices), e.FirstRank)
	}
	if len(e.Devices) > 0 {
		text += fmt.Sprintf(", %s", e.Devices[0])
	}
	if len(e.Devices) > 1 {
		text += " …"
	}
	return text + ")"
}

func (c *court) verdict(pods []State) Verdict {
	v := Verdict{Status: metav1.ConditionTrue, Reason: ReasonAllGroupsVerified, Verified: bandwidths(pods)}
	failed := slices.ContainsFunc(pods, func(p State) bool { return p.Report != nil && p.Report.Outcome == Failed })
	if len(c.findings) == 0 && failed {
		// Pods say that something is wrong and none says what only where one left its own findings out.
		v.Status, v.Reason, v.Message = metav1.ConditionFalse, string(v1alpha1.FindingGroupFailed), "Pods say that verification failed, and none says why."
		return v
	}
	if len(c.findings) == 0 {
		v.Message = fmt.Sprintf("%s verified all groups over the network.", words.Counted(len(pods), "pod"))
		return v
	}
	v.Status, v.Reason = metav1.ConditionFalse, string(c.findings[0].Reason)
	if c.findings[0].Reason == v1alpha1.FindingPodMissing {
		v.Reason = ReasonPodsMissing
	}
	v.Message = fmt.Sprintf("%s: %s.", words.Counted(len(c.findings), "finding"), c.findings[0].Message)
	v.Findings = c.findings[:min(len(c.findings), maxFindings)]
	return v
}

// bandwidths lists, for each kind of group, what its slowest group moved.
func bandwidths(pods []State) []v1alpha1.VerifiedBandwidth {
	var all []v1alpha1.VerifiedBandwidth
	at := map[string]int{}
	for i := range pods {
		if pods[i].Report == nil {
			continue
		}
		for _, k := range pods[i].Report.Kinds {
			n, known := at[k.Kind]
			if !known {
				n = len(all)
				at[k.Kind], all = n, append(all, v1alpha1.VerifiedBandwidth{Group: k.Kind})
			}
			b := &all[n]
			b.MBps, b.PlannedMBps = least(b.MBps, k.MBps), least(b.PlannedMBps, k.Planned)
			b.LatencyMicros = max(b.LatencyMicros, k.Micros)
		}
	}
	const most = 64
	return all[:min(len(all), most)]
}

// least returns the smaller of two rates, where 0 stands for a rate that is not known.
func least(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
