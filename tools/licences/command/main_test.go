package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	folder := filepath.Join(cache, "example.com", "m@v1.0.0")
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // a test's
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "LICENSE"), []byte("Licensed under the Apache License, Version 2.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := "-goroot=" + cache
	for _, test := range []struct {
		name, epoch, in string
		args            []string
		want, refused   string
	}{
		{"modules", "", "example.com/m v1.0.0\n", []string{"-modcache", cache, root, "-modules"}, "example.com/m   v1.0.0    Apache-2.0", ""},
		{"texts", "", "example.com/m v1.0.0\n", []string{"-modcache", cache, root, "-modules", "-texts"}, "Licensed under the Apache", ""},
		{"module that is not allowed", "", "example.com/n v1.0.0\n", []string{"-modcache", cache, root, "-modules"}, "MODULE", "module example.com/n v1.0.0"},
		{"program whose modules are missing", "", "", []string{"-modcache", cache, root, program}, "", "module std"},
		{"no cache", "", "", []string{"-modules"}, "", "-modcache and -goroot are needed"},
		{"nothing to read", "", "", []string{"-modcache", cache, root}, "", "either programs or -modules"},
		{"documents of modules", "", "", []string{"-modcache", cache, root, "-modules", "-sbom", cache}, "", "-sbom describes programs"},
		{"time that is none", "today", "", []string{"-modcache", cache, root, "-modules"}, "", `SOURCE_DATE_EPOCH "today"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			err := run(test.args, strings.NewReader(test.in), &out, func(string) string { return test.epoch })
			if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("error %v, want %q", err, test.refused)
			}
			if !strings.Contains(out.String(), test.want) {
				t.Errorf("printed %s", out.String())
			}
		})
	}
}
