package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Replacements are what stands for the identifiers of a recorded host.
type Replacements struct{ names *pseudonyms }

// Apply replaces in a text, such as an inventory of the same host, what was replaced in the recording.
func (r *Replacements) Apply(text string) string { return r.names.rewrite("inventory", text) }

// Anonymize returns the recording with everything that tells one host, its owner or its users from others replaced, and
// what stands for what. A value has the same replacement wherever it appears, in the same form, so that what names a
// device in one place names it in all; the inventories of both recordings differ in these values alone.
// Replacements are numbered in the order of the recording: they are not derived from what they replace.
//
// Products, versions, PCI addresses and sizes stay, as do the times that tools print, and the reserved words, such as the names
// of backends: a host that is called by one of them is not replaced wherever that word stands.
func (r *Recording) Anonymize(reserved ...string) (*Recording, *Replacements, error) {
	words := r.words()
	for _, word := range reserved {
		words[word] = true
	}
	names := newPseudonyms(words)
	if _, err := rewriteRecording(r, names.rewrite); err != nil { // only to number what is found
		return nil, nil, fmt.Errorf("find identifiers: %w", err)
	}
	names.settle()
	anonymous, err := rewriteRecording(r, names.rewrite)
	if err != nil {
		return nil, nil, fmt.Errorf("replace identifiers: %w", err)
	}
	anonymous.Readme = strings.TrimLeft(strings.TrimRight(r.Readme, "\n")+"\n\n"+names.readme(), "\n")
	return anonymous, &Replacements{names}, nil
}

// words are the steps of the paths in the recording: names of drivers, classes and files that no host is to be called.
func (r *Recording) words() map[string]bool {
	words := map[string]bool{}
	for _, e := range r.entries {
		for _, name := range e.names {
			words[name] = true
		}
	}
	for _, view := range r.views {
		maps.Copy(words, view.words())
	}
	return words
}

// rewriteRecording copies a recording with every text in it rewritten, in the order in which it is packed. place is the
// file or the command that a text is of, and empty for names.
func rewriteRecording(r *Recording, rewrite func(place, text string) string) (*Recording, error) {
	copied := NewRecording()
	for _, name := range slices.Sorted(maps.Keys(r.entries)) {
		old := r.entries[name]
		e := &entry{mode: old.mode, err: old.err, owner: old.owner, data: []byte(rewriteContent(name, old, rewrite))}
		if holdsBinaryIDs(name) && old.mode.IsRegular() && old.err == nil {
			e.data, e.err = nil, errNotRecorded
		}
		if err := copied.add(rewrite("", name), e); err != nil {
			return nil, err
		}
	}
	if err := rewriteCommands(copied, r, rewrite); err != nil {
		return nil, err
	}
	return copied, rewriteParts(copied, r, rewrite)
}

func rewriteCommands(copied, r *Recording, rewrite func(place, text string) string) error {
	if r.commands == nil {
		return nil
	}
	copied.AllowCommands()
	for _, key := range slices.Sorted(maps.Keys(r.commands)) {
		old := r.commands[key]
		argv := slices.Clone(old.Argv)
		for i := range argv {
			argv[i] = rewrite("", argv[i])
		}
		place := strings.Join(old.Argv, " ")
		err := copied.addCommand(recordedCommand{
			Argv: argv, ExitCode: old.ExitCode, Error: rewrite(place, old.Error),
			Stdout: rewrite(place, old.Stdout), Stderr: rewrite(place, old.Stderr),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func rewriteContent(name string, e *entry, rewrite func(place, text string) string) string {
	switch {
	case len(e.data) == 0:
		return ""
	case !e.mode.IsRegular():
		return rewrite("", string(e.data))
	case isPCIConfig(name):
		return string(e.data[:min(len(e.data), PCIHeaderSize)])
	default:
		return rewrite(name, string(e.data))
	}
}

// readme says what was replaced, for those who get the recording.
func (p *pseudonyms) readme() string {
	var text strings.Builder
	text.WriteString("Identifiers were replaced; the same value has the same replacement everywhere.\n")
	for _, kind := range slices.Sorted(maps.Keys(p.found)) {
		fmt.Fprintf(&text, "  %s: %d replaced\n", kind, p.found[kind])
	}
	if len(p.found) == 0 {
		text.WriteString("  none was found\n")
	}
	return text.String()
}
