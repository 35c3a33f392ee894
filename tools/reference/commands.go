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
	commands(&p, root, func() {
		p.paragraph("Of every command:")
		flags(&p, root.PersistentFlags())
	})
	return p.String()
}

// programPage has the flags of a program, and a section for each command below it.
func programPage(root *cobra.Command) string {
	var p page
	p.title("Flags of " + root.Name())
	p.help(lead(root))
	p.paragraph("`" + root.Name() + " --help` says the same.")
	flags(&p, root.LocalFlags())
	commands(&p, root, func() {})
	return p.String()
}

// commands is a table of the commands below one, what belongs between, and a section for each of them.
func commands(p *page, root *cobra.Command, between func()) {
	rows := [][]string{}
	for _, command := range root.Commands() {
		if documented(command) {
			rows = append(rows, []string{"[`" + command.Name() + "`](#" + anchor(command.Name()) + ")", escape(command.Short)})
		}
	}
	p.table([]string{"command", "what it does"}, rows)
	between()
	for _, command := range root.Commands() {
		if documented(command) {
			section(p, command, 2)
		}
	}
}

func documented(c *cobra.Command) bool {
	return c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion"
}

// section says of a command what its help does, and then of its own commands.
func section(p *page, c *cobra.Command, level int) {
	p.heading(level, strings.TrimPrefix(c.CommandPath(), c.Root().CommandPath()+" "))
	p.help(lead(c))
	p.code("text", c.UseLine())
	if c.Example != "" {
		p.code("sh", c.Example)
	}
	flags(p, c.LocalNonPersistentFlags())
	flags(p, c.PersistentFlags())
	for _, below := range c.Commands() {
		if documented(below) {
			section(p, below, level+1)
		}
	}
}

// lead is what the help of a command says first.
func lead(c *cobra.Command) string {
	if c.Long == "" {
		return c.Short + "."
	}
	return c.Long
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
