package install

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rankwright/rankwright/internal/repository"
)

// Every tool of the catalogue has a module that pins its version.
func TestEveryToolIsPinned(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Find(root, Names()); err != nil {
		t.Error(err)
	}
	if _, err := Find(root, []string{"no-such"}); err == nil {
		t.Error("a tool that is not known is found")
	}
}

func TestRequired(t *testing.T) {
	const text = "module m\n\ntool example.com/a\n\nrequire example.com/b v1.0.0\n\nrequire (\n\texample.com/a v2.0.0 // indirect\n)\nreplace example.com/a => ../a\n"
	for module, want := range map[string]string{"example.com/a": "v2.0.0", "example.com/b": "v1.0.0", "example.com/c": ""} {
		if got := required(text, module); got != want {
			t.Errorf("%s: %q, want %q", module, got, want)
		}
	}
}

func TestGroups(t *testing.T) {
	tools := []Tool{
		{Name: "a", Folder: "x", Version: "v1"}, {Name: "b", Folder: "y", Version: "v1"}, {Name: "c", Folder: "x", Version: "v1"}, {Name: "d", Folder: "x", Version: "v2"},
	}
	var got []string
	for _, group := range Groups(tools) {
		got = append(got, group.String())
	}
	if want := []string{"a, c v1", "b v1", "d v2"}; !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
}

func TestPresent(t *testing.T) {
	printed := map[string]string{
		"/old/kubectl": "Client Version: v1.35.1\nKustomize Version: v5.8.0\n", "/patch/kubectl": "Client Version: v1.36.1\n",
		"/same/kubectl": "Client Version: v1.36.3\nKustomize Version: v5.8.0\n", "/silent/kubectl": "error: unknown command\n",
	}
	run := func(path string, _ []string) (string, error) {
		if text, is := printed[path]; is {
			return text, nil
		}
		return "", errors.New("no such file")
	}
	tool := Tool{Name: "kubectl", Version: "v1.36.3", Ask: asCommand}
	for _, test := range []struct {
		folders []string
		near    Match
		want    string
	}{
		{folders: []string{"", "/none", "/silent", "/old", "/patch", "/same"}, want: "/same/kubectl"},
		{folders: []string{"/old", "/patch", "/same"}, near: Minor, want: "/patch/kubectl"},
		{folders: []string{"/old"}, near: Minor},
		{folders: []string{"/patch"}},
	} {
		if path, _ := tool.Present(test.folders, test.near, run); path != test.want {
			t.Errorf("%v: %q, want %q", test.folders, path, test.want)
		}
	}
	tool.Ask = nil
	if path, _ := tool.Present([]string{"/same"}, Exact, run); path != "" {
		t.Errorf("%s is taken, which is not asked", path)
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		printed, version string
		exact, minor     bool
	}{
		{"Kubernetes v1.36.3", "v1.36.3", true, true},
		{"etcd Version: 3.6.8\nGit SHA: 1\nGo Version: go1.26.8", "v3.6.8", true, true},
		{"golangci-lint has version 2.15.0 built with go1.26.8", "v2.15.0", true, true},
		{"containerd github.com/containerd/containerd/v2 v2.4.2 unknown", "v2.4.2", true, true},
		{"Kubernetes v1.36.4", "v1.36.3", false, true},
		{"Kubernetes v1.36.30", "v1.36.3", false, true},
		{"Kubernetes v1.3.6", "v1.36.3", false, false},
		{"unknown", "v1.36.3", false, false},
	} {
		if got := Exact.Matches(test.printed, test.version); got != test.exact {
			t.Errorf("%q, exactly: %t", test.printed, got)
		}
		if got := Minor.Matches(test.printed, test.version); got != test.minor {
			t.Errorf("%q, nearly: %t", test.printed, got)
		}
	}
}

func TestCourse(t *testing.T) {
	for _, test := range []struct {
		course Course
		want   string
	}{
		{Course{0, 100, time.Second}, "[....................] 0 of 100 packages, 1 s"},
		{Course{25, 100, 30 * time.Second}, "[#####...............] 25 of 100 packages, 30 s; at this pace 90 s left"},
		{Course{100, 100, 120 * time.Second}, "[####################] 100 of 100 packages, 120 s; linking"},
		{Course{}, "[....................] 0 of 0 packages, 0 s"},
	} {
		if got := test.course.String(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
