package launch

import (
	"strconv"
	"strings"
	"testing"
)

// flags reads arguments as Python's argparse does: each option by its whole name, one value for each but the switches, and
// nothing besides. It knows only the options given, so that a name which an engine does not have is a failure.
func flags(t testing.TB, e *Environment, values, switches string) map[string]string {
	t.Helper()
	takes, alone := set(values), set(switches)
	read := map[string]string{}
	for i := 0; i < len(e.Arguments); i++ {
		name, value, joined := strings.Cut(e.Arguments[i], "=")
		if strings.ContainsAny(e.Arguments[i], " \t\n*?[") {
			t.Fatalf("argument %q is more than one word of a shell", e.Arguments[i])
		}
		if _, twice := read[name]; twice {
			t.Fatalf("%s is given twice", name)
		}
		switch {
		case alone[name] && !joined:
		case takes[name] && joined:
		case takes[name] && i+1 < len(e.Arguments):
			i++
			value = e.Arguments[i]
		default:
			t.Fatalf("unrecognized argument %s in %v", name, e.Arguments)
		}
		read[name] = value
	}
	return read
}

func set(words string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(words) {
		all[word] = true
	}
	return all
}

func number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// orNumber is a number where it is given, else the engine's default.
func orNumber(t testing.TB, read map[string]string, name string, usual int) int {
	t.Helper()
	text, given := read[name]
	if !given {
		return usual
	}
	return number(t, text)
}

func ints(t testing.TB, list string) []int {
	t.Helper()
	var all []int
	for _, text := range strings.Split(list, ",") {
		all = append(all, number(t, text))
	}
	return all
}
