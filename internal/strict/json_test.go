package strict

import (
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	type pod struct {
		Host string `json:"host"`
	}
	for text, want := range map[string]string{
		`{"host":"a"}`:          "",
		`{"host":"a"} `:         "",
		`{"hosts":"a"}`:         `unknown field "hosts"`,
		`{"host":"a"}{}`:        "something follows the object: remove it",
		`{"host":"a"} and so`:   "something follows the object: remove it",
		`{"host":1}`:            "cannot unmarshal number",
		``:                      "EOF",
		`{"host":"a","host":2}`: "cannot unmarshal",
	} {
		got, err := JSON[pod]([]byte(text))
		if want == "" && (err != nil || got.Host != "a") {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
