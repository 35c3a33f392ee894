// Command probe is what the tests' pods run: it tells what a container sees, or tries requests at the API server with the
// token of its pod.
//
//	probe show      prints a Sight as JSON and ends
//	probe hold      prints a Sight and stays until it is told to end
//	probe start PROGRAM ARGUMENT...   prints a Sight and becomes the program
//	probe request   tries the requests in $REQUESTS and prints an Outcome for each
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rankwright/rankwright/test/e2e/probe/report"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 1 && args[0] == "start" {
		if err := json.NewEncoder(os.Stdout).Encode(sight()); err != nil {
			return err
		}
		return syscall.Exec(args[1], args[1:], os.Environ())
	}
	switch command := strings.Join(args, " "); command {
	case "show", "hold":
		if err := json.NewEncoder(os.Stdout).Encode(sight()); err != nil {
			return err
		}
		if command == "hold" {
			ended := make(chan os.Signal, 1)
			signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
			<-ended
		}
		return nil
	case "request":
		outcomes, err := tryAll(os.Getenv("REQUESTS"))
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(outcomes)
	default:
		return fmt.Errorf("%q: say show, hold, start PROGRAM or request", command)
	}
}

// sight is what this container sees.
func sight() report.Sight {
	seen := report.Sight{Environment: map[string]string{}}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		seen.Environment[name] = value
	}
	_ = filepath.WalkDir("/dev", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type()&fs.ModeCharDevice != 0 {
			seen.Devices = append(seen.Devices, device(path))
		}
		return nil
	})
	seen.Mounts = mounts()
	return seen
}

// mounts are the mount points, the fifth field of each line (proc_pid_mountinfo(5)).
func mounts() []string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			points = append(points, fields[4])
		}
	}
	return points
}

func device(path string) report.Device {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_ = file.Close()
	}
	return report.Device{Path: path, Opens: err == nil}
}
