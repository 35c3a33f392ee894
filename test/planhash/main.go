// Command planhash plans some thirteen thousand cases, drawn from seeds and from the catalogues of models and nodes, and
// prints a line for each: its name, a hash of the structure of its plan or refusal, and a hash of its estimates. Two
// revisions plan alike where their lines are equal. Structure is degrees, devices, bytes, reasons and the numbers of
// remedies; wording is left out.
//
// With -v each line ends in what was asked, the structure and the estimates themselves, so that a difference can be read.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sync/errgroup"
)

func main() {
	verbose := flag.Bool("v", false, "print the structures, too")
	every := flag.Int("every", 1, "plan only one of so many cases")
	flag.Parse()
	cases := append(catalogueCases(), drawnCases()...)
	lines := make([]string, len(cases))
	var planning errgroup.Group
	planning.SetLimit(runtime.GOMAXPROCS(0))
	for i := 0; i < len(cases); i += *every {
		planning.Go(func() error {
			lines[i] = line(&cases[i], *verbose)
			return nil
		})
	}
	_ = planning.Wait()
	out := bufio.NewWriter(os.Stdout)
	defer func() { _ = out.Flush() }()
	for _, l := range lines {
		if l != "" {
			_, _ = fmt.Fprintln(out, l)
		}
	}
}

func line(c *planCase, verbose bool) string {
	structure, estimates, asked := c.answer()
	text := fmt.Sprintf("%s\t%s\t%s", c.name, hash(structure), hash(estimates))
	if verbose {
		text += "\t" + string(asked) + "\t" + string(structure) + "\t" + string(estimates)
	}
	return text
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}
