package launch

import (
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	for pattern, want := range map[string]string{
		"llm-{pod}.llm":                     "llm-5.llm",
		"llm-{copy}{-worker}.llm.models":    "llm-1-2.llm.models",
		"set-job-{copy}-{worker}.set":       "set-job-1-2.set",
		"llm-{pod}.llm.models.svc.acme.com": "llm-5.llm.models.svc.acme.com",
	} {
		if got := hosts(t, pattern).of(&Pod{Index: 5, Copy: 1, Worker: 2, Address: "10.0.0.1"}, 3); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
	if got := hosts(t, "llm-{copy}{-worker}").of(&Pod{Copy: 1}, 3); got != "llm-1" {
		t.Errorf("the first pod of a copy is %s", got)
	}
	for pods, want := range map[int]string{1: "127.0.0.1", 2: "10.0.0.1"} {
		if got := hosts(t, "").of(&Pod{Address: "10.0.0.1"}, pods); got != want {
			t.Errorf("without a pattern one of %d pods is %s, want %s", pods, got, want)
		}
	}
}

func TestHostsThatCannotBe(t *testing.T) {
	for pattern, want := range map[string]string{
		"llm-{rank}":                 "{rank} is unknown; use {pod}, {copy}, {worker} or {-worker}",
		"LLM-{pod}":                  "which is no host name",
		"llm-{pod":                   "which is no host name",
		"{-worker}":                  "which is no host name",
		"a b":                        "which is no host name",
		"$(reboot)":                  "which is no host name",
		strings.Repeat("a", 254):     "which is no host name",
		strings.Repeat("{pod}", 200): "at most 512",
	} {
		if _, err := ParseHosts(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", pattern, err, want)
		}
	}
}

// Whatever pattern is taken makes host names, for every pod.
func FuzzHosts(f *testing.F) {
	f.Add("llm-{copy}{-worker}.llm", 0, 0, 0)
	f.Add("{pod}", 1, 2, 3)
	f.Fuzz(func(t *testing.T, pattern string, pod, copied, worker int) {
		h, err := ParseHosts(pattern)
		if err != nil || pattern == "" {
			return
		}
		const ranks = 1 << 20
		p := &Pod{Index: pod & (ranks - 1), Copy: copied & (ranks - 1), Worker: worker & (ranks - 1)}
		if name := h.of(p, 2); len(name) > 253 || !hostName.MatchString(name) {
			t.Errorf("%q makes %q", pattern, name)
		}
	})
}
