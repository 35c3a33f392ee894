package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rankwright/rankwright/internal/repository"
)

// TestTry: what `make try` runs succeeds on any host and ends with a plan, and on a terminal with a page in the browser.
func TestTry(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(t.TempDir(), "kubectl-rankwright")
	if err := repository.Build(t.Context(), plugin, "cmd/kubectl-rankwright"); err != nil {
		t.Fatal(err)
	}
	try := func(t *testing.T) *exec.Cmd {
		return exec.CommandContext(t.Context(), filepath.Join(root, "tools", "try.sh"), plugin)
	}
	t.Run("into a file", func(t *testing.T) {
		said, err := try(t).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		for _, want := range []string{"Host: ", "NVIDIA L40S             8       32        16", "Takes:        4 devices on 1 node", "world "} {
			if !strings.Contains(string(said), want) {
				t.Errorf("no %q in:\n%s", want, said)
			}
		}
	})
	t.Run("on a terminal", func(t *testing.T) { onTerminal(t, try(t)) })
}

// onTerminal runs the command until its page is in the browser, and ends it by Ctrl-C: it leaves no files.
func onTerminal(t *testing.T, command *exec.Cmd) {
	keyboard, screen := terminal(t)
	folder, files := t.TempDir(), t.TempDir()
	browsed := filepath.Join(folder, "browsed")
	if err := unix.Mkfifo(browsed, 0o600); err != nil {
		t.Fatal(err)
	}
	browser := "#!/bin/sh\necho \"$1\" > " + browsed + "\n"
	if err := os.WriteFile(filepath.Join(folder, "xdg-open"), []byte(browser), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	command.Stdin, command.Stdout, command.Stderr = screen, screen, screen
	command.Env = append(os.Environ(), "TMPDIR="+files, "PATH="+folder+":"+os.Getenv("PATH"))
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = screen.Close()

	address, lines := "", bufio.NewScanner(keyboard)
	for address == "" && lines.Scan() {
		if _, at, found := strings.Cut(strings.TrimSpace(lines.Text()), "The page is at "); found {
			address = at
		}
	}
	if address == "" {
		t.Fatal("no page was shown")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		t.Errorf("%s answers %s, %s", address, response.Status, response.Header.Get("Content-Type"))
	}
	if opened, err := os.ReadFile(browsed); strings.TrimSpace(string(opened)) != address {
		t.Errorf("the browser was sent to %q, and the page is at %q: %v", opened, address, err)
	}

	if _, err := keyboard.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		continue // until nobody has the terminal any more
	}
	var ended *exec.ExitError
	if err := command.Wait(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(files); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// terminal is a pseudo terminal: what a program shows on the screen and types is at the keyboard's end.
func terminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	connection, err := keyboard.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number uint32
	var failed error
	if err := connection.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetUint32(int(fd), unix.TIOCGPTN)
		}
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return keyboard, screen
}
