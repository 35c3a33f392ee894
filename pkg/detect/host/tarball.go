package host

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Names at the top of a recording's archive.
const (
	rootfsEntry   = "rootfs"
	commandsEntry = "commands.jsonl"
	readmeEntry   = "README"
)

// errorRecord is the PAX record that tells why the content of a file is missing.
const errorRecord = "RANKWRIGHT.error"

// Limits on a recording: a host of 8 GPUs and 300 PCI functions has some 5,000 entries and 1 MiB.
const (
	maxRecordingSize    = 64 << 20
	maxRecordingEntries = 200_000
	maxNameLength       = 4096
)

// WriteTo writes the recording as a tar.gz of `rootfs/…`, `commands.jsonl` and `README`. Equal recordings give equal
// bytes.
func (r *Recording) WriteTo(w io.Writer) (int64, error) {
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	archive := tar.NewWriter(zip)
	if err := errors.Join(r.writeEntries(archive, ""), archive.Close(), zip.Close()); err != nil {
		return 0, err
	}
	return packed.WriteTo(w)
}

// writeEntries writes what a recording has below a folder of the archive.
func (r *Recording) writeEntries(archive *tar.Writer, folder string) error {
	if r.Readme != "" {
		if err := writeFile(archive, path.Join(folder, readmeEntry), []byte(r.Readme)); err != nil {
			return err
		}
	}
	if r.commands != nil {
		var lines bytes.Buffer
		encoder := json.NewEncoder(&lines)
		encoder.SetEscapeHTML(false)
		for _, key := range slices.Sorted(maps.Keys(r.commands)) {
			if err := encoder.Encode(r.commands[key]); err != nil {
				return err
			}
		}
		if err := writeFile(archive, path.Join(folder, commandsEntry), lines.Bytes()); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.entries)) {
		if err := writeEntry(archive, path.Join(folder, rootfsEntry)+name, r.entries[name]); err != nil {
			return err
		}
	}
	return r.writeParts(archive, folder)
}

func writeFile(archive *tar.Writer, name string, data []byte) error {
	return writeEntry(archive, name, &entry{mode: 0o644, data: data})
}

func writeEntry(archive *tar.Writer, name string, e *entry) error {
	header := &tar.Header{Name: name, Mode: int64(e.mode.Perm()), Format: tar.FormatPAX, PAXRecords: map[string]string{}}
	if e.err != nil && e.mode&fs.ModeCharDevice == 0 {
		header.PAXRecords[errorRecord] = e.err.Error()
	}
	var data []byte
	switch e.mode.Type() {
	case fs.ModeDir:
		header.Typeflag, header.Name = tar.TypeDir, strings.TrimSuffix(name, "/")+"/"
	case fs.ModeSymlink:
		header.Typeflag, header.Linkname = tar.TypeSymlink, string(e.data)
	case fs.ModeDevice | fs.ModeCharDevice:
		header.Typeflag = tar.TypeChar
	default:
		header.Typeflag, header.Size, data = tar.TypeReg, int64(len(e.data)), e.data
	}
	if e.owner != nil {
		header.PAXRecords[ownerRecord] = e.owner.record()
	}
	if err := archive.WriteHeader(header); err != nil {
		return fmt.Errorf("recording: %s: %w", name, err)
	}
	_, err := archive.Write(data)
	return err
}

// ReadRecording reads a recording from a tar or tar.gz. It refuses, by the entry's name, what leads out of the archive,
// what cannot be a host's file tree, and what is larger than any recording.
func ReadRecording(r io.Reader) (*Recording, error) {
	buffered := bufio.NewReader(r)
	unpacked := io.Reader(buffered)
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		zip, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("recording: %w", err)
		}
		unpacked = zip
	}
	// One byte more than allowed, so that reaching the end of the limit is known from reaching the end of the archive.
	limited := &io.LimitedReader{R: unpacked, N: maxRecordingSize + 1}
	recording, err := readEntries(tar.NewReader(limited))
	if err != nil {
		if limited.N <= 0 {
			err = fmt.Errorf("unpacked: %w: at most %d MiB", ErrTooLarge, maxRecordingSize>>20)
		}
		return nil, fmt.Errorf("recording: %w", err)
	}
	return recording, nil
}

