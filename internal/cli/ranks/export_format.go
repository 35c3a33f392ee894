package ranks

import (
	"fmt"
	"slices"
	"strings"
)

// exportFormat is the value of --output of export.
type exportFormat string

const (
	exportFiles exportFormat = "files"
	exportEnv   exportFormat = "env"
	exportJSON  exportFormat = "json"
)

var exportFormats = []string{string(exportFiles), string(exportEnv), string(exportJSON)}

// String, Set and Type make it a flag.
func (f *exportFormat) String() string { return string(*f) }

// Set takes one of the formats.
func (f *exportFormat) Set(text string) error {
	if !slices.Contains(exportFormats, text) {
		return fmt.Errorf("use one of %s", strings.Join(exportFormats, ", "))
	}
	*f = exportFormat(text)
	return nil
}

// Type returns what the help shows as the type of the value.
func (f *exportFormat) Type() string { return strings.Join(exportFormats, "|") }
