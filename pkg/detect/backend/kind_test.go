package backend

import (
	"regexp"
	"testing"
)

func FuzzIDText(f *testing.F) {
	anID := regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9.:_-]{0,95}$`)
	f.Add("406400000.gpu")
	f.Add("soc:mdla\x00ü")
	f.Fuzz(func(t *testing.T, text string) {
		if id := "apple-" + idText(text); text != "" && !anID.MatchString(id) {
			t.Errorf("%q is no id", id)
		}
		socName([]string{text, "samsung," + text}, "samsung")
	})
}
