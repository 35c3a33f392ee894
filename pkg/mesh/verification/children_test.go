package verification

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
)

// A child is this test binary, run again as one pod with a process of its own. It inherits its listener as file 3, and prints
// its message.
const (
	childTask  = "RANKWRIGHT_VERIFICATION_TASK"
	childPlace = "RANKWRIGHT_VERIFICATION_PLACE"
)

// childMain runs a child if this process is started as a child, and says whether it was.
func childMain() bool {
	text := os.Getenv(childTask)
	if text == "" {
		return false
	}
	message, err := runChild(text)
	if err != nil {
		fmt.Println("error:", err)
		return true
	}
	fmt.Print(string(message))
	return true
}

func runChild(text string) ([]byte, error) {
	task, err := ParseTask([]byte(text))
	if err != nil {
		return nil, err
	}
	var place int
	if _, err := fmt.Sscan(os.Getenv(childPlace), &place); err != nil {
		return nil, err
	}
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return nil, err
	}
	report, err := Verify(context.Background(), Config{Task: task, Place: place, Key: testKey, Listener: listener})
	if err != nil {
		return nil, err
	}
	return report.Message()
}

// Six processes verify each other, and their messages are what the operator reads.
func TestSixProcesses(t *testing.T) {
	p := newPods(t, 6, sixRanks()...)
	files := make([]*os.File, 6)
	for place := range files {
		listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		address, err := netip.ParseAddrPort(listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		p.task.Pods[place].Port = int32(address.Port())
		if files[place], err = listener.File(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(p.task)
	if err != nil {
		t.Fatal(err)
	}
	commands, outputs := make([]*exec.Cmd, 6), make([][]byte, 6)
	done := make(chan error, 6)
	for place := range commands {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), childTask+"="+string(text), fmt.Sprintf("%s=%d", childPlace, place))
		c.ExtraFiles = []*os.File{files[place]}
		c.Stderr = os.Stderr
		go func() {
			var err error
			outputs[place], err = c.Output()
			done <- err
		}()
	}
	for range commands {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for place, output := range outputs {
		r, err := ParseReport(string(output))
		if err != nil {
			t.Fatalf("process %d: %v: %s", place, err, output)
		}
		if r.Outcome != Verified || r.Pod != int32(place) {
			t.Errorf("process %d says %+v", place, r)
		}
	}
}
