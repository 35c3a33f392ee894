package repository

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRaceScript: a package is run again where the race detector failed and nothing else did.
func TestRaceScript(t *testing.T) {
	const own = "ThreadSanitizer: CHECK failed: tsan_rtl.cpp:346 (tid=1)\n"
	const fault = "SIGSEGV: segmentation violation\nPC=0x437b50 m=10 sigcode=1 addr=0x7fe9d7900000\n\ngoroutine 0 gp=0xc0003d83c0 m=10 mp=0xc0000a5008 [idle"
	for name, c := range map[string]struct {
		first string // what the first run prints
		again string // the packages of the second; none where empty
		code  int
	}{
		"all pass":             {"ok  \tm/a\t1s\nok  \tm/b\t1s\n", "", 0},
		"the detector failed":  {"ok  \tm/a\t1s\n" + own + "FAIL\tm/b\t1s\nFAIL\n", "m/b", 0},
		"within a bubble":      {fault + ", synctest bubble 8]:\nFAIL\tm/a\t1s\nFAIL\n", "m/a", 0},
		"a fault elsewhere":    {fault + "]:\nFAIL\tm/a\t1s\nFAIL\n", "", 1},
		"twice":                {own + "FAIL\tm/a\t1s\n" + own + "FAIL\tm/b\t1s\nFAIL\n", "m/a m/b", 0},
		"a test failed":        {"--- FAIL: TestA (0.1s)\nFAIL\nFAIL\tm/a\t1s\nFAIL\n", "", 1},
		"both in one":          {"--- FAIL: TestA (0.1s)\n" + own + "FAIL\tm/a\t1s\nFAIL\n", "", 1},
		"both, one after":      {own + "FAIL\tm/a\t1s\n--- FAIL: TestB (0.1s)\nFAIL\nFAIL\tm/b\t1s\nFAIL\n", "", 1},
		"a race":               {"WARNING: DATA RACE\n" + own + "FAIL\tm/a\t1s\nFAIL\n", "", 1},
		"it does not compile":  {"FAIL\tm/a [build failed]\nFAIL\n", "", 1},
		"a subtest failed":     {"    --- FAIL: TestA/one (0.1s)\n" + own + "FAIL\tm/a\t1s\nFAIL\n", "", 1},
		"a package passed too": {own + "ok  \tm/a\t1s\nFAIL\tm/b\t1s\nFAIL\n", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "first"), []byte(c.first), 0o600); err != nil {
				t.Fatal(err)
			}
			code := 0
			if strings.Contains(c.first, "FAIL") {
				code = 1
			}
			stand := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *-count=1*) echo \"again: $*\"; exit 0;; esac\ncat %s/first\nexit %d\n", dir, code)
			if err := os.WriteFile(filepath.Join(dir, "go"), []byte(stand), 0o700); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), "../../tools/race.sh", "./...")
			command.Env = append(os.Environ(), "GO="+filepath.Join(dir, "go"))
			printed, _ := command.CombinedOutput()
			if got := command.ProcessState.ExitCode(); got != c.code {
				t.Errorf("exit code %d, want %d:\n%s", got, c.code, printed)
			}
			_, again, _ := strings.Cut(string(printed), "again: test -count=1 -race -vet=off -timeout 40m ")
			if strings.TrimSpace(again) != c.again {
				t.Errorf("ran %q again, want %q:\n%s", again, c.again, printed)
			}
		})
	}
}
