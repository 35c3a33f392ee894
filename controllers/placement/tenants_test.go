package placement

import (
	"os"
	"strings"
	"testing"
)

func TestTenantsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"[{namespaceSelector: {matchLabels: {team: a}}, devices: 8, priorityClasses: [batch]}, {namespaceSelector: {}}]": "",
		"":                                       "",
		"[{namespaceSelector: {}, device: 8}]":   `unknown field "device"`,
		"[{namespaceSelector: {}, devices: -1}]": "tenants[0].devices is -1: use 0 for none",
		"[{namespaceSelector: {matchExpressions: [{key: a, operator: Near}]}}]": "tenants[0].namespaceSelector",
	} {
		_, err := ParseTenants([]byte(text))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The reasons by which refusals are counted are those that the documents list.
func TestRefusalsAreListed(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range Refusals() {
		if !strings.Contains(string(text), "`"+reason+"`") {
			t.Errorf("docs/reference/metrics.md does not list reason %s of rankwright_refusals_total", reason)
		}
	}
}
