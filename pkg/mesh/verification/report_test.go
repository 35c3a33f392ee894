package verification

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func peer(index int32) *int32 { return &index }

func sampleReport() *Report {
	return &Report{
		Version: 1, Plan: "llm-1", Pod: 1, Outcome: Failed,
		Kinds: []Measured{{Kind: "world", Groups: 1, MBps: 940, Micros: 310, Planned: 3125}, {Kind: "tp", Inside: 1}},
		Findings: []Finding{
			{Reason: v1alpha1.FindingLinkBroken, Peer: peer(2), Text: "connect: dial tcp 10.0.0.2:28765: i/o timeout"},
			{Reason: v1alpha1.FindingLinkSlow, Peer: peer(3), MBps: 12, Expected: 1100},
		},
	}
}

func TestMessageIsReadAsWritten(t *testing.T) {
	want := sampleReport()
	message, err := want.Message()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseReport(string(message))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// A message has at most 4096 bytes whatever was found; the worst findings are in it, and the others counted.
func TestMessageFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &Report{Version: 1, Plan: "llm-1", Outcome: Failed}
		number := rapid.IntRange(0, 200).Draw(t, "findings")
		for i := range number {
			r.Findings = append(r.Findings, Finding{
				Reason: v1alpha1.FindingLinkBroken, Peer: peer(int32(i + 1)), Text: rapid.StringN(0, 300, 600).Draw(t, "text"),
			})
		}
		for i := range rapid.IntRange(0, 64).Draw(t, "kinds") {
			r.Kinds = append(r.Kinds, Measured{Kind: fmt.Sprintf("kind-%d", i), Groups: 1, MBps: 100, Micros: 100})
		}
		message, err := r.Message()
		if err != nil {
			t.Fatal(err)
		}
		if len(message) > maxMessage {
			t.Fatalf("the message has %d bytes", len(message))
		}
		got, err := ParseReport(string(message))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Findings)+got.More != number {
			t.Fatalf("%d findings and %d more, want %d in all", len(got.Findings), got.More, number)
		}
		for i := range got.Findings {
			if *got.Findings[i].Peer != int32(i+1) {
				t.Fatalf("finding %d is of pod %d: the first ones stay", i, *got.Findings[i].Peer)
			}
		}
	})
}

func TestMessagesThatAreRefused(t *testing.T) {
	valid, err := json.Marshal(sampleReport())
	if err != nil {
		t.Fatal(err)
	}
	for change, want := range map[[2]string]string{
		{`"v":1`, `"v":2`}:                               "version is 2",
		{`"outcome":"Failed"`, `"outcome":"Fine"`}:       `outcome "Fine" is unknown`,
		{`"outcome":"Failed"`, `"outcome":"Verified"`}:   "outcome is Verified with findings",
		{`"pod":1`, `"pod":-1`}:                          "pod, copy and more must be 0 or more",
		{`"peer":2`, `"peer":1`}:                         "peer is 1: it must be another pod",
		{`"reason":"LinkSlow"`, `"reason":"PodMissing"`}: `reason "PodMissing" is not one that a pod gives`,
		{`"mbps":12,`, `"mbps":-12,`}:                    "mbps and expected must be 0 or more",
		{`"kind":"tp"`, `"kind":"world"`}:                `groups[1] "world" has an empty, long or repeated name`,
		{`"kind":"tp"`, `"node":"n1"`}:                   `unknown field`,
		{`"kind":"tp"`, `"kind":"` + long + `"`}:         "has an empty, long or repeated name",
		{`connect: dial`, long + long + long}:            "text has more than 200 bytes",
		{`}`, `}` + strings.Repeat(" ", maxMessage)}:     "at most 4096 are possible",
		{`{"v"`, `[{"v"`}:                                "unexpected EOF",
	} {
		message := strings.Replace(string(valid), change[0], change[1], 1)
		if message == string(valid) {
			t.Fatalf("%q is not in the message %s", change[0], valid)
		}
		if _, err := ParseReport(message); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %.40q: %v, want %q", change[1], err, want)
		}
	}
	if _, err := ParseReport(string(valid) + "{}"); err == nil {
		t.Error("two objects are taken")
	}
}

var long = strings.Repeat("x", 70)

func FuzzParseReport(f *testing.F) {
	message, err := sampleReport().Message()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(message))
	f.Add(`{"v":1,"plan":"p","copy":0,"pod":0,"outcome":"Failed","findings":[{"reason":"LinkBroken","peer":9}]}`)
	f.Fuzz(func(t *testing.T, message string) {
		r, err := ParseReport(message)
		if err != nil {
			return
		}
		pods := sixStates()
		pods[0].Report = r
		v := Judge(pods, true)
		if len(v.Findings) > maxFindings || v.Message == "" || v.Reason == "" {
			t.Errorf("verdict %+v", v)
		}
		for i := range v.Findings {
			const most = 512
			if len(v.Findings[i].Message) > most {
				t.Errorf("finding %+v", v.Findings[i])
			}
		}
	})
}

func TestReportForPeople(t *testing.T) {
	task, err := ParseTask([]byte(smallTask))
	if err != nil {
		t.Fatal(err)
	}
	r := sampleReport()
	r.Pod, r.Findings[0].Peer, r.Findings[1].Peer = 0, peer(1), peer(7)
	r.Kinds[1].DeviceMBps = 381250
	const want = `Mesh default/llm, plan llm-1, copy 0, pod 0: Failed

GROUPS   BETWEEN PODS   WITHIN   BUS GB/S   PLANNED GB/S   LATENCY   DEVICES GB/S
world    1              0        0.94       3.12           310 us    -
tp       0              1        -          -              -         381.25

LinkBroken to pod 1 (node b, ranks 2-3): connect: dial tcp 10.0.0.2:28765: i/o timeout
LinkSlow to pod 7: 0.012 of 1.10 GB/s
`
	if diff := cmp.Diff(want, r.Text(task)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}
