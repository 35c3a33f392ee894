//go:build unix

package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCommandOutputAtItsLimit(t *testing.T) {
	for _, stream := range []string{"", " >&2"} {
		commands, _ := tool(t, fmt.Sprintf("head -c $1 /dev/zero | tr '\\0' x%s", stream))
		result, err := commands.Run(t.Context(), "tool", fmt.Sprint(MaxOutputSize))
		if len(result.Stdout)+len(result.Stderr) != MaxOutputSize || err != nil {
			t.Errorf("%q: %d bytes, %v", stream, len(result.Stdout)+len(result.Stderr), err)
		}
		result, err = commands.Run(t.Context(), "tool", fmt.Sprint(MaxOutputSize+1))
		if !errors.Is(err, ErrTooLarge) || len(result.Stdout) != 0 || !strings.HasPrefix(err.Error(), "tool ") {
			t.Errorf("%q: one byte more: %v", stream, err)
		}
	}
}

// A tool may leave a child behind that has a session of its own and holds the output open. It cannot be killed with the
// group, but it must not hold up the detection, and what the tool printed counts.
func TestCommandWithADaemonForChild(t *testing.T) {
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		t.Skip(err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	release, err := os.OpenFile(fifo, os.O_RDWR, 0) // as long as it is open, the child waits
	if err != nil {
		t.Fatal(err)
	}
	defer release.Close() //nolint:errcheck // a pipe
	commands, _ := tool(t, fmt.Sprintf("echo printed; setsid sh -c 'read line < %s' & exit 0", fifo))
	result, err := commands.Run(t.Context(), "tool")
	if string(result.Stdout) != "printed\n" || err != nil {
		t.Errorf("%q, %v", result.Stdout, err)
	}
	if _, err := release.WriteString("end\n"); err != nil {
		t.Error(err)
	}
}

// A deadline kills as a cancellation does, and says so.
func TestCommandPastItsDeadline(t *testing.T) {
	commands, _ := tool(t, `trap '' TERM INT HUP; while :; do :; done`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := commands.Run(ctx, "tool"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// A recording of some kilobytes must not unpack to gigabytes, whether in files, in entries or in commands.
func TestReadRecordingOfABomb(t *testing.T) {
	zeros := make([]byte, maxFileSize)
	bombs := map[string]func(*tar.Writer) error{
		"zeros in files": func(w *tar.Writer) error {
			return repeat(maxRecordingSize/maxFileSize+1, func(i int) error { return put(w, fmt.Sprintf("rootfs/%d", i), zeros) })
		},
		"zeros beside the files": func(w *tar.Writer) error {
			return repeat(maxRecordingSize/maxFileSize+1, func(i int) error { return put(w, fmt.Sprintf("other/%d", i), zeros) })
		},
		"entries": func(w *tar.Writer) error {
			return repeat(maxRecordingEntries+1, func(int) error { return put(w, "other", nil) })
		},
		"a long file of commands": func(w *tar.Writer) error {
			return put(w, "commands.jsonl", make([]byte, maxRecordingSize+1))
		},
		"what a tool printed": func(w *tar.Writer) error {
			return put(w, "commands.jsonl", fmt.Appendf(nil, `{"argv":["a"],"stdout":"%s"}`, strings.Repeat("x", MaxOutputSize+1)))
		},
	}
	for name, write := range bombs {
		t.Run(name, func(t *testing.T) {
			var packed bytes.Buffer
			zip, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
			if err != nil {
				t.Fatal(err)
			}
			archive := tar.NewWriter(zip)
			if err := errors.Join(write(archive), archive.Close(), zip.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadRecording(&packed); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%v", err)
			}
		})
	}
}

// An endless archive is given up at the limit.
func TestReadRecordingWithoutEnd(t *testing.T) {
	reader, writer := io.Pipe()
	go func() {
		archive := tar.NewWriter(writer)
		for err := error(nil); err == nil; {
			err = put(archive, "other", make([]byte, maxFileSize))
		}
	}()
	if _, err := ReadRecording(reader); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
}

func repeat(n int, do func(int) error) error {
	for i := range n {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

func put(w *tar.Writer, name string, content []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
