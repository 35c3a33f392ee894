package host

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A recording can hold what the same host looks like from elsewhere, such as from within a pod, and notes: what was
// measured there, which no detection reads. A replay is of the recording itself, or of one of its views.

// Folders of an archive that hold views and notes.
const (
	viewsEntry = "views"
	notesEntry = "notes"
)

// maxParts caps the views, and the notes, of a recording: a host has three views, and a note for each and each pod.
const maxParts = 100

// partName is what a view or a note can be called.
var partName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,62}$`)

// AddView adds the host as it is seen from elsewhere. A view has no views of its own.
func (r *Recording) AddView(name string, view *Recording) error {
	if len(view.views) > 0 {
		return fmt.Errorf("view %q: has views of its own", name)
	}
	return addPart(r.views, "view", name, view)
}

// View returns a view by its name; false where the recording does not have it.
func (r *Recording) View(name string) (*Recording, bool) {
	view, ok := r.views[name]
	return view, ok
}

// Views returns the names of the views, sorted.
func (r *Recording) Views() []string { return slices.Sorted(maps.Keys(r.views)) }

// AddNote adds a text about the host.
func (r *Recording) AddNote(name, text string) error {
	if len(text) > maxFileSize {
		return fmt.Errorf("note %q: %w", name, ErrTooLarge)
	}
	return addPart(r.notes, "note", name, text)
}

// Note returns the text of a note; empty where the recording does not have it.
func (r *Recording) Note(name string) string { return r.notes[name] }

// Notes returns the names of the notes, sorted.
func (r *Recording) Notes() []string { return slices.Sorted(maps.Keys(r.notes)) }

func addPart[T any](parts map[string]T, what, name string, part T) error {
	if !partName.MatchString(name) {
		return fmt.Errorf("%s %q: a name has lower-case letters, digits, dots and dashes", what, Clip(name, 64))
	}
	if _, ok := parts[name]; ok {
		return fmt.Errorf("%s %q: is there already", what, name)
	}
	if len(parts) >= maxParts {
		return fmt.Errorf("%s %q: %w: at most %d", what, name, ErrTooLarge, maxParts)
	}
	parts[name] = part
	return nil
}

// writeParts writes views and notes below a folder of the archive.
func (r *Recording) writeParts(archive *tar.Writer, folder string) error {
	for _, name := range r.Notes() {
		if err := writeFile(archive, path.Join(folder, notesEntry, name), []byte(r.notes[name])); err != nil {
			return err
		}
	}
	for _, name := range r.Views() {
		if err := r.views[name].writeEntries(archive, path.Join(folder, viewsEntry, name)); err != nil {
			return err
		}
	}
	return nil
}

// readNote takes an entry of the folder of notes.
func (r *Recording) readNote(name string, header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeDir {
		return nil
	}
	data, err := readCapped(header, content, maxFileSize)
	if err != nil {
		return err
	}
	return r.AddNote(name, string(data))
}

// readView takes an entry of the folder of views: the name of the view, then what a recording has.
func (r *Recording) readView(below string, header *tar.Header, content io.Reader) error {
	name, rest, _ := strings.Cut(below, "/")
	view, ok := r.views[name]
	if !ok {
		view = NewRecording()
		if err := r.AddView(name, view); err != nil {
			return err
		}
	}
	if top, _, _ := strings.Cut(rest, "/"); top == viewsEntry {
		return errors.New("a view has no views of its own")
	}
	if rest == "" {
		return nil
	}
	_, err := view.readPart(rest, header, content)
	return err
}

// rewriteParts copies views and notes with every text in them rewritten.
func rewriteParts(copied, r *Recording, rewrite func(place, text string) string) error {
	for _, name := range r.Views() {
		view, err := rewriteRecording(r.views[name], rewrite)
		if err == nil {
			err = copied.AddView(name, view)
		}
		if err != nil {
			return fmt.Errorf("view %s: %w", name, err)
		}
	}
	for _, name := range r.Notes() {
		if err := copied.AddNote(name, rewrite("note "+name, r.notes[name])); err != nil {
			return err
		}
	}
	return nil
}
