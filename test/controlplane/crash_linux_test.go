package controlplane_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rankwright/rankwright/test/controlplane"
)

// crashEnv makes the test binary the parent that is to be killed.
const crashEnv = "RANKWRIGHT_TEST_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashEnv); dir != "" {
		os.Exit(beKilled(dir))
	}
	os.Exit(m.Run())
}

// beKilled starts a control plane, prints its process ids on one line, and waits to be killed.
func beKilled(dir string) int {
	c, err := controlplane.Start(context.Background(), controlplane.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, p := range c.Processes() {
		fmt.Print(p.PID(), " ")
	}
	fmt.Println()
	select {}
}

func TestKilledParentLeavesNothing(t *testing.T) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashEnv+"="+t.TempDir())
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	descriptors := openProcesses(t, strings.Fields(line))
	if len(descriptors) != 2 {
		t.Fatalf("the child started %d processes (%q), want 2", len(descriptors), line)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the child ended by itself")
	}
	for _, fd := range descriptors {
		// A process descriptor becomes readable when the process ends.
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			if _, err := unix.Poll(poll, -1); err == nil {
				break
			} else if !errors.Is(err, unix.EINTR) {
				t.Fatal(err)
			}
		}
	}
}

// openProcesses takes process descriptors, which cannot come to mean another process as ids can.
func openProcesses(t *testing.T, pids []string) []int {
	t.Helper()
	var descriptors []int
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("process id: %v", err)
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		t.Cleanup(func() {
			_ = unix.PidfdSendSignal(fd, syscall.SIGKILL, nil, 0)
			_ = unix.Close(fd)
		})
		descriptors = append(descriptors, fd)
	}
	return descriptors
}
