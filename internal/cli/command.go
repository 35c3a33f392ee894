package cli

import (
	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/term"
)

// Command is the plugin with all its commands, for those who read what they say of themselves.
func Command() *cobra.Command { return newRoot(term.Streams{}) }
