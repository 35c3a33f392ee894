package observed

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func measured(device string, requests int32, micros int64) *v1alpha1.Measurement {
	one := int32(1)
	m := &v1alpha1.Measurement{
		Model: "Llama-3.1-8B", Device: device, Engine: "vLLM", Parallelism: &v1alpha1.Parallelism{Tensor: &one}, InputTokens: 1000, OutputTokens: 500,
		Concurrency: 8, Requests: requests, MilliTokensPerSecond: 500_400, TTFTMicros: 60_000, TPOTMicros: micros,
	}
	m.Source.Time = metav1.NewTime(time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC))
	return m
}

// TestJudged holds what is said of pods that are as fast as is estimated, slower and faster, of few requests, and of what nobody can estimate.
func TestJudged(t *testing.T) {
	said, _ := judged(measured("NVIDIA L40S", 100, 1), nil)
	expects := said.Estimate.TPOTMicros
	for _, test := range []struct {
		m      *v1alpha1.Measurement
		status metav1.ConditionStatus
		reason string
	}{
		{measured("NVIDIA L40S", 100, expects.Value), metav1.ConditionTrue, reasonWithin},
		{measured("NVIDIA L40S", 100, expects.High+1), metav1.ConditionFalse, reasonSlower},
		{measured("NVIDIA L40S", 100, expects.Low-1), metav1.ConditionFalse, reasonFaster},
		{measured("NVIDIA L40S", fewest-1, expects.High+1), metav1.ConditionUnknown, reasonFew},
		{measured("NVIDIA Nothing", 100, expects.Value), metav1.ConditionUnknown, reasonNot},
	} {
		said, c := judged(test.m, nil)
		if c.Status != test.status || c.Reason != test.reason || c.Message == "" {
			t.Errorf("%+v, want %s, %s", c, test.status, test.reason)
		}
		if said.TokensPerSecond != 500 || said.TTFTMillis != 60 || said.Concurrency != 8 {
			t.Errorf("%+v", said)
		}
	}
}

// TestAddressOf asks pods alone that are ready and say where.
func TestAddressOf(t *testing.T) {
	pod := func(ip string, ready corev1.ConditionStatus, ports ...string) *corev1.Pod {
		p := &corev1.Pod{Status: corev1.PodStatus{PodIP: ip, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
		c := corev1.Container{}
		for i, name := range ports {
			c.Ports = append(c.Ports, corev1.ContainerPort{Name: name, ContainerPort: int32(8000 + i)})
		}
		p.Spec.Containers = []corev1.Container{c}
		return p
	}
	for want, p := range map[string]*corev1.Pod{
		"http://10.0.0.1:8000/metrics":      pod("10.0.0.1", corev1.ConditionTrue, "http"),
		"http://10.0.0.1:8001/metrics":      pod("10.0.0.1", corev1.ConditionTrue, "http", "metrics"),
		"http://[2001:db8::1]:8000/metrics": pod("2001:db8::1", corev1.ConditionTrue, "http"),
	} {
		if got := addressOf(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, p := range []*corev1.Pod{pod("", corev1.ConditionTrue, "http"), pod("10.0.0.1", corev1.ConditionFalse, "http"), pod("10.0.0.1", corev1.ConditionTrue), pod("10.0.0.1", corev1.ConditionTrue, "grpc")} {
		if got := addressOf(p); got != "" || strings.Contains(got, "/") {
			t.Errorf("%q is asked", got)
		}
	}
}

// TestPlacementsAreObservedByThemselves: of placements that are looked at one has pods that never answer, and one shows an error of this program. The
// last one is observed before the first one ends.
func TestPlacementsAreObservedByThemselves(t *testing.T) {
	placements := make([]v1alpha1.ModelPlacement, 3)
	for i, name := range []string{"silent", "broken", "sound"} {
		placements[i].Name = name
	}
	sound := make(chan struct{})
	o := &Observer{Log: logr.Discard()}
	o.each(t.Context(), placements, func(ctx context.Context, p *v1alpha1.ModelPlacement) error {
		switch p.Name {
		case "silent":
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("pods that never answer are waited for without end")
			}
			<-sound
		case "broken":
			panic("an error of this program")
		default:
			close(sound)
		}
		return nil
	})
}