func readEntries(archive *tar.Reader) (*Recording, error) {
	recording := NewRecording()
	found := false
	budget := int64(maxRecordingSize) // a sparse file unpacks to more than the archive holds
	for range maxRecordingEntries {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			if !found {
				return nil, fmt.Errorf("has neither %s/ nor %s: not a recording of a host", rootfsEntry, commandsEntry)
			}
			return recording, nil
		}
		if err != nil {
			return nil, err
		}
		known, err := recording.readEntry(header, archive)
		if budget -= header.Size; err == nil && budget < 0 {
			err = fmt.Errorf("%w: at most %d MiB of files", ErrTooLarge, maxRecordingSize>>20)
		}
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", Clip(header.Name, 256), err)
		}
		found = found || known
	}
	return nil, fmt.Errorf("%w: more than %d entries", ErrTooLarge, maxRecordingEntries)
}

// readEntry takes an entry of the archive; known says whether it is part of what makes a recording.
func (r *Recording) readEntry(header *tar.Header, content io.Reader) (known bool, err error) {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return false, nil
	}
	name := strings.TrimSuffix(strings.TrimPrefix(header.Name, "./"), "/")
	if name == "" || name == "." {
		return false, nil
	}
	if path.IsAbs(name) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../") {
		return false, errors.New("name must be relative, clean and inside the archive")
	}
	return r.readPart(name, header, content)
}

// readPart is readEntry of a name that is known to be clean.
func (r *Recording) readPart(name string, header *tar.Header, content io.Reader) (known bool, err error) {
	top, below, _ := strings.Cut(name, "/")
	switch {
	case name == readmeEntry:
		data, err := readCapped(header, content, maxFileSize)
		r.Readme = string(data)
		return false, err
	case name == commandsEntry:
		return true, r.readCommands(header, content)
	case top == rootfsEntry:
		return true, r.readRootfs("/"+below, header, content)
	case top == notesEntry && below != "":
		return false, r.readNote(below, header, content)
	case top == viewsEntry && below != "":
		return false, r.readView(below, header, content)
	default:
		return false, nil
	}
}

func (r *Recording) readRootfs(name string, header *tar.Header, content io.Reader) error {
	e := &entry{mode: fs.FileMode(header.Mode).Perm()}
	if text := header.PAXRecords[errorRecord]; text != "" {
		e.err = recalledError(Clip(text, 256))
	}
	var err error
	if e.owner, err = parseOwner(header.PAXRecords[ownerRecord]); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		e.mode |= fs.ModeDir
	case tar.TypeSymlink:
		if header.Linkname == "" || len(header.Linkname) > maxNameLength {
			return errors.New("target of the link is empty or too long")
		}
		e.mode, e.data = fs.ModeSymlink|0o777, []byte(header.Linkname)
	case tar.TypeChar:
		e.mode, e.err = e.mode|fs.ModeDevice|fs.ModeCharDevice, errNotRegular
	case tar.TypeReg:
		if e.data, err = readCapped(header, content, maxFileSize); err != nil {
			return err
		}
	default:
		return fmt.Errorf("is of type %q: only files, folders, symbolic links and character devices can be replayed", header.Typeflag)
	}
	return r.add(name, e)
}

func (r *Recording) readCommands(header *tar.Header, content io.Reader) error {
	data, err := readCapped(header, content, maxRecordingSize)
	if err != nil {
		return err
	}
	r.AllowCommands()
	decoder := json.NewDecoder(bytes.NewReader(data))
	for line := 1; ; line++ {
		var command recordedCommand
		if err := decoder.Decode(&command); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if err := r.addCommand(command); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func readCapped(header *tar.Header, content io.Reader, limit int64) ([]byte, error) {
	if header.Typeflag != tar.TypeReg {
		return nil, errors.New("must be a file")
	}
	if header.Size > limit {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, header.Size, limit)
	}
	return io.ReadAll(io.LimitReader(content, limit))
}
