// Package term is what all commands share: streams and exit codes, output formats, tables, and how numbers, device ids and files
// are read and printed. It knows no command.
package term
