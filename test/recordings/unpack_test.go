package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// unpacked is a recording taken apart, so that a test can spoil it.
type unpacked struct {
	members  []member
	commands []command
	// tools says that the host may run some, though it may have none.
	tools bool
}

// member is a name in the host's file tree.
type member struct {
	name    string
	kind    byte // as in a tar archive
	content string
}

// command is what a tool printed.
type command struct {
	Argv     []string `json:"argv"`
	ExitCode int      `json:"exitCode"`
	Stdout   string   `json:"stdout"`
	Stderr   string   `json:"stderr"`
	Error    string   `json:"error"`
}

// archives are the recordings as uncompressed tars, by their names.
var archives = map[string][]byte{}

func archive(t testing.TB, name string) []byte {
	t.Helper()
	if data, ok := archives[name]; ok {
		return data
	}
	recording := recordings[name]()
	if err := recording.Err(); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if _, err := recording.WriteTo(&packed); err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	archives[name] = data
	return data
}

// unpack takes an archive apart.
func unpack(t testing.TB, data []byte) unpacked {
	t.Helper()
	var u unpacked
	for reader := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return u
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if header.Name == "commands.jsonl" {
			u.tools = true
			u.commands = decodeCommands(t, content)
		}
		if name, found := strings.CutPrefix(header.Name, "rootfs/"); found && name != "" {
			if header.Typeflag == tar.TypeSymlink {
				content = []byte(header.Linkname)
			}
			u.members = append(u.members, member{path.Join("/", name), header.Typeflag, string(content)})
		}
	}
}

func decodeCommands(t testing.TB, lines []byte) []command {
	t.Helper()
	var commands []command
	for decoder := json.NewDecoder(bytes.NewReader(lines)); ; {
		var c command
		if err := decoder.Decode(&c); errors.Is(err, io.EOF) {
			return commands
		} else if err != nil {
			t.Fatal(err)
		}
		commands = append(commands, c)
	}
}

// clone copies the lists, so that a test may change one recording in many ways.
func (u unpacked) clone() unpacked {
	return unpacked{slices.Clone(u.members), slices.Clone(u.commands), u.tools}
}

// recording puts the parts together again. What cannot be in a file tree is left out: a file below a file.
func (u unpacked) recording() *host.Recording {
	r := host.NewRecording()
	for _, m := range u.members {
		switch m.kind {
		case tar.TypeDir:
			_ = r.AddFolder(m.name)
		case tar.TypeSymlink:
			_ = r.AddLink(m.name, m.content)
		case tar.TypeChar:
			_ = r.AddDevice(m.name)
		default:
			_ = r.AddFile(m.name, m.content)
		}
	}
	if u.tools {
		r.AllowCommands()
	}
	for _, c := range u.commands {
		_ = r.AddCommand(host.CommandResult{ExitCode: c.ExitCode, Stdout: []byte(c.Stdout), Stderr: []byte(c.Stderr)}, c.Argv...)
	}
	return r
}
