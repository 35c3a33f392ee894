package launch

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Variable is a variable of a process.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Environment is what a process is started with.
type Environment struct {
	Variables []Variable `json:"variables,omitempty"`
	// Arguments of the launcher.
	Arguments []string `json:"arguments,omitempty"`
}

// set sets a variable, which another launcher of the same pods may have set to the same value before.
func (e *Environment) set(name string, value any) {
	if v := (Variable{name, fmt.Sprint(value)}); !slices.Contains(e.Variables, v) {
		e.Variables = append(e.Variables, v)
	}
}

func (e *Environment) add(arguments ...any) {
	for _, a := range arguments {
		e.Arguments = append(e.Arguments, fmt.Sprint(a))
	}
}

// Shell returns the environment as lines that a POSIX shell reads with `.`; the arguments are in RANKWRIGHT_ARGS.
func (e *Environment) Shell() string {
	var b strings.Builder
	for _, v := range e.Variables {
		fmt.Fprintf(&b, "export %s=%s\n", v.Name, quoted(v.Value))
	}
	if len(e.Arguments) > 0 {
		fmt.Fprintf(&b, "export %s=%s\n", variableArguments, quoted(strings.Join(e.Arguments, " ")))
	}
	return b.String()
}

// shellAfter returns the environment as lines that read another file first, and append their arguments to that file's.
func (e *Environment) shellAfter(file string) string {
	own := Environment{Variables: e.Variables}
	text := ". " + file + "\n" + own.Shell()
	if len(e.Arguments) > 0 {
		text += fmt.Sprintf("export %s=\"$%[1]s \"%s\n", variableArguments, quoted(strings.Join(e.Arguments, " ")))
	}
	return text
}

// and returns the environment with the variables and arguments of more appended.
func (e *Environment) and(more *Environment) *Environment {
	return &Environment{Variables: slices.Concat(e.Variables, more.Variables), Arguments: slices.Concat(e.Arguments, more.Arguments)}
}

// quoted is a word of a POSIX shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// numbers joins numbers with commas.
func numbers(list []int) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ",")
}

// address is a host with a port.
func address(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
