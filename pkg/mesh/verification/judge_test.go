package verification

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// sixStates are six pods of a rank each that have said nothing.
func sixStates() []State {
	pods := make([]State, 6)
	for i := range pods {
		pods[i] = State{End: v1alpha1.MeshEnd{
			Index: int32(i), Name: fmt.Sprintf("llm-%d", i), Node: fmt.Sprintf("n%d", i%3), FirstRank: int32(i), Devices: []v1alpha1.DeviceID{"nvidia-0000:00:00.0"},
		}}
	}
	return pods
}

// verified are six pods that found nothing wrong.
func verifiedStates() []State {
	pods := sixStates()
	for i := range pods {
		pods[i].Report = &Report{
			Version: 1, Plan: "llm-1", Pod: int32(i), Outcome: Verified,
			Kinds: []Measured{{Kind: "world", Groups: 1, MBps: int64(900 + i), Micros: int64(100 + i)}},
		}
	}
	return pods
}

// say makes a pod find something.
func say(pods []State, pod int, reason v1alpha1.FindingReason, other int32) {
	f := Finding{Reason: reason, Peer: peer(other)}
	if reason == v1alpha1.FindingLinkSlow {
		f.MBps, f.Expected = 10, 900
	}
	pods[pod].Report.Outcome = Failed
	pods[pod].Report.Findings = append(pods[pod].Report.Findings, f)
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name    string
		change  func(pods []State)
		expired bool
		status  metav1.ConditionStatus
		reason  string
		// findings are reason, pod and peer.
		findings string
		message  string
	}{
		{
			name: "all is well", change: func([]State) {}, status: metav1.ConditionTrue, reason: ReasonAllGroupsVerified,
			message: "6 pods verified all groups over the network.",
		},
		{
			name: "pods are awaited", change: func(pods []State) {
				pods[2].Report, pods[2].Waits, pods[3].Report = nil, "it is not scheduled", nil
			},
			status: metav1.ConditionUnknown, reason: ReasonPending,
			message: "4 of 6 pods have verified their part; waiting for pod llm-2 (node n2, rank 2, nvidia-0000:00:00.0) (it is not scheduled) and 1 pod more.",
		},
		{
			name: "a pod never came", expired: true, change: func(pods []State) {
				pods[3].Report, pods[3].End.Name, pods[3].Waits = nil, "", "there is no such pod"
				for _, pod := range []int{0, 1, 2, 4, 5} {
					say(pods, pod, v1alpha1.FindingLinkBroken, 3)
				}
			},
			status: metav1.ConditionFalse, reason: ReasonPodsMissing, findings: "PodMissing 3",
			message: "1 finding: pod 3 (node n0, rank 3, nvidia-0000:00:00.0) is missing: it said nothing until the deadline: there is no such pod.",
		},
		{
			name: "a link is broken, and both ends say so", change: func(pods []State) {
				say(pods, 1, v1alpha1.FindingLinkBroken, 2)
				say(pods, 2, v1alpha1.FindingLinkBroken, 1)
				pods[4].Report.Outcome, pods[4].Report.Findings = Failed, []Finding{{Reason: v1alpha1.FindingGroupFailed, Kind: "world"}}
			},
			status: metav1.ConditionFalse, reason: "LinkBroken", findings: "LinkBroken 1-2",
			message: "1 finding: the link of pod llm-1 (node n1, rank 1, nvidia-0000:00:00.0) and pod llm-2 (node n2, rank 2, nvidia-0000:00:00.0) is broken.",
		},
		{
			name: "a pod says what nobody reaches", change: func(pods []State) {
				for _, pod := range []int{0, 1, 2, 3, 5} {
					say(pods, pod, v1alpha1.FindingLinkBroken, 4)
					say(pods, 4, v1alpha1.FindingLinkBroken, int32(pod))
				}
			},
			status: metav1.ConditionFalse, reason: "PodUnreachable", findings: "PodUnreachable 4",
		},
		{
			name: "a link is slow one way", change: func(pods []State) { say(pods, 4, v1alpha1.FindingLinkSlow, 1) },
			status: metav1.ConditionFalse, reason: "LinkSlow", findings: "LinkSlow 4-1",
			message: "1 finding: the link from pod llm-4 (node n1, rank 4, nvidia-0000:00:00.0) to pod llm-1 (node n1, rank 1, nvidia-0000:00:00.0) is slow: 0.010 of 0.90 GB/s.",
		},
		{
			name: "wrong bytes come from the other end", change: func(pods []State) {
				say(pods, 5, v1alpha1.FindingLinkSlow, 0)
				say(pods, 5, v1alpha1.FindingResultWrong, 2)
				pods[0].Report.Outcome, pods[0].Report.Findings = Failed, []Finding{{Reason: v1alpha1.FindingResultWrong, Kind: "tp"}}
			},
			status: metav1.ConditionFalse, reason: "ResultWrong", findings: "ResultWrong 2-5, LinkSlow 5-0",
		},
		{
			name: "a report cannot be read", change: func(pods []State) { pods[0].Report, pods[0].Invalid = nil, "report: EOF" },
			status: metav1.ConditionFalse, reason: "ReportInvalid", findings: "ReportInvalid 0",
		},
		{
			name: "a pod speaks of one that its copy does not have", change: func(pods []State) { say(pods, 0, v1alpha1.FindingLinkSlow, 17) },
			status: metav1.ConditionFalse, reason: "ReportInvalid", findings: "ReportInvalid 0",
		},
		{
			name: "a group failed on all, and no link did", change: func(pods []State) {
				for i := range pods {
					pods[i].Report.Outcome, pods[i].Report.Findings = Failed, []Finding{{Reason: v1alpha1.FindingGroupFailed, Kind: "world", Text: "\x1b[31mtimeout"}}
				}
			},
			status: metav1.ConditionFalse, reason: "GroupFailed", findings: "GroupFailed 0",
			message: "1 finding: a group of pod llm-0 (node n0, rank 0, nvidia-0000:00:00.0) failed in world:  [31mtimeout.",
		},
		{
			name: "nobody says what failed", change: func(pods []State) { pods[0].Report.Outcome = Failed },
			status: metav1.ConditionFalse, reason: "GroupFailed", message: "Pods say that verification failed, and none says why.",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			pods := verifiedStates()
			tc.change(pods)
			v := Judge(pods, tc.expired)
			var found []string
			for _, f := range v.Findings {
				text := fmt.Sprintf("%s %d", f.Reason, f.Pod.Index)
				if f.Peer != nil {
					text += fmt.Sprintf("-%d", f.Peer.Index)
				}
				found = append(found, text)
			}
			if v.Status != tc.status || v.Reason != tc.reason || strings.Join(found, ", ") != tc.findings {
				t.Errorf("%s %s, findings %q; want %s %s, %q", v.Status, v.Reason, strings.Join(found, ", "), tc.status, tc.reason, tc.findings)
			}
			if tc.message != "" {
				if diff := cmp.Diff(tc.message, v.Message); diff != "" {
					t.Errorf("message (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestBandwidthIsThatOfTheSlowest(t *testing.T) {
	pods := verifiedStates()
	pods[2].Report.Kinds[0].Planned = 5000
	pods[3].Report.Kinds = append(pods[3].Report.Kinds, Measured{Kind: "tp", Inside: 1})
	want := []v1alpha1.VerifiedBandwidth{{Group: "world", MBps: 900, PlannedMBps: 5000, LatencyMicros: 105}, {Group: "tp"}}
	if diff := cmp.Diff(want, Judge(pods, false).Verified); diff != "" {
		t.Errorf("bandwidth (-want +got):\n%s", diff)
	}
}

// Pods are not judged by what another pod says of them.
func TestAPodSpeaksForItself(t *testing.T) {
	pods := verifiedStates()
	for other := range int32(5) {
		say(pods, 5, v1alpha1.FindingLinkBroken, other)
	}
	for _, f := range Judge(pods, true).Findings {
		if f.Reason == v1alpha1.FindingPodUnreachable || f.Pod.Index != 5 {
			t.Errorf("finding %s of pod %d: pod 5 alone said so", f.Reason, f.Pod.Index)
		}
	}
}

// Devices that do not reach the devices of a pod prove nothing about the pods' network: every broken pair of devices is reported,
// and no pod is unreachable.
func TestJudgeOfLinksBetweenDevices(t *testing.T) {
	pods := verifiedStates()
	for _, pod := range []int{0, 1, 3, 4, 5} {
		say(pods, pod, v1alpha1.FindingLinkBroken, 2)
		found := &pods[pod].Report.Findings[0]
		found.Ranks, found.Text = []int32{int32(pod), 2}, "NCCL over InfiniBand"
	}
	verdict := Judge(pods, true)
	if verdict.Reason != string(v1alpha1.FindingLinkBroken) || len(verdict.Findings) != 5 {
		t.Fatalf("%s, %d findings: %s", verdict.Reason, len(verdict.Findings), verdict.Message)
	}
	want := "the link of pod llm-5 (node n2, rank 5, nvidia-0000:00:00.0) and pod llm-2 (node n2, rank 2, nvidia-0000:00:00.0) is broken: " +
		"NCCL over InfiniBand: from nvidia-0000:00:00.0 (rank 5) to nvidia-0000:00:00.0 (rank 2)"
	if got := verdict.Findings[4].Message; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
