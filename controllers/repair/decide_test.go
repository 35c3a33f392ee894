package repair

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

const job = `
template: |
  apiVersion: batch/v1
  kind: Job
  spec: {template: {spec: {nodeName: {{ quote .Node }}}}}
namespace: repairs
serviceAccountName: mender
`

func settingsOf(t testing.TB, text string) *Settings {
	t.Helper()
	s, err := ParseSettings([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	start = time.Unix(1700000000, 0)
	one   = v1alpha1.DeviceID("nvidia-0000:01:00.0")
	two   = v1alpha1.DeviceID("nvidia-0000:02:00.0")
)

func at(d time.Duration) metav1.Time { return metav1.NewTime(start.Add(d)).Rfc3339Copy() }

// sceneOf is a node with two devices, of which the first has a health, with what was said of it and its record.
func sceneOf(health v1alpha1.HealthState, said *v1alpha1.Repair, record *Record) *Scene {
	status := &v1alpha1.AcceleratorInventoryStatus{Devices: []v1alpha1.Device{
		{ID: one, Health: v1alpha1.DeviceHealth{State: health, Reason: "XID79"}}, {ID: two, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy}},
	}}
	if said != nil {
		status.Repairs = []v1alpha1.Repair{*said}
	}
	return &Scene{Node: "n1", Status: status, Budget: 1, Record: record}
}

func said(state v1alpha1.RepairState, attempts int32) *v1alpha1.Repair {
	return &v1alpha1.Repair{Device: one, State: state, Fault: "XID79", Since: at(0), Attempts: attempts}
}

func begun(change func(*Record)) *Record {
	r := &Record{Device: one, Fault: "XID79", Attempt: 1, APIVersion: "batch/v1", Kind: "Job", Object: "rankwright-x", Began: at(0)}
	if change != nil {
		change(r)
	}
	return r
}

func made(r *Record) { r.Made = "uid" }

func ended(r *Record) {
	e := at(0)
	r.Made, r.Ended = "uid", &e
}

// Each row is a step of the table in docs/operate/repair.md.
func TestDecide(t *testing.T) {
	const (
		ill  = v1alpha1.Unhealthy
		well = v1alpha1.Healthy
	)
	tests := []struct {
		name   string
		scene  *Scene
		change func(*Scene)
		after  time.Duration
		state  v1alpha1.RepairState
		says   string
		record bool
		step   Step
	}{
		{name: "nothing is wrong", scene: sceneOf(well, nil, nil)},
		{name: "degraded is not ill", scene: sceneOf(v1alpha1.Degraded, nil, nil)},
		{name: "a fault with ranks", scene: sceneOf(ill, nil, nil), change: func(s *Scene) { s.Ranked = map[v1alpha1.DeviceID]bool{one: true} }, state: v1alpha1.RepairCordoned, says: "Ranks"},
		{name: "a fault without ranks", scene: sceneOf(ill, nil, nil), state: v1alpha1.RepairVacated, says: "A repair begins at"},
		{name: "nobody knows who holds it", scene: sceneOf(ill, nil, nil), change: func(s *Scene) { s.Silent = true }, state: v1alpha1.RepairCordoned},
		{name: "ranks came back", scene: sceneOf(ill, said(v1alpha1.RepairVacated, 0), nil), change: func(s *Scene) { s.Ranked = map[v1alpha1.DeviceID]bool{one: true} }, after: time.Hour, state: v1alpha1.RepairCordoned},
		{name: "not long enough", scene: sceneOf(ill, said(v1alpha1.RepairVacated, 0), nil), after: time.Minute, state: v1alpha1.RepairVacated, says: "A repair begins at"},
		{name: "long enough", scene: sceneOf(ill, said(v1alpha1.RepairVacated, 0), nil), after: 2 * time.Minute, state: v1alpha1.Repairing, record: true},
		{name: "no budget", scene: sceneOf(ill, said(v1alpha1.RepairVacated, 0), nil), change: func(s *Scene) { s.Budget = 0 }, after: time.Hour, state: v1alpha1.RepairVacated, says: "other repairs"},
		{name: "pods hold it", scene: sceneOf(ill, said(v1alpha1.RepairVacated, 0), nil), change: func(s *Scene) { s.Held = map[v1alpha1.DeviceID]int{one: 2} }, after: time.Hour, state: v1alpha1.RepairVacated, says: "pods to end that hold what the repair takes: 2"},
		{name: "pods hold its neighbour", scene: sceneOf(ill, said(v1alpha1.RepairVacated, 0), nil), change: func(s *Scene) { s.Held = map[v1alpha1.DeviceID]int{two: 2} }, after: time.Hour, state: v1alpha1.Repairing, record: true},
		{name: "another actor", scene: sceneOf(ill, said(v1alpha1.RepairVacated, 0), nil), change: func(s *Scene) { s.Actor = "the MIG manager" }, after: time.Hour, state: v1alpha1.RepairVacated, says: "the MIG manager"},
		{name: "a silent agent", scene: sceneOf(ill, said(v1alpha1.RepairVacated, 0), nil), change: func(s *Scene) { s.Silent = true }, after: time.Hour, state: v1alpha1.RepairVacated, says: "not known"},
		{name: "a pause after a failure", scene: sceneOf(ill, said(v1alpha1.RepairVacated, 2), nil), after: 9 * time.Minute, state: v1alpha1.RepairVacated, says: "A repair begins at"},
		{name: "after the pause", scene: sceneOf(ill, said(v1alpha1.RepairVacated, 2), nil), after: 10 * time.Minute, state: v1alpha1.Repairing, record: true},
		{name: "begun, not made", scene: sceneOf(ill, said(v1alpha1.Repairing, 1), begun(nil)), state: v1alpha1.Repairing, record: true, step: Make},
		{name: "begun, and another actor came first", scene: sceneOf(ill, said(v1alpha1.Repairing, 1), begun(nil)), change: func(s *Scene) { s.Actor = "kured" }, state: v1alpha1.RepairVacated},
		{name: "begun, and it is well", scene: sceneOf(well, said(v1alpha1.Repairing, 1), begun(nil)), state: v1alpha1.RepairChecking},
		{name: "made, and another actor came later", scene: sceneOf(ill, said(v1alpha1.Repairing, 1), begun(made)), change: func(s *Scene) { s.Object.UID, s.Actor = "uid", "kured" }, state: v1alpha1.Repairing, record: true},
		{name: "made", scene: sceneOf(ill, said(v1alpha1.Repairing, 1), begun(nil)), change: func(s *Scene) { s.Object.UID = "uid" }, state: v1alpha1.Repairing, record: true},
		{name: "ended", scene: sceneOf(ill, said(v1alpha1.Repairing, 1), begun(made)), change: func(s *Scene) { s.Object = Object{"uid", true} }, state: v1alpha1.RepairChecking, record: true},
		{name: "gone", scene: sceneOf(ill, said(v1alpha1.Repairing, 1), begun(made)), state: v1alpha1.RepairChecking, record: true},
		{name: "too long", scene: sceneOf(ill, said(v1alpha1.Repairing, 1), begun(made)), change: func(s *Scene) { s.Object.UID = "uid" }, after: time.Hour, state: v1alpha1.Repairing, record: true, step: Delete},
		{name: "well for too short", scene: sceneOf(well, said(v1alpha1.RepairChecking, 1), begun(ended)), after: time.Minute, state: v1alpha1.RepairChecking, record: true},
		{name: "well for long enough", scene: sceneOf(well, said(v1alpha1.RepairChecking, 1), begun(ended)), after: 2 * time.Minute, state: v1alpha1.RepairReturned},
		{name: "well since a moment", scene: sceneOf(well, said(v1alpha1.RepairChecking, 1), begun(ended)), change: func(s *Scene) { since := at(time.Hour); s.Status.Devices[0].Health.Since = &since }, after: time.Hour + time.Minute, state: v1alpha1.RepairVacated},
		{name: "well, says a silent agent", scene: sceneOf(well, said(v1alpha1.RepairChecking, 1), begun(ended)), change: func(s *Scene) { s.Silent = true }, after: 3 * time.Minute, state: v1alpha1.RepairChecking, record: true},
		{name: "not monitored is not well", scene: sceneOf(v1alpha1.Unknown, said(v1alpha1.RepairChecking, 1), begun(ended)), after: 3 * time.Minute, state: v1alpha1.RepairChecking, record: true},
		{name: "not mended", scene: sceneOf(ill, said(v1alpha1.RepairChecking, 1), begun(ended)), after: 30 * time.Minute, state: v1alpha1.RepairVacated},
		{name: "not mended, at last", scene: sceneOf(ill, said(v1alpha1.RepairChecking, 3), begun(func(r *Record) { ended(r); r.Attempt = 3 })), after: 30 * time.Minute, state: v1alpha1.RepairFailed, says: "a person"},
		{name: "failed", scene: sceneOf(ill, said(v1alpha1.RepairFailed, 3), nil), after: time.Hour, state: v1alpha1.RepairFailed},
		{name: "failed, and a person mended it", scene: sceneOf(well, said(v1alpha1.RepairFailed, 3), nil), after: time.Hour, state: v1alpha1.RepairChecking},
		{name: "well by itself", scene: sceneOf(well, said(v1alpha1.RepairCordoned, 0), nil), state: v1alpha1.RepairChecking},
		{name: "well by itself for long enough", scene: sceneOf(well, said(v1alpha1.RepairChecking, 0), nil), after: 2 * time.Minute},
		{name: "ill again in its check", scene: sceneOf(ill, said(v1alpha1.RepairChecking, 0), nil), after: time.Minute, state: v1alpha1.RepairVacated},
		{name: "back, and remembered", scene: sceneOf(well, said(v1alpha1.RepairReturned, 1), nil), after: time.Hour, state: v1alpha1.RepairReturned},
		{name: "back, and forgotten", scene: sceneOf(well, said(v1alpha1.RepairReturned, 1), nil), after: 24 * time.Hour},
		{name: "back, and ill again", scene: sceneOf(ill, said(v1alpha1.RepairReturned, 1), nil), after: time.Hour, state: v1alpha1.RepairVacated},
		{name: "back too often", scene: sceneOf(ill, said(v1alpha1.RepairReturned, 3), nil), after: time.Hour, state: v1alpha1.RepairFailed},
		{name: "the record was removed", scene: sceneOf(ill, said(v1alpha1.Repairing, 1), nil), after: time.Hour, state: v1alpha1.RepairVacated},
		{name: "the device was taken out", scene: sceneOf(ill, said(v1alpha1.RepairVacated, 1), nil), change: func(s *Scene) { s.Status.Devices = s.Status.Devices[1:] }, after: time.Hour},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if tc.change != nil {
				tc.change(tc.scene)
			}
			got := Decide(settingsOf(t, job), tc.scene, start.Add(tc.after))
			var state v1alpha1.RepairState
			var message string
			for _, r := range got.Repairs {
				state, message = r.State, r.Message
			}
			if len(got.Repairs) > 1 || state != tc.state || (got.Record != nil) != tc.record || got.Step != tc.step || !strings.Contains(message, tc.says) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A repair of the whole node takes its other devices out of use, and waits until nobody has any.
func TestScopeOfANode(t *testing.T) {
	settings := settingsOf(t, job+"scope: Node\n")
	scene := sceneOf(v1alpha1.Unhealthy, said(v1alpha1.RepairVacated, 0), nil)
	scene.Held = map[v1alpha1.DeviceID]int{two: 1}
	got := Decide(settings, scene, start.Add(time.Hour))
	states := func(d Decision) map[v1alpha1.DeviceID]v1alpha1.RepairState {
		all := map[v1alpha1.DeviceID]v1alpha1.RepairState{}
		for _, r := range d.Repairs {
			all[r.Device] = r.State
		}
		return all
	}
	want := map[v1alpha1.DeviceID]v1alpha1.RepairState{one: v1alpha1.RepairVacated, two: v1alpha1.RepairCordoned}
	if diff := cmp.Diff(want, states(got)); diff != "" || got.Record != nil {
		t.Errorf("while a pod holds the other device: %+v\n%s", got.Record, diff)
	}
	scene.Status.Repairs, scene.Held = got.Repairs, nil
	got = Decide(settings, scene, start.Add(time.Hour))
	if got.Record == nil || states(got)[two] != v1alpha1.RepairCordoned {
		t.Errorf("when nobody holds a device: %+v", got)
	}
	scene.Status.Repairs, scene.Record = []v1alpha1.Repair{*said(v1alpha1.RepairFailed, 3), got.Repairs[1]}, nil
	if got = Decide(settings, scene, start.Add(time.Hour)); len(got.Repairs) != 1 {
		t.Errorf("after the last repair failed: %+v", got.Repairs)
	}
}

func TestOtherActors(t *testing.T) {
	labelled := func(key, value string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{key: value}}}
	}
	tainted := func(key string) corev1.Node {
		return corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: key}}, Unschedulable: true}}
	}
	for name, tc := range map[string]struct {
		node corev1.Node
		want string
	}{
		"nobody":                      {corev1.Node{}, ""},
		"a driver is upgraded":        {labelled("nvidia.com/gpu-driver-upgrade-state", "drain-required"), "the GPU operator"},
		"a driver will be upgraded":   {labelled("nvidia.com/gpu-driver-upgrade-state", "upgrade-required"), "the GPU operator"},
		"a driver was upgraded":       {labelled("nvidia.com/gpu-driver-upgrade-state", "upgrade-done"), ""},
		"GPUs are partitioned":        {labelled("nvidia.com/mig.config.state", "pending"), "the MIG manager"},
		"GPUs were partitioned":       {labelled("nvidia.com/mig.config.state", "success"), ""},
		"NVSentinel waits for a node": {labelled("dgxc.nvidia.com/nvsentinel-state", "remediation-succeeded"), "NVSentinel"},
		"maintenance":                 {tainted("medik8s.io/drain"), "node-maintenance-operator (taint medik8s.io/drain)"},
		"scaled down":                 {tainted("ToBeDeletedByClusterAutoscaler"), "the cluster autoscaler"},
		"rebooted":                    {corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"weave.works/kured-reboot-in-progress": "now"}}}, "kured"},
		"cordoned":                    {corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, "whoever cordoned the node"},
	} {
		if got := otherActor(&tc.node); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"maxConcurent: 1":              "unknown field",
		"maxConcurrent: -1":            "maxConcurrent is -1: use 1 or more",
		"scope: Rack":                  `scope is "Rack"`,
		"taintEffect: Evict":           `taintEffect is "Evict"`,
		"checkTimeoutSeconds: 60":      "checkTimeoutSeconds is 60, less than checkSeconds, 120",
		"template: 'kind: {{ .Nod }}'": "can't evaluate field Nod",
		"template: '{{ if }}'":         "missing value for if",
		"template: 'a: b'":             "lacks apiVersion or kind",
		"template: '- a'":              "no YAML of one object",
		"template: '{apiVersion: v1, kind: Pod, metadata: {name: x}}'":                   "leave them out",
		"template: '{apiVersion: v1, kind: Pod}'":                                        `serviceAccountName is ""`,
		"{template: '{apiVersion: v1, kind: Pod}', namespace: A, serviceAccountName: b}": `namespace is "A"`,
	} {
		if _, err := ParseSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// What a template is filled in with comes from nodes: it stays one value.
func TestTemplateIsFilledIn(t *testing.T) {
	s := settingsOf(t, job)
	device := &v1alpha1.Device{ID: one, Vendor: "nvidia"}
	object, err := s.template.render(subjectOf("n1\", hostPID: true, x: \"", device, begun(nil)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{"template": map[string]any{"spec": map[string]any{"nodeName": "n1\", hostPID: true, x: \""}}}}
	if diff := cmp.Diff(want, object.Object, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}
