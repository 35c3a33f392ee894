package repository

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// built is a controller, from its builder to what reconciles.
var built = regexp.MustCompile(`(?s)NewControllerManagedBy\(.*?\bComplete\(([\w.]+)\(`)

// TestControllersArePatient: a write that somebody else's overtook is no error of any controller.
func TestControllersArePatient(t *testing.T) {
	root, patient := rootOf(t), 0
	walk(t, filepath.Join(root, "controllers"), func(path string) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return
		}
		content := contentOf(t, path)
		of := built.FindAllStringSubmatch(content, -1)
		if len(of) != strings.Count(content, "NewControllerManagedBy(") {
			t.Errorf("%s builds a controller without objects.Patient", path)
		}
		for _, match := range of {
			patient++
			if match[1] != "objects.Patient" {
				t.Errorf("%s completes a controller by %s and not by objects.Patient", path, match[1])
			}
		}
	})
	if patient < 10 {
		t.Errorf("%d controllers: they are not found any more", patient)
	}
}
