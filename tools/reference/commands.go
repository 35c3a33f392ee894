package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandPage has a section for each command below the root.
func commandPage(root *cobra.Command) string {
	root.InitDefaultHelpFlag()
	var p page
	p.title("Commands of the plugin")
	p.help(root.Long)
	p.paragraph("`kubectl rankwright COMMAND --help` says the same.")
	rows := [][]string{}
	for _, command := range root.Commands() {
		if documented(command) {
			rows = append(rows, []string{"[`" + command.Name() + "`](#" + anchor(command.Name()) + ")", escape(command.Short)})
		}
	}
	p.table([]string{"command", "what it does"}, rows)
	p.paragraph("Of every command:")
	flags(&p, root.PersistentFlags())
	for _, command := range root.Commands() {
		if documented(command) {
			section(&p, command, 2)
		}
	}
	return p.String()
}

func documented(c *cobra.Command) bool {
	return c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion"
}

// section says of a command what its help does, and then of its own commands.
func section(p *page, c *cobra.Command, level int) {
	p.heading(level, strings.TrimPrefix(c.CommandPath(), c.Root().CommandPath()+" "))
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	p.help(text)
	p.code(c.UseLine())
	if c.Example != "" {
		p.code(c.Example)
	}
	flags(p, c.LocalNonPersistentFlags())
	flags(p, c.PersistentFlags())
	for _, below := range c.Commands() {
		if documented(below) {
			section(p, below, level+1)
		}
	}
}

// flags is a table of those that help shows.
func flags(p *page, set *pflag.FlagSet) {
	rows := [][]string{}
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		rows = append(rows, []string{name, escape(kind), escape(usage), defaultOf(f)})
	})
	p.table([]string{"flag", "takes", "what it says", "default"}, rows)
}

func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "[]", "0", "0s":
		return ""
	}
	return "`" + f.DefValue + "`"
}
