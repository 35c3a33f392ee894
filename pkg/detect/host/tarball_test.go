package host

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// archive packs headers with their content.
func archive(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, header := range entries {
		content := header.Gname // carries the content in these tests
		header.Gname = ""
		if header.Typeflag == 0 {
			header.Typeflag = tar.TypeReg
		}
		if header.Size == 0 {
			header.Size = int64(len(content))
		}
		if err := writer.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Flush(); err != nil && !strings.Contains(err.Error(), "missed writing") {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func file(name, content string) tar.Header { return tar.Header{Name: name, Gname: content} }

func TestReadRecordingRefuses(t *testing.T) {
	tests := map[string]struct {
		entries []tar.Header
		says    string
	}{
		"nothing":              {nil, "not a recording"},
		"another archive":      {[]tar.Header{file("notes.txt", "x")}, "not a recording"},
		"a way out":            {[]tar.Header{file("rootfs/../../etc/passwd", "x")}, `entry "rootfs/../../etc/passwd": name must be`},
		"the way up":           {[]tar.Header{file("../rootfs/a", "x")}, "name must be"},
		"an absolute name":     {[]tar.Header{file("/rootfs/a", "x")}, "name must be"},
		"a name not clean":     {[]tar.Header{file("rootfs//a", "x")}, "name must be"},
		"twice":                {[]tar.Header{file("rootfs/a", "x"), file("rootfs/a", "y")}, `entry "rootfs/a": /a: is there already`},
		"below a file":         {[]tar.Header{file("rootfs/a", "x"), file("rootfs/a/b", "y")}, "another kind"},
		"below a link":         {[]tar.Header{{Name: "rootfs/a", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, file("rootfs/a/b", "y")}, "another kind"},
		"a hard link":          {[]tar.Header{{Name: "rootfs/a", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}}, "is of type"},
		"a link to nowhere":    {[]tar.Header{{Name: "rootfs/a", Typeflag: tar.TypeSymlink}}, "target of the link"},
		"a huge file":          {[]tar.Header{{Name: "rootfs/a", Size: maxFileSize + 1}}, "larger than allowed"},
		"commands that are no": {[]tar.Header{file("commands.jsonl", "{\"argv\":[\"a\"]}\nnonsense")}, `entry "commands.jsonl": line 2`},
		"a command of nothing": {[]tar.Header{file("commands.jsonl", `{"argv":[]}`)}, "base name"},
		"a tool with a folder": {[]tar.Header{file("commands.jsonl", `{"argv":["/bin/sh"]}`)}, "base name"},
		"commands twice":       {[]tar.Header{file("commands.jsonl", "{\"argv\":[\"a\"]}\n{\"argv\":[\"a\"]}")}, "is there already"},
		"a folder of commands": {[]tar.Header{{Name: "commands.jsonl", Typeflag: tar.TypeDir}}, "must be a file"},
		"cut off":              {[]tar.Header{{Name: "rootfs/a", Size: 100, Gname: "short"}}, "unexpected EOF"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ReadRecording(bytes.NewReader(archive(t, test.entries...)))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v does not say %q", err, test.says)
			}
		})
	}
}

func TestReadRecordingIsBounded(t *testing.T) {
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	zeros := make([]byte, maxFileSize)
	for i := range maxRecordingSize/maxFileSize + 1 {
		header := &tar.Header{Name: fmt.Sprintf("rootfs/%d", i), Size: maxFileSize, Typeflag: tar.TypeReg}
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRecording(&packed); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an archive of more than allowed: %v", err)
	}
}

func TestReadRecordingAcceptsPlainTars(t *testing.T) {
	recording, err := ReadRecording(bytes.NewReader(archive(t,
		tar.Header{Name: "./", Typeflag: tar.TypeDir}, tar.Header{Name: "./rootfs/", Typeflag: tar.TypeDir},
		file("./README", "about"), file("./rootfs/a/b", "x"), tar.Header{Name: "rootfs/dev/accel0", Typeflag: tar.TypeChar},
		file("other", "ignored"))))
	if err != nil {
		t.Fatal(err)
	}
	h := recording.Host()
	data, err := h.Files.ReadFile("/a/b")
	if string(data) != "x" || err != nil || recording.Readme != "about" || h.Commands != nil {
		t.Errorf("%q, %v, %q, %v", data, err, recording.Readme, h.Commands)
	}
	if mode, err := h.Files.Stat("/dev/accel0"); err != nil || mode.Type().String() != "Dc---------" {
		t.Errorf("%v, %v", mode, err)
	}
}

func pack(t *testing.T, recording *Recording) []byte {
	t.Helper()
	var packed bytes.Buffer
	if n, err := recording.WriteTo(&packed); err != nil || n != int64(packed.Len()) {
		t.Fatalf("%d of %d bytes, %v", n, packed.Len(), err)
	}
	return packed.Bytes()
}
